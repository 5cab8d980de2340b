//! The outcomes that a receipt of `cancel`, `release` and `prune` can have: frozen names, and the stories that
//! `harness explain` tells. Pure.

use serde::Serialize;

/// How it ended. The names are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LedgerOutcome {
    /// Its end was asked for, and has not come yet.
    CancelRequested,
    /// It was cancelled, and has ended.
    Cancelled,
    /// It had ended before; nothing was changed.
    AlreadyFinished,
    /// Its identity is free.
    Released,
    /// It cannot be proven that it never ran; nothing was changed.
    NotReleased,
    /// Its record stands, and the Job and its Secrets are gone.
    Pruned,
    /// Its record stands and there is no Job.
    AlreadyRecorded,
    /// Secrets that nothing needs were removed.
    SecretsRemoved,
    /// There was nothing to do for it.
    Kept,
    /// A dry run: the Job would be replaced by its record.
    WouldPrune,
    /// A dry run: Secrets would be removed.
    WouldRemoveSecrets,
    /// There is no such experiment.
    Missing,
    /// Something else stands under the name.
    Conflict,
    /// The cluster said no.
    Refused,
    /// Something is being deleted and waits for others; the same command again goes on.
    Incomplete,
    /// It cannot be known; the same command again goes on.
    Unknown,
    /// The call was stopped before its turn.
    NotStarted,
}

impl LedgerOutcome {
    /// Every outcome, in the order of the documentation.
    pub const ALL: [Self; 17] = [
        Self::CancelRequested,
        Self::Cancelled,
        Self::AlreadyFinished,
        Self::Released,
        Self::NotReleased,
        Self::Pruned,
        Self::AlreadyRecorded,
        Self::SecretsRemoved,
        Self::Kept,
        Self::WouldPrune,
        Self::WouldRemoveSecrets,
        Self::Missing,
        Self::Conflict,
        Self::Refused,
        Self::Incomplete,
        Self::Unknown,
        Self::NotStarted,
    ];

    /// The frozen name.
    pub fn name(self) -> &'static str {
        match self {
            Self::CancelRequested => "cancel_requested",
            Self::Cancelled => "cancelled",
            Self::AlreadyFinished => "already_finished",
            Self::Released => "released",
            Self::NotReleased => "not_released",
            Self::Pruned => "pruned",
            Self::AlreadyRecorded => "already_recorded",
            Self::SecretsRemoved => "secrets_removed",
            Self::Kept => "kept",
            Self::WouldPrune => "would_prune",
            Self::WouldRemoveSecrets => "would_remove_secrets",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Incomplete => "incomplete",
            Self::Unknown => "unknown",
            Self::NotStarted => "not_started",
        }
    }

    /// What it means, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::CancelRequested => "the end was asked for and has not come yet",
            Self::Cancelled => "the experiment was cancelled and has ended",
            Self::AlreadyFinished => "the experiment had ended before",
            Self::Released => "the identity is free again",
            Self::NotReleased => "it is not proven that the code never ran",
            Self::Pruned => "the record stands, and Job and Secrets are gone",
            Self::AlreadyRecorded => "the record stood and there was no Job",
            Self::SecretsRemoved => "Secrets that nothing needs are gone",
            Self::Kept => "there was nothing to do for it after all",
            Self::WouldPrune => "a dry run: the Job would be replaced by its record",
            Self::WouldRemoveSecrets => "a dry run: Secrets would be removed",
            Self::Missing => "there is no Job and no record of this name",
            Self::Conflict => "something else stands under the name",
            Self::Refused => "the cluster said no to cancel, release or prune",
            Self::Incomplete => "something is being deleted and waits for others",
            Self::Unknown => "it cannot be known how far it came",
            Self::NotStarted => "the call was stopped before this one's turn",
        }
    }

    /// The whole story, for `harness explain`.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::CancelRequested => {
                "The Job carries who cancelled it and when, and its pod, or the Job itself where there is no pod on a node, has a deadline of a second. The cluster ends it with TERM and grace; `harness prediction dispatch status --wait` tells when that has happened. What is published until then stays. Exit code 0."
            }
            Self::Cancelled => {
                "Nothing of it runs any more, and `submit` says from now on that it was cancelled, by whom and when. The Job stays as the record of that; a suspended Job was replaced by its record. To run the experiment, take a new attempt_id and a new result object with it. Exit code 0."
            }
            Self::AlreadyFinished => {
                "There was nothing left to cancel: the Job had succeeded or failed. Nothing was changed, and no mark of a cancel was left on it. Exit code 0."
            }
            Self::Released => {
                "It was proven that `run` never started; the Job and its Secrets are gone, and no record was written. The same file can be submitted again, or another one with the same result object. Exit code 0."
            }
            Self::NotReleased => {
                "Releasing means that the same code may be started again, so it needs proof that it never was: a pod that is still there and shows that `run` never had a container, or a pod that never had a node. The receipt says what is missing. Nothing was removed; take a new attempt_id instead. Exit code 4."
            }
            Self::Pruned => {
                "The record, an immutable ConfigMap of the Job's name, was written and read back before anything went. `submit`, `status` and `list` read it in the Job's place, so that the result is not made a second time. Exit code 0."
            }
            Self::AlreadyRecorded => {
                "Somebody pruned it before, or a cancel replaced the suspended Job by its record. What was left of its Secrets was removed by prune; nothing else was changed. Exit code 0."
            }
            Self::SecretsRemoved => {
                "Signed URLs of an experiment that has ended, or of one whose Job was never created and that is older than the limit. The Job, if there is one, stays. Exit code 0."
            }
            Self::Kept => {
                "Between the list and its turn something changed: somebody else was faster, or the experiment is not old enough by the server's clock. The receipt says what. Nothing was changed. Exit code 0."
            }
            Self::WouldPrune => {
                "With `--dry-run` nothing is changed; without it this Job and its Secrets would go once the record stands. Exit code 0."
            }
            Self::WouldRemoveSecrets => {
                "With `--dry-run` nothing is changed; without it the Secrets that the receipt names would go, and nothing else. Exit code 0."
            }
            Self::Missing => {
                "The name is wrong, or context or namespace are, or the experiment was released, which leaves nothing. `harness prediction dispatch list` shows what there is. Exit code 9."
            }
            Self::Conflict => {
                "A Job that harness did not make, or one whose name, label and digests do not agree; or a record of another Job. Nothing was removed, and nothing will be until somebody finds out who made it so; of a Job that arrived after its experiment was pruned, docs/ledger.md says what to look at before it is deleted. Exit code 4."
            }
            Self::Refused => {
                "The API server refused a request: a role without the right, an admission policy, a quota. The receipt holds its sentence. What had been done before stands, and the same command again goes on from there. Exit code 5."
            }
            Self::Incomplete => {
                "An object was asked to go and carries finalizers of other controllers, which have to let go first. The same command again goes on from what is there. Exit code 6."
            }
            Self::Unknown => {
                "No answer could be relied on: a lost connection, a time limit, a server that is starting. Each step is decided from what the API server holds, so that the same command again goes on and never does harm twice. Exit code 6."
            }
            Self::NotStarted => {
                "Ctrl-C, a signal or the time limit of the call came first. Nothing was changed for this experiment; the same command again goes on with it. Exit code 6."
            }
        }
    }
}
