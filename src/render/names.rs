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
/// Annotation: the operator's name for the attempt.
pub const ATTEMPT_ID: &str = "research.harness/attempt-id";
/// Annotation: the mission's own name.
pub const MISSION_ID: &str = "research.harness/mission-id";
/// Annotation: the profile's name.
pub const PROFILE: &str = "research.harness/profile";
/// Annotation of a record: the submission's image.
pub const IMAGE: &str = "research.harness/image";
/// Annotation of a cancelled Job: when.
pub const CANCELLED_AT: &str = "research.harness/cancelled-at";
/// Annotation of a cancelled Job: by whom.
pub const CANCELLED_BY: &str = "research.harness/cancelled-by";
/// Annotation: where the mission document lies, as its URL spells it, without query.
pub const MISSION_OBJECT: &str = "research.harness/mission-object";
/// Annotation: where the data archive lies.
pub const SNAPSHOT_OBJECT: &str = "research.harness/snapshot-object";
/// Annotation: where the earlier result lies.
pub const RESUME_OBJECT: &str = "research.harness/resume-object";
/// Annotation: where the result is created.
pub const RESULT_OBJECT: &str = "research.harness/result-object";
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
            (PROFILE_DIGEST.to_owned(), fitted.profile_digest.to_hex()),
            (RENDER_VERSION_KEY.to_owned(), RENDER_VERSION.to_owned()),
        ]);
        let mut add = |name: &str, value: String| annotations.insert(name.to_owned(), value);
        add(PROFILE, submission.resource_profile().as_str().to_owned());
        add(MISSION_ID, submission.mission_id().as_str().to_owned());
        add(ATTEMPT_ID, submission.attempt_id().as_str().to_owned());
        for (field, url) in submission.urls() {
            let name = match field {
                UrlField::Mission => MISSION_OBJECT,
                UrlField::Snapshot => SNAPSHOT_OBJECT,
                UrlField::Resume => RESUME_OBJECT,
                UrlField::ResultPut => RESULT_OBJECT,
                UrlField::ResultReadback => continue,
            };
            add(name, url.without_query());
        }
        annotations
    }
}
