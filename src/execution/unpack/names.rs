//! Which names an archive may hold, and which of them some file system takes for the same. Pure.

use unicode_normalization::UnicodeNormalization as _;

use crate::submission::Sha256Digest;

/// The longest path in bytes.
const LONGEST_PATH: usize = 1024;
/// The longest name of one file or folder in bytes, as file systems have it.
const LONGEST_NAME: usize = 255;
/// The deepest folder.
const DEEPEST: usize = 64;

/// Checks a path and cuts it into its names; a trailing slash and `./` at the beginning are dropped.
///
/// None for the folder itself (`./`). The error is a fragment such as `a name with a backslash`.
pub(super) fn parts(raw: &[u8]) -> Result<Vec<String>, &'static str> {
    let path = std::str::from_utf8(raw).map_err(|_| "a name that is not UTF-8")?;
    if path.is_empty() {
        return Err("an empty name");
    }
    if path.len() > LONGEST_PATH {
        return Err("a path of more than 1024 bytes");
    }
    if path.starts_with('/') {
        return Err("an absolute path");
    }
    if path.contains('\\') {
        return Err("a name with a backslash");
    }
    if path.chars().any(char::is_control) {
        return Err("a name with a control character");
    }
    let mut rest = path;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() || rest == "." {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = rest.split('/').collect();
    if parts.len() > DEEPEST {
        return Err("more than 64 folders inside of each other");
    }
    for (index, part) in parts.iter().enumerate() {
        match *part {
            "" => return Err("a path with an empty name"),
            "." => return Err("a path with `.` in it"),
            ".." => return Err("a path with `..` in it"),
            part if part.len() > LONGEST_NAME => return Err("a name of more than 255 bytes"),
            part if index == 0 && is_drive(part) => return Err("a path with a drive letter"),
            _ => {}
        }
    }
    Ok(parts.into_iter().map(str::to_owned).collect())
}

fn is_drive(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Checks where a symbolic link in a folder of this depth leads.
///
/// `..` may stand at the beginning only, and leads up through real folders; what follows leads down, maybe over other
/// links, which are checked in the same way. So no chain of links leaves the archive.
pub(super) fn link_target(raw: &[u8], depth: usize) -> Result<String, &'static str> {
    let target = std::str::from_utf8(raw).map_err(|_| "a link to a name that is not UTF-8")?;
    if target.is_empty() || target.len() > LONGEST_PATH {
        return Err("a link to nothing or to a path of more than 1024 bytes");
    }
    if target.starts_with('/') || target.contains('\\') || target.chars().any(char::is_control) {
        return Err("a link to an absolute or odd path");
    }
    let mut up = 0;
    let mut down = false;
    for part in target.split('/') {
        match part {
            ".." if down => return Err("a link whose `..` is not at its beginning"),
            ".." => up += 1,
            "." | "" => {}
            _ => down = true,
        }
    }
    if up > depth { Err("a link that leads out of the archive") } else { Ok(target.to_owned()) }
}

/// A name as the most forgetful file system has it: one Unicode form, one letter case, without dots and spaces at its
/// end. Two names of one fold cannot both be unpacked everywhere.
fn fold(name: &str) -> String {
    let lower: String = name.nfkd().collect::<String>().to_lowercase();
    let upper: String = lower.to_uppercase().to_lowercase().nfkc().collect();
    upper.trim_end_matches(['.', ' ']).to_owned()
}

/// Two numbers for a path: equal first numbers collide, equal second numbers too are the same path.
pub(super) fn keys(parts: &[String]) -> (u64, u64) {
    let folded: Vec<String> = parts.iter().map(|part| fold(part)).collect();
    (number(&folded.join("/")), number(&parts.join("/")))
}

/// A million paths meet by chance once in 10^7 archives, and then the archive is refused.
fn number(text: &str) -> u64 {
    let digits = Sha256Digest::of(text).to_hex();
    u64::from_str_radix(&digits[..16], 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_are_refused() {
        for (name, wrong) in [
            ("", "an empty name"),
            ("/etc/passwd", "an absolute path"),
            ("../a", "a path with `..` in it"),
            ("a/../b", "a path with `..` in it"),
            ("a/..", "a path with `..` in it"),
            ("a//b", "a path with an empty name"),
            ("a/./b", "a path with `.` in it"),
            ("a\\b", "a name with a backslash"),
            ("C:/a", "a path with a drive letter"),
            ("c:a", "a path with a drive letter"),
            ("a\0b", "a name with a control character"),
            ("a\nb", "a name with a control character"),
        ] {
            assert_eq!(parts(name.as_bytes()), Err(wrong), "{name:?}");
        }
        assert_eq!(parts(b"\xff"), Err("a name that is not UTF-8"));
        assert_eq!(parts("a".repeat(256).as_bytes()), Err("a name of more than 255 bytes"));
        assert_eq!(
            parts("a/".repeat(65).as_bytes()),
            Err("more than 64 folders inside of each other")
        );
        assert_eq!(parts("a/".repeat(600).as_bytes()), Err("a path of more than 1024 bytes"));
    }

    #[test]
    fn names_that_are_taken() {
        assert_eq!(parts(b"./"), Ok(vec![]));
        assert_eq!(parts(b"."), Ok(vec![]));
        assert_eq!(parts(b"./a/b/").unwrap(), ["a", "b"]);
        assert_eq!(parts("modèle v1.0/x:y".as_bytes()).unwrap(), ["modèle v1.0", "x:y"]);
    }

    #[test]
    fn names_that_collide() {
        let key = |name: &str| keys(&[name.to_owned()]);
        for (one, other) in [
            ("A", "a"),
            ("é", "e\u{301}"),
            ("Straße", "STRASSE"),
            ("ﬁ", "fi"),
            ("a.", "a"),
            ("K", "\u{212a}"),
        ] {
            assert_eq!(key(one).0, key(other).0, "{one} {other}");
            assert_ne!(key(one).1, key(other).1, "{one} {other}");
        }
        assert_ne!(key("a").0, key("b").0);
    }

    #[test]
    fn links_stay_inside() {
        for good in ["a", "./a", "../a", "../b/c", "a/b"] {
            assert_eq!(link_target(good.as_bytes(), 1).unwrap(), good);
        }
        for bad in ["", "/a", "../../a", "a/../b", "b/..", "..\\a", "a\0"] {
            assert!(link_target(bad.as_bytes(), 1).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_below(raw in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(parts) = parts(&raw) {
                for part in parts {
                    prop_assert!(!part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']));
                }
            }
            if let Ok(target) = link_target(&raw, 2) {
                prop_assert!(!target.starts_with('/') && target.matches("..").count() <= raw.len());
            }
        }
    }
}
