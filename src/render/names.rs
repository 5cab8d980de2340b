//! Names, labels and annotations of a bundle's objects.

use super::fit::Fitted;
use super::identity::{self, RENDER_VERSION};
use super::k8s::TextMap;
use crate::submission::{Namespace, Sha256Digest, UrlField};

/// The prefix of every label and annotation of harness.
pub const PREFIX: &str = "research.harness/";
/// Label: the first 32 digits of the result identity. Annotation: all 64.
pub const RESULT_IDENTITY: &str = "research.harness/result-identity";
/// Annotation: the submission digest.
pub const SUBMISSION_DIGEST: &str = "research.harness/submission-digest";
/// Annotation: the secret digest.
pub const SECRET_DIGEST: &str = "research.harness/secret-digest";
/// Annotation: the digest of the profile's content.
pub const PROFILE_DIGEST: &str = "research.harness/profile-digest";
/// Annotation: the digest over the decisive leaves of the Job.
pub const DECISIVE_DIGEST: &str = "research.harness/decisive-digest";
/// Annotation: the version of what `render` writes.
pub const RENDER_VERSION_KEY: &str = "research.harness/render-version";
/// Label: who made the object, in Kubernetes' own convention.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Kueue's label that puts a Job into a queue.
pub const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// What the objects of one bundle are called.
#[derive(Debug, Clone)]
pub struct Names {
    /// The namespace of both.
    pub namespace: String,
    /// The Job's name: the lock.
    pub job: String,
    /// The Secret's name.
    pub secret: String,
    /// The result identity.
    pub result_identity: Sha256Digest,
    /// The submission digest.
    pub submission_digest: Sha256Digest,
    /// The digest over the Secret's keys and values.
    pub secret_digest: Sha256Digest,
}

impl Names {
    pub(super) fn new(
        fitted: &Fitted<'_>,
        namespace: &Namespace,
        secret_digest: Sha256Digest,
    ) -> Self {
        let result_identity = fitted.submission.result_identity();
        let job = identity::job_name(result_identity);
        Self {
            namespace: namespace.as_str().to_owned(),
            secret: identity::secret_name(&job, secret_digest),
            job,
            result_identity,
            submission_digest: identity::submission_digest(fitted),
            secret_digest,
        }
    }

    /// The labels that every object carries.
    pub(super) fn labels(&self) -> TextMap {
        TextMap::from([
            (MANAGED_BY.to_owned(), "harness".to_owned()),
            (RESULT_IDENTITY.to_owned(), identity::short_identity(self.result_identity)),
        ])
    }

    /// The Job's annotations, but for the decisive digest; identities, digests and places, never a query.
    pub(super) fn job_annotations(&self, fitted: &Fitted<'_>) -> TextMap {
        let submission = fitted.submission;
        let mut annotations = TextMap::from([
            (RESULT_IDENTITY.to_owned(), self.result_identity.to_hex()),
            (SUBMISSION_DIGEST.to_owned(), self.submission_digest.to_hex()),
            (SECRET_DIGEST.to_owned(), self.secret_digest.to_hex()),
            (PROFILE_DIGEST.to_owned(), fitted.profile.digest().to_hex()),
            (RENDER_VERSION_KEY.to_owned(), RENDER_VERSION.to_owned()),
        ]);
        let mut add =
            |name: &str, value: String| annotations.insert(format!("{PREFIX}{name}"), value);
        add("profile", submission.resource_profile().as_str().to_owned());
        add("mission-id", submission.mission_id().as_str().to_owned());
        add("attempt-id", submission.attempt_id().as_str().to_owned());
        for (field, url) in submission.urls() {
            let name = match field {
                UrlField::Mission => "mission-object",
                UrlField::Snapshot => "snapshot-object",
                UrlField::Resume => "resume-object",
                UrlField::ResultPut => "result-object",
                UrlField::ResultReadback => continue,
            };
            add(name, url.without_query());
        }
        annotations
    }
}
