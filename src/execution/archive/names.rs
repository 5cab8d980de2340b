//! Paths, which are bytes, as texts of JSON and of messages, and no two of them alike. Pure.

use std::fmt::Write as _;

use crate::submission::excerpt::is_printable;

/// The path with every byte that is no part of a printable character, and every `%`, as `%XX`.
pub fn readable_name(path: &[u8]) -> String {
    let mut name = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character != '%' && is_printable(character) {
                name.push(character);
            } else {
                let mut bytes = [0; 4];
                escape(&mut name, character.encode_utf8(&mut bytes).as_bytes());
            }
        }
        escape(&mut name, chunk.invalid());
    }
    name
}

fn escape(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        write!(name, "%{byte:02X}").expect("writing to a String");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelt_one_way() {
        for (path, name) in [
            (&b"a/b c.txt"[..], "a/b c.txt"),
            ("größe".as_bytes(), "größe"),
            (b"100%", "100%25"),
            (b"a\nb", "a%0Ab"),
            (b"\xff\xfe", "%FF%FE"),
            ("x\u{202e}y".as_bytes(), "x%E2%80%AEy"),
            (b"", ""),
        ] {
            assert_eq!(readable_name(path), name);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_two_paths_share_a_name(one: Vec<u8>, other: Vec<u8>) {
            proptest::prop_assert_eq!(one == other, readable_name(&one) == readable_name(&other));
        }
    }
}
