//! The headers that were signed into a PUT URL and therefore have to be sent with it.
//!
//! Values are never shown: some stores take credentials as headers.

use std::collections::BTreeMap;

use super::excerpt::excerpt;
use super::problem::{Code, Fault};

/// A header cannot be sent as it is declared.
pub static INVALID_HEADER: Code = Code {
    name: "header-invalid",
    summary: "a declared header cannot be sent",
    explanation: "`result_put_headers` lists the headers that were signed into `result_put_url`, with the exact values. A name is \
an RFC 9110 token, at most 128 characters, each name once whatever its case; a value is 1 to 2048 visible ASCII characters with \
single spaces inside. Headers that belong to the connection or that harness computes (`host`, `content-length`, \
`transfer-encoding`, `connection` and their like, `authorization`, `cookie`) cannot be declared, nor can a copy-source header, \
which would turn the write into a copy of another object.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&INVALID_HEADER];

const MAX_HEADERS: usize = 32;

/// Hop-by-hop fields (RFC 9110, section 7.6.1), and those that the client computes or must not send.
const RESERVED: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Adds one header under its lower-case name.
pub fn insert(
    headers: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
) -> Result<(), Fault> {
    let lower = name.to_ascii_lowercase();
    let found = if !is_token(name) || name.len() > 128 {
        format!("the header name {}", excerpt(name))
    } else if RESERVED.contains(&lower.as_str()) {
        format!("the header `{lower}`, which cannot be declared")
    } else if !is_value(value) {
        format!("a value of `{lower}` that cannot be sent")
    } else if headers.contains_key(&lower) {
        format!("the header `{lower}` a second time")
    } else if headers.len() == MAX_HEADERS {
        format!("more than {MAX_HEADERS} headers")
    } else {
        headers.insert(lower, value.to_owned());
        return Ok(());
    };
    Err(Fault::new(
        &INVALID_HEADER,
        found,
        "up to 32 headers that were signed into the URL, each once, with visible ASCII values",
        "declare exactly what was signed",
    ))
}

fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn is_value(value: &str) -> bool {
    (1..=2048).contains(&value.len())
        && value.bytes().all(|b| matches!(b, b' '..=b'~'))
        && value.trim() == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_checked_one_by_one() {
        let mut headers = BTreeMap::new();
        assert!(insert(&mut headers, "X-OSS-Forbid-Overwrite", "true").is_ok());
        assert!(insert(&mut headers, "content-type", "application/x-tar; charset=utf-8").is_ok());
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["content-type", "x-oss-forbid-overwrite"]);
        for (name, value) in [
            ("x-oss-forbid-overwrite", "true"),
            ("", "a"),
            ("a b", "a"),
            ("a:", "a"),
            ("ä", "a"),
            ("Host", "h"),
            ("Content-Length", "3"),
            ("Authorization", "canary"),
            ("x", ""),
            ("x", " a"),
            ("x", "a\r\nb: c"),
            ("x", "é"),
            ("x", &"v".repeat(2049)),
        ] {
            let fault = insert(&mut headers, name, value).unwrap_err();
            assert!(!format!("{fault:?}").contains("canary"));
        }
        for index in 0..30 {
            assert!(insert(&mut headers, &format!("x-{index}"), "a").is_ok());
        }
        assert!(insert(&mut headers, "x-more", "a").is_err());
    }
}
