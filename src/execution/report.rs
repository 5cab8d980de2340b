//! How the runner ended, as `run` reports it and the evidence keeps it. Pure.

use serde::{Deserialize, Serialize};

use super::Category;

/// How the runner ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ending {
    /// It ended by itself.
    Exited {
        /// Its exit status, 0 to 255.
        code: i32,
    },
    /// A signal that harness did not send ended it.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// It was still running at the end of its budget, and harness ended it.
    BudgetExceeded,
    /// The kernel ended it, or a process of it, for want of memory, or harness did just before.
    OutOfMemory,
    /// It wrote more than fits, and harness ended it.
    LimitExceeded {
        /// Which limit.
        limit: Limit,
    },
    /// It could not be started.
    NotExecuted {
        /// Why, such as `No such file or directory`.
        cause: String,
    },
    /// `run` was told to stop, and ended it.
    Stopped,
    /// The connection to `run` ended before it had reported: everything in its container was killed at once.
    Lost,
}

impl Ending {
    /// What this ending is called.
    pub fn category(&self) -> Category {
        match self {
            Self::Exited { code: 0 } => Category::Succeeded,
            Self::Exited { .. } => Category::RunnerFailed,
            Self::Signalled { .. } | Self::Lost => Category::RunnerKilled,
            Self::BudgetExceeded => Category::BudgetExceeded,
            Self::OutOfMemory => Category::OutOfMemory,
            Self::LimitExceeded { .. } => Category::LimitExceeded,
            Self::NotExecuted { .. } => Category::NoRunner,
            Self::Stopped => Category::Stopped,
        }
    }
}

/// What can be full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Bytes of the output folder.
    OutputBytes,
    /// Number of files and folders in the output folder.
    OutputEntries,
    /// Bytes of the scratch folder, `/tmp` included.
    ScratchBytes,
    /// Number of files and folders in the scratch folder.
    ScratchEntries,
}

/// What `run` reports once the runner has ended. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunReport {
    /// How it ended.
    pub ending: Ending,
    /// When it was started, RFC 3339; null when it was not.
    pub started_at: Option<String>,
    /// When it had ended, RFC 3339.
    pub finished_at: String,
    /// Milliseconds between the two by the monotonic clock.
    pub wall_milliseconds: u64,
    /// Milliseconds of processor time of it and all its children, user and system; null when unknown.
    pub cpu_milliseconds: Option<u64>,
    /// The most bytes of memory that its container used at once; null when the kernel does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// The last lines of its output, at most 16 KiB, with what is not UTF-8 replaced.
    pub output_tail: String,
    /// Bytes of its output in all.
    pub output_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_have_a_frozen_form() {
        let of = |ending: Ending| serde_json::to_string(&ending).unwrap();
        assert_eq!(of(Ending::Exited { code: 3 }), r#"{"kind":"exited","code":3}"#);
        assert_eq!(of(Ending::Signalled { signal: 9 }), r#"{"kind":"signalled","signal":9}"#);
        assert_eq!(of(Ending::BudgetExceeded), r#"{"kind":"budget-exceeded"}"#);
        assert_eq!(
            of(Ending::LimitExceeded { limit: Limit::OutputBytes }),
            r#"{"kind":"limit-exceeded","limit":"output-bytes"}"#
        );
        assert_eq!(of(Ending::Lost), r#"{"kind":"lost"}"#);
    }

    #[test]
    fn only_status_0_is_success() {
        assert_eq!(Ending::Exited { code: 0 }.category(), Category::Succeeded);
        assert_eq!(Ending::Exited { code: 1 }.category(), Category::RunnerFailed);
        assert_eq!(Ending::Lost.category(), Category::RunnerKilled);
    }
}
