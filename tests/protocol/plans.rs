//! Submissions of one experiment, signed in different ways.

use harness::profile::Profiles;
use harness::render;
use harness::submission::{Namespace, Submission};
use harness::submit::{Intent, Plan};
use serde_json::{Value, json};

/// The namespace of all tests.
pub(crate) const NAMESPACE: &str = "lab";

/// What a plan borrows from.
pub(crate) struct Inputs {
    pub(crate) submission: Submission,
    pub(crate) profiles: Profiles,
}

/// The one experiment with this signature, which lives for `seconds` after the start.
pub(crate) fn inputs(signature: &str, seconds: u32) -> Inputs {
    inputs_in(signature, seconds, None)
}

/// The same, for the namespace of this UID alone.
pub(crate) fn inputs_in(signature: &str, seconds: u32, namespace_uid: Option<&str>) -> Inputs {
    let url = |key: &str, headers: &str| {
        format!(
            "https://example-bucket.s3.us-west-2.amazonaws.com/{key}?X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAEXAMPLE000000001%2F20260601%2Fus-west-2%2Fs3%2Faws4_request\
             &X-Amz-Date=20260601T000000Z&X-Amz-Expires={seconds}&X-Amz-SignedHeaders={headers}\
             &X-Amz-Signature={}",
            signature.repeat(32)
        )
    };
    let mut document = json!({
        "schema_version": "prediction_submission.v1",
        "attempt_id": "attempt-1",
        "mission_id": "Mission 7",
        "image": format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)),
        "evaluator_version": format!("sha256:{}", "2".repeat(64)),
        "resource_profile": "standard-v1",
        "search_budget": { "max_seconds": 600 },
        "mission_url": url("in/mission.json", "host"),
        "mission_sha256": "3".repeat(64),
        "snapshot_url": url("in/snapshot.tar", "host"),
        "snapshot_sha256": "4".repeat(64),
        "result_put_url": url("out/attempt-1/result.tar", "host%3Bif-none-match"),
        "runner_command": ["search"],
    });
    if let Some(uid) = namespace_uid {
        document["namespace_uid"] = json!(uid);
    }
    let image = format!("registry.example.org/harness@sha256:{}", "5".repeat(64));
    Inputs {
        submission: Submission::parse(document.to_string().as_bytes()).unwrap(),
        profiles: Profiles::embedded().with_harness_image(&image).unwrap(),
    }
}

impl Inputs {
    /// The plan.
    pub(crate) fn plan(&self) -> Plan<'_> {
        let fitted = render::fit(&self.submission, &self.profiles).unwrap();
        let namespace = Namespace::parse(NAMESPACE).unwrap();
        Plan::new(fitted, &namespace, Intent::default()).unwrap()
    }
}

/// The record of an experiment that succeeded and was pruned.
pub(crate) fn recorded(job: &str, result_identity: &str, submission_digest: &str) -> Value {
    let record = json!({
        "schema_version": "prediction_record.v1",
        "job_name": job,
        "job_uid": "the-job-that-ran",
        "namespace_uid": "namespace-uid",
        "result_identity": result_identity,
        "submission_digest": submission_digest,
        "outcome": "succeeded",
        "started_at": null,
        "finished_at": null,
        "evidence_digest": null,
        "image_ids": [],
        "recorded_by": "pruner",
        "recorded_at": "2026-06-01T00:05:00Z",
    });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
        "metadata": { "name": job }, "data": { "record.json": record.to_string() },
    })
}
