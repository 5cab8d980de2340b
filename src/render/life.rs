//! Will the signed URLs live until they are used? Which signatures are still missing?
//!
//! Pure: the caller brings "now", which is the API server's clock in `submit` and the local one in
//! `validate`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::fit::Fitted;
use super::placeholder::placeholders;
use crate::submission::presign;
use crate::submission::{Code, Fault, Problem, Signed, UrlField};

/// A URL has no signature where one is needed.
pub static SIGNATURE_MISSING: Code = Code {
    name: "signature-missing",
    summary: "a URL that has to be signed is not",
    explanation: "A reviewed submission may carry plain URLs, but the pod needs signed ones. Give them to `submit` with `--signed FILE`: a JSON \
object with the same fields, each a signed URL of the same object (docs/signing.md). Inputs that anybody may read need no \
signature: say so with `--public-inputs`.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&SIGNATURE_MISSING];

/// Everything that keeps a submission from beginning at `now`: placeholders, dead or missing signatures.
pub fn obstacles(fitted: &Fitted<'_>, public_inputs: bool, now: Timestamp) -> Vec<Problem> {
    let mut problems = placeholders(fitted);
    problems.extend(missing_signatures(fitted, public_inputs));
    problems.extend(dead_urls(fitted, now));
    problems
}

/// The URLs that still need a signature. Inputs need none where they are declared to be public.
pub fn missing_signatures(fitted: &Fitted<'_>, public_inputs: bool) -> Vec<Problem> {
    let submission = fitted.submission;
    let mut problems = Vec::new();
    for (field, url) in submission.urls() {
        let unsigned = matches!(submission.signature(field, url), Signed::Unsigned);
        if unsigned && !(field.is_input() && public_inputs) {
            let remedy = if field.is_input() {
                "sign it and give it with `--signed FILE`, or say `--public-inputs` if anybody may read it"
            } else {
                "sign it and give it with `--signed FILE`"
            };
            let fault = Fault::new(
                &SIGNATURE_MISSING,
                "a URL without a signature",
                format!("a URL that is signed for {}", method_name(field)),
                remedy,
            );
            problems.push(fault.at(format!("/{}", field.name()), None));
        }
    }
    problems
}

/// The signed URLs that do not live until they are used, seen from `now`.
pub fn dead_urls(fitted: &Fitted<'_>, now: Timestamp) -> Vec<Problem> {
    let submission = fitted.submission;
    let mut problems = Vec::new();
    for (field, url) in submission.urls() {
        let Signed::Signed(signature) = submission.signature(field, url) else { continue };
        let needed_until = later(now, needed_for(fitted, field));
        if let Err(fault) = presign::check_life(&signature, now, needed_until) {
            problems.push(fault.at(format!("/{}", field.name()), None));
        }
    }
    problems
}

fn needed_for(fitted: &Fitted<'_>, field: UrlField) -> Duration {
    if field.is_input() {
        fitted.deadlines.inputs_needed_for
    } else {
        fitted.deadlines.output_needed_for
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn method_name(field: UrlField) -> &'static str {
    match field.method() {
        presign::Method::Get => "GET",
        presign::Method::Put => "PUT",
    }
}
