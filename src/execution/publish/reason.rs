//! The last words of `publish`: the runner's outcome, and whether the world has it. Pure.

use super::pack::Package;
use super::send::Sent;
use crate::execution::reason::FOUND_EVIDENCE;
use crate::execution::{Category, Reason, Step};

/// The termination message.
pub(super) fn of(package: &Package, sent: &Sent) -> Reason {
    let outcome = &package.outcome;
    let (category, sentence, remedy) = match sent {
        Sent::Verified => published(package, "read back and found the same"),
        Sent::Unverified(why) => published(package, why),
        Sent::Before { outcome: category, .. } => (
            *category,
            format!(
                "this Job published its result before, from another pod, with the outcome `{}`",
                category.name()
            ),
            "the digests `found_evidence` and `evidence` are of that result and of this one, which was not published",
        ),
        Sent::Other(found) => (
            Category::AlreadyPublished,
            match found {
                Some(_) => format!(
                    "another run's result is there already and was not touched; {}",
                    outcome.sentence
                ),
                None => format!(
                    "an object that is no result of this Job is there already and was not touched; {}",
                    outcome.sentence
                ),
            },
            "read what is there with `harness evidence verify`; this run's result is not published",
        ),
        Sent::CannotTell(why) => (
            Category::PublicationFailed,
            format!(
                "nobody can tell whether the result was published: {why}; {}",
                outcome.sentence
            ),
            "fetch the result object: it is this run's if its SHA-256 is the digest `result`",
        ),
        Sent::Failed(why) => (
            Category::PublicationFailed,
            format!("the result was not published: {why}; {}", outcome.sentence),
            "the run is not repeated: mend the cause, and submit with a new attempt_id",
        ),
        Sent::Differs => (
            Category::PublicationFailed,
            format!("the store gave back other bytes than were sent; {}", outcome.sentence),
            "do not use the object; ask who else writes there, and whether the bucket keeps versions",
        ),
    };
    let reason = Reason::new(Step::Publish, category, &sentence, remedy)
        .with_digest("evidence", package.packed.evidence)
        .with_digest("result", package.packed.digest);
    match sent {
        Sent::Before { evidence, .. } | Sent::Other(Some(evidence)) => {
            reason.with_digest(FOUND_EVIDENCE, *evidence)
        }
        _ => reason,
    }
}

fn published(package: &Package, how: &str) -> (Category, String, &'static str) {
    let left_out = match package.left_out {
        0 => String::new(),
        number => format!(", {number} entries left out"),
    };
    let sentence = format!(
        "{}; published with {} files in {} bytes{left_out} ({how})",
        package.outcome.sentence, package.files, package.packed.bytes
    );
    let remedy = match package.outcome.category {
        Category::Succeeded => "",
        _ => "the evidence in the result says more; submit with a new attempt_id to run again",
    };
    (package.outcome.category, sentence, remedy)
}
