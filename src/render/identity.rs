//! Digests and names that a bundle is known by. Their inputs are frozen: `tests` pin every byte.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::fit::Fitted;
use crate::submission::Sha256Digest;

/// The version of what `render` writes; it stands on every Job.
pub const RENDER_VERSION: &str = "1";

const SUBMISSION_DIGEST_HEADER: &str = "harness.submission.v1\n";

/// Everything that decides what runs, in frozen order; no signature, no place, no version of harness.
#[derive(Serialize)]
struct Decisive<'a> {
    attempt_id: &'a str,
    mission_id: &'a str,
    image: String,
    evaluator_version: String,
    resource_profile: &'a str,
    profile_digest: String,
    max_seconds: u32,
    mission_sha256: String,
    snapshot_sha256: String,
    resume_sha256: Option<String>,
    result_identity: String,
    runner_command: Option<&'a [String]>,
    runner_secret_name: Option<&'a str>,
}

/// The submission digest, version 1.
pub fn submission_digest(fitted: &Fitted<'_>) -> Sha256Digest {
    let submission = fitted.submission;
    let decisive = Decisive {
        attempt_id: submission.attempt_id().as_str(),
        mission_id: submission.mission_id().as_str(),
        image: submission.image().to_string(),
        evaluator_version: submission.evaluator_version().to_hex(),
        resource_profile: submission.resource_profile().as_str(),
        profile_digest: fitted.profile_digest.to_hex(),
        max_seconds: submission.max_seconds(),
        mission_sha256: submission.mission().sha256.to_hex(),
        snapshot_sha256: submission.snapshot().sha256.to_hex(),
        resume_sha256: submission.resume().map(|resume| resume.sha256.to_hex()),
        result_identity: submission.result_identity().to_hex(),
        runner_command: submission.runner_command(),
        runner_secret_name: submission
            .runner_secret_name()
            .map(super::super::submission::name::SecretName::as_str),
    };
    let json = serde_json::to_string(&decisive).expect("plain strings and numbers serialise");
    Sha256Digest::of(format!("{SUBMISSION_DIGEST_HEADER}{json}"))
}

/// The secret digest: SHA-256 over the sorted lines `key NUL hex(sha256(value)) LF`.
pub fn secret_digest(values: &BTreeMap<&'static str, String>) -> Sha256Digest {
    let mut hasher = Sha256::new();
    for (key, value) in values {
        hasher.update(key);
        hasher.update(b"\0");
        hasher.update(Sha256Digest::of(value).to_hex());
        hasher.update(b"\n");
    }
    Sha256Digest::from_bytes(hasher.finalize().into())
}

/// The Job's name, which is the lock: `prediction-` and 32 digits (128 bits) of the result identity.
pub fn job_name(result_identity: Sha256Digest) -> String {
    format!("prediction-{}", short_identity(result_identity))
}

/// The value of the label `research.harness/result-identity`.
pub fn short_identity(result_identity: Sha256Digest) -> String {
    result_identity.to_hex()[..32].to_owned()
}

/// The Secret's name: the Job's and 10 digits of the secret digest, so that other signatures make another Secret.
pub fn secret_name(job_name: &str, secret_digest: Sha256Digest) -> String {
    format!("{job_name}-{}", &secret_digest.to_hex()[..10])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_digest_is_frozen() {
        let values =
            BTreeMap::from([("snapshot_url", "b".to_owned()), ("mission_url", "a".to_owned())]);
        let lines = format!(
            "mission_url\0{}\nsnapshot_url\0{}\n",
            Sha256Digest::of("a"),
            Sha256Digest::of("b"),
        );
        assert_eq!(secret_digest(&values), Sha256Digest::of(lines));
    }

    #[test]
    fn names_fit_kubernetes() {
        let job = job_name(Sha256Digest::from_bytes([0xab; 32]));
        assert_eq!(job, format!("prediction-{}", "ab".repeat(16)));
        let secret = secret_name(&job, Sha256Digest::from_bytes([0x0c; 32]));
        assert_eq!(secret, format!("{job}-0c0c0c0c0c"));
        assert!(job.len() <= 63);
    }
}
