//! What the protocols know about the cluster: facts, already judged, without any Kubernetes object.

use jiff::Timestamp;

use crate::execution::Category;
use crate::render::compare::{Cancellation, JobState};
pub use crate::submit::facts::{Doubt, Effect, Moment, Reading, Refusal};
use crate::submit::record::Record;

/// A Job of harness, as far as ending it depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobFact {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// The identities that it states; none if it is no experiment of harness.
    pub identity: Option<Identity>,
    /// Whether it is being deleted, and which finalizers that waits for.
    pub terminating: Option<Vec<String>>,
    /// Where it stands.
    pub state: JobState,
    /// Since when its pods may start, RFC 3339.
    pub started_at: Option<String>,
    /// Whether it is suspended.
    pub suspension: Suspension,
    /// Whether an earlier pod may have come and gone without a trace in the Job.
    pub earlier_pods: Option<Earlier>,
    /// How many pods the Job has counted as ended.
    pub counted: u64,
    /// Its deadline in seconds.
    pub deadline: Option<i64>,
    /// Whether it was cancelled.
    pub cancelled: Option<Cancellation>,
    /// The Secret that it names.
    pub secret: Option<String>,
}

impl JobFact {
    /// Whether it starts no pod as it stands.
    pub fn is_suspended(&self) -> bool {
        self.suspension != Suspension::No
    }
}

/// Whether a Job is suspended, and so starts no pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suspension {
    /// It may start pods.
    No,
    /// It is, and its specification was never another one: it never could start a pod.
    SinceCreation,
    /// It is, and may have been started before.
    Later,
}

/// Why a Job may have had a pod that it no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Earlier {
    /// It was suspended after it had been started, or may have been.
    Suspended,
    /// Its profile starts it again after a disruption.
    Restarted,
}

/// The identities of an experiment, 64 digits each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Of the result object.
    pub result: String,
    /// Of everything that decides what runs.
    pub submission: String,
}

/// A pod of the Job.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact of the API")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodFact {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// The UID of the Job that controls it.
    pub job_uid: Option<String>,
    /// Whether it has a node.
    pub is_bound: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Whether it is in a terminal phase: no container starts any more.
    pub is_over: bool,
    /// Whether somebody else than its kubelet ended it, so that its container states may be old.
    pub is_disrupted: bool,
    /// What it shows of `run`.
    pub run: RunFact,
    /// Its own deadline in seconds.
    pub deadline: Option<i64>,
    /// How its steps say that it ended: `publish`'s word, else that of `stage`.
    pub category: Option<Category>,
    /// SHA-256 of the evidence, by `publish`.
    pub evidence_digest: Option<String>,
    /// The images that its containers really had.
    pub image_ids: Vec<String>,
}

/// What a pod shows of its `run` container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunFact {
    /// Nothing: there is no status of it.
    NotShown,
    /// It waits, and never had a container ID.
    NeverStarted,
    /// It has or had a container, or it is not known that it had none.
    MayHaveStarted,
}

/// A Secret of harness.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretFact {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// When it was created, by the server's clock.
    pub created: Option<Timestamp>,
}

/// The record under the Job's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordFact {
    /// What it says, or what keeps it from being read.
    pub record: Result<Record, String>,
    /// Whether it is immutable.
    pub is_immutable: bool,
}

/// One answer, judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The UID of the namespace.
    Namespace(Reading<String>),
    /// The Job.
    Job(Reading<JobFact>),
    /// The record.
    Record(Reading<RecordFact>),
    /// Who the server takes us for.
    Who(Reading<String>),
    /// All pods of the Job's name.
    Pods(Reading<Vec<PodFact>>),
    /// Secrets of the result identity; all of them if there are no more than fit in one answer.
    Secrets(Reading<Vec<SecretFact>>),
    /// How a create, a patch or a delete ended.
    Effect(Effect<()>),
}
