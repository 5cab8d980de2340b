//! Object identity, by what may not change it and what must.

use std::fmt::Write as _;

use harness::submission::ObjectUrl;
use harness::submission::object::{Comparison, EndpointAliases, compare};
use percent_encoding::percent_decode_str;

use crate::common::{CANARY, check_fault, first_line};

/// Lines: a URL, another one, and words that choose how the first is spelt anew.
///
/// Another spelling that the rules call equal (case of scheme, host and escapes, the port 443, the order of parameters,
/// escapes that are not needed) has the same identity; another letter or digit in the path has not; a comparison is
/// symmetric and agrees with identities; nothing of a query is shown.
pub fn object_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (raw, rest) = first_line(text);
    let (other, choices) = first_line(rest);
    let url = match ObjectUrl::parse(raw) {
        Ok(url) => url,
        Err(fault) => {
            check_fault(&fault);
            return check_hidden(raw, &format!("{fault:?}"));
        }
    };
    assert_eq!(ObjectUrl::parse(raw).as_ref(), Ok(&url));
    assert_eq!(url.expose(), raw);
    check_shown(&url);
    check_equal_spellings(&url, choices.as_bytes());
    check_other_paths(&url, choices.as_bytes());
    if let Ok(other) = ObjectUrl::parse(other) {
        check_pair(&url, &other);
    }
}

/// What stands in the query alone is in no text about the URL, but for the names of parameters that have a value.
fn check_hidden(raw: &str, shown: &str) {
    let (before, query) = raw.split_once('?').unwrap_or((raw, ""));
    let names = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name);
    let is_canary = |text: &str| {
        text.contains(CANARY) || percent_decode_str(text).decode_utf8_lossy().contains(CANARY)
    };
    assert!(names.chain([before]).any(is_canary) || !shown.contains(CANARY), "{shown}");
}

fn check_shown(url: &ObjectUrl) {
    url.notes().iter().for_each(check_fault);
    let without = url.without_query();
    assert!(without.bytes().all(|byte| byte.is_ascii_graphic()) && !without.contains(['?', '#']));
    let mut shown = format!("{url} {url:?} {:?} {without}", url.notes());
    // On a host of no known store the query may select the object; only there is it a part of the name.
    if url.notes().iter().all(|note| note.code.name != "url-query-identity") {
        write!(shown, "{:?}", url.identity()).expect("writing to a String");
    }
    check_hidden(url.expose(), &shown);
}

fn assert_same(url: &ObjectUrl, spelling: &str) {
    let other = ObjectUrl::parse(spelling).unwrap_or_else(|fault| panic!("{spelling}: {fault:?}"));
    assert_same_object(url, &other);
}

fn assert_same_object(url: &ObjectUrl, other: &ObjectUrl) {
    assert_eq!(url.identity(), other.identity(), "{} {}", url.expose(), other.expose());
    assert_eq!(url.identity().result_identity(), other.identity().result_identity());
    assert_eq!(url.version(), other.version());
    assert_eq!(compare(url, other, &EndpointAliases::default()), Comparison::Same);
}

/// Scheme with `://`, authority, path with its slash, query with its question mark.
fn parts(raw: &str) -> [&str; 4] {
    let (scheme, rest) = raw.split_at("https://".len());
    let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    [scheme, authority, path, query]
}

fn check_equal_spellings(url: &ObjectUrl, choices: &[u8]) {
    let [scheme, authority, path, query] = parts(url.expose());
    assert_same(
        url,
        &format!("{}{}{path}{query}", scheme.to_uppercase(), authority.to_uppercase()),
    );
    if !authority.contains(':') {
        assert_same(url, &format!("{scheme}{authority}:443{path}{query}"));
    }
    assert_same(url, &format!("{scheme}{authority}{}{query}", with_other_digits(path)));
    if let Some(parameters) = query.strip_prefix('?') {
        let mut reversed: Vec<&str> = parameters.split('&').collect();
        reversed.reverse();
        assert_same(url, &format!("{scheme}{authority}{path}?{}", reversed.join("&")));
    }
    // Where bucket and key part, stores want it plain, so such a spelling may be refused; it is never another object.
    if let Ok(other) =
        ObjectUrl::parse(&format!("{scheme}{authority}{}{query}", respelt(path, choices)))
    {
        assert_same_object(url, &other);
    }
}

/// Escapes with the other case of their digits.
fn with_other_digits(path: &str) -> String {
    let mut left = 0;
    let flip = |character: char| match character {
        'a'..='f' => character.to_ascii_uppercase(),
        'A'..='F' => character.to_ascii_lowercase(),
        _ => character,
    };
    let spell = |character: char| {
        if character == '%' {
            left = 2;
            return character;
        }
        let is_digit = left > 0;
        left = if is_digit { left - 1 } else { 0 };
        if is_digit { flip(character) } else { character }
    };
    path.chars().map(spell).collect()
}

/// The same bytes, each escaped or not as the choices go; slashes stay as they are.
fn respelt(path: &str, choices: &[u8]) -> String {
    let mut spelt = String::new();
    let mut rest = path;
    let mut index = 0;
    while let Some(character) = rest.chars().next() {
        let choice = choices.get(index % choices.len().max(1)).copied().unwrap_or_default();
        index += 1;
        let escape = rest.strip_prefix('%').and_then(|digits| digits.get(..2));
        let byte = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let written = if escape.is_some() { 3 } else { character.len_utf8() };
        let decoded = byte.or_else(|| u8::try_from(character).ok());
        match decoded {
            // RFC 3986, section 2.3: escaped or not, these are the same.
            Some(byte) if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) => {
                match choice % 3 {
                    0 => spelt.push(byte.into()),
                    1 => write!(spelt, "%{byte:02X}").expect("writing to a String"),
                    _ => write!(spelt, "%{byte:02x}").expect("writing to a String"),
                }
            }
            _ => spelt.push_str(&rest[..written]),
        }
        rest = &rest[written..];
    }
    spelt
}

/// Another letter or digit in the path, at one place, is another object or is refused.
fn check_other_paths(url: &ObjectUrl, choices: &[u8]) {
    let [scheme, authority, path, query] = parts(url.expose());
    let places: Vec<usize> = plain_places(path);
    let (Some(place), Some(letter)) = (choices.first(), choices.get(1)) else { return };
    let Some(at) = places.get(usize::from(*place) % places.len().max(1)).copied() else { return };
    let letter = char::from(*letter);
    if !letter.is_ascii_alphanumeric() || path[at..].starts_with(letter) {
        return;
    }
    let changed = format!("{}{letter}{}", &path[..at], &path[at + 1..]);
    if let Ok(other) = ObjectUrl::parse(&format!("{scheme}{authority}{changed}{query}")) {
        assert_ne!(url.identity(), other.identity(), "{} {}", url.expose(), other.expose());
        assert_ne!(url.identity().result_identity(), other.identity().result_identity());
        assert_ne!(compare(url, &other, &EndpointAliases::default()), Comparison::Same);
    }
}

/// Where letters and digits stand that are no part of an escape.
fn plain_places(path: &str) -> Vec<usize> {
    let bytes = path.as_bytes();
    let is_escape = |index: usize| {
        (1..=2).any(|back| index.checked_sub(back).is_some_and(|before| bytes[before] == b'%'))
    };
    (0..bytes.len())
        .filter(|index| bytes[*index].is_ascii_alphanumeric() && !is_escape(*index))
        .collect()
}

fn check_pair(one: &ObjectUrl, other: &ObjectUrl) {
    let aliases = EndpointAliases::default();
    let compared = compare(one, other, &aliases);
    assert_eq!(compared, compare(other, one, &aliases));
    let is_identical = one.identity() == other.identity();
    assert_eq!(
        is_identical,
        one.identity().result_identity() == other.identity().result_identity()
    );
    match compared {
        Comparison::Same => {}
        Comparison::Different => assert!(!is_identical),
        Comparison::Ambiguous(fault) => {
            assert!(!is_identical);
            check_fault(&fault);
            let raw = format!(
                "{}{}",
                parts(one.expose())[..3].concat(),
                parts(other.expose())[..3].concat()
            );
            check_hidden(&raw, &format!("{fault:?}"));
        }
    }
}
