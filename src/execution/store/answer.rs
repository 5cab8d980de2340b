//! What a store's answer says: its own error code, when to come back, which part of an object. Pure.
//!
//! All of it is text that is not ours: bounded, and nothing else than what its form allows is taken over.

use std::time::Duration;

use ureq::http::{HeaderMap, header};

use super::outcome::Refusal;

/// How much of an error's body is read, in bytes; S3's are about 300.
pub const LONGEST_ERROR: u64 = 8 * 1024;

/// The longest wait that a store can ask for.
const LONGEST_WAIT: u64 = 60;

/// The store's error code from the header (Azure), XML (S3, OSS, GCS, COS, OBS, Azure) or JSON (GCS, others).
pub fn code(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let header = headers.get("x-ms-error-code").and_then(|value| value.to_str().ok());
    header.and_then(plain).or_else(|| xml_code(body)).or_else(|| json_code(body))
}

fn plain(text: &str) -> Option<String> {
    let plain = !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    plain.then(|| text.to_owned())
}

fn xml_code(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    plain(code.trim())
}

fn json_code(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = value.get("error").unwrap_or(&value);
    ["code", "status", "reason"].into_iter().find_map(|name| match error.get(name)? {
        serde_json::Value::String(text) => plain(text),
        serde_json::Value::Number(number) => plain(&number.to_string()),
        _ => None,
    })
}

/// A refusal from an answer's parts.
pub fn refusal(status: u16, headers: &HeaderMap, body: &[u8]) -> Refusal {
    let code = code(headers, body);
    let expired = String::from_utf8_lossy(body).to_ascii_lowercase().contains("expired");
    Refusal { status, code, expired, redirect: None }
}

/// Whether another try may be answered otherwise. S3 says 400 `RequestTimeout` to a body that came too slowly.
pub fn is_transient(refusal: &Refusal) -> bool {
    matches!(refusal.status, 408 | 425 | 429 | 500..=599)
        || refusal.status == 400 && refusal.code.as_deref() == Some("RequestTimeout")
}

/// Whether a PUT was refused because the object exists: 412 (S3, R2, `MinIO`, GCS, Azure), 409 with a code of its own
/// (OSS, COS, OBS, Azure), 304 (old releases of `MinIO`).
pub fn is_exists(refusal: &Refusal) -> bool {
    let code = refusal.code.as_deref().unwrap_or_default();
    match refusal.status {
        412 | 304 => true,
        409 => code.ends_with("AlreadyExists") || code == "PreconditionFailed",
        _ => false,
    }
}

/// Whether two writers met, of which neither may have won: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>.
pub fn is_race(refusal: &Refusal) -> bool {
    let code = refusal.code.as_deref().unwrap_or_default();
    refusal.status == 409 && ["ConditionalRequestConflict", "OperationAborted"].contains(&code)
}

/// `Retry-After` in seconds, at most a minute; a date is not taken, since whose clock it follows is unknown.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = number(text)?;
    Some(Duration::from_secs(seconds.min(LONGEST_WAIT)))
}

/// `Content-Range: bytes START-END/TOTAL` (RFC 9110, section 14.4): start and total.
pub fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (number(start)?, number(end)?);
    let total = match total {
        "*" => None,
        total => Some(number(total)?),
    };
    let sound = start <= end && total.is_none_or(|total: u64| end < total);
    sound.then_some((start, total))
}

/// `Content-Length`, if it is one number.
pub fn content_length(headers: &HeaderMap) -> Option<u64> {
    let mut all = headers.get_all(header::CONTENT_LENGTH).iter();
    let first = all.next()?.to_str().ok()?;
    if all.next().is_some() { None } else { number(first.trim()) }
}

/// Digits and nothing else: Rust also takes a plus sign, which other readers of the same header refuse.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A strong entity tag, which names these very bytes (RFC 9110, section 8.8.3); weak ones do not.
pub fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::ETAG)?.to_str().ok()?;
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    // It goes back to the store in a header, where a second quotation mark would end it.
    let is_plain = inner.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    (!inner.is_empty() && text.len() <= 256 && is_plain).then(|| text.to_owned())
}

/// `Content-Encoding` other than `identity`.
pub fn encoding(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!text.eq_ignore_ascii_case("identity"))
        .then(|| plain(text).unwrap_or_else(|| "of an odd name".to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ureq::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    #[test]
    fn codes_of_every_store() {
        let none = headers(&[]);
        let of = |body: &str| code(&none, body.as_bytes());
        assert_eq!(of("<?xml?><Error><Code>NoSuchKey</Code></Error>").unwrap(), "NoSuchKey");
        assert_eq!(of(r#"{"error":{"code":404,"message":"x"}}"#).unwrap(), "404");
        assert_eq!(of(r#"{"code":"AccessDenied"}"#).unwrap(), "AccessDenied");
        let azure = headers(&[("x-ms-error-code", "BlobNotFound")]);
        assert_eq!(code(&azure, b"").unwrap(), "BlobNotFound");
        for odd in [
            "",
            "<Code>",
            "<Code></Code>",
            "<Code>a?X-Sig=b</Code>",
            "<html>no</html>",
            "[]",
            "\u{1b}",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
        assert_eq!(of(&format!("<Code>{}</Code>", "a".repeat(65))), None);
    }

    #[test]
    fn which_put_met_an_object() {
        let of = |status, code: &str| Refusal {
            status,
            code: Some(code.to_owned()),
            expired: false,
            redirect: None,
        };
        for (status, name) in [
            (412, "PreconditionFailed"),
            (409, "FileAlreadyExists"),
            (409, "ObjectAlreadyExists"),
            (409, "BlobAlreadyExists"),
        ] {
            assert!(is_exists(&of(status, name)), "{status} {name}");
            assert!(!is_race(&of(status, name)));
        }
        assert!(is_race(&of(409, "ConditionalRequestConflict")));
        assert!(!is_exists(&of(409, "ConditionalRequestConflict")));
        assert!(!is_exists(&of(403, "AccessDenied")));
        assert!(is_transient(&of(503, "SlowDown")));
        assert!(is_transient(&of(400, "RequestTimeout")));
        assert!(!is_transient(&of(400, "InvalidRequest")));
        assert!(!is_transient(&of(404, "NoSuchKey")));
    }

    #[test]
    fn headers_are_read_strictly() {
        let range = |text| content_range(&headers(&[("content-range", text)]));
        assert_eq!(range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(range("bytes 5-9/*"), Some((5, None)));
        for odd in [
            "bytes +5-9/10",
            "bytes 5-9/+10",
            "bytes 9-5/10",
            "bytes 5-10/10",
            "bytes */10",
            "5-9/10",
            "bytes a-b/c",
            "",
        ] {
            assert_eq!(range(odd), None, "{odd}");
        }
        let wait = |text| retry_after(&headers(&[("retry-after", text)]));
        assert_eq!(wait("3"), Some(Duration::from_secs(3)));
        assert_eq!(wait("86400"), Some(Duration::from_mins(1)));
        assert_eq!(wait("-1"), None);
        assert_eq!(wait("+1"), None);
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), None);
        let tag = |text| strong_etag(&headers(&[("etag", text)]));
        assert_eq!(tag("\"abc\"").unwrap(), "\"abc\"");
        assert_eq!(tag("W/\"abc\""), None);
        for odd in ["\"a\"b\"", "\"", "\"\"", "\"a b\"", "abc"] {
            assert_eq!(tag(odd), None, "{odd}");
        }
        assert_eq!(content_length(&headers(&[("content-length", "+5")])), None);
        let twice = headers(&[("content-length", "5"), ("content-length", "6")]);
        assert_eq!(content_length(&twice), None);
        assert_eq!(encoding(&headers(&[("content-encoding", "identity")])), None);
        assert_eq!(encoding(&headers(&[("content-encoding", "gzip")])).unwrap(), "gzip");
    }

    proptest! {
        #[test]
        fn ranges_read_back(start in any::<u64>(), length in 1..u64::MAX, behind in 0..1000_u64) {
            let end = start.saturating_add(length - 1);
            prop_assume!(end < u64::MAX - behind);
            let total = end + 1 + behind;
            let of = |text: String| content_range(&headers(&[("content-range", &text)]));
            prop_assert_eq!(of(format!("bytes {start}-{end}/{total}")), Some((start, Some(total))));
            prop_assert_eq!(of(format!("bytes {start}-{end}/*")), Some((start, None)));
            // A total that does not hold its own part.
            prop_assert_eq!(of(format!("bytes {start}-{end}/{end}")), None);
        }

        #[test]
        fn nothing_but_plain_words_is_taken_over(body in "\\PC{0,200}", value in "[ -~]{0,80}") {
            let map = headers(&[
                ("x-ms-error-code", &value), ("content-range", &value), ("retry-after", &value),
                ("content-length", &value), ("etag", &value), ("content-encoding", &value),
            ]);
            for found in [code(&map, body.as_bytes()), code(&headers(&[]), format!("<Code>{body}</Code>").as_bytes())] {
                prop_assert!(found.is_none_or(|code| plain(&code).is_some()));
            }
            let _ = (content_range(&map), content_length(&map), strong_etag(&map), encoding(&map));
            prop_assert!(retry_after(&map).is_none_or(|wait| wait.as_secs() <= LONGEST_WAIT));
        }
    }
}
