//! Jobs that have ended, were cancelled, are being deleted, or were pruned.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::{Place, Sample, find, in_parallel};

/// Ends the only Job through its status, as the controller does at the end of a pod.
#[track_caller]
pub(crate) fn finish(place: &Place, condition: &str) {
    // The controller writes the status too, and its write must not come in between.
    let attempt = || {
        let mut job = place.job();
        let name = find(&job, "/metadata/name").as_str().unwrap().to_owned();
        let time = find(&job, "/metadata/creationTimestamp").clone();
        let ready = if condition == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let stands = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": time, "lastTransitionTime": time});
        job["status"] =
            json!({"startTime": time, "conditions": [stands(ready), stands(condition)]});
        if condition == "Complete" {
            job["status"]["completionTime"] = time.clone();
            job["status"]["succeeded"] = json!(1);
        }
        let path = format!("{}/status", place.path("jobs", &name));
        place.cluster.admin_put(&path, &job)
    };
    let mut last = (0, Value::Null);
    let done = until(PATIENCE, || {
        last = attempt();
        last.0 == 200
    });
    assert!(done, "{last:#?}");
}

#[test]
fn a_finished_job_is_its_own_record() {
    let cases = [("Complete", "succeeded", 0), ("Failed", "failed", 7)];
    in_parallel(cases, |(condition, state, code)| {
        let place = Place::new("finished");
        let sample = Sample::new("attempt-1");
        place.harness().submit(&sample).expect(0, "created");
        finish(&place, condition);
        for sample in [&sample, &sample.signed_again()] {
            let again = place.harness().submit(sample).expect(0, "already_submitted");
            assert_eq!(again["job"]["state"], state);
        }
        let strict = place.harness().arg("--fail-if-failed");
        strict.submit(&sample).expect(code, "already_submitted");
        place.assert_holds(1, 1);
    });
}

#[test]
fn a_cancelled_job_is_not_a_changed_one() {
    let place = Place::new("cancelled");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let name = created["job"]["name"].as_str().unwrap();
    // What cancel does to a running Job.
    place.patch(
        "jobs",
        name,
        &json!({
            "metadata": {"annotations": {
                "research.harness/cancelled-at": "2030-01-02T03:04:05Z",
                "research.harness/cancelled-by": "ada",
            }},
            "spec": {"activeDeadlineSeconds": 1},
        }),
    );
    let again = place.harness().submit(&sample).expect(7, "cancelled");
    let detail = again["detail"].as_str().unwrap();
    assert!(detail.contains("by ada at 2030-01-02T03:04:05Z"), "{detail}");
    place.assert_holds(1, 1);
}

#[test]
fn a_job_that_is_being_deleted_is_waited_for() {
    let place = Place::new("deleting");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let name = created["job"]["name"].as_str().unwrap();
    place.patch("jobs", name, &json!({"metadata": {"finalizers": ["example.org/wait"]}}));
    place.delete("jobs", name);
    let again = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(again["detail"], "the Job is being deleted");
    place.assert_holds(1, 1);
    place.patch("jobs", name, &json!({"metadata": {"finalizers": null}}));
}

/// The record that a prune leaves behind.
fn record(place: &Place, receipt: &Value, submission_digest: &Value) -> Value {
    let job = &receipt["job"]["name"];
    let record = json!({
        "schema_version": "prediction_record.v1",
        "job_name": job,
        "job_uid": "01234567-89ab-cdef-0123-456789abcdef",
        "namespace_uid": place.namespace.uid,
        "result_identity": receipt["identity"]["result_identity"],
        "submission_digest": submission_digest,
        "outcome": "succeeded",
        "started_at": "2030-01-02T03:04:05Z",
        "finished_at": "2030-01-02T03:14:05Z",
        "evidence_digest": null,
        "image_ids": [],
        "recorded_by": "ada",
        "recorded_at": "2030-01-09T03:14:05Z",
    });
    config_map(job, &record.to_string())
}

fn config_map(name: &Value, record: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "immutable": true, "data": {"record.json": record},
    })
}

#[test]
fn a_record_keeps_the_result_taken() {
    let cases =
        [("same", 0, "already_recorded"), ("other", 4, "conflict"), ("unreadable", 4, "conflict")];
    in_parallel(cases, |(submission, code, outcome)| {
        let place = Place::new("record");
        let sample = Sample::new("attempt-1");
        let rehearsal = place.harness().arg("--dry-run=server").submit(&sample);
        let would = rehearsal.expect(0, "would_create");
        let kept = match submission {
            "same" => record(&place, &would, &would["identity"]["submission_digest"]),
            "other" => record(&place, &would, &json!("f".repeat(64))),
            _ => config_map(&would["job"]["name"], "{}"),
        };
        place.create("configmaps", &kept);
        for sample in [&sample, &sample.signed_again(), &sample.expired()] {
            let receipt = place.harness().submit(sample).expect(code, outcome);
            if submission == "same" {
                assert_eq!(receipt["record"]["recorded_by"], "ada");
            } else {
                assert_ne!(receipt["differences"], json!([]), "{receipt:#}");
            }
        }
        place.assert_holds(0, 0);
    });
}

/// A prune records first and deletes then: between the two, nothing is repaired.
#[test]
fn a_job_with_a_record_beside_it_gets_no_secret() {
    let place = Place::new("pruning");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let digest = &created["identity"]["submission_digest"];
    place.create("configmaps", &record(&place, &created, digest));
    place.delete("secrets", created["secret"]["name"].as_str().unwrap());
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 0);
}
