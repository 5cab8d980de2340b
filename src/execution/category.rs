//! How a step of the pod can end: its categories and their exit codes, a table of their own. Pure.
//!
//! The names and numbers are frozen: they stand in termination messages, evidence, `status` and scripts. 0 is
//! success, and 10 to 29 leave 1 and 2 to bugs and usage, and 126 and more to shells, runtimes and signals.

use serde::{Deserialize, Serialize};

/// A step of the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Fetches and checks the inputs.
    Stage,
    /// Runs the submission's code.
    Run,
    /// Packs and publishes the result.
    Publish,
}

impl Step {
    /// The name of the step's container and command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Run => "run",
            Self::Publish => "publish",
        }
    }
}

/// Why a step ended as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Everything was done.
    Succeeded,
    /// A volume holds something already: this step had begun before.
    AlreadyStarted,
    /// The result object exists: somebody published it earlier.
    AlreadyPublished,
    /// An input could not be fetched although it was tried again: transport, 5xx, 429.
    DownloadFailed,
    /// The store refused an input for good: 403, 404, a redirect to another host.
    DownloadRefused,
    /// The bytes that were fetched are not those that the submission names.
    DigestMismatch,
    /// The mission names another mission, evaluator or budget than the submission.
    IdentityMismatch,
    /// The mission cannot be read.
    MissionInvalid,
    /// An archive cannot be read or is not safe to unpack.
    ArchiveRefused,
    /// The inputs are larger than the profile allows.
    InputsTooLarge,
    /// What is left of the pod's time is too short for what must still follow.
    OutOfTime,
    /// There is no command to run, or it cannot be executed.
    NoRunner,
    /// The runner ended with a status other than 0.
    RunnerFailed,
    /// The runner was ended by a signal that harness did not send.
    RunnerKilled,
    /// The runner did not stop within its budget.
    BudgetExceeded,
    /// The runner needed more memory than it may use.
    OutOfMemory,
    /// Output or scratch grew beyond its size or its number of files.
    LimitExceeded,
    /// The runner was never started.
    NeverStarted,
    /// The step was asked to stop: the pod's deadline, a cancel, an eviction.
    Stopped,
    /// The result could not be published.
    PublicationFailed,
    /// What the step needs around it is missing or broken: a volume, a URL's file, certificates, the connection.
    Environment,
}

impl Category {
    /// Every category, by exit code.
    pub const ALL: [Self; 21] = [
        Self::Succeeded,
        Self::AlreadyStarted,
        Self::AlreadyPublished,
        Self::DownloadFailed,
        Self::DownloadRefused,
        Self::DigestMismatch,
        Self::IdentityMismatch,
        Self::MissionInvalid,
        Self::ArchiveRefused,
        Self::InputsTooLarge,
        Self::OutOfTime,
        Self::NoRunner,
        Self::RunnerFailed,
        Self::RunnerKilled,
        Self::BudgetExceeded,
        Self::OutOfMemory,
        Self::LimitExceeded,
        Self::NeverStarted,
        Self::Stopped,
        Self::PublicationFailed,
        Self::Environment,
    ];

    /// The exit code of a step that ends so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::AlreadyStarted => 10,
            Self::AlreadyPublished => 11,
            Self::DownloadFailed => 12,
            Self::DownloadRefused => 13,
            Self::DigestMismatch => 14,
            Self::IdentityMismatch => 15,
            Self::MissionInvalid => 16,
            Self::ArchiveRefused => 17,
            Self::InputsTooLarge => 18,
            Self::OutOfTime => 19,
            Self::NoRunner => 20,
            Self::RunnerFailed => 21,
            Self::RunnerKilled => 22,
            Self::BudgetExceeded => 23,
            Self::OutOfMemory => 24,
            Self::LimitExceeded => 25,
            Self::NeverStarted => 26,
            Self::Stopped => 27,
            Self::PublicationFailed => 28,
            Self::Environment => 29,
        }
    }

    /// The category of an exit code, for a step whose message is lost.
    pub fn of_exit_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|category| i64::from(category.exit_code()) == code)
    }

    /// The name, as it is serialised.
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::AlreadyStarted => "already-started",
            Self::AlreadyPublished => "already-published",
            Self::DownloadFailed => "download-failed",
            Self::DownloadRefused => "download-refused",
            Self::DigestMismatch => "digest-mismatch",
            Self::IdentityMismatch => "identity-mismatch",
            Self::MissionInvalid => "mission-invalid",
            Self::ArchiveRefused => "archive-refused",
            Self::InputsTooLarge => "inputs-too-large",
            Self::OutOfTime => "out-of-time",
            Self::NoRunner => "no-runner",
            Self::RunnerFailed => "runner-failed",
            Self::RunnerKilled => "runner-killed",
            Self::BudgetExceeded => "budget-exceeded",
            Self::OutOfMemory => "out-of-memory",
            Self::LimitExceeded => "limit-exceeded",
            Self::NeverStarted => "never-started",
            Self::Stopped => "stopped",
            Self::PublicationFailed => "publication-failed",
            Self::Environment => "environment",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_and_names_are_told_apart() {
        for (index, category) in Category::ALL.into_iter().enumerate() {
            let code = category.exit_code();
            assert!(code == 0 || (10..=29).contains(&code), "{category:?}");
            assert_eq!(Category::of_exit_code(i64::from(code)), Some(category));
            assert_eq!(serde_json::to_value(category).unwrap(), category.name());
            for other in &Category::ALL[index + 1..] {
                assert_ne!(category.name(), other.name());
                assert!(code < other.exit_code());
            }
        }
        assert_eq!(Category::of_exit_code(137), None);
        assert_eq!(Category::of_exit_code(-1), None);
    }
}
