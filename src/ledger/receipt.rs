//! The receipt of `cancel`, `release` and `prune`: what is known about one experiment, for people and programs. Pure.
//!
//! The JSON form is stable and versioned. Texts that are not ours stand in it as they came; the printer neutralises
//! them for terminals.

use serde::Serialize;

use super::drive::Driven;
pub use super::outcome::LedgerOutcome;
use super::protocol::{Command, Conclusion, Ending, Fate};
use super::survey::Task;
use crate::submit::record::Record;

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_ledger_receipt.v1";

/// What is known about one experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerReceipt {
    /// `prediction_ledger_receipt.v1`.
    pub schema_version: &'static str,
    /// `cancel`, `release`, `prune` or `remove-secrets`.
    pub command: &'static str,
    /// How it ended.
    pub outcome: LedgerOutcome,
    /// One sentence that says what is known.
    pub detail: String,
    /// What to do next, if anything.
    pub remedy: Option<String>,
    /// The Job.
    pub job: LedgerJob,
    /// The namespace.
    pub namespace: LedgerNamespace,
    /// The record, if one was read.
    pub record: Option<Record>,
    /// Names of the Secrets that were removed, or would be.
    pub secrets: Vec<String>,
    /// What happened on the way.
    pub remarks: Vec<String>,
    /// The API server's warnings.
    pub warnings: Vec<String>,
}

/// The Job, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerJob {
    /// Its name.
    pub name: String,
    /// Its UID, if it was seen.
    pub uid: Option<String>,
    /// Where it stood: `queued`, `pending`, `active`, `succeeded` or `failed`.
    pub state: Option<&'static str>,
    /// When it was cancelled, if it was.
    pub cancelled_at: Option<String>,
    /// By whom.
    pub cancelled_by: Option<String>,
}

/// The namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerNamespace {
    /// Its name.
    pub name: String,
    /// Its UID, once read.
    pub uid: Option<String>,
}

impl LedgerReceipt {
    /// Of a command that was driven to its end.
    pub fn of(namespace: &str, name: &str, command: Command, driven: Driven) -> Self {
        let Driven { conclusion, warnings } = driven;
        let (outcome, detail, remedy) = wording(command, &conclusion);
        let mut receipt = Self::new(namespace, name, command, outcome, detail, remedy);
        if let Some(job) = &conclusion.job {
            receipt.job.uid = Some(job.uid.clone());
            receipt.job.state = Some(job.state.name());
            if let Some(cancelled) = &job.cancelled {
                receipt.job.cancelled_at = Some(cancelled.at.to_string());
                receipt.job.cancelled_by.clone_from(&cancelled.by);
            }
        }
        receipt.namespace.uid = conclusion.namespace_uid;
        receipt.record = conclusion.record;
        receipt.secrets = conclusion.secrets;
        receipt.remarks = conclusion.remarks;
        receipt.warnings = warnings;
        receipt
    }

    /// What a prune would do.
    pub fn would(namespace: &str, task: &Task) -> Self {
        let (outcome, detail) = match task.command {
            Command::Sweep { .. } => (
                LedgerOutcome::WouldRemoveSecrets,
                "its Secrets would be removed; nothing was changed",
            ),
            _ => (
                LedgerOutcome::WouldPrune,
                "the Job would be replaced by its record; nothing was changed",
            ),
        };
        let mut receipt =
            Self::new(namespace, &task.name, task.command, outcome, detail.to_owned(), None);
        receipt.secrets.clone_from(&task.secrets);
        receipt
    }

    /// Of a task whose turn did not come.
    pub fn not_started(namespace: &str, task: &Task) -> Self {
        let detail = "the call was stopped before its turn; nothing was changed".to_owned();
        let outcome = LedgerOutcome::NotStarted;
        Self::new(namespace, &task.name, task.command, outcome, detail, AGAIN)
    }

    /// Of a command without a connection.
    pub fn unreachable(namespace: &str, name: &str, command: Command, why: &str) -> Self {
        let detail = format!("{why}; nothing was changed");
        Self::new(namespace, name, command, LedgerOutcome::Unknown, detail, AGAIN)
    }

    fn new(
        namespace: &str,
        name: &str,
        command: Command,
        outcome: LedgerOutcome,
        detail: String,
        remedy: Option<&str>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            command: match command {
                Command::Cancel => "cancel",
                Command::Release => "release",
                Command::Prune { .. } => "prune",
                Command::Sweep { .. } => "remove-secrets",
            },
            outcome,
            detail,
            remedy: remedy.map(str::to_owned),
            job: LedgerJob {
                name: name.to_owned(),
                uid: None,
                state: None,
                cancelled_at: None,
                cancelled_by: None,
            },
            namespace: LedgerNamespace { name: namespace.to_owned(), uid: None },
            record: None,
            secrets: Vec::new(),
            remarks: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

const AGAIN: Option<&str> = Some("run the same command again: it goes on from what is there");
const STAYS: &str = "what it had published stays";

fn wording(
    command: Command,
    conclusion: &Conclusion,
) -> (LedgerOutcome, String, Option<&'static str>) {
    use LedgerOutcome as Of;
    let recorded = conclusion.record.as_ref().map(|record| {
        format!("{} recorded by {} at {}", record.outcome, record.recorded_by, record.recorded_at)
    });
    let state = conclusion.job.as_ref().map_or("unknown", |job| job.state.name());
    let by = conclusion.job.as_ref().and_then(|job| job.cancelled.as_ref()).map(|cancelled| {
        format!("by {} at {}", cancelled.by.as_deref().unwrap_or("somebody"), cancelled.at)
    });
    match &conclusion.ending {
        Ending::CancelRequested => (
            Of::CancelRequested,
            format!(
                "cancel requested {}: its deadline is a second, and the cluster ends it; {STAYS}",
                by.unwrap_or_default()
            ),
            Some("`status --wait` tells when it has ended"),
        ),
        Ending::Cancelled => {
            let how = match &conclusion.record {
                Some(_) => "its record stands in its place".to_owned(),
                None => format!("it has ended ({state})"),
            };
            let by = by.unwrap_or_default();
            (Of::Cancelled, format!("cancelled {by}: {how}; {STAYS}"), NEW_ATTEMPT)
        }
        Ending::AlreadyFinished => (
            Of::AlreadyFinished,
            format!("it had already ended ({state}); nothing was changed"),
            None,
        ),
        Ending::Released => (
            Of::Released,
            "it provably never ran: its Job and Secrets are gone, and it can be submitted again"
                .to_owned(),
            None,
        ),
        Ending::NotReleased(why) => (
            Of::NotReleased,
            format!(
                "it is not proven that it never ran: {why}; {}",
                what_remains(conclusion, "nothing was removed")
            ),
            NEW_ATTEMPT,
        ),
        Ending::Pruned => (
            Of::Pruned,
            format!(
                "its Job and Secrets are gone; its record stands ({})",
                recorded.unwrap_or_else(|| "not read".to_owned())
            ),
            None,
        ),
        Ending::AlreadyRecorded => (
            Of::AlreadyRecorded,
            format!("it ended earlier; its record stands ({})", recorded.unwrap_or_default()),
            None,
        ),
        Ending::Kept(why) => {
            (Of::Kept, format!("{why}; {}", what_remains(conclusion, "nothing was changed")), None)
        }
        Ending::Swept => (
            Of::SecretsRemoved,
            format!("{} Secrets that nothing needs were removed", conclusion.secrets.len()),
            None,
        ),
        Ending::Missing => (
            Of::Missing,
            "there is no Job and no record of this name in the namespace".to_owned(),
            match command {
                Command::Cancel | Command::Release => {
                    Some("check name, context and namespace; a released experiment is free")
                }
                Command::Prune { .. } | Command::Sweep { .. } => None,
            },
        ),
        Ending::Conflict(why) => {
            let remains = what_remains(conclusion, "nothing was removed");
            (Of::Conflict, format!("{why}; {remains}"), Some("find out who made it so"))
        }
        Ending::Refused { request, refusal } => {
            let reason = if refusal.reason.is_empty() {
                String::new()
            } else {
                format!(" {}", refusal.reason)
            };
            (
                Of::Refused,
                format!("{request} was refused with {}{reason}: {}", refusal.code, refusal.message),
                Some("the roles and the admission policies of the cluster say who may do it"),
            )
        }
        Ending::Incomplete(why) => (Of::Incomplete, why.clone(), AGAIN),
        Ending::Unknown(doubt) => (Of::Unknown, doubt.why.clone(), AGAIN),
    }
}

/// What is left after a command that did not get to its end: `nothing` where it removed nothing.
fn what_remains(conclusion: &Conclusion, nothing: &'static str) -> &'static str {
    let secrets = (conclusion.secrets.as_slice(), conclusion.unclear.as_slice());
    match (&conclusion.record, secrets, conclusion.pod) {
        (Some(_), ..) => "its record stands",
        (None, ([], []), Fate::Untouched) => nothing,
        (None, ([], []), Fate::Unanswered) => {
            "the removal of its pod, which had no node, was not answered and may still come"
        }
        (None, ([], []), Fate::Gone) => "its pod, which had no node, is gone, and nothing else",
        (None, ([], _), _) => {
            "the removal of its Secrets was not answered and may still come; submitting it again creates its Secret anew"
        }
        (None, ..) => "its Secrets are gone; submitting it again creates its Secret anew",
    }
}

const NEW_ATTEMPT: Option<&str> =
    Some("take a new attempt_id, and a new result object with it, to run it");
