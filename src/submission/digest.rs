//! SHA-256 digests and their two spellings, bare hexadecimal and `sha256:`-prefixed.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::problem::{Code, Fault};

/// A digest is not 64 lower-case hexadecimal digits.
pub static INVALID_DIGEST: Code = Code {
    name: "digest-invalid",
    summary: "a SHA-256 digest is misspelt",
    explanation: "A digest is 64 lower-case hexadecimal digits, as `sha256sum FILE` prints them. Where a field \
names an object, the prefix `sha256:` may stand before them; where a field names an evaluator version, it must.",
};

/// The SHA-256 of some bytes; always printed as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

/// The prefix that names the algorithm, as OCI writes it.
pub const PREFIX: &str = "sha256:";

impl Sha256Digest {
    /// Hashes `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// Takes over a finished hash.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses 64 lower-case hexadecimal digits with or without `sha256:` before them.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Self::parse_digits(text.strip_prefix(PREFIX).unwrap_or(text))
    }

    /// Parses `sha256:` and 64 lower-case hexadecimal digits.
    pub fn parse_prefixed(text: &str) -> Result<Self, Fault> {
        match text.strip_prefix(PREFIX) {
            Some(digits) => Self::parse_digits(digits),
            None => Err(Fault::new(
                &INVALID_DIGEST,
                "no `sha256:` before the digits",
                "`sha256:` and 64 lower-case hexadecimal digits",
                "write the algorithm before the digits",
            )),
        }
    }

    fn parse_digits(digits: &str) -> Result<Self, Fault> {
        let fault = |found: String| {
            Fault::new(
                &INVALID_DIGEST,
                found,
                "64 lower-case hexadecimal digits",
                "copy the digest again, for instance from `sha256sum FILE`",
            )
        };
        if let Some(odd) = digits.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
            return Err(fault(match odd {
                'A'..='F' => format!("the upper-case digit `{odd}`"),
                _ => format!("the character {odd:?}"),
            }));
        }
        if digits.len() != 64 {
            return Err(fault(format!("{} hexadecimal digits", digits.len())));
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
        }
        Ok(Self(bytes))
    }

    /// Whether it is all zeros, which no content is known to have: a placeholder.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 32]
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.to_string()
    }
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit - b'a' + 10,
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_spellings() {
        let digits = "0f".repeat(32);
        assert_eq!(Sha256Digest::parse(&digits).unwrap().to_hex(), digits);
        assert_eq!(Sha256Digest::parse(&format!("sha256:{digits}")).unwrap().to_hex(), digits);
        assert_eq!(
            Sha256Digest::parse_prefixed(&format!("sha256:{digits}")).unwrap().to_hex(),
            digits
        );
        for (wrong, found) in [
            ("", "0 hexadecimal digits"),
            (&digits[1..], "63 hexadecimal digits"),
            (&format!("{digits}0"), "65 hexadecimal digits"),
            (&digits.to_uppercase(), "the upper-case digit `F`"),
            (&format!("{digits}\n"), "the character '\\n'"),
            (&format!("sha512:{digits}"), "the character 's'"),
        ] {
            assert_eq!(Sha256Digest::parse(wrong).unwrap_err().found, found, "{wrong:?}");
        }
        assert!(Sha256Digest::parse_prefixed(&digits).is_err());
    }

    #[test]
    fn hash_of_nothing() {
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Sha256Digest::of("").to_hex(), expected);
    }
}
