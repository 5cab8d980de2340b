//! The receipt: what `submit` knows about one submission, for people and for programs. Pure.
//!
//! The JSON form is stable and versioned. Texts that are not ours (the server's sentences) stand in it
//! as they came; the printer neutralises them for terminals.

mod outcome;
mod wording;

use jiff::Timestamp;
use serde::Serialize;

pub use outcome::ReceiptOutcome;

use super::facts::DriftFact;
use crate::submission::Problem;

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_receipt.v1";

/// What `submit` reports about one submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipt {
    /// `prediction_receipt.v1`.
    pub schema_version: &'static str,
    /// The file that held the submission, `-` for standard input.
    pub source: String,
    /// The operator's name for the attempt, once the submission could be read.
    pub attempt_id: Option<String>,
    /// How it ended.
    pub outcome: ReceiptOutcome,
    /// One sentence that says what is known.
    pub detail: String,
    /// What to do next, if anything.
    pub remedy: Option<String>,
    /// The Job.
    pub job: Option<JobReceipt>,
    /// The Secret.
    pub secret: Option<SecretReceipt>,
    /// The namespace.
    pub namespace: NamespaceReceipt,
    /// The digests that the experiment is known by, once the submission could be read.
    pub identity: Option<IdentityReceipt>,
    /// What was recorded when the Job was pruned.
    pub record: Option<RecordReceipt>,
    /// Where the cluster's object differs, as paths; never values.
    pub differences: Vec<String>,
    /// Harmless changes that the cluster made.
    pub drift: Vec<DriftReceipt>,
    /// What happened on the way.
    pub remarks: Vec<String>,
    /// The API server's warnings.
    pub warnings: Vec<String>,
    /// What is wrong with the submission.
    pub problems: Vec<ProblemReceipt>,
    /// When and how long.
    pub timings: Timings,
}

/// The Job, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobReceipt {
    /// Its name.
    pub name: String,
    /// Its UID, if it exists.
    pub uid: Option<String>,
    /// Where it stands: `queued`, `pending`, `active` (it has a pod), `succeeded` or `failed`.
    pub state: Option<String>,
}

/// The Secret, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SecretReceipt {
    /// The name that this submission's signatures give.
    pub name: String,
    /// `created`, `present`, `absent`, `removed` or `unknown`.
    pub state: &'static str,
}

/// The namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamespaceReceipt {
    /// Its name.
    pub name: String,
    /// Its UID, once read.
    pub uid: Option<String>,
}

/// The digests that the experiment is known by; each 64 digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IdentityReceipt {
    /// Of the result object: the duplicate guard.
    pub result_identity: String,
    /// Of everything that decides what runs.
    pub submission_digest: String,
    /// Of the Secret's content.
    pub secret_digest: String,
    /// Of the profile's content.
    pub profile_digest: String,
    /// The version of what `render` writes.
    pub render_version: &'static str,
}

/// What was recorded when the Job was pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordReceipt {
    /// How the experiment ended.
    pub outcome: String,
    /// Who recorded it.
    pub recorded_by: String,
    /// When.
    pub recorded_at: String,
}

/// One harmless change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftReceipt {
    /// Where.
    pub path: String,
    /// `added`, `harness-image`, `queue`, `render-version` or `signed-again`.
    pub kind: &'static str,
}

impl From<DriftFact> for DriftReceipt {
    fn from(fact: DriftFact) -> Self {
        Self { path: fact.path, kind: fact.kind }
    }
}

/// One problem of the submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProblemReceipt {
    /// The stable code, for `harness explain`.
    pub code: &'static str,
    /// The file that the problem is in, where that is not the submission but the one given with `--signed`.
    pub file: Option<String>,
    /// JSON pointer of the value.
    pub pointer: String,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub remedy: String,
}

impl From<&Problem> for ProblemReceipt {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.fault.code.name,
            file: None,
            pointer: problem.pointer.clone(),
            line: problem.position.map(|position| position.line),
            column: problem.position.map(|position| position.column),
            found: problem.fault.found.to_string(),
            allowed: problem.fault.allowed.to_string(),
            remedy: problem.fault.remedy.to_string(),
        }
    }
}

/// When and how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timings {
    /// When this submission's turn began, RFC 3339, by the local clock.
    pub started_at: String,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
    /// The API server's clock minus the local one, in seconds, once it answered.
    pub clock_skew_seconds: Option<i64>,
}

/// Where a submission came from and when its turn began.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The file, `-` for standard input.
    pub source: String,
    /// The namespace's name.
    pub namespace: String,
    /// The beginning, by the local clock.
    pub started: Timestamp,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}
