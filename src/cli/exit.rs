//! The exit codes: documented API, and the only table from outcomes to codes.

use std::process::ExitCode;

use crate::status::{Basis, Category, FollowEnd, Followed, Phase, Status};
use crate::submit::{Receipt, ReceiptOutcome};

/// How a command ends. The numbers are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done: created now, or already there and the same.
    Done,
    /// A bug in harness.
    Bug,
    /// Wrong usage.
    Usage,
    /// The submission is invalid, or a signature is missing or dead; nothing was created.
    Invalid,
    /// The name is taken by something else, or was changed, or is being deleted.
    Conflict,
    /// The cluster refused; no Job was created.
    Refused,
    /// Outcome unknown or cluster unreachable; running the same command again is safe.
    Unknown,
    /// The experiment itself failed, or was cancelled.
    Failed,
    /// Waited long enough; the experiment goes on.
    Waited,
    /// There is no such experiment.
    Absent,
}

impl Exit {
    /// Every code that a command can end with today, most urgent first: the order for several submissions.
    pub const BY_URGENCY: [Self; 10] = [
        Self::Bug,
        Self::Usage,
        Self::Unknown,
        Self::Conflict,
        Self::Refused,
        Self::Invalid,
        Self::Failed,
        Self::Waited,
        Self::Absent,
        Self::Done,
    ];

    /// The number.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Bug => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Conflict => 4,
            Self::Refused => 5,
            Self::Unknown => 6,
            Self::Failed => 7,
            Self::Waited => 8,
            Self::Absent => 9,
        }
    }

    /// What it means, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done: created now, or already there and the same",
            Self::Bug => "a bug in harness",
            Self::Usage => "wrong usage",
            Self::Invalid => {
                "the submission is invalid, or a signature is missing or dead; nothing was created"
            }
            Self::Conflict => {
                "conflict: the name is taken by something else, or was changed, or is being deleted; the receipt says what is known to run"
            }
            Self::Refused => {
                "the cluster refused; no Job was created (the receipt says whether the Secret was)"
            }
            Self::Unknown => {
                "outcome unknown or cluster unreachable; running the same command again is safe"
            }
            Self::Failed => "the experiment itself failed, or was cancelled",
            Self::Waited => "waited long enough; the experiment goes on",
            Self::Absent => "there is no such experiment",
        }
    }

    /// The whole story, for `harness explain`.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Done => {
                "Everything that was asked for is so: valid, rendered, created now, or there already and the same."
            }
            Self::Bug => {
                "harness ended in a way that it never should. Please report it with the command and the output. Running the same \
command again is safe."
            }
            Self::Usage => {
                "The command line cannot be understood, a file that it names cannot be read, or a site's profile is broken. Nothing \
was sent to a cluster."
            }
            Self::Invalid => {
                "At least one submission has problems. Each is listed with its place, what was found, what is allowed and what \
to do; `harness explain CODE` tells more."
            }
            Self::Conflict => {
                "Something else holds a name, or an object was changed or is being deleted, or the cluster changed the Job on its \
way. The receipt lists the places and says what is known to run."
            }
            Self::Refused => {
                "The API server said no, and a read showed that there is no Job. The receipt holds its sentence."
            }
            Self::Unknown => {
                "The cluster cannot be reached or its answer cannot be relied on, or the call was stopped. Run the same command \
again: it reads what is there and never makes a second Job."
            }
            Self::Failed => {
                "The experiment was cancelled or has failed, as `status`, `logs` and every wait say; `submit` without a wait says so of a \
failed one only with `--fail-if-failed`."
            }
            Self::Waited => {
                "The time given with `--wait` has passed and the experiment is not over. It goes on; the same command waits again."
            }
            Self::Absent => {
                "The namespace holds no Job and no record of this name, or the Job that was waited for was deleted or replaced."
            }
        }
    }

    /// The exit code of one receipt.
    pub fn of_receipt(receipt: &Receipt, fail_if_failed: bool) -> Self {
        match receipt.outcome {
            ReceiptOutcome::AlreadySubmitted | ReceiptOutcome::AlreadyRecorded
                if fail_if_failed && receipt.found_failed() =>
            {
                Self::Failed
            }
            ReceiptOutcome::Created
            | ReceiptOutcome::AlreadySubmitted
            | ReceiptOutcome::AlreadyRecorded
            | ReceiptOutcome::WouldCreate => Self::Done,
            ReceiptOutcome::CreatedAltered | ReceiptOutcome::Conflict => Self::Conflict,
            ReceiptOutcome::Cancelled => Self::Failed,
            ReceiptOutcome::Refused => Self::Refused,
            ReceiptOutcome::Unknown | ReceiptOutcome::NotStarted => Self::Unknown,
            ReceiptOutcome::Invalid => Self::Invalid,
        }
    }

    /// The exit code of one status, without waiting.
    pub fn of_status(status: &Status, asked: Option<&str>) -> Self {
        let category = status.diagnosis.category;
        if [Category::ABSENT, Category::DELETED, Category::REPLACED].contains(&category) {
            return Self::Absent;
        }
        let is_unreadable_record =
            status.phase == Phase::Unknown && status.diagnosis.basis == Basis::Record;
        if category == Category::FOREIGN
            || is_unreadable_record
            || asked.is_some_and(|digest| status.is_of_another_submission(digest))
        {
            return Self::Conflict;
        }
        match status.phase {
            Phase::Failed | Phase::Cancelled => Self::Failed,
            _ => Self::Done,
        }
    }

    /// The exit code of one that was waited for.
    pub fn of_followed(followed: &Followed) -> Self {
        match (&followed.end, &followed.status) {
            (FollowEnd::Over, Some(status)) => {
                Self::of_status(status, followed.target.submission_digest.as_deref())
            }
            (FollowEnd::Waited, Some(_)) => Self::Waited,
            (FollowEnd::Refused(_), _) => Self::Refused,
            _ => Self::Unknown,
        }
    }

    /// The exit code of several: the first in [`Self::BY_URGENCY`] that occurred.
    pub fn most_urgent(exits: impl IntoIterator<Item = Self>) -> Self {
        let rank = |exit: &Self| Self::BY_URGENCY.iter().position(|candidate| candidate == exit);
        exits.into_iter().min_by_key(rank).unwrap_or(Self::Done)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_code_wins() {
        assert_eq!(Exit::most_urgent([]), Exit::Done);
        assert_eq!(Exit::most_urgent([Exit::Done, Exit::Invalid, Exit::Conflict]), Exit::Conflict);
        assert_eq!(Exit::most_urgent([Exit::Refused, Exit::Unknown]), Exit::Unknown);
        assert_eq!(Exit::most_urgent([Exit::Unknown, Exit::Usage]), Exit::Usage);
    }

    #[test]
    fn every_code_has_a_number_of_its_own() {
        let mut numbers: Vec<u8> = Exit::BY_URGENCY.iter().map(|exit| exit.number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), Exit::BY_URGENCY.len());
    }
}
