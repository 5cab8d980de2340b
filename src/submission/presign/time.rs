//! The times of signatures, in exactly the forms that stores accept.
//!
//! General date parsers accept more forms than stores do; a form that a store refuses must not pass here.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// `20261201T080000Z`, the basic form of ISO 8601 in UTC.
pub(super) fn basic(text: &str) -> Option<Timestamp> {
    let [y1, y2, y3, y4, m1, m2, d1, d2, b'T', rest @ ..] = text.as_bytes() else { return None };
    let [h1, h2, n1, n2, s1, s2, b'Z'] = rest else { return None };
    timestamp(
        number(&[*y1, *y2, *y3, *y4])?,
        [number(&[*m1, *m2])?, number(&[*d1, *d2])?, number(&[*h1, *h2])?, number(&[*n1, *n2])?],
        number(&[*s1, *s2])?,
        0,
    )
}

/// The forms of Azure: a date (midnight UTC), or date and time to the minute, the second or a fraction of it, with `Z`.
pub(super) fn azure(text: &str) -> Option<Timestamp> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, rest @ ..] = text.as_bytes() else {
        return None;
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    let (month, day) = (number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    let [b'T', h1, h2, b':', n1, n2, rest @ ..] = rest else {
        return if rest.is_empty() { timestamp(year, [month, day, 0, 0], 0, 0) } else { None };
    };
    let clock = [month, day, number(&[*h1, *h2])?, number(&[*n1, *n2])?];
    match rest {
        b"Z" => timestamp(year, clock, 0, 0),
        [b':', s1, s2, b'Z'] => timestamp(year, clock, number(&[*s1, *s2])?, 0),
        [b':', s1, s2, b'.', fraction @ .., b'Z'] if (1..=7).contains(&fraction.len()) => {
            let mut nanoseconds = number(fraction)?;
            for _ in fraction.len()..9 {
                nanoseconds *= 10;
            }
            timestamp(year, clock, number(&[*s1, *s2])?, nanoseconds)
        }
        _ => None,
    }
}

/// Seconds since 1970 in ten digits: every instant from 2001 to 2286.
pub(super) fn epoch(text: &str) -> Option<Timestamp> {
    let plain =
        text.len() == 10 && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    if !plain {
        return None;
    }
    Timestamp::from_second(text.parse().ok()?).ok()
}

fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0_i32, |value, digit| {
        let digit = (*digit as char).to_digit(10)?;
        value.checked_mul(10)?.checked_add(i32::try_from(digit).ok()?)
    })
}

/// Builds an instant from the year, `[month, day, hour, minute]`, seconds and nanoseconds; a leap second is none.
fn timestamp(year: i32, fields: [i32; 4], second: i32, nanosecond: i32) -> Option<Timestamp> {
    let [month, day, hour, minute] = fields.map(|field| i8::try_from(field).ok());
    let date = DateTime::new(
        i16::try_from(year).ok()?,
        month?,
        day?,
        hour?,
        minute?,
        i8::try_from(second).ok()?,
        nanosecond,
    );
    Offset::UTC.to_timestamp(date.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, expected) in [
            ("20261201T080000Z", Some("2026-12-01T08:00:00Z")),
            ("20280229T235959Z", Some("2028-02-29T23:59:59Z")),
            ("20260229T000000Z", None),
            ("20261201T240000Z", None),
            ("20261201T235960Z", None),
            ("20261201T080000", None),
            ("20261201t080000z", None),
            ("20261201T080000+00", None),
            ("2026-12-01T08:00:00Z", None),
            ("202612010T80000Z", None),
            ("+0261201T080000Z", None),
            ("", None),
        ] {
            assert_eq!(basic(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("2026-12-02", Some("2026-12-02T00:00:00Z")),
            ("2026-12-01T09:00Z", Some("2026-12-01T09:00:00Z")),
            ("2026-12-01T09:00:01Z", Some("2026-12-01T09:00:01Z")),
            ("2026-12-01T09:00:01.5Z", Some("2026-12-01T09:00:01.5Z")),
            ("2026-12-01T09:00:01.0000001Z", Some("2026-12-01T09:00:01.0000001Z")),
            ("2026-12-01T09:00:01.00000001Z", None),
            ("2026-12-01T09:00:01.Z", None),
            ("2026-12-01T09:00:00", None),
            ("2026-12-01T09:00", None),
            ("2026-12-01T09Z", None),
            ("2026-12-01T09:00:00+00:00", None),
            ("2026-12-01 09:00:00Z", None),
            ("2026-12-1", None),
            ("2026-13-01", None),
        ] {
            assert_eq!(azure(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("1796115600", Some("2026-12-01T09:00:00Z")),
            ("9999999999", Some("2286-11-20T17:46:39Z")),
            ("1796115600000", None),
            ("0796115600", None),
            ("179611560", None),
            ("+796115600", None),
            ("1796115600 ", None),
        ] {
            assert_eq!(epoch(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
    }
}
