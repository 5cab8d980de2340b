//! The outcomes that a receipt can have: frozen names, and the stories that `harness explain` tells.

use serde::Serialize;

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
                "The Job stands under the name and was ended on request; the receipt says when and by whom. To run the \
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
