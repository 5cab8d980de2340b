//! The receipt: what `submit` knows about one submission, for people and for programs. Pure.
//!
//! The JSON form is stable and versioned. Texts that are not ours (the server's sentences) stand in it
//! as they came; the printer neutralises them for terminals.

use jiff::Timestamp;
use serde::Serialize;

use super::drive::Driven;
use super::facts::{DriftFact, Finished, JobFact};
use super::plan::Plan;
use super::protocol::{Conclusion, Conflict, Ending, Obstacle, Remark, SecretState, refused_with};
use crate::render::identity::RENDER_VERSION;
use crate::submission::{Problem, Submission};

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_receipt.v1";

/// How one submission ended. The names are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOutcome {
    /// This call created the Job.
    Created,
    /// This call created the Job and something changed it on the way; it may be running.
    CreatedAltered,
    /// The same Job was there already.
    AlreadySubmitted,
    /// The same experiment ran earlier and its Job was pruned.
    AlreadyRecorded,
    /// The same experiment was cancelled.
    Cancelled,
    /// The name belongs to something else, or was changed, or is being deleted.
    Conflict,
    /// The cluster said no; this call created no Job.
    Refused,
    /// It cannot be known; running the same command again is safe.
    Unknown,
    /// The submission is invalid, or a signature is missing or dead; nothing was created.
    Invalid,
    /// A rehearsal went through; nothing was created.
    WouldCreate,
    /// The call was stopped before this submission's turn; nothing was created.
    NotStarted,
}

impl ReceiptOutcome {
    /// Every outcome, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Created,
        Self::CreatedAltered,
        Self::AlreadySubmitted,
        Self::AlreadyRecorded,
        Self::Cancelled,
        Self::Conflict,
        Self::Refused,
        Self::Unknown,
        Self::Invalid,
        Self::WouldCreate,
        Self::NotStarted,
    ];

    /// The frozen name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::CreatedAltered => "created_altered",
            Self::AlreadySubmitted => "already_submitted",
            Self::AlreadyRecorded => "already_recorded",
            Self::Cancelled => "cancelled",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Invalid => "invalid",
            Self::WouldCreate => "would_create",
            Self::NotStarted => "not_started",
        }
    }

    /// What it means, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Created => "this call created the Job",
            Self::CreatedAltered => {
                "this call created the Job, and the cluster changed it on the way"
            }
            Self::AlreadySubmitted => "the same Job was there already",
            Self::AlreadyRecorded => "the same experiment ran earlier and its Job was pruned",
            Self::Cancelled => "the same experiment was cancelled",
            Self::Conflict => {
                "the name belongs to something else, or was changed, or is being deleted"
            }
            Self::Refused => "the cluster said no; this call created no Job",
            Self::Unknown => "it cannot be known; running the same command again is safe",
            Self::Invalid => "the submission is invalid, or a signature is missing or dead",
            Self::WouldCreate => "a rehearsal went through; nothing was created",
            Self::NotStarted => "the call was stopped before this submission's turn",
        }
    }

    /// The whole story, for `harness explain`.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Created => {
                "The Secret and the Job were created by this call, and what the API server answered is what was rendered. \
Exit code 0."
            }
            Self::CreatedAltered => {
                "The rehearsal was clean, yet the Job that was stored differs where it matters: a webhook or policy \
acted differently on the real request. The Job may be running and is not what the submission says. The receipt lists the \
places. Nothing was deleted. Exit code 4."
            }
            Self::AlreadySubmitted => {
                "A Job with the same submission digest stands under the name and is unchanged where it matters. Nothing \
was created; `job.state` says how far it is. If the answer to a create was lost, a remark says so. Exit code 0, or 7 with \
`--fail-if-failed` if it has failed."
            }
            Self::AlreadyRecorded => {
                "The Job ran, ended and was pruned; the record in its place keeps the result from being made a second \
time. The result object holds what it published. Exit code 0."
            }
            Self::Cancelled => {
                "The Job stands under the name and was ended by `cancel`; the receipt says when and by whom. To run the \
experiment again, take a new attempt_id and with it a new result object. Exit code 7."
            }
            Self::Conflict => {
                "Something else holds the name of the Job, of the Secret or of the record, or our own object was changed by \
another hand, or is being deleted. The receipt lists the places that differ, never the values. harness changes and deletes \
nothing here. Exit code 4."
            }
            Self::Refused => {
                "The API server refused a request, and a read afterwards showed no Job. The receipt holds the server's sentence \
and says whether the Secret was created; the next run uses it. Exit code 5."
            }
            Self::Unknown => {
                "No answer could be relied on: the connection was cut, the server failed or was too slow, or it cannot be \
reached. The receipt says whether a create was on its way. Running the same command again reads what is there first and \
never makes a second Job. Exit code 6."
            }
            Self::Invalid => {
                "The submission has problems, or its signed URLs are missing or would not live until they are used. Nothing \
was created. Exit code 3."
            }
            Self::WouldCreate => {
                "With `--dry-run=server` the API server checked both objects and stored nothing; with `--dry-run=client` \
only harness did. Exit code 0."
            }
            Self::NotStarted => {
                "The call was stopped before this submission's turn came. Nothing was created for it. Run the same command \
again. Exit code 6."
            }
        }
    }
}

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

/// A skew that deserves a remark, in seconds.
const LARGE_SKEW: i64 = 60;

impl Receipt {
    fn blank(turn: Turn, outcome: ReceiptOutcome, detail: impl Into<String>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            source: turn.source,
            attempt_id: None,
            outcome,
            detail: detail.into(),
            remedy: None,
            job: None,
            secret: None,
            namespace: NamespaceReceipt { name: turn.namespace, uid: None },
            identity: None,
            record: None,
            differences: Vec::new(),
            drift: Vec::new(),
            remarks: Vec::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
            timings: Timings {
                started_at: turn.started.to_string(),
                milliseconds: turn.milliseconds,
                clock_skew_seconds: None,
            },
        }
    }

    /// A submission that cannot go on its way at all.
    pub fn invalid(turn: Turn, submission: Option<&Submission>, problems: &[Problem]) -> Self {
        Self {
            attempt_id: submission.map(|submission| submission.attempt_id().to_string()),
            problems: problems.iter().map(ProblemReceipt::from).collect(),
            remedy: Some(
                "mend the problems and submit again; `harness explain CODE` tells more".to_owned(),
            ),
            ..Self::blank(
                turn,
                ReceiptOutcome::Invalid,
                "the submission is invalid; nothing was created",
            )
        }
    }

    /// A submission whose turn never came.
    pub fn not_started(turn: Turn, plan: &Plan<'_>) -> Self {
        Self {
            remedy: Some("run the same command again".to_owned()),
            ..Self::blank(
                turn,
                ReceiptOutcome::NotStarted,
                "stopped before its turn; nothing was created",
            )
        }
        .identify(plan)
    }

    /// A submission that cannot reach the cluster at all.
    pub fn unreachable(turn: Turn, plan: &Plan<'_>, why: &str) -> Self {
        Self {
            remedy: Some("mend the connection and run the same command again".to_owned()),
            ..Self::blank(
                turn,
                ReceiptOutcome::Unknown,
                format!("the cluster cannot be reached: {why}"),
            )
        }
        .identify(plan)
    }

    /// A submission that was checked without asking the cluster.
    pub fn checked_here(turn: Turn, plan: &Plan<'_>, obstacles: Vec<Problem>) -> Self {
        let ending = if obstacles.is_empty() {
            Ending::WouldCreate { drift: Vec::new() }
        } else {
            Ending::Invalid(obstacles)
        };
        let receipt = Self::blank(turn, ReceiptOutcome::WouldCreate, "")
            .identify(plan)
            .tell(ending, SecretState::Unknown);
        match receipt.outcome {
            ReceiptOutcome::WouldCreate => Self {
                detail: "the submission is valid and renders; the cluster was not asked".to_owned(),
                ..receipt
            },
            _ => receipt,
        }
    }

    /// What the protocol ended with.
    pub fn of(turn: Turn, plan: &Plan<'_>, driven: Driven) -> Self {
        let Driven { conclusion, warnings, clock_skew } = driven;
        let Conclusion { ending, namespace_uid, secret, remarks } = conclusion;
        let mut receipt = Self::blank(turn, ReceiptOutcome::Unknown, "").identify(plan);
        receipt.namespace.uid = namespace_uid;
        receipt.warnings = warnings;
        receipt.remarks = remarks.iter().map(remark).collect();
        receipt.timings.clock_skew_seconds = clock_skew;
        if let Some(skew) = clock_skew.filter(|skew| skew.abs() >= LARGE_SKEW) {
            receipt.remarks.push(format!(
                "the API server's clock differs from this machine's by {skew} s; the server's decided"
            ));
        }
        if let Some(known) = &mut receipt.secret {
            known.state = secret_state(secret);
        }
        receipt.tell(ending, secret)
    }

    fn identify(mut self, plan: &Plan<'_>) -> Self {
        let names = plan.bundle().names();
        self.attempt_id = Some(plan.fitted().submission.attempt_id().to_string());
        self.job = Some(JobReceipt { name: names.job.clone(), uid: None, state: None });
        self.secret = Some(SecretReceipt {
            name: names.secret.clone(),
            state: secret_state(SecretState::Unknown),
        });
        self.identity = Some(IdentityReceipt {
            result_identity: names.result_identity.to_hex(),
            submission_digest: names.submission_digest.to_hex(),
            secret_digest: names.secret_digest.to_hex(),
            profile_digest: plan.bundle().profile_digest().to_hex(),
            render_version: RENDER_VERSION,
        });
        self
    }

    fn tell(self, ending: Ending, secret: SecretState) -> Self {
        match ending {
            Ending::Created(job) => {
                self.with_job(job).says(ReceiptOutcome::Created, "created the Job", None)
            }
            Ending::CreatedAltered(job, differences) => {
                let told = self.with_job(job).differing(differences);
                told.says(
                    ReceiptOutcome::CreatedAltered,
                    "created the Job, but the cluster changed it on the way: it may be running, and not as it was meant",
                    Some("look at the Job and find the webhook or policy that changed these places"),
                )
            }
            Ending::AlreadySubmitted(job) => {
                let detail = format!("the same Job is already there, {}", job.state);
                self.with_job(job).says(ReceiptOutcome::AlreadySubmitted, detail, None)
            }
            Ending::AlreadyRecorded(record) => {
                let detail = format!(
                    "the same experiment ran earlier ({}), recorded by {} at {}",
                    record.outcome, record.recorded_by, record.recorded_at
                );
                Self {
                    record: Some(RecordReceipt {
                        outcome: record.outcome,
                        recorded_by: record.recorded_by,
                        recorded_at: record.recorded_at,
                    }),
                    ..self
                }
                .says(ReceiptOutcome::AlreadyRecorded, detail, None)
            }
            Ending::Cancelled { job, at, by } => {
                let detail = format!("the same experiment was cancelled by {by} at {at}");
                self.with_job(job).says(
                    ReceiptOutcome::Cancelled,
                    detail,
                    Some("take a new attempt_id to run it again"),
                )
            }
            Ending::Conflict(conflict) => self.conflicting(conflict),
            Ending::Refused(obstacle) => self.refused(obstacle, secret),
            Ending::Unknown { doubt, may_run } => {
                let so_far = if may_run {
                    "the Job may have been created"
                } else {
                    "no Job was created by this call"
                };
                let detail =
                    format!("{so_far}, but it cannot be known how things stand: {}", doubt.why);
                self.says(
                    ReceiptOutcome::Unknown,
                    detail,
                    Some("run the same command again; that is safe"),
                )
            }
            Ending::Invalid(problems) => Self {
                problems: problems.iter().map(ProblemReceipt::from).collect(),
                ..self.says(
                    ReceiptOutcome::Invalid,
                    format!("signatures are missing or do not live long enough; {}", left(secret)),
                    Some("sign the URLs again and give them with `--signed FILE`"),
                )
            },
            Ending::WouldCreate { drift } => Self {
                drift: drift.into_iter().map(DriftReceipt::from).collect(),
                ..self.says(
                    ReceiptOutcome::WouldCreate,
                    "the cluster would take the Secret and the Job; nothing was created",
                    None,
                )
            },
        }
    }

    fn conflicting(self, conflict: Conflict) -> Self {
        let (job, differences, detail, remedy) = match conflict {
            Conflict::ForeignJob(job, paths) => (
                Some(job),
                paths,
                "another Job holds this result's name",
                "choose another result object, or a new attempt_id",
            ),
            Conflict::AlteredJob(job, paths) => (
                Some(job),
                paths,
                "the Job is there, but it was changed and may be running so",
                "find out who changed it; to run the experiment as written, take a new attempt_id",
            ),
            Conflict::TerminatingJob(job) => (
                Some(job),
                Vec::new(),
                "the Job is being deleted",
                "wait until it is gone and find out who deletes it; then look for its result before submitting again",
            ),
            Conflict::ForeignSecret(job, paths) => (
                job,
                paths,
                "a Secret with other content holds the name",
                "find out who made it; harness neither changes nor deletes it",
            ),
            Conflict::TerminatingSecret => (
                None,
                Vec::new(),
                "the Secret is being deleted",
                "wait until it is gone and submit again",
            ),
            Conflict::ForeignRecord(record) => (
                None,
                record.differences,
                "another experiment with this result ran earlier and was pruned",
                "choose another result object, or a new attempt_id",
            ),
        };
        let told = match job {
            Some(job) => self.with_job(job),
            None => self,
        };
        told.differing(differences).says(ReceiptOutcome::Conflict, detail, Some(remedy))
    }

    fn refused(self, obstacle: Obstacle, secret: SecretState) -> Self {
        let left = left(secret);
        match obstacle {
            Obstacle::Refusal { request, refusal } => {
                let left = match secret {
                    SecretState::Created => left,
                    _ => "this call created no Job",
                };
                let detail = format!("{}; {left}", refused_with(request, &refusal));
                self.says(ReceiptOutcome::Refused, detail, Some(refusal_remedy(refusal.code)))
            }
            Obstacle::NamespaceMissing => self.says(
                ReceiptOutcome::Refused,
                format!("there is no such namespace; {left}"),
                Some("check `--context` and `--namespace`, or create the namespace"),
            ),
            Obstacle::NamespaceDiffers { found } => self.says(
                ReceiptOutcome::Refused,
                format!("the namespace's UID is {found}, not the `namespace_uid` of the submission; {left}"),
                Some("check `--context`: this is another cluster, or the namespace was created anew"),
            ),
            Obstacle::WouldAlter(paths) => self.differing(paths).says(
                ReceiptOutcome::Refused,
                format!("the cluster would change what is submitted; {left}"),
                Some("have the webhook or policy leave these places alone in this namespace"),
            ),
            Obstacle::SecretAltered(paths) => self.differing(paths).says(
                ReceiptOutcome::Refused,
                "the cluster changed the Secret on the way; no Job was created",
                Some("have the webhook or policy leave Secrets of harness alone, and delete this one"),
            ),
        }
    }

    fn says(
        self,
        outcome: ReceiptOutcome,
        detail: impl Into<String>,
        remedy: Option<&str>,
    ) -> Self {
        Self { outcome, detail: detail.into(), remedy: remedy.map(str::to_owned), ..self }
    }

    fn differing(self, differences: Vec<String>) -> Self {
        Self { differences, ..self }
    }

    fn with_job(mut self, job: JobFact) -> Self {
        if let Some(known) = &mut self.job {
            known.uid = Some(job.uid);
            known.state = Some(job.state);
        }
        self.drift = job.drift.into_iter().map(DriftReceipt::from).collect();
        self
    }

    /// Whether the Job that this receipt found had already failed.
    pub fn found_failed(&self) -> bool {
        let failed = job_state_name(Finished::Failed);
        self.outcome == ReceiptOutcome::AlreadySubmitted
            && self.job.as_ref().and_then(|job| job.state.as_deref()) == Some(failed)
    }
}

/// What a call that made no Job leaves behind.
fn left(secret: SecretState) -> &'static str {
    match secret {
        SecretState::Created => {
            "this call created no Job; the Secret was created and is used by the next run"
        }
        SecretState::Unknown => "this call created no Job",
        SecretState::Absent | SecretState::Present | SecretState::Removed => "nothing was created",
    }
}

fn job_state_name(finished: Finished) -> &'static str {
    match finished {
        Finished::Succeeded => "succeeded",
        Finished::Failed => "failed",
    }
}

fn refusal_remedy(code: u16) -> &'static str {
    match code {
        401 => "log in again: the cluster does not accept these credentials",
        403 => {
            "ask for the missing right or for more quota; the sentence above says which (manifests/cluster holds the roles)"
        }
        404 => "check `--context` and `--namespace`",
        413 => "the objects are too large for this API server",
        _ => "mend what the API server names and submit again",
    }
}

fn secret_state(state: SecretState) -> &'static str {
    match state {
        SecretState::Unknown => "unknown",
        SecretState::Absent => "absent",
        SecretState::Present => "present",
        SecretState::Created => "created",
        SecretState::Removed => "removed",
    }
}

fn remark(remark: &Remark) -> String {
    match remark {
        Remark::AnswerLost => {
            "the answer to a create was lost: this call, or another one at the same time, created the Job".to_owned()
        }
        Remark::SecretRepaired => "the Job's Secret was missing and was created again".to_owned(),
        Remark::NamedSecretMissing(name) => {
            format!("the Job names the Secret {name}, which is missing: its pod cannot start")
        }
        Remark::SecretNotRepaired(why) => {
            format!("the Job's Secret is missing, so its pod cannot start; {why}")
        }
        Remark::SecretLeft => {
            "the Secret that this call created could not be removed, as far as is known; a prune will".to_owned()
        }
    }
}
