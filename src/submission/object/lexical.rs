//! The gate on the raw text of a URL: its length, its characters and its three parts.
//!
//! Nothing is repaired here. A URL library mends what it can (control characters vanish, backslashes become
//! slashes, dot segments are resolved), and another client mends differently; a text that is not already in
//! normal form is therefore refused instead of being understood.

use url::Url;
use zeroize::Zeroizing;

use crate::submission::problem::{Code, Fault};

/// The longest URL in bytes; stores and proxies cut or refuse longer request lines.
pub const MAX_LENGTH: usize = 8192;

/// A URL is longer than stores take.
pub static URL_TOO_LONG: Code = Code {
    name: "url-too-long",
    summary: "a URL is longer than 8192 bytes",
    explanation: "Stores, proxies and HTTP libraries cut or refuse long request lines, and a signed URL works only \
as a whole. Signed URLs of every store that harness knows stay far below 8192 bytes. Sign again with fewer \
parameters, and look whether two URLs were pasted together.",
};

/// A URL holds a character that must not stand there unescaped.
pub static URL_CHARACTER: Code = Code {
    name: "url-character",
    summary: "a URL holds a character that must be percent-encoded or left out",
    explanation: "A URL goes on the wire byte for byte, so it may hold only printable ASCII, without spaces, quotes, \
angle brackets, backslashes, carets, backticks, braces and bars. HTTP clients treat all of these differently: some \
drop them, some encode them, some turn a backslash into a slash, and then another object is addressed than the one \
that was reviewed. Write the character as `%` and two hexadecimal digits (a space is `%20`), or copy the URL again \
if the character came from a line break or a chat program.",
};

/// A URL does not start with `https://` and a host.
pub static URL_SCHEME: Code = Code {
    name: "url-scheme",
    summary: "a URL does not start with `https://` and a host",
    explanation: "Signed URLs are bearer secrets and results must not be altered on the way, so only HTTPS is used. \
The text must start with exactly `https://` followed by the host; spellings such as `https:/host` or \
`https:host`, which browsers repair, are refused because other clients read them differently. For `s3://`, `gs://` \
or `oss://` addresses write the HTTPS address of the object or sign one.",
};

/// A URL carries a fragment.
pub static URL_FRAGMENT: Code = Code {
    name: "url-fragment",
    summary: "a URL holds `#`",
    explanation: "Everything after `#` is a fragment, which is never sent to the server, so the object that is \
addressed is not the one that the text seems to name. Leave the fragment out; where `#` belongs to the object's \
key, write it as `%23`.",
};

/// A URL carries a user name, a password or an empty user part.
pub static URL_USERINFO: Code = Code {
    name: "url-userinfo",
    summary: "a URL holds a user name or password before the host",
    explanation: "A part before `@` is read as user name and password; URL libraries drop an empty one silently, and \
`https://store.example@other.example/` goes to other.example. Object stores never need it. Leave it out; an `@` \
that belongs to the key may stand in the path.",
};

/// A URL is not in normal form.
pub static URL_NOT_NORMAL: Code = Code {
    name: "url-not-normal",
    summary: "a URL library would rewrite the URL",
    explanation: "HTTP clients rewrite some spellings before they send them: dot segments are resolved, odd ports \
dropped, some characters encoded. The rewritten URL breaks the signature or addresses another object. harness \
therefore accepts only URLs that a URL library gives back unchanged, apart from letter case in scheme and host and \
a written `:443`. Sign the URL again, or write the odd character as `%` and two hexadecimal digits (`'` in a query \
is `%27`).",
};

/// The parts of a URL, as they stand in the text.
pub(super) struct Parts<'a> {
    /// Between `https://` and the path.
    pub(super) authority: &'a str,
    /// From the first `/`; may be empty.
    pub(super) path: &'a str,
    /// After the first `?`, where there is one.
    pub(super) query: Option<&'a str>,
}

/// Checks the characters and splits the text.
pub(super) fn split(raw: &str) -> Result<Parts<'_>, Fault> {
    if raw.len() > MAX_LENGTH {
        return Err(Fault::new(
            &URL_TOO_LONG,
            format!("{} bytes", raw.len()),
            format!("at most {MAX_LENGTH} bytes"),
            "sign the URL again, and look whether two URLs were pasted together",
        ));
    }
    let query_start = raw.find('?').unwrap_or(raw.len());
    check_characters(raw, query_start)?;
    let rest = match raw.get(..8) {
        Some(scheme) if scheme.eq_ignore_ascii_case("https://") => &raw[8..],
        _ => return Err(wrong_scheme(raw)),
    };
    let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_end);
    if authority.is_empty() {
        return Err(Fault::new(
            &URL_SCHEME,
            "no host after `https://`",
            "`https://`, a host and the path of an object",
            "write the host of the store",
        ));
    }
    if authority.contains('@') {
        return Err(Fault::new(
            &URL_USERINFO,
            "an `@` before the path",
            "a host, without user name and password",
            "leave out everything from `https://` to the `@`, and write an `@` of the key in the path",
        ));
    }
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    Ok(Parts { authority, path, query })
}

fn check_characters(raw: &str, query_start: usize) -> Result<(), Fault> {
    for (column, (offset, character)) in raw.char_indices().enumerate() {
        if character == '#' {
            return Err(Fault::new(
                &URL_FRAGMENT,
                format!("a `#` at character {}", column + 1),
                "a URL without a fragment",
                "leave the fragment out, or write `%23` where the key holds a `#`",
            ));
        }
        let allowed = character.is_ascii_graphic()
            && !matches!(character, '\\' | '"' | '<' | '>' | '^' | '`' | '{' | '}' | '|');
        if allowed {
            continue;
        }
        // What stands in a query is never shown, not even one character of it.
        let found = if offset > query_start {
            format!("a character that is not allowed in the query, at character {}", column + 1)
        } else {
            format!("the character {character:?} at character {}", column + 1)
        };
        let remedy = if character.is_whitespace() || character.is_control() {
            "copy the URL again without spaces and line breaks; a space of the key is `%20`"
        } else {
            "write the character as `%` and two hexadecimal digits for each of its UTF-8 bytes"
        };
        return Err(Fault::new(
            &URL_CHARACTER,
            found,
            "printable ASCII without space, quotes, `<`, `>`, `\\`, `^`, backtick, `{`, `}` and `|`",
            remedy,
        ));
    }
    Ok(())
}

fn wrong_scheme(raw: &str) -> Fault {
    let named = raw.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.len() <= 16
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
    });
    let found = match named {
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => {
            "`https:` without `//` and a host".to_owned()
        }
        Some(scheme) => format!("the scheme `{scheme}`"),
        None => "no scheme".to_owned(),
    };
    Fault::new(
        &URL_SCHEME,
        found,
        "`https://`, a host and the path of an object",
        "write the object's HTTPS address, such as `https://BUCKET.s3.REGION.amazonaws.com/KEY`",
    )
}

/// Holds the text against what the URL library makes of it.
///
/// This catches dot segments (also encoded ones), odd ports, odd IPv4 and host spellings and characters that
/// the library encodes; it does not replace the checks of the single parts.
pub(super) fn check_round_trip(parts: &Parts<'_>, raw: &str) -> Result<(), Fault> {
    let authority = parts.authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(":443").unwrap_or(&authority);
    let mut expected = Zeroizing::new(String::with_capacity(raw.len() + 1));
    expected.push_str("https://");
    expected.push_str(authority);
    expected.push_str(if parts.path.is_empty() { "/" } else { parts.path });
    if let Some(query) = parts.query {
        expected.push('?');
        expected.push_str(query);
    }
    let printed = match Url::parse(raw) {
        Ok(url) => Zeroizing::new(String::from(url)),
        Err(error) => {
            return Err(Fault::new(
                &URL_NOT_NORMAL,
                format!("a URL that cannot be read: {error}"),
                "a URL that a URL library accepts",
                "look at the spelling of host and port",
            ));
        }
    };
    if *printed == *expected {
        return Ok(());
    }
    let place =
        printed.bytes().zip(expected.bytes()).take_while(|(left, right)| left == right).count();
    let before_path = "https://".len() + authority.len();
    let part = match place {
        _ if place < before_path => "host or port",
        _ if place < before_path + parts.path.len().max(1) => "path",
        _ => "query",
    };
    Err(Fault::new(
        &URL_NOT_NORMAL,
        format!("a {part} that URL libraries rewrite before sending"),
        "a URL that is sent exactly as it is written",
        "leave out `.` and `..` segments and write unusual characters as `%` and two hexadecimal digits",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(raw: &str) -> &'static str {
        match split(raw).and_then(|parts| check_round_trip(&parts, raw)) {
            Ok(()) => "",
            Err(fault) => fault.code.name,
        }
    }

    #[test]
    fn spellings_of_the_whole() {
        for (raw, expected) in [
            ("https://h.example/a", ""),
            ("HTTPS://H.Example:443/a?b=c", ""),
            ("https://h.example", ""),
            ("https://h.example?x=1", ""),
            ("https://h.example/a?", ""),
            ("https://h.example/a;b=c@d:e,f$g&h!*'()", ""),
            ("https://h.example/a@b", ""),
            ("http://h.example/a", "url-scheme"),
            ("s3://bucket/key", "url-scheme"),
            ("h.example/a", "url-scheme"),
            ("", "url-scheme"),
            ("https:h.example/a", "url-scheme"),
            ("https:/h.example/a", "url-scheme"),
            ("https:///h.example/a", "url-scheme"),
            ("https://", "url-scheme"),
            ("https:\\\\h.example\\a", "url-character"),
            (" https://h.example/a", "url-character"),
            ("https://h.example/a\n", "url-character"),
            ("https://h.exa\tmple/a", "url-character"),
            ("https://h.example/a b", "url-character"),
            ("https://h.example/\u{e9}", "url-character"),
            ("https://h.example/a?b=\u{e9}", "url-character"),
            ("https://h\u{3002}example/a", "url-character"),
            ("https://h.example/a|b", "url-character"),
            ("https://h.example/a^b", "url-character"),
            ("https://h.example/{a}", "url-character"),
            ("https://h.example/a#b", "url-fragment"),
            ("https://user:pw@h.example/a", "url-userinfo"),
            ("https://@h.example/a", "url-userinfo"),
            ("https://:@h.example/a", "url-userinfo"),
            ("https://h.example:0443/a", "url-not-normal"),
            ("https://h.example:/a", "url-not-normal"),
            ("https://h%2Eexample/a", "url-not-normal"),
            ("https://127.1/a", "url-not-normal"),
            ("https://0x7f.1/a", "url-not-normal"),
            ("https://2130706433/a", "url-not-normal"),
            ("https://1.2.3.4.5/a", "url-not-normal"),
            ("https://[0:0:0:0:0:0:0:1]/a", "url-not-normal"),
            ("https://h.example/a/../b", "url-not-normal"),
            ("https://h.example/a/%2e%2E/b", "url-not-normal"),
            ("https://h.example/a/..", "url-not-normal"),
            ("https://h.example/c:/../x", "url-not-normal"),
            ("https://h.example/a?b='c'", "url-not-normal"),
        ] {
            assert_eq!(code(raw), expected, "{raw:?}");
        }
        let longest = format!("https://h.example/{}", "a".repeat(MAX_LENGTH - 18));
        assert_eq!(code(&longest), "");
        assert_eq!(code(&format!("{longest}a")), "url-too-long");
    }

    #[test]
    fn rewritten_part_is_named() {
        for (raw, part) in [
            ("https://h.example:080/a", "host or port"),
            ("https://h.example/a/./b", "path"),
            ("https://h.example/a/.", "path"),
            ("https://h.example/a?b='", "query"),
            ("https://h.example:080", "host or port"),
            ("https://h.example/a/..", "path"),
            ("https://h.example/aa/..?b", "path"),
            ("https://h.example?b='", "query"),
        ] {
            let parts = split(raw).unwrap();
            let fault = check_round_trip(&parts, raw).unwrap_err();
            assert!(fault.found.contains(part), "{raw}: {}", fault.found);
        }
    }

    #[test]
    fn what_stands_in_place_of_the_scheme_is_told() {
        for (raw, found) in [
            ("http://h.example/a", "the scheme `http`"),
            ("svn+ssh://h.example/a", "the scheme `svn+ssh`"),
            ("HTTPS:h.example/a", "`https:` without `//` and a host"),
            ("https:/h.example/a", "`https:` without `//` and a host"),
            ("h.example/a", "no scheme"),
            // Whatever this is, it is not repeated.
            ("a-secret:x", "no scheme"),
            ("0123456789abcdef:x", "the scheme `0123456789abcdef`"),
            ("0123456789abcdefg:x", "no scheme"),
        ] {
            let Err(fault) = split(raw) else { panic!("{raw} is accepted") };
            assert_eq!(fault.found, found, "{raw}");
        }
    }

    #[test]
    fn the_remedy_fits_the_character() {
        for (raw, remedy) in [
            ("https://h.example/a b", "without spaces and line breaks"),
            ("https://h.example/a\u{7}", "without spaces and line breaks"),
            ("https://h.example/\u{e9}", "two hexadecimal digits"),
        ] {
            let Err(fault) = split(raw) else { panic!("{raw} is accepted") };
            assert!(fault.remedy.contains(remedy), "{raw:?}: {}", fault.remedy);
        }
    }

    #[test]
    fn no_character_of_a_query_is_shown() {
        let Err(fault) = split("https://h.example/a?token=canary\u{1F41F}") else {
            panic!("accepted")
        };
        assert!(!fault.found.contains('\u{1F41F}'), "{}", fault.found);
        assert!(fault.found.contains("character 33"), "{}", fault.found);
    }
}
