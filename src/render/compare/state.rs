//! What a live Job says about itself: who it is, which Secret it names, where it stands.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{equivalence, keys};

/// That `cancel` ended a Job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cancellation {
    /// When it was cancelled, as the canceller wrote it.
    pub at: Timestamp,
    /// Who cancelled it, where that was written down.
    pub by: Option<String>,
}

/// Where a Job stands, as far as the Job alone tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Suspended: it waits for its queue.
    Queued,
    /// No pod was made for it yet.
    Pending,
    /// It has a pod, which may itself still wait for a node or an image.
    Running,
    /// It is complete.
    Succeeded {
        /// Since when, by the server's clock.
        at: Option<Timestamp>,
    },
    /// It failed, and will not be tried again.
    Failed {
        /// Since when, by the server's clock.
        at: Option<Timestamp>,
        /// The condition's reason, such as `DeadlineExceeded`; a word of the API, empty if there is none.
        reason: String,
    },
}

impl JobState {
    /// The stable name. `active` says no more than the Job knows: its pod may still wait for a node.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Pending => "pending",
            Self::Running => "active",
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether nothing will change any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Queued | Self::Pending | Self::Running => false,
            Self::Succeeded { .. } | Self::Failed { .. } => true,
        }
    }
}

/// The object's UID.
pub fn uid(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("uid")?.as_str().filter(|uid| !uid.is_empty())
}

/// Whether the object is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The one Secret of this Job's own naming that the Job's volumes name; none if they name several.
pub fn named_secret(job: &Value) -> Option<String> {
    let name = job.pointer("/metadata/name")?.as_str()?;
    let volumes = job.pointer("/spec/template/spec/volumes")?.as_array()?;
    let named = volumes
        .iter()
        .filter_map(|volume| volume.get("secret")?.get("secretName")?.as_str())
        .filter(|secret| equivalence::is_signed_secret(secret, name));
    let distinct: BTreeSet<&str> = named.collect();
    match distinct.into_iter().collect::<Vec<_>>()[..] {
        [secret] => Some(secret.to_owned()),
        _ => None,
    }
}

/// Whether the Job uses the Secret in any way: whether any text in it is the Secret's name.
///
/// [`named_secret`] knows the one place where harness writes it; a hand may have added others.
pub fn mentions(object: &Value, name: &str) -> bool {
    match object {
        Value::String(text) => text == name,
        Value::Array(items) => items.iter().any(|item| mentions(item, name)),
        Value::Object(members) => members.values().any(|member| mentions(member, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether harness cancelled the Job: it says since when, as a time that can be read.
pub fn cancelled(job: &Value) -> Option<Cancellation> {
    let at = keys::annotation(job, keys::CANCELLED_AT)?.parse().ok()?;
    let by = keys::annotation(job, keys::CANCELLED_BY).map(str::to_owned);
    Some(Cancellation { at, by })
}

/// Where the Job stands. Only the conditions `Complete` and `Failed` are an end: before one of them counts
/// come and go, and the controller may be behind or restarting.
pub fn job_state(job: &Value) -> JobState {
    let condition = |kind: &str| {
        let conditions = job.pointer("/status/conditions")?.as_array()?;
        conditions
            .iter()
            .find(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    if let Some(failed) = condition("Failed") {
        let reason = failed["reason"].as_str().unwrap_or_default().to_owned();
        return JobState::Failed { at: transition(failed), reason };
    }
    if let Some(complete) = condition("Complete") {
        return JobState::Succeeded { at: transition(complete) };
    }
    if job.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return JobState::Queued;
    }
    let counts = ["active", "succeeded", "failed", "terminating"];
    let has_pod = counts.iter().any(|count| job["status"][count].as_u64().is_some_and(|n| n > 0));
    let is_ending =
        condition("FailureTarget").or_else(|| condition("SuccessCriteriaMet")).is_some();
    if has_pod || is_ending { JobState::Running } else { JobState::Pending }
}

fn transition(condition: &Value) -> Option<Timestamp> {
    condition["lastTransitionTime"].as_str()?.parse().ok()
}

/// The image of the research container.
pub(super) fn run_image(job: &Value) -> Option<&str> {
    let containers = job.pointer("/spec/template/spec/containers")?.as_array()?;
    containers.iter().find(|container| container["name"] == "run")?.get("image")?.as_str()
}
