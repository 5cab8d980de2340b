//! What an API server holds, compared with what was rendered: the same, changed, or somebody else's.
//!
//! Every leaf that harness renders must be there and equal, and nothing may stand beside it where it could
//! change what runs, with which rights, or how long the Job is remembered. Everything else that a server,
//! an admission webhook or a queue adds is *drift*: reported, harmless. Differences and drift name a path,
//! never a value. Pure; any JSON is taken.

pub(super) mod equivalence;
mod keys;
mod metadata;
mod path;
mod place;
mod secret;
mod state;
#[cfg(test)]
mod tests;
mod walk;

use serde_json::Value;

pub use path::Path;
pub use secret::compare_secret;
pub use state::{
    Cancellation, JobState, cancelled, is_terminating, job_state, mentions, named_secret, uid,
};

use super::decisive::decisive_digest;
use walk::Walk;

/// What an API server holds under a name, compared with what harness would put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is what was rendered.
    Same {
        /// What differs without changing what runs.
        drift: Vec<Drift>,
    },
    /// It was made for this submission, and somebody changed what decides what runs.
    Altered {
        /// Where it differs; never empty.
        differences: Vec<Path>,
        /// What differs besides, without changing what runs.
        drift: Vec<Drift>,
    },
    /// It is another experiment, or none of harness'.
    Foreign {
        /// Where it differs, identities first; never empty.
        differences: Vec<Path>,
    },
}

impl Verdict {
    /// Whether it is what was rendered, drift or not.
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same { .. })
    }
}

/// One place that differs without changing what runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// Where.
    pub path: Path,
    /// Why it is harmless.
    pub kind: DriftKind,
}

/// Why a difference is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftKind {
    /// Somebody else's field, label or annotation, where it does not decide what runs.
    Added,
    /// The steps around the run use another harness image, also pinned by digest.
    HarnessImage,
    /// The queue that the profile names started, stopped or placed the Job.
    Queue,
    /// It was rendered by another version of harness, so only identities and the recorded digest are compared.
    RenderVersion,
    /// The URLs were signed again or the inputs lie elsewhere; the bytes are bound by their digests.
    SignedAgain,
}

impl DriftKind {
    /// The stable name, as it stands in a receipt.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::HarnessImage => "harness-image",
            Self::Queue => "queue",
            Self::RenderVersion => "render-version",
            Self::SignedAgain => "signed-again",
        }
    }
}

/// Compares a rendered Job with one that an API server holds, or answers with to a dry run.
///
/// Which Secret it names ([`named_secret`]), whether it was cancelled ([`cancelled`]) and whether it is being
/// deleted ([`is_terminating`]) are asked separately and make no difference here.
pub fn compare_job(rendered: &Value, live: &Value) -> Verdict {
    let differing = keys::differing_identities(rendered, live, &keys::JOB_IDENTITY);
    let is_foreign = !differing.is_empty();
    if !is_foreign && has_other_render_version(rendered, live) {
        return compare_other_version(rendered, live);
    }
    let mut walk = Walk::of_jobs(rendered, live);
    walk.job(rendered, live);
    let (differences, drift) = walk.finish();
    if is_foreign {
        let mut all = differing;
        all.extend(keys::differing_identities(rendered, live, &keys::JOB_DESCRIPTION));
        return Verdict::Foreign { differences: without_repetition(all, differences) };
    }
    verdict(differences, drift)
}

fn verdict(differences: Vec<Path>, drift: Vec<Drift>) -> Verdict {
    if differences.is_empty() {
        Verdict::Same { drift }
    } else {
        Verdict::Altered { differences, drift }
    }
}

fn without_repetition(mut first: Vec<Path>, then: Vec<Path>) -> Vec<Path> {
    for path in then {
        if !first.contains(&path) {
            first.push(path);
        }
    }
    first
}

fn has_other_render_version(rendered: &Value, live: &Value) -> bool {
    let version = |job| keys::annotation(job, keys::RENDER_VERSION);
    match (version(rendered), version(live)) {
        (Some(ours), Some(theirs)) => ours != theirs,
        _ => false,
    }
}

/// A Job of another render version has other leaves, so it is held against its own record: the submission
/// and result identity are known to be equal here, the research image must be, and nobody may have changed
/// what its decisive digest covers.
fn compare_other_version(rendered: &Value, live: &Value) -> Verdict {
    let containers = Path::root().field("spec").field("template").field("spec").field("containers");
    let mut differences = Vec::new();
    let image = state::run_image(live);
    if image.is_none() || image != state::run_image(rendered) {
        differences.push(containers.item("run").field("image"));
    }
    let recorded = keys::annotation(live, keys::DECISIVE_DIGEST);
    if recorded != Some(decisive_digest(live).to_hex().as_str()) {
        differences.push(keys::annotation_path(keys::DECISIVE_DIGEST));
    }
    let path = keys::annotation_path(keys::RENDER_VERSION);
    verdict(differences, vec![Drift { path, kind: DriftKind::RenderVersion }])
}
