//! Digests that stand for nothing yet: a starter file has them, and no run may begin with one. Pure.

use super::fit::Fitted;
use crate::submission::{Code, Fault, Problem};

/// A digest is still the placeholder of a starter file.
pub static DIGEST_PLACEHOLDER: Code = Code {
    name: "digest-placeholder",
    summary: "a digest is still a placeholder",
    explanation: "A digest of zeros only is what `harness init` writes where it could not find one out; nothing has that digest. \
`validate` takes it with a warning, so that a starter can be looked at, and `submit` refuses it, since the run would fail and the \
attempt's name would be used up. Write the real digest: `sha256sum FILE` for an input, `crane digest IMAGE` for an image.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&DIGEST_PLACEHOLDER];

/// The digests of the submission that are placeholders.
pub fn placeholders(fitted: &Fitted<'_>) -> Vec<Problem> {
    let submission = fitted.submission;
    let mut digests = vec![
        ("/image", submission.image().digest()),
        ("/evaluator_version", submission.evaluator_version()),
        ("/mission_sha256", submission.mission().sha256),
        ("/snapshot_sha256", submission.snapshot().sha256),
    ];
    digests.extend(submission.resume().map(|resume| ("/resume_sha256", resume.sha256)));
    digests
        .into_iter()
        .filter(|(_, digest)| digest.is_zero())
        .map(|(pointer, _)| {
            Fault::new(
                &DIGEST_PLACEHOLDER,
                "a digest of zeros only",
                "the digest of the real content",
                "write the real digest before submitting",
            )
            .at(pointer, None)
        })
        .collect()
}
