//! Percent-encoding (RFC 3986, section 2.1), strict in both directions.
//!
//! Library decoders pass broken escapes through, which is right for browsers and wrong for comparing.

use std::fmt::Write as _;

/// Why a text does not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// A `%` without two hexadecimal digits.
    Escape,
    /// The bytes are not UTF-8.
    Text,
}

/// Decodes every escape exactly once; everything else stays.
pub(crate) fn decode(text: &str) -> Result<String, DecodeError> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let high = bytes.get(at + 1).copied().and_then(digit).ok_or(DecodeError::Escape)?;
            let low = bytes.get(at + 2).copied().and_then(digit).ok_or(DecodeError::Escape)?;
            decoded.push(high * 16 + low);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_err(|_| DecodeError::Text)
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Writes a part of a query in one normal form: unreserved characters as they are, a raw plus sign as it is
/// (some servers read it as a space), everything else as upper-case escapes.
pub(crate) fn normalise(raw: &str) -> Result<String, DecodeError> {
    let mut normal = String::with_capacity(raw.len());
    for (index, part) in raw.split('+').enumerate() {
        if index > 0 {
            normal.push('+');
        }
        for byte in decode(part)?.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                normal.push(byte as char);
            } else {
                // Writing to a String cannot fail.
                let _ = write!(normal, "%{byte:02X}");
            }
        }
    }
    Ok(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_form() {
        for (raw, normal) in [
            ("a%2db~", "a-b~"),
            ("a+b%2Bc", "a+b%2Bc"),
            ("a%3d/%26", "a%3D%2F%26"),
            ("%c3%a9", "%C3%A9"),
            ("", ""),
        ] {
            assert_eq!(normalise(raw).unwrap(), normal, "{raw}");
            assert_eq!(normalise(normal).unwrap(), normal, "{raw}");
        }
        assert_eq!(normalise("%"), Err(DecodeError::Escape));
        assert_eq!(normalise("%FF"), Err(DecodeError::Text));
    }
}
