//! What the result object really holds, by reading it: our archive, another one with its evidence, or nothing.
//!
//! An archive of our length is read whole and hashed. Of any other only the seal and the evidence are read, which lie at
//! its end, so that a large one costs two short requests.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::clock::Clock;
use crate::execution::Category;
use crate::execution::archive::{Packed, SEAL_BYTES, Seal, evidence_of_member};
use crate::execution::evidence::Statement;
use crate::execution::store::{Address, Download, Opened, Range, Store};
use crate::submission::Sha256Digest;

/// The first and the longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The largest compressed evidence that is read of somebody else's archive.
const MAX_EVIDENCE_MEMBER: u64 = 32 << 20;

/// Whose evidence was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) job_uid: String,
    pub(super) submission_digest: String,
    pub(super) outcome: Category,
    pub(super) digest: Sha256Digest,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// Byte for byte what we sent.
    Ours,
    /// Something else, and its evidence if it is a result of harness.
    Other(Option<Evidence>),
    /// Nothing.
    Absent,
    /// It could not be read.
    Unknown(String),
}

/// Looks, and again while nothing can be told, until the boot-time clock says `until`.
pub(super) fn held(
    store: &Store,
    address: &Address,
    packed: Packed,
    until: Duration,
    clock: &dyn Clock,
) -> Held {
    let mut pause = PAUSE;
    loop {
        let trouble = match look(store, address, packed, until, clock) {
            Ok(held) => return held,
            Err(trouble) => trouble,
        };
        if trouble.lasting || clock.boottime() + pause >= until {
            return Held::Unknown(trouble.what);
        }
        clock.sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

type Trouble = crate::execution::store::Trouble;

fn look(
    store: &Store,
    address: &Address,
    packed: Packed,
    until: Duration,
    clock: &dyn Clock,
) -> Result<Held, Trouble> {
    let mut opened = match store.get(address, None) {
        Download::Opened(opened) => opened,
        Download::Refused(refusal) if refusal.status == 404 => return Ok(Held::Absent),
        Download::Refused(refusal) => return Ok(Held::Unknown(refusal.to_string())),
        Download::Unknown(trouble) => return Err(trouble),
    };
    if opened.total.is_none_or(|total| total == packed.bytes)
        && hash(&mut opened, packed.bytes, until, clock)? == Some(packed.digest)
    {
        return Ok(Held::Ours);
    }
    let (Some(total), Some(etag)) = (opened.total, opened.etag.clone()) else {
        return Ok(Held::Other(None));
    };
    drop(opened);
    evidence(store, address, total, &etag).map(Held::Other)
}

/// The digest of the body; none as soon as it is longer than expected.
fn hash(
    opened: &mut Opened,
    most: u64,
    until: Duration,
    clock: &dyn Clock,
) -> Result<Option<Sha256Digest>, Trouble> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    let mut taken = 0;
    loop {
        let read = opened.read(&mut buffer)?;
        if read == 0 {
            return Ok(Some(Sha256Digest::from_bytes(hasher.finalize().into())));
        }
        taken += read as u64;
        if taken > most {
            return Ok(None);
        }
        hasher.update(&buffer[..read]);
        if clock.boottime() >= until {
            let what = "there was no time to read it to its end".to_owned();
            return Err(Trouble { what, retry_after: None, lasting: true });
        }
    }
}

/// The evidence of an archive of `total` bytes; none if it is not one.
fn evidence(
    store: &Store,
    address: &Address,
    total: u64,
    etag: &str,
) -> Result<Option<Evidence>, Trouble> {
    let Some(seal_at) = total.checked_sub(SEAL_BYTES as u64) else { return Ok(None) };
    let Some(last) = tail(store, address, seal_at, total, etag)? else { return Ok(None) };
    let Some(seal) = Seal::parse(&last) else { return Ok(None) };
    if seal.evidence_at >= seal_at || seal_at - seal.evidence_at > MAX_EVIDENCE_MEMBER {
        return Ok(None);
    }
    let Some(mut member) = tail(store, address, seal.evidence_at, total, etag)? else {
        return Ok(None);
    };
    member.truncate(member.len() - SEAL_BYTES);
    let Ok(bytes) = evidence_of_member(&member) else { return Ok(None) };
    let Ok(statement) = Statement::parse(&bytes) else { return Ok(None) };
    let run = statement.predicate.harness_run;
    Ok(Some(Evidence {
        job_uid: run.pod.job_uid,
        submission_digest: run.submission_digest,
        outcome: run.outcome,
        digest: Sha256Digest::of(&bytes),
    }))
}

/// The bytes from `from` to the end; none from a store that does not send parts of an object.
fn tail(
    store: &Store,
    address: &Address,
    from: u64,
    total: u64,
    etag: &str,
) -> Result<Option<Vec<u8>>, Trouble> {
    let range = Range { from, etag: etag.to_owned() };
    let mut opened = match store.get(address, Some(&range)) {
        Download::Opened(opened) if opened.start == from && opened.total == Some(total) => opened,
        Download::Opened(_) | Download::Refused(_) => return Ok(None),
        Download::Unknown(trouble) => return Err(trouble),
    };
    let wanted = usize::try_from(total - from).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = opened.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes.len() == wanted).then_some(bytes));
        }
        bytes.extend_from_slice(&buffer[..read]);
        if bytes.len() > wanted {
            return Ok(None);
        }
    }
}
