//! Sends the archive: a guarded PUT, again and again as long as nobody knows what became of it, and then a look.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use super::settle::{self, Held};
use super::target::Target;
use crate::clock::Clock;
use crate::execution::Category;
use crate::execution::archive::Packed;
use crate::execution::store::{Put, Store};
use crate::submission::Sha256Digest;

/// The first and the longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What is sent, where to, and until when by the boot-time clock.
pub(super) struct Sending {
    pub(super) store: Store,
    pub(super) target: Target,
    pub(super) archive: File,
    pub(super) packed: Packed,
    pub(super) job_uid: String,
    pub(super) submission_digest: String,
    pub(super) until: Duration,
    pub(super) clock: Arc<dyn Clock>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    /// The store has our archive, and gave it back the same.
    Verified,
    /// The store says that it has our archive; why it was not read back.
    Unverified(String),
    /// This Job had published before, from another pod.
    Before {
        /// The outcome that stands in that evidence.
        outcome: Category,
        /// The digest of that evidence.
        evidence: Sha256Digest,
    },
    /// Somebody else's object is there; the digest of its evidence, if it has any.
    Other(Option<Sha256Digest>),
    /// An object may be there, and nobody knows whose; why.
    CannotTell(String),
    /// Nothing was published; why.
    Failed(String),
    /// The store gave back other bytes than were sent.
    Differs,
}

impl Sending {
    /// Sends until it is known how that ended, or time is up.
    pub(super) fn send(mut self) -> Sent {
        let mut may_have_landed = false;
        let mut pause = PAUSE;
        loop {
            let headers = &self.target.headers;
            let trouble = match self.store.put(&self.target.put, &mut self.archive, headers) {
                Put::Done => return self.read_back(),
                Put::Exists => return self.whose(may_have_landed),
                Put::Refused(refusal) if may_have_landed => {
                    let why = format!(
                        "the store refused to repeat a request that was not answered: {refusal}"
                    );
                    return self.look_once(why);
                }
                Put::Refused(refusal) => {
                    return Sent::Failed(format!("the store refused: {refusal}"));
                }
                Put::Unknown(trouble) => trouble,
            };
            may_have_landed = true;
            let wait = trouble.retry_after.map_or(pause, |asked| asked.max(pause));
            if trouble.lasting || self.clock.boottime() + wait >= self.until {
                return self.look_once(trouble.to_string());
            }
            self.clock.sleep(wait);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// After the store said that it has the object.
    fn read_back(&self) -> Sent {
        let Some(address) = &self.target.readback else {
            return Sent::Unverified("there is no result_readback_url".to_owned());
        };
        match self.held(address) {
            Held::Ours => Sent::Verified,
            Held::Other(_) => Sent::Differs,
            Held::Absent => Sent::Unverified("reading it back found nothing yet".to_owned()),
            Held::Unknown(why) => Sent::Unverified(format!("it could not be read back: {why}")),
        }
    }

    /// After the store said that an object is there already.
    fn whose(&self, may_have_landed: bool) -> Sent {
        let Some(address) = &self.target.readback else {
            if may_have_landed {
                let why =
                    "an earlier request was not answered, and there is no result_readback_url";
                return Sent::CannotTell(why.to_owned());
            }
            return Sent::Other(None);
        };
        match self.held(address) {
            Held::Ours => Sent::Verified,
            Held::Other(found) => self.of_whom(found),
            Held::Absent | Held::Unknown(_) if !may_have_landed => Sent::Other(None),
            Held::Absent => {
                Sent::CannotTell("the store says that it exists and that it does not".to_owned())
            }
            Held::Unknown(why) => Sent::CannotTell(format!("it could not be read back: {why}")),
        }
    }

    /// The last attempt was not answered: what there is says what became of it.
    fn look_once(&self, why: String) -> Sent {
        let Some(address) = &self.target.readback else {
            return Sent::CannotTell(why);
        };
        match self.held(address) {
            Held::Ours => Sent::Verified,
            Held::Other(found) => self.of_whom(found),
            Held::Absent => Sent::Failed(why),
            Held::Unknown(_) => Sent::CannotTell(why),
        }
    }

    fn held(&self, address: &crate::execution::store::Address) -> Held {
        settle::held(&self.store, address, self.packed, self.until, self.clock.as_ref())
    }

    fn of_whom(&self, found: Option<settle::Evidence>) -> Sent {
        match found {
            Some(found)
                if !self.job_uid.is_empty()
                    && found.job_uid == self.job_uid
                    && found.submission_digest == self.submission_digest =>
            {
                Sent::Before { outcome: found.outcome, evidence: found.digest }
            }
            found => Sent::Other(found.map(|found| found.digest)),
        }
    }
}
