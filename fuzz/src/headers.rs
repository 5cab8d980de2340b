//! Header fields of answers, those of stores and those of API servers.

use std::time::Duration;

use harness::cluster::headers as api;
use harness::execution::store::answer as store;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::common::first_line;

/// Lines: a status, fields as `name: value`, an empty line, the body.
///
/// Waits are bounded, ranges are sound, what is taken over from an error is a plain word, "exists" and "try again" are
/// never said of one answer, and each field that is written by its own rule reads back as what it says.
pub fn headers(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (status, rest) = first_line(&text);
    let (fields, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let status = status.trim().parse().unwrap_or(200);
    let mut map = HeaderMap::new();
    for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            map.append(name, value);
        }
    }
    check_fields(&map);
    check_refusal(status, &map, body.as_bytes());
    check_api(&map);
}

fn check_fields(map: &HeaderMap) {
    assert!(store::retry_after(map).is_none_or(|wait| wait <= Duration::from_mins(1)));
    if let Some((start, total)) = store::content_range(map) {
        assert!(total.is_none_or(|total| start < total));
        let total = total.map_or("*".to_owned(), |total| total.to_string());
        let written = format!("bytes {start}-{start}/{total}");
        let value = HeaderValue::from_str(&written).expect("it is plain");
        let again = HeaderMap::from_iter([(header::CONTENT_RANGE, value)]);
        assert_eq!(store::content_range(&again), store::content_range(map), "{written}");
    }
    if let Some(length) = store::content_length(map) {
        assert_eq!(map.get_all(header::CONTENT_LENGTH).iter().count(), 1);
        let text = map[header::CONTENT_LENGTH].to_str().expect("it was read");
        assert!(text.trim().trim_start_matches('0').ends_with(&length.to_string()) || length == 0);
        assert!(text.trim().bytes().all(|byte| byte.is_ascii_digit()), "{text:?} is a length");
    }
    if let Some(tag) = store::strong_etag(map) {
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() <= 256);
        // RFC 9110, section 8.8.3: it ends at its second quotation mark.
        assert_eq!(tag.matches('"').count(), 2, "{tag:?} is a tag");
    }
    if let Some(encoding) = store::encoding(map) {
        assert!(is_harmless(&encoding.replace(' ', "")), "{encoding:?}");
    }
}

fn is_harmless(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 64
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn check_refusal(status: u16, map: &HeaderMap, body: &[u8]) {
    let refusal = store::refusal(status, map, body);
    assert_eq!(refusal.status, status);
    assert!(refusal.code.as_deref().is_none_or(is_harmless), "{refusal:?}");
    let says =
        [store::is_exists(&refusal), store::is_transient(&refusal), store::is_race(&refusal)];
    assert!(says.into_iter().filter(|says| *says).count() <= 1, "{refusal:?} {says:?}");
    assert!(!says[0] || matches!(status, 304 | 409 | 412), "{refusal:?}");
    assert!(refusal.to_string().len() < 200);
}

fn check_api(map: &HeaderMap) {
    let text = |name| {
        map.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default()
    };
    let wait = api::retry_after(text(header::RETRY_AFTER));
    assert!(wait.is_none_or(|wait| wait <= Duration::from_hours(24)));
    let media_type = api::media_type(text(header::CONTENT_TYPE));
    assert_eq!(media_type, api::media_type(&media_type.to_uppercase()));
    assert!(!media_type.contains(';') && media_type.len() <= 128 + '…'.len_utf8());
    if let Some(date) = api::date(text(header::DATE)) {
        let written = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date);
        if let Ok(written) = written {
            assert_eq!(api::date(&written), Some(date), "{written}");
        }
    }
    let warnings = api::warnings(map.get_all(header::WARNING).iter().map(HeaderValue::as_bytes));
    assert!(
        warnings.len() <= 32
            && warnings.iter().all(|warning| warning.len() <= 1024 + '…'.len_utf8())
    );
}
