//! The published archive: reading what somebody else may have written.

use harness::execution::archive::{Packer, SEAL_BYTES, Seal, evidence_of_member, read};
use harness::submission::Sha256Digest;

use crate::common::first_line;

/// Lines: where to change an archive and what to put there, then the evidence of an archive that is made here; or the bytes
/// of a whole archive.
///
/// What is read is what was packed; not one byte of an archive can be changed, added or cut off unseen; the evidence alone,
/// as a reader of a large archive takes it, is the same.
pub fn archive(data: &[u8]) {
    check(data);
    let text = String::from_utf8_lossy(data);
    let (change, evidence) = first_line(&text);
    let mut made = Vec::new();
    let packed =
        Packer::new(&mut made).finish(evidence.as_bytes()).expect("memory takes everything");
    let found = read(&made[..]).unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!((found.digest, found.evidence), (packed.digest, evidence.as_bytes().to_vec()));
    assert_eq!((found.output, found.bytes, made.len() as u64), (false, 0, packed.bytes));
    check(&made);
    spoil(&made, change);
}

/// Whatever can be read as an archive is one to its last byte.
fn check(archive: &[u8]) {
    let Ok(found) = read(archive) else { return };
    assert_eq!(found.digest, Sha256Digest::of(archive));
    let (rest, last) = archive.split_at(archive.len() - SEAL_BYTES);
    let seal = Seal::parse(last).expect("it was read with its seal");
    assert_eq!(seal.digest, Sha256Digest::of(rest));
    let at = usize::try_from(seal.evidence_at).expect("it lies inside");
    assert_eq!(evidence_of_member(&rest[at..]), Ok(found.evidence));
    let names: Vec<_> = found.files.iter().map(|file| &file.name).collect();
    assert!(
        names
            .iter()
            .all(|name| !name.starts_with('/') && !name.split('/').any(|part| part == ".."))
    );
    spoil(archive, &found.digest.to_hex());
}

/// Changes one byte, chosen by `change`, adds one and cuts one off.
fn spoil(archive: &[u8], change: &str) {
    let chosen = Sha256Digest::of(change);
    let [a, b, c, bits, more, ..] = chosen.as_bytes();
    let place = u32::from_be_bytes([0, *a, *b, *c]) as usize % archive.len();
    let mut other = archive.to_vec();
    other[place] ^= (*bits).max(1);
    assert!(read(&other[..]).is_err(), "byte {place} of {} was changed by {bits}", archive.len());
    assert!(read(&archive[..archive.len() - 1]).is_err());
    assert!(read(&[archive, &[*more]].concat()[..]).is_err());
}
