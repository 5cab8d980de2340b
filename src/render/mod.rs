//! Renders a submission into its bundle: one immutable Secret and one Job.
//!
//! Pure: the same submission, profile, harness image and namespace give the same bytes on any machine
//! and day. Nothing here reads a clock, the environment or a file.

pub mod compare;
pub mod decisive;
pub mod fit;
pub mod identity;
mod job;
pub mod k8s;
pub mod life;
pub mod mask;
pub mod names;
pub mod placeholder;
mod placement;
mod secret;
mod steps;

use std::collections::BTreeMap;

use serde_json::Value;

pub use fit::{Fitted, fit};
pub use names::Names;

use crate::submission::{Namespace, Problem, Sha256Digest, Submission};

/// The rendered Secret and Job. Only [`render`] makes one.
#[derive(Clone)]
pub struct Bundle {
    names: Names,
    profile_digest: Sha256Digest,
    secret_values: BTreeMap<&'static str, String>,
    secret: Value,
    job: Value,
}

/// Renders the bundle; the one thing that can still be missing is the harness image.
pub fn render(fitted: &Fitted<'_>, namespace: &Namespace) -> Result<Bundle, Problem> {
    let harness_image = fitted.harness_image()?.to_string();
    let secret_values = secret::values(fitted.submission);
    let names = Names::new(fitted, namespace, identity::secret_digest(&secret_values));
    let secret = to_value(&secret::render(&names, &secret_values));
    let mut job = to_value(&job::render(fitted, &names, &harness_image));
    let decisive = decisive::decisive_digest(&job).to_hex();
    job["metadata"]["annotations"][names::DECISIVE_DIGEST] = Value::String(decisive);
    Ok(Bundle { names, profile_digest: fitted.profile_digest, secret_values, secret, job })
}

/// What the Secret holds: every URL by its field's name, and the headers of the PUT. For a run without a cluster, which
/// keeps it in memory.
pub fn secret_values(submission: &Submission) -> BTreeMap<&'static str, String> {
    secret::values(submission)
}

fn to_value(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("Kubernetes objects serialise")
}

impl Bundle {
    /// What the objects are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The digest of the profile's content.
    pub fn profile_digest(&self) -> Sha256Digest {
        self.profile_digest
    }

    /// The Secret, with everything that is secret in it.
    pub fn secret(&self) -> &Value {
        &self.secret
    }

    /// The Job; it holds nothing secret.
    pub fn job(&self) -> &Value {
        &self.job
    }
}

/// Names and digests only.
impl std::fmt::Debug for Bundle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Bundle").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Every code that fitting and rendering can report.
pub fn codes() -> Vec<&'static crate::submission::Code> {
    [fit::CODES, life::CODES, placeholder::CODES].concat()
}
