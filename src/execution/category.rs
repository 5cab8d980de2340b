//! How a step of the pod can end: its categories and their exit codes, a table of their own. Pure.
//!
//! The names and numbers are frozen: they stand in termination messages, evidence, `status` and scripts. 0 is
//! success, and 10 to 29 leave 1 and 2 to bugs and usage, and 126 and more to shells, runtimes and signals.

use serde::{Deserialize, Serialize};

/// A step of the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

impl Category {
    /// What it means, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Succeeded => "everything was done",
            Self::AlreadyStarted => "this step had begun before: a volume holds something already",
            Self::AlreadyPublished => "the result object exists: somebody published it earlier",
            Self::DownloadFailed => "an input could not be fetched, although it was tried again",
            Self::DownloadRefused => "the store refused an input for good",
            Self::DigestMismatch => "an input is not the one that the submission names",
            Self::IdentityMismatch => {
                "the mission names another mission, evaluator or budget than the submission"
            }
            Self::MissionInvalid => "the mission cannot be read",
            Self::ArchiveRefused => "an archive cannot be read or is not safe to unpack",
            Self::InputsTooLarge => "the inputs are larger than the profile allows",
            Self::OutOfTime => "what is left of the pod's time is too short for what must follow",
            Self::NoRunner => "there is no command to run, or it cannot be executed",
            Self::RunnerFailed => "the runner ended with a status other than 0",
            Self::RunnerKilled => "the runner was ended by a signal that harness did not send",
            Self::BudgetExceeded => "the runner did not stop within its budget",
            Self::OutOfMemory => "the runner needed more memory than it may use",
            Self::LimitExceeded => "output or scratch grew beyond what the profile allows",
            Self::NeverStarted => "the runner was never started",
            Self::Stopped => "the step was asked to stop: a deadline, a cancel, an eviction",
            Self::PublicationFailed => "the result could not be published",
            Self::Environment => "something that the step needs around it is missing or broken",
        }
    }

    /// The whole story, for `harness explain`: why it happens and what to do.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Succeeded => "The step did all that it was there for.",
            Self::AlreadyStarted => {
                "Each step begins once in the life of a pod's volumes, so that research code never runs over an earlier \
start. A volume that is not empty says that something began before: a container was started again, or a volume was \
filled by other means. Nothing was run this time; the result of the first start, if it was published, stands."
            }
            Self::AlreadyPublished => {
                "The result object is created, never overwritten, and it exists. Another experiment with the same result \
object, in another namespace or cluster perhaps, was faster, or an earlier Job of this one was deleted by hand. \
`harness evidence verify` on the object tells whose it is. For a new run take a new attempt_id with a new object."
            }
            Self::DownloadFailed => {
                "The store could not be reached, answered 5xx or 429, or cut the transfer, again and again until the \
profile's staging allowance was over. Look at the store, the network policy and the proxy of the profile; then submit \
again under a new attempt_id, or release the experiment, since its runner never started."
            }
            Self::DownloadRefused => {
                "The store answered 403, 404 or another final refusal, or sent the request to another host. The store's own \
error code stands in the message: a signature that has expired or covers other headers, or an object that is not \
there. Sign again; the runner never started, so the experiment can be released."
            }
            Self::DigestMismatch => {
                "The SHA-256 of the bytes that were fetched differs from the one in the submission: the object was replaced, \
or the digest was computed over something else. Both digests stand in the message. Nothing of it was used."
            }
            Self::IdentityMismatch => {
                "mission_id, evaluator_version and search_budget.max_seconds stand in the submission and in the mission \
document, and must be equal, so that a result cannot be credited to another mission. The message names both values."
            }
            Self::MissionInvalid => {
                "The mission is a strict JSON object of at most 1 MiB with mission_id, evaluator_version and \
search_budget.max_seconds. The message names the first problem; the digest was right, so the document itself is wrong."
            }
            Self::ArchiveRefused => {
                "tar, tar.gz, tar.zst and zip are unpacked; anything else is taken as one plain file. Refused are paths that \
are absolute or lead outside, links that lead outside, devices, names that are there twice or differ in case only, and \
more entries, bytes or compression than is allowed. The message names the entry."
            }
            Self::InputsTooLarge => {
                "What was fetched or unpacked does not fit volumes.inputs of the profile. Take a profile with more, or make \
the inputs smaller; a larger size is another profile digest and so another experiment."
            }
            Self::OutOfTime => {
                "Publication always keeps its allowance, so a step that can no longer end in time does not begin: images were \
pulled or inputs fetched for longer than the profile allows. Raise the allowances of the profile."
            }
            Self::NoRunner => {
                "runner_command names no program of the image, or one that cannot be executed: it is not there, not \
executable, of another architecture, or its interpreter is missing. The message says which."
            }
            Self::RunnerFailed => {
                "The research code ended with a status other than 0. What it left in its output folder was published with the \
evidence, and `harness prediction dispatch logs` shows what it printed. The experiment has run: a new run is a new \
attempt_id."
            }
            Self::RunnerKilled => {
                "A signal ended the research code, or everything in its container at once: a crash (SIGSEGV, SIGABRT), or \
SIGKILL by the kernel or by hand. What it left was published with the evidence."
            }
            Self::BudgetExceeded => {
                "search_budget.max_seconds had passed, so the runner got TERM, and KILL after a moment. What it had written by \
then was published with the evidence."
            }
            Self::OutOfMemory => {
                "The runner reached the memory limit of its container (resources.run.memory of the profile). What it left was \
published with the evidence; a profile with more memory is another experiment."
            }
            Self::LimitExceeded => {
                "The runner wrote more bytes or more files than volumes.output or volumes.scratch of the profile hold, and was \
ended before the kubelet would have evicted the pod. Output that is too large is not published; its evidence is."
            }
            Self::NeverStarted => {
                "`run` did not report to `publish` in time, so no research code was started: its image could not be pulled or \
started, or the pod was ended before. The experiment can be released and submitted again."
            }
            Self::Stopped => {
                "The kubelet asked the step to end: the pod's deadline had passed, the experiment was cancelled, or its node \
was drained."
            }
            Self::PublicationFailed => {
                "The runner had ended, and its result could not be written to the store within the publication allowance, or \
the store refused it. The message has the store's own error code. The result is lost with the pod; the experiment has \
run, and a new run is a new attempt_id."
            }
            Self::Environment => {
                "A volume, the file of a URL, the certificates or the connection between the steps is missing or broken. The \
message says which; it is a matter of the cluster, the profile or the harness image, not of the research code."
            }
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
