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
1 to 128 letters, digits, hyphens and underscores, each name once whatever its case; a value is 1 to 4096 printable ASCII characters \
without a space at either end. Headers that belong to the connection or that harness computes (`host`, `content-length`, \
`transfer-encoding` and their like) cannot be declared, `authorization` contradicts a signed URL, and a copy-source header would \
turn the write into a copy of another object.",
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
    "if-match",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Parts of names of headers that make another request of the PUT, such as `x-amz-copy-source`.
const OTHER_OPERATIONS: &[&str] =
    &["copy-source", "rename-source", "write-offset-bytes", "symlink-target"];

/// Adds one header under its lower-case name.
pub fn insert(
    headers: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
) -> Result<(), Fault> {
    let lower = name.to_ascii_lowercase();
    let found = if let Some(found) = wrong(&lower, value) {
        found
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
        "up to 32 headers that were signed into the URL, each once, with printable ASCII values",
        "declare only what was signed, and sign without what cannot be declared",
    ))
}

/// What is wrong with a header, given its lower-case name.
pub(super) fn wrong(lower: &str, value: &str) -> Option<String> {
    let changes_operation = OTHER_OPERATIONS.iter().any(|part| lower.contains(part));
    if !is_name(lower) {
        Some(format!("the header name {}", excerpt(lower)))
    } else if RESERVED.contains(&lower) {
        Some(format!("the header `{lower}`, which cannot be declared"))
    } else if changes_operation {
        Some(format!("the header `{lower}`, which is not a plain write"))
    } else if lower == "x-ms-blob-type" && value != "BlockBlob" {
        Some("an `x-ms-blob-type` other than `BlockBlob`".to_owned())
    } else if lower == "x-goog-resumable" {
        Some("the header `x-goog-resumable`, which starts an upload instead of doing it".to_owned())
    } else if !is_value(value) {
        Some(format!("a value of `{lower}` that cannot be sent"))
    } else {
        None
    }
}

/// Narrower than an RFC 9110 token: no store has a header with other characters.
fn is_name(lower: &str) -> bool {
    (1..=128).contains(&lower.len())
        && lower
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

fn is_value(value: &str) -> bool {
    (1..=4096).contains(&value.len())
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
            ("x-amz-copy-source", "/bucket/canary"),
            ("x-goog-resumable", "start"),
            ("x-ms-blob-type", "PageBlob"),
            ("x!", "a"),
            ("x", ""),
            ("x", " a"),
            ("x", "a\r\nb: c"),
            ("x", "é"),
            ("x", &"v".repeat(4097)),
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
