//! Signed life, held against an oracle that reads the same parameters in another way.

use std::collections::BTreeMap;

use harness::submission::ObjectUrl;
use harness::submission::presign::{
    MARGIN, Method, Signature, Signed, check_life, headers_to_send, inspect,
};
use jiff::{SignedDuration, Timestamp};

use crate::common::{CANARY, check_fault, first_line};

/// Lines: the method and perhaps the end of the credentials, a URL, and headers that were signed.
///
/// A signature never lives longer than any end that the URL or the credentials state, life is checked with its margin, and
/// no part of a signature is in any text.
pub fn presign(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (terms, rest) = first_line(text);
    let (raw, rest) = first_line(rest);
    let (method, end) = terms.split_once(' ').unwrap_or((terms, ""));
    let method = if method == "PUT" { Method::Put } else { Method::Get };
    let end: Option<Timestamp> = end.parse().ok();
    let declared: BTreeMap<String, String> = rest
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let Ok(url) = ObjectUrl::parse(raw) else { return };
    let found = inspect(&url, method, &declared, end);
    assert_eq!(found, inspect(&url, method, &declared, end));
    let before = format!("{terms}{}{rest}", raw.split('?').next().unwrap_or_default());
    assert!(before.contains(CANARY) || !format!("{found:?}").contains(CANARY), "{found:?}");
    match found {
        Err(faults) => {
            assert!(!faults.is_empty());
            faults.iter().for_each(check_fault);
        }
        Ok(Signed::Unsigned) => {}
        Ok(Signed::Signed(signature)) => check(&signature, raw, method, end, &declared),
    }
}

fn check(
    signature: &Signature,
    raw: &str,
    method: Method,
    end: Option<Timestamp>,
    declared: &BTreeMap<String, String>,
) {
    signature.notes.iter().for_each(check_fault);
    let expires = signature.expires.expect("an end that is not known is a fault");
    let bounds = bounds(raw);
    assert!(!bounds.is_empty(), "{raw} states no end, and {expires} was found");
    for bound in bounds {
        assert!(expires <= bound, "{expires} is later than {bound} in {raw}");
    }
    if signature.temporary {
        assert!(end.is_none_or(|end| expires <= end), "{expires} is later than {end:?}");
    }
    if method == Method::Put {
        let guard = signature.guard.as_ref().expect("a PUT without guard is a fault");
        let sent = headers_to_send(signature, declared);
        assert_eq!(sent.get(&guard.name), Some(&guard.value));
        assert!(declared.keys().all(|name| sent.contains_key(&name.to_ascii_lowercase())));
    }
    for now in [expires, expires - SignedDuration::from_hours(1)] {
        for needed in [now, expires - MARGIN, expires] {
            if let Err(fault) = check_life(signature, now, needed) {
                check_fault(&fault);
            } else {
                assert!(needed + MARGIN <= expires + SignedDuration::from_secs(1));
            }
        }
    }
}

/// Every end that the parameters state, by their meaning alone and whatever else there is.
fn bounds(raw: &str) -> Vec<Timestamp> {
    let query = raw.split_once('?').map_or("", |(_, query)| query);
    let all: BTreeMap<String, String> = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let get = |name: &str| all.get(name).map(String::as_str);
    let epoch = |text: &str| Timestamp::from_second(text.parse().ok()?).ok();
    let mut bounds = Vec::new();
    for scheme in ["X-Amz-", "X-Goog-", "x-oss-"] {
        let part = |lower: &str, upper: &str| {
            let name = if scheme == "x-oss-" { lower } else { upper };
            get(&format!("{scheme}{name}"))
        };
        let (date, life) = (part("date", "Date"), part("expires", "Expires"));
        let date = date.and_then(|date| {
            let date = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date).ok()?;
            jiff::tz::Offset::UTC.to_timestamp(date).ok()
        });
        let life = life.and_then(|life| life.parse::<i64>().ok());
        if let (Some(date), Some(life)) = (date, life) {
            bounds.extend(date.checked_add(SignedDuration::from_secs(life)).ok());
        }
    }
    if get("x-oss-signature-version") == Some("OSS2") {
        bounds.extend(get("x-oss-expires").and_then(epoch));
    }
    bounds.extend(get("Expires").and_then(epoch));
    for name in ["q-sign-time", "q-key-time"] {
        let end = get(name).and_then(|window| window.split_once(';'));
        bounds.extend(end.and_then(|(_, end)| epoch(end)));
    }
    // Elsewhere they may be parameters of any meaning.
    let azure: &[&str] =
        if get("sig").is_some() && get("sv").is_some() { &["se", "ske"] } else { &[] };
    for name in azure {
        let Some(text) = get(name) else { continue };
        let minutes = text.strip_suffix('Z').filter(|text| text.len() == 16);
        let text = match (text.len(), minutes) {
            (10, _) => format!("{text}T00:00:00Z"),
            (_, Some(minutes)) => format!("{minutes}:00Z"),
            _ => text.to_owned(),
        };
        bounds.extend(text.parse::<Timestamp>().ok());
    }
    bounds
}

/// Percent-decoded; a `+` is left as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let (b'%', Some(byte)) = (first, byte) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
