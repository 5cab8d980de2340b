//! From an ending to a receipt: the sentences that an operator reads. Pure.

use super::{
    DriftReceipt, IdentityReceipt, JobReceipt, NamespaceReceipt, ProblemReceipt, Receipt,
    ReceiptOutcome, RecordReceipt, SCHEMA_VERSION, SecretReceipt, Timings, Turn,
};
use crate::render::identity::RENDER_VERSION;
use crate::submission::{Problem, Submission};
use crate::submit::drive::Driven;
use crate::submit::ending::{Conclusion, Conflict, Ending, Obstacle, Remark, SecretState};
use crate::submit::facts::JobFact;
use crate::submit::plan::Plan;
use crate::submit::protocol::refused_with;

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

    /// A submission that cannot go on its way at all; `file` is what the problems are about, if not the submission.
    pub fn invalid(
        turn: Turn,
        submission: Option<&Submission>,
        problems: &[Problem],
        file: Option<&str>,
    ) -> Self {
        let in_file = |problem: &Problem| ProblemReceipt {
            file: file.map(str::to_owned),
            ..ProblemReceipt::from(problem)
        };
        Self {
            attempt_id: submission.map(|submission| submission.attempt_id().to_string()),
            problems: problems.iter().map(in_file).collect(),
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
                    format!("signatures or digests are missing, or signatures do not live long enough; {}", left(secret)),
                    Some("mend what the problems name; signed URLs are given with `--signed FILE`"),
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
            Obstacle::NamespaceReplaced => self.says(
                ReceiptOutcome::Refused,
                format!("the namespace was deleted and created anew while this call was under way; {left}"),
                Some("find out who did that, and run the same command again"),
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

    /// Whether the experiment that this receipt found, as a Job or as its record, had already failed.
    pub fn found_failed(&self) -> bool {
        let state = match self.outcome {
            ReceiptOutcome::AlreadySubmitted => {
                self.job.as_ref().and_then(|job| job.state.as_deref())
            }
            ReceiptOutcome::AlreadyRecorded => {
                self.record.as_ref().map(|record| record.outcome.as_str())
            }
            _ => None,
        };
        state == Some(FAILED)
    }
}

/// What a failed experiment is called, in a Job's state and in a record.
const FAILED: &str = "failed";

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
