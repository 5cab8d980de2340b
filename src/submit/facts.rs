//! What the protocol knows about the cluster: facts, already judged, without any Kubernetes object.
//!
//! `observe` makes them from answers; the protocol decides from them alone, so that the same decisions
//! can be checked against a model.

use std::time::Duration;

use jiff::Timestamp;

/// A point in time by three clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The boot-time clock, which also counts while the machine is suspended.
    pub boot: Duration,
    /// The local wall clock.
    pub local: Timestamp,
    /// The API server's clock, from the `Date` of its latest answer.
    pub server: Option<Timestamp>,
}

impl Moment {
    /// The best known "now": the server's clock, else the local one.
    pub fn now(&self) -> Timestamp {
        self.server.unwrap_or(self.local)
    }
}

/// What a read of one name showed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reading<T> {
    /// The server proved that there is no such object.
    Absent,
    /// The object.
    Present(T),
    /// The server refuses to say.
    Refused(Refusal),
    /// No answer that can be relied on.
    Unknown(Doubt),
}

/// How a create, a rehearsal or a delete ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect<T> {
    /// Done, and verified from the answer.
    Done(T),
    /// The server said no.
    Refused(Refusal),
    /// Nobody knows.
    Unknown(Doubt),
}

/// The server's no.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// HTTP status, 400 to 499.
    pub code: u16,
    /// Kubernetes' machine-readable reason; may be empty.
    pub reason: String,
    /// The server's sentence; not our text.
    pub message: String,
    /// When to ask again.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// The name was taken when the server looked.
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// The server asks to come again later.
    pub fn is_too_many_requests(&self) -> bool {
        self.code == 429
    }

    /// Whether asking again may help: the name was taken and is free, requests were too many, or another
    /// write came in between (a quota's own count, for instance).
    pub fn may_pass(&self) -> bool {
        self.is_too_many_requests() || matches!(self.code, 408 | 409)
    }
}

/// Why an outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Doubt {
    /// In words, without anything secret.
    pub why: String,
    /// Whether the request certainly never reached the API server.
    pub certainly_not_sent: bool,
    /// When to ask again.
    pub retry_after: Option<Duration>,
}

/// The namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamespaceFact {
    /// Its UID.
    pub uid: String,
}

/// The Job under our name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobFact {
    /// Its UID.
    pub uid: String,
    /// What it is to us.
    pub verdict: JobVerdict,
    /// The one Secret that it names, where it is one.
    pub secret: Option<String>,
    /// Whether our Secret's name stands in it anywhere.
    pub mentions_our_secret: bool,
    /// Where it stands.
    pub state: String,
    /// Whether it has ended, by its terminal condition.
    pub finished: Option<Finished>,
    /// Harmless differences.
    pub drift: Vec<DriftFact>,
}

/// One harmless difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DriftFact {
    /// Where.
    pub path: String,
    /// Why it is harmless, as a stable name.
    pub kind: &'static str,
}

/// How a Job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finished {
    /// Condition `Complete`.
    Succeeded,
    /// Condition `Failed`.
    Failed,
}

/// What a Job under our name is to us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobVerdict {
    /// The same experiment, unchanged where it matters.
    Same,
    /// The same experiment, ended by `cancel`.
    Cancelled {
        /// When, by the annotation.
        at: String,
        /// By whom, by the annotation.
        by: String,
    },
    /// The same experiment, changed where it matters; the paths say where.
    Altered(Vec<String>),
    /// Something else; the paths say where it differs.
    Foreign(Vec<String>),
    /// Being deleted.
    Terminating,
}

/// The Secret under our name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretFact {
    /// Its UID.
    pub uid: String,
    /// What it is to us.
    pub verdict: SecretVerdict,
}

/// What a Secret under our name is to us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SecretVerdict {
    /// Byte for byte what we render, and immutable.
    Same,
    /// Something else; the paths say where it differs.
    Different(Vec<String>),
    /// Being deleted.
    Terminating,
}

/// The record of an experiment whose Job was pruned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordFact {
    /// Whether it records this very submission; else the paths that differ.
    pub differences: Vec<String>,
    /// How the experiment ended.
    pub outcome: String,
    /// Who recorded it.
    pub recorded_by: String,
    /// When it was recorded.
    pub recorded_at: String,
}

/// One answer, judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fact {
    /// Of reading the namespace.
    Namespace(Reading<NamespaceFact>),
    /// Of reading the Job.
    Job(Reading<JobFact>),
    /// Of reading our Secret.
    Secret(Reading<SecretFact>),
    /// Of reading the Secret that the Job names, where that is another one.
    NamedSecret(Reading<()>),
    /// Of reading the record.
    Record(Reading<RecordFact>),
    /// Of a create of the Secret that stores nothing.
    SecretRehearsal(Effect<SecretFact>),
    /// Of a create of the Job that stores nothing.
    JobRehearsal(Effect<JobFact>),
    /// Of creating the Secret.
    SecretCreate(Effect<SecretFact>),
    /// Of creating the Job.
    JobCreate(Effect<JobFact>),
    /// Of deleting the Secret that this process created.
    SecretDelete(Effect<()>),
}
