//! How a submission can end, and what is known then. Types only.

use super::facts::{Doubt, DriftFact, JobFact, RecordFact, Refusal};
use crate::submission::Problem;

/// What is known at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conclusion {
    /// How it ended.
    pub ending: Ending,
    /// The namespace's UID, once read.
    pub namespace_uid: Option<String>,
    /// What is known about our Secret.
    pub secret: SecretState,
    /// What happened on the way and is worth saying.
    pub remarks: Vec<Remark>,
}

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// This process created the Job.
    Created(JobFact),
    /// This process created the Job, and something changed it on the way: it may be running.
    CreatedAltered(JobFact, Vec<String>),
    /// The same Job is already there.
    AlreadySubmitted(JobFact),
    /// The same experiment ran earlier and was pruned.
    AlreadyRecorded(RecordFact),
    /// The same experiment was cancelled.
    Cancelled {
        /// The Job.
        job: JobFact,
        /// When, by the annotation.
        at: String,
        /// By whom, by the annotation.
        by: String,
    },
    /// The name belongs to something else, or was changed, or is being deleted.
    Conflict(Conflict),
    /// The cluster said no; there is no Job.
    Refused(Obstacle),
    /// It cannot be known; running the same command again is safe.
    Unknown {
        /// Why not.
        doubt: Doubt,
        /// Whether a create of the Job was sent whose answer never came: it may be running.
        may_run: bool,
    },
    /// Signatures are dead or missing; nothing was created.
    Invalid(Vec<Problem>),
    /// The rehearsal went through; nothing was created.
    WouldCreate {
        /// Harmless changes that the server would make.
        drift: Vec<DriftFact>,
    },
}

/// What stands in the way under our name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// Another experiment's Job, or one that harness did not make.
    ForeignJob(JobFact, Vec<String>),
    /// Our Job, changed where it matters.
    AlteredJob(JobFact, Vec<String>),
    /// The Job is being deleted.
    TerminatingJob(JobFact),
    /// A Secret with other content; the Job that names it, if there is one.
    ForeignSecret(Option<JobFact>, Vec<String>),
    /// The Secret is being deleted.
    TerminatingSecret,
    /// The record of another experiment.
    ForeignRecord(RecordFact),
}

/// Why the cluster said no.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// The API server refused a request.
    Refusal {
        /// What was asked, in words.
        request: &'static str,
        /// The server's no.
        refusal: Refusal,
    },
    /// There is no such namespace.
    NamespaceMissing,
    /// The namespace is another one than the submission means.
    NamespaceDiffers {
        /// The UID that the namespace has.
        found: String,
    },
    /// The namespace was deleted and created anew while this call was under way.
    NamespaceReplaced,
    /// The cluster would change the Job or the Secret; the paths say where.
    WouldAlter(Vec<String>),
    /// The cluster changed the Secret that this process created; the paths say where.
    SecretAltered(Vec<String>),
}

/// What is known about our Secret at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretState {
    /// Nothing is known.
    Unknown,
    /// It is not there.
    Absent,
    /// It was there before.
    Present,
    /// This process created it.
    Created,
    /// This process created it and removed it, since the Job names another.
    Removed,
}

/// What happened on the way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Remark {
    /// A create of the Job was sent and its answer never came; the Job that stands may be its.
    AnswerLost,
    /// The Job's Secret was missing and was created again.
    SecretRepaired,
    /// The Job names another Secret, and that one is missing: the pod cannot start.
    NamedSecretMissing(String),
    /// The Job's Secret is missing, and this keeps it from being created again: the pod cannot start.
    SecretNotRepaired(String),
    /// The Secret that this process created was not seen to go.
    SecretLeft,
}
