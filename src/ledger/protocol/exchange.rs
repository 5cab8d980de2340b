//! What goes in and out of the protocol: commands, requests, actions, and how it ends.

use std::time::Duration;

use super::super::facts::{Doubt, JobFact, Refusal};
use super::record::Licence;
use crate::submit::record::Record;

/// What bounds a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How many unclear answers are followed by another try.
    pub tries: u32,
    /// How long one experiment may take in all.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tries: 6, total: Duration::from_mins(3) }
    }
}

/// What is to be done with an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// End it, and keep that it ran.
    Cancel,
    /// Free its identity, if it provably never ran.
    Release,
    /// Replace the finished Job by its record.
    Prune {
        /// How long it must have been finished.
        older_than: Duration,
    },
    /// Remove the Secrets that nothing needs any more.
    Sweep {
        /// How long the Job must have been finished, or a Secret without one have existed.
        older_than: Duration,
    },
}

/// Something to send. Several of one action are sent side by side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Read the namespace.
    ReadNamespace,
    /// Read the Job by name.
    ReadJob,
    /// Read the record by name.
    ReadRecord,
    /// Ask who we are.
    ReviewSelf,
    /// List the pods of the Job's name.
    ListPods,
    /// List the Secrets of the result identity.
    ListSecrets,
    /// Write on the Job that it is cancelled; a suspended one gets the shortest deadline as well.
    MarkJob {
        /// The Job's UID.
        uid: String,
        /// The Job's version.
        resource_version: String,
        /// When, RFC 3339.
        at: String,
        /// By whom.
        by: String,
        /// Whether its deadline is lowered in the same write.
        lower: bool,
    },
    /// Lower the Job's deadline to a second.
    LowerJob {
        /// The Job's UID.
        uid: String,
        /// The Job's version.
        resource_version: String,
    },
    /// Lower the pod's deadline to a second.
    LowerPod {
        /// The pod's name.
        name: String,
        /// The pod's UID.
        uid: String,
        /// The pod's version.
        resource_version: String,
    },
    /// Delete the pod, if it still is as it was seen.
    DeletePod {
        /// The pod's name.
        name: String,
        /// The pod's UID.
        uid: String,
        /// The pod's version.
        resource_version: String,
    },
    /// Create the record.
    CreateRecord(Box<Record>),
    /// Delete this Secret.
    DeleteSecret {
        /// The Secret's name.
        name: String,
        /// The Secret's UID.
        uid: String,
    },
    /// Delete this Job and, after it, its pods.
    DeleteJob {
        /// The Job's UID.
        uid: String,
        /// The Job's version, where nothing may have happened to it since it was read.
        resource_version: Option<String>,
        /// What allows it.
        licence: Licence,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Wait, then send these side by side and come back with their facts in the same order.
    Send {
        /// How long to wait first.
        after: Duration,
        /// What to send.
        requests: Vec<Request>,
    },
    /// It is decided.
    End(Box<Conclusion>),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Its end was asked for, and has not come yet.
    CancelRequested,
    /// It was cancelled and has ended, or is removed with a record in its place.
    Cancelled,
    /// It had ended before; nothing was changed.
    AlreadyFinished,
    /// Its identity is free.
    Released,
    /// It cannot be proven that it never ran; nothing was changed.
    NotReleased(String),
    /// Its record stands, and the Job and its Secrets are gone.
    Pruned,
    /// Its record stands and there was no Job any more.
    AlreadyRecorded,
    /// There is nothing to do for it.
    Kept(String),
    /// So many Secrets that nothing needs were removed; they stand in the conclusion.
    Swept,
    /// There is no such experiment.
    Missing,
    /// Something else stands under the name.
    Conflict(String),
    /// The cluster said no.
    Refused {
        /// To what.
        request: &'static str,
        /// Its words.
        refusal: Refusal,
    },
    /// Something is on its way out and waits for others.
    Incomplete(String),
    /// It cannot be known.
    Unknown(Doubt),
}

/// What is known at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conclusion {
    /// How it ended.
    pub ending: Ending,
    /// The namespace's UID, once read.
    pub namespace_uid: Option<String>,
    /// The Job as it was last seen.
    pub job: Option<JobFact>,
    /// The record as it was last seen.
    pub record: Option<Record>,
    /// Names of the Secrets that this command asked to remove and that are gone.
    pub secrets: Vec<String>,
    /// Names of the Secrets whose removal was asked for and not answered, and that stood when they were last listed.
    pub unclear: Vec<String>,
    /// What became of the pod whose deletion was to be the proof.
    pub pod: Fate,
    /// What happened on the way and is worth saying.
    pub remarks: Vec<String>,
}

/// What became of an object that a command may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was not asked to go, or the server said no.
    Untouched,
    /// It was asked to go without an answer: it may be gone, and may still go.
    Unanswered,
    /// It is gone.
    Gone,
}
