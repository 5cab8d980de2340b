//! The few header fields of an answer that mean something to harness.
//!
//! Pure, and lenient: a field that cannot be read is a field that is not there.

use std::time::Duration;

use jiff::Timestamp;

use super::text::bounded;

/// A server that asks for more patience than this is not waited for anyway.
const LONGEST_RETRY_AFTER: u64 = 24 * 60 * 60;

/// More warnings than these are dropped.
const MOST_WARNINGS: usize = 32;

/// Bytes kept of one warning.
const LONGEST_WARNING: usize = 1024;

/// `Retry-After` in seconds; the other form, a date, is not used by Kubernetes.
pub fn retry_after(value: &str) -> Option<Duration> {
    let seconds: u64 = value.trim().parse().ok()?;
    (seconds <= LONGEST_RETRY_AFTER).then(|| Duration::from_secs(seconds))
}

/// `Date`, as [RFC 9110, section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7) has it.
pub fn date(value: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value.trim()).ok()
}

/// The media type of `Content-Type`, in lower case and without parameters.
pub fn media_type(value: &str) -> String {
    let essence = value.split(';').next().unwrap_or_default().trim();
    bounded(&essence.to_ascii_lowercase(), 128)
}

/// The texts of `Warning` fields: `299 AGENT "TEXT"`, several in one field after commas
/// ([RFC 7234, section 5.5](https://www.rfc-editor.org/rfc/rfc7234#section-5.5)).
pub fn warnings<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut texts = Vec::new();
    for field in fields {
        let field = String::from_utf8_lossy(field);
        let mut rest = &*field;
        while let Some((text, after)) = quoted(rest) {
            if texts.len() == MOST_WARNINGS {
                return texts;
            }
            texts.push(bounded(&text, LONGEST_WARNING));
            // An optional quoted date may follow the text, before the comma.
            match after.split_once(',') {
                Some((_, next)) => rest = next,
                None => break,
            }
        }
    }
    texts
}

/// The first quoted string of `text`, unescaped, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (_, inside) = text.split_once('"')?;
    let mut unescaped = String::new();
    let mut characters = inside.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((unescaped, &inside[index + 1..])),
            '\\' => unescaped.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => unescaped.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_retry_after() {
        assert_eq!(retry_after(" 7 "), Some(Duration::from_secs(7)));
        for odd in ["", "-1", "1.5", "soon", "99999999999999999999", "86401"] {
            assert_eq!(retry_after(odd), None, "{odd}");
        }
    }

    #[test]
    fn date_of_an_answer() {
        let expected: Timestamp = "2026-11-30T02:40:15Z".parse().unwrap();
        assert_eq!(date("Mon, 30 Nov 2026 02:40:15 GMT"), Some(expected));
        assert_eq!(date("yesterday"), None);
    }

    #[test]
    fn media_types_without_parameters() {
        assert_eq!(media_type("Application/JSON; charset=utf-8"), "application/json");
        assert_eq!(media_type(""), "");
    }

    #[test]
    fn warnings_of_several_fields() {
        let fields: [&[u8]; 4] = [
            br#"299 - "unknown field \"spec.x\"""#,
            br#"299 - "one, two", 299 - "three" "Mon, 30 Nov 2026 02:40:15 GMT""#,
            b"299 - no quotes",
            br#"299 - "no end"#,
        ];
        let texts = warnings(fields.into_iter());
        assert_eq!(texts, [r#"unknown field "spec.x""#, "one, two", "three"]);
    }

    #[test]
    fn a_flood_of_warnings_is_bounded() {
        let long = format!("299 - \"{}\"", "x".repeat(100_000));
        let texts = warnings(std::iter::repeat_n(long.as_bytes(), 1000));
        assert_eq!(texts.len(), MOST_WARNINGS);
        assert!(texts.iter().all(|text| text.len() <= LONGEST_WARNING + '…'.len_utf8()));
    }
}
