//! Results as `publish` makes them of a submission, without a pod.

#![allow(dead_code, reason = "each test target uses its own part")]

use harness::execution::archive::Packer;
use harness::execution::evidence::{Facts, Origin, Pod, Told, build};
use harness::execution::{Category, Expectation};
use harness::profile::Profiles;
use harness::render;
use harness::render::identity;
use harness::submission::{Sha256Digest, Submission};

/// The bytes of a result, and the digests `evidence` and `result` of its termination message.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) evidence: Sha256Digest,
    pub(crate) result: Sha256Digest,
}

/// A result without output of this submission, published by this Job.
pub(crate) fn result(submission: &str, harness_image: &str, job_uid: &str) -> Made {
    let submission = Submission::parse(submission.as_bytes()).unwrap();
    let profiles = Profiles::embedded().with_harness_image(harness_image).unwrap();
    let fitted = render::fit(&submission, &profiles).unwrap();
    let facts = Facts {
        expectation: Expectation::of(&submission),
        attempt_id: submission.attempt_id().to_string(),
        origin: Origin::Pod {
            image: submission.image().clone(),
            pod: Pod {
                job_uid: job_uid.to_owned(),
                namespace: "lab".to_owned(),
                name: "pod-1".to_owned(),
                uid: "pod-uid".to_owned(),
                node: "node-1".to_owned(),
            },
        },
        profile: submission.resource_profile().to_string(),
        profile_digest: fitted.profile.digest(),
        result_identity: submission.result_identity(),
        submission_digest: identity::submission_digest(&fitted),
    };
    let told = Told {
        result_object: "https://store.example.org/result.tar".to_owned(),
        command: vec!["python3".to_owned()],
        started_on: "2026-12-01T08:00:00Z".parse().unwrap(),
        finished_on: "2026-12-01T08:00:01Z".to_owned(),
        outcome: Category::Succeeded,
        report: None,
        archived: false,
        files: Vec::new(),
        bytes: 0,
        left_out: Vec::new(),
        changed: Vec::new(),
    };
    let mut bytes = Vec::new();
    let packed = Packer::new(&mut bytes).finish(&build(&facts, told).to_bytes()).unwrap();
    Made { bytes, evidence: packed.evidence, result: packed.digest }
}
