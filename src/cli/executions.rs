//! What `execute` says at its end: its stable form, and the wording for people. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::neutral;
use crate::execution::Reason;
use crate::execution::execute::Ended;
use crate::submission::{Sha256Digest, Submission};
use crate::submit::receipt::ProblemReceipt;

/// The version of the JSON form.
pub(super) const SCHEMA_VERSION: &str = "prediction_execution.v1";

/// The outcome of a submission that was not begun.
const INVALID: &str = "invalid";

/// What `execute -o json` prints. Field order is frozen.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Execution<'a> {
    /// `prediction_execution.v1`.
    pub(super) schema_version: &'static str,
    /// The file of the submission, `-` for standard input.
    pub(super) source: &'a str,
    /// The attempt; null when the submission cannot be read.
    pub(super) attempt_id: Option<String>,
    /// `invalid`, or the category of the step that decides.
    pub(super) outcome: &'static str,
    /// The exit code: 3, or that of the category.
    pub(super) exit_code: u8,
    /// What happened, in one sentence.
    pub(super) detail: String,
    /// What to do next; null when nothing is to be done.
    pub(super) remedy: Option<String>,
    /// Where the result is or would be, without a query; null when the submission cannot be read.
    pub(super) result_object: Option<String>,
    /// Whether the result object is this run's.
    pub(super) published: bool,
    /// The result identity, 64 digits; null when the submission cannot be read.
    pub(super) result_identity: Option<String>,
    /// The submission digest, 64 digits; null when the submission does not fit its profile.
    pub(super) submission_digest: Option<String>,
    /// SHA-256 of the whole result; null when none was made.
    pub(super) result_digest: Option<&'a str>,
    /// SHA-256 of the evidence in it; null when none was made.
    pub(super) evidence_digest: Option<&'a str>,
    /// What was to be started on this machine.
    pub(super) command: &'a [String],
    /// The folder, where it was kept; null otherwise.
    pub(super) folder: Option<String>,
    /// How each step ended, in their order; of `run` a hint only, which the runner can write.
    pub(super) steps: &'a [Reason],
    /// What is wrong with the submission.
    pub(super) problems: Vec<ProblemReceipt>,
}

impl<'a> Execution<'a> {
    /// Of a submission that was not begun.
    pub(super) fn invalid(
        source: &'a str,
        submission: Option<&Submission>,
        command: &'a [String],
        problems: Vec<ProblemReceipt>,
        exit_code: u8,
    ) -> Self {
        let count = match problems.len() {
            1 => "the submission has 1 problem".to_owned(),
            many => format!("the submission has {many} problems"),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            source,
            attempt_id: submission.map(|it| it.attempt_id().to_string()),
            outcome: INVALID,
            exit_code,
            detail: format!("{count}; nothing was begun"),
            remedy: None,
            result_object: submission.map(|it| it.result().put_url.without_query()),
            published: false,
            result_identity: submission.map(|it| it.result_identity().to_hex()),
            submission_digest: None,
            result_digest: None,
            evidence_digest: None,
            command,
            folder: None,
            steps: &[],
            problems,
        }
    }

    /// Of one that was executed.
    pub(super) fn of(
        source: &'a str,
        submission: &Submission,
        digest: Sha256Digest,
        command: &'a [String],
        ended: &'a Ended,
        folder: Option<String>,
    ) -> Self {
        let decisive = ended.decisive();
        let category = decisive.category;
        let digest_of = |name| decisive.digests.get(name).map(String::as_str);
        Self {
            outcome: category.name(),
            exit_code: category.exit_code(),
            detail: decisive.sentence.clone(),
            remedy: Some(decisive.remedy.clone()).filter(|remedy| !remedy.is_empty()),
            published: ended.is_published(),
            submission_digest: Some(digest.to_hex()),
            result_digest: digest_of("result"),
            evidence_digest: digest_of("evidence"),
            folder,
            steps: &ended.steps,
            ..Self::invalid(source, Some(submission), command, Vec::new(), 0)
        }
    }

    /// One line for programs.
    pub(super) fn for_programs(&self) -> String {
        neutral::json(&serde_json::to_string(self).expect("texts and numbers always serialise"))
    }

    /// A few lines for people.
    pub(super) fn for_people(&self) -> String {
        let who = self.attempt_id.as_deref().unwrap_or(self.source);
        let mut shown = neutral::text(&format!("{who}: {}", self.outcome));
        let mut line = |label: &str, text: &str| {
            let indented = neutral::lines(text).replace('\n', "\n               ");
            write!(shown, "\n  {label:<12} {indented}").expect("writing to a String");
        };
        line("detail", &self.detail);
        if let Some(remedy) = &self.remedy {
            line("help", remedy);
        }
        line(
            "made by",
            &format!("{:?} on this machine, without a cluster or the image", self.command),
        );
        if let (true, Some(object)) = (self.published, &self.result_object) {
            line("result", object);
        }
        for (label, digest) in [
            ("sha256", self.result_digest),
            ("evidence", self.evidence_digest),
            ("submission", self.submission_digest.as_deref()),
        ] {
            if let Some(digest) = digest {
                line(label, digest);
            }
        }
        if let Some(folder) = &self.folder {
            line("folder", folder);
        }
        shown
    }
}
