//! What the API server holds, in a few fields, and what must never happen to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::alike::fingerprint;
use crate::life::Job;

/// A signature, and so the name of a Secret.
pub type Signature = &'static str;

/// How many retentions have passed.
pub type Age = u8;

/// One life of a process: whose, and how often it was started before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// Which actor.
    pub actor: u8,
    /// How often it had crashed.
    pub life: u8,
}

/// Somebody before everything began.
pub const SOMEBODY: Run = Run { actor: u8::MAX, life: 0 };

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    /// Its UID.
    pub uid: u8,
    /// Who made it.
    pub maker: Run,
    /// How many Jobs were gone when it came.
    pub after: usize,
    /// When it came.
    pub created: Age,
}

/// The namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// How many retentions have passed.
    pub age: Age,
    /// The Job of the one name.
    pub job: Option<Job>,
    /// The Secret of each signature.
    pub secrets: BTreeMap<Signature, Secret>,
    /// The Job that the record is of.
    pub record: Option<u8>,
    /// A record that a broken keeper has not written yet, though it says so.
    pub promised: Option<u8>,
    /// Who made each Job that ever came to be.
    pub makers: Vec<Run>,
    /// Jobs whose pod started `run`.
    pub ran: BTreeSet<u8>,
    /// Jobs that are gone, in order.
    pub gone: Vec<u8>,
    /// How many Jobs that had run were taken away by a foreign hand.
    pub taken: usize,
    /// Keepers under way that removed a Secret or a pod.
    pub removers: BTreeSet<Run>,
    /// How many Secrets ever came to be.
    pub secrets_made: u8,
    /// Whether pods wait for a node; otherwise they start as soon as they can.
    pub waits_for_nodes: bool,
    /// Whether a queue starts Jobs.
    pub has_queue: bool,
    /// Whether the queue may stop a Job that it has started.
    pub preempts: bool,
    /// What must never happen, and did.
    pub wrong: Option<&'static str>,
}

impl Cluster {
    /// Creates the Secret, unless there is one.
    pub fn create_secret(&mut self, signature: Signature, maker: Run) -> bool {
        if self.secrets.contains_key(signature) {
            return false;
        }
        self.secrets_made += 1;
        let secret =
            Secret { uid: self.secrets_made, maker, after: self.gone.len(), created: self.age };
        self.secrets.insert(signature, secret);
        self.start_pod();
        true
    }

    /// Creates the Job, unless there is one and names lock.
    pub fn create_job(&mut self, secret: Signature, maker: Run, locks: bool) -> bool {
        if self.job.is_some() && locks {
            return false;
        }
        self.makers.push(maker);
        let number = u8::try_from(self.makers.len()).expect("a model has a few Jobs");
        self.job = Some(Job::new(number, secret, self.has_queue));
        self.start_pod();
        true
    }

    /// The Job is gone, and its pods with it.
    pub fn remove_job(&mut self) {
        if let Some(job) = self.job.take() {
            self.gone.push(job.number);
        }
    }

    /// A foreign hand takes the Job away.
    pub fn take_job(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        self.taken += usize::from(self.ran.contains(&job.number));
        self.remove_job();
        true
    }

    /// Whether the Secret came after this Job was gone.
    pub fn is_later(&self, secret: &Secret, job: u8) -> bool {
        self.gone.iter().position(|gone| *gone == job).is_some_and(|then| secret.after > then)
    }

    /// A pod starts `run` as soon as its Secret stands and it has a node.
    pub fn start_pod(&mut self) {
        let may_start = |job: &Job| {
            job.has_pod() && job.finished.is_none() && (job.is_bound || !self.waits_for_nodes)
        };
        let Some(job) = self.job.as_ref().filter(|job| may_start(job)) else { return };
        if !self.secrets.contains_key(job.secret) {
            return;
        }
        let number = job.number;
        self.ran.insert(number);
        if let Some(job) = &mut self.job {
            job.has_run = true;
        }
    }

    /// A broken keeper's record is written once the Job is gone.
    pub fn keep_promise(&mut self) -> bool {
        if self.job.is_some() || self.promised.is_none() {
            return false;
        }
        self.record = self.promised.take();
        true
    }

    /// Whether every read is told the same by both.
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        let shown = |one: &Self| (one.record, one.promised);
        self.job == other.job && self.secrets == other.secrets && shown(self) == shown(other)
    }

    /// A hash of all that reads are told of, and of the time.
    pub fn hash_of_what_is_shown(&self) -> u64 {
        let circumstances = (self.age, self.waits_for_nodes);
        fingerprint(&(&self.job, &self.secrets, self.record, self.promised, circumstances))
    }

    /// What must never be, and is.
    pub fn never(&mut self, what: &'static str) {
        self.wrong.get_or_insert(what);
    }
}
