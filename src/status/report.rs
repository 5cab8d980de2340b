//! What `status` reports: its stable form. Pure.
//!
//! Texts that are not ours stand in it cut, but as they came; the printer neutralises them for terminals.

use serde::Serialize;

use super::category::Category;
use crate::execution::Step;

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_status.v1";

/// How far an experiment is. The names are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// There is no such experiment.
    Absent,
    /// Suspended, usually by a queue.
    Queued,
    /// Its pod has not begun.
    Pending,
    /// The inputs are fetched.
    Staging,
    /// The runner is at work.
    Running,
    /// The result is published.
    Publishing,
    /// It is over, and well.
    Succeeded,
    /// It is over, and not well.
    Failed,
    /// It was ended on request.
    Cancelled,
    /// What was seen cannot be told apart.
    Unknown,
}

impl Phase {
    /// Every phase, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Pending,
        Self::Staging,
        Self::Running,
        Self::Publishing,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Absent,
        Self::Unknown,
    ];

    /// The frozen name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Queued => "queued",
            Self::Pending => "pending",
            Self::Staging => "staging",
            Self::Running => "running",
            Self::Publishing => "publishing",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is over.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// What a diagnosis rests on, from the most to the least trustworthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The Job's own state.
    Job,
    /// What a step of harness's image, out of the runner's reach, left as its message.
    StepMessage,
    /// What `run` left as its message, which the runner could have written.
    RunMessage,
    /// The exit code of a step.
    ExitCode,
    /// What the kubelet says of a container.
    Container,
    /// What the pod's status says.
    Pod,
    /// What the queue says of the Job.
    Queue,
    /// An event; events are hints.
    Event,
    /// The record of a pruned Job.
    Record,
    /// Nothing was found.
    Nothing,
}

/// Why it stands where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The stable category, for `harness explain`.
    pub category: Category,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What to do next; null where nothing is to be done.
    pub remedy: Option<String>,
    /// What this rests on.
    pub basis: Basis,
    /// The step that it is about.
    pub step: Option<Step>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It has not begun.
    Waiting,
    /// It is at work.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended, and not well.
    Failed,
    /// Nothing is known of it.
    Unknown,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepStatus {
    /// Which.
    pub step: Step,
    /// How far it is.
    pub state: StepState,
    /// When it began, RFC 3339. Publishing begins with the end of `run`.
    pub started_at: Option<String>,
    /// When it ended, RFC 3339.
    pub finished_at: Option<String>,
    /// How long it has taken, in seconds.
    pub seconds: Option<i64>,
    /// How long it may take, in seconds.
    pub allowance_seconds: Option<i64>,
    /// What is left of that, in seconds, while it is at work.
    pub left_seconds: Option<i64>,
    /// The exit code of its container.
    pub exit_code: Option<i64>,
}

/// Whether the submission's code was started; what may be tried again depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunStarted {
    /// It was.
    Yes,
    /// It provably was not: every pod that there ever was is here to see, and none has made the container.
    Never,
    /// Nobody can tell any more.
    Unknown,
}

/// The pod that is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PodStatus {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its node, once it has one.
    pub node: Option<String>,
    /// The images that its containers really run, by the kubelet.
    pub image_ids: Vec<String>,
}

/// The digests and names that an experiment is known by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Identity {
    /// The operator's name for the attempt.
    pub attempt_id: Option<String>,
    /// The mission's own name.
    pub mission_id: Option<String>,
    /// The profile.
    pub profile: Option<String>,
    /// The image of the submission.
    pub image: Option<String>,
    /// Of the result object.
    pub result_identity: Option<String>,
    /// Of everything that decides what runs.
    pub submission_digest: Option<String>,
    /// Of the Secret's content.
    pub secret_digest: Option<String>,
    /// Where the result is created, without a query.
    pub result_object: Option<String>,
}

/// When things happened, RFC 3339, by the cluster's clocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Times {
    /// The Job was created.
    pub created_at: Option<String>,
    /// The Job was started: its deadline runs from here.
    pub started_at: Option<String>,
    /// The Job ended.
    pub finished_at: Option<String>,
    /// Seconds since it was created; never negative, though clocks differ.
    pub age_seconds: Option<i64>,
    /// What is left until the Job's deadline, in seconds, while it is not over.
    pub job_left_seconds: Option<i64>,
    /// What is left until the pod's deadline, in seconds, while it is not over.
    pub pod_left_seconds: Option<i64>,
}

/// Where an experiment stands and why. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// `prediction_status.v1`.
    pub schema_version: &'static str,
    /// The Job's name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The Job's UID.
    pub job_uid: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// Why.
    pub diagnosis: Diagnosis,
    /// What else is worth knowing.
    pub remarks: Vec<String>,
    /// The steps, in their order.
    pub steps: Vec<StepStatus>,
    /// The newest pod.
    pub pod: Option<PodStatus>,
    /// How many pods of this Job are known.
    pub pods: usize,
    /// Whether the submission's code was started.
    pub run_started: RunStarted,
    /// When things happened.
    pub times: Times,
    /// What it is known by.
    pub identity: Identity,
    /// SHA-256 of the evidence, once it is published.
    pub evidence_digest: Option<String>,
    /// SHA-256 of the result object, once this pod published it.
    pub result_digest: Option<String>,
    /// SHA-256 digests that the last step stated, by name.
    pub digests: std::collections::BTreeMap<String, String>,
    /// Whether this comes from the record of a pruned Job.
    pub is_recorded: bool,
}

impl Status {
    /// What distinguishes this from an earlier one for somebody who watches: not the passing of time alone.
    pub fn differs_from(&self, earlier: &Self) -> bool {
        let view = |status: &Self| {
            let steps: Vec<_> =
                status.steps.iter().map(|step| (step.state, step.exit_code)).collect();
            (status.job_uid.clone(), status.phase, status.diagnosis.clone(), status.pods, steps)
        };
        view(self) != view(earlier) || self.remarks != earlier.remarks
    }
}
