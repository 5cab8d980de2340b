//! The last member of the archive: holds nothing, and says where the evidence begins and what came before. Pure.

use crate::submission::Sha256Digest;

/// A gzip header with extra data, no time and no known system (RFC 1952, section 2.3), the length of the extra data, and
/// the name and length of its one field.
const BEFORE: [u8; 16] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 44, 0, b'h', b's', 40, 0];

/// An empty deflate stream, and the check sum and length of nothing.
const AFTER: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// How many bytes a seal has.
pub const SEAL_BYTES: usize = BEFORE.len() + 8 + 32 + AFTER.len();

/// What the last member says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// Where the member with the evidence begins.
    pub evidence_at: u64,
    /// SHA-256 of every byte before the seal.
    pub digest: Sha256Digest,
}

impl Seal {
    /// The member.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = BEFORE.to_vec();
        bytes.extend(self.evidence_at.to_le_bytes());
        bytes.extend(self.digest.as_bytes());
        bytes.extend(AFTER);
        bytes
    }

    /// Reads a member; nothing but a whole seal is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let inner = bytes.strip_prefix(&BEFORE)?.strip_suffix(&AFTER)?;
        let (evidence_at, digest) = inner.split_first_chunk::<8>()?;
        let digest: [u8; 32] = digest.try_into().ok()?;
        Some(Self {
            evidence_at: u64::from_le_bytes(*evidence_at),
            digest: Sha256Digest::from_bytes(digest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_reads_back_and_no_other_length_does() {
        let seal = Seal { evidence_at: 77, digest: Sha256Digest::of("before") };
        let bytes = seal.to_bytes();
        assert_eq!(bytes.len(), SEAL_BYTES);
        assert_eq!(Seal::parse(&bytes), Some(seal));
        assert_eq!(Seal::parse(&bytes[1..]), None);
        assert_eq!(Seal::parse(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Seal::parse(&[]), None);
    }
}
