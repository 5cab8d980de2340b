//! Names that belong to something else, and Jobs that another hand has changed.

use harness::render::decisive::decisive_digest;
use serde_json::{Value, json};

use crate::kit::{Place, Sample, find, in_parallel};

fn differences(receipt: &Value) -> Vec<&str> {
    receipt["differences"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect()
}

#[test]
fn a_foreign_job_under_the_name() {
    let place = Place::new("foreign-job");
    let sample = Sample::new("attempt-1");
    let (_, mut job) = place.harness().render(&sample);
    let metadata = job["metadata"].as_object_mut().unwrap();
    metadata.retain(|key, _| key == "name" || key == "namespace");
    place.create("jobs", &job);
    let receipt = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(receipt["detail"], "another Job holds this result's name");
    assert!(receipt["job"]["uid"].is_string());
    assert!(differences(&receipt).iter().any(|path| path.contains("submission-digest")));
    place.assert_holds(1, 0);
}

#[test]
fn another_experiment_with_the_same_result() {
    let place = Place::new("other");
    let sample = Sample::new("attempt-1");
    place.harness().submit(&sample).expect(0, "created");
    let other = sample.with("mission_sha256", "9".repeat(64));
    let receipt = place.harness().submit(&other).expect(4, "conflict");
    assert!(differences(&receipt).iter().any(|path| path.contains("submission-digest")));
    place.assert_holds(1, 1);
}

#[test]
fn a_foreign_secret_under_the_name() {
    let place = Place::new("foreign-secret");
    let sample = Sample::new("attempt-1");
    let (mut secret, _) = place.harness().render(&sample);
    secret["data"]["mission_url"] = json!("aHR0cHM6Ly9ldmlsLmV4YW1wbGUub3JnLw==");
    let uid = find(&place.create("secrets", &secret), "/metadata/uid").clone();
    let receipt = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(receipt["detail"], "a Secret with other content holds the name");
    assert_eq!(differences(&receipt), ["data[mission_url]"]);
    place.assert_holds(0, 1);
    let name = receipt["secret"]["name"].as_str().unwrap();
    let kept = place.get("secrets", name);
    assert_eq!(*find(&kept, "/metadata/uid"), uid);
}

/// Right bytes that anybody could still change are not our Secret either.
#[test]
fn a_mutable_secret_under_the_name() {
    let place = Place::new("mutable");
    let sample = Sample::new("attempt-1");
    let (mut secret, _) = place.harness().render(&sample);
    secret["immutable"] = json!(false);
    place.create("secrets", &secret);
    let receipt = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(differences(&receipt), ["immutable"]);
    place.assert_holds(0, 1);
}

#[test]
fn one_leaf_changed_by_hand() {
    let cases = [
        (json!({"spec": {"parallelism": 2}}), "spec.parallelism"),
        (json!({"spec": {"activeDeadlineSeconds": 99_999}}), "spec.activeDeadlineSeconds"),
        (json!({"spec": {"ttlSecondsAfterFinished": 5}}), "spec.ttlSecondsAfterFinished"),
        (json!({"spec": {"backoffLimit": 3}}), "spec.backoffLimit"),
        (json!({"spec": {"suspend": true}}), "spec.suspend"),
        (
            json!({"metadata": {"annotations": {"research.harness/attempt-id": "attempt-2"}}}),
            "metadata.annotations[research.harness/attempt-id]",
        ),
    ];
    in_parallel(cases, |(patch, path)| {
        let place = Place::new("changed");
        let sample = Sample::new("attempt-1");
        let created = place.harness().submit(&sample).expect(0, "created");
        let name = created["job"]["name"].as_str().unwrap();
        place.patch("jobs", name, &patch);
        for sample in [&sample, &sample.signed_again()] {
            let receipt = place.harness().submit(sample).expect(4, "conflict");
            assert_eq!(differences(&receipt), [path]);
            assert_eq!(receipt["job"]["uid"], created["job"]["uid"]);
        }
        place.assert_holds(1, 1);
    });
}

#[test]
fn labels_of_others_are_drift() {
    let place = Place::new("labelled");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let name = created["job"]["name"].as_str().unwrap();
    let label = json!({"metadata": {"labels": {"example.org/cost-centre": "7"}}});
    place.patch("jobs", name, &label);
    let receipt = place.harness().submit(&sample).expect(0, "already_submitted");
    let expected = json!([{"path": "metadata.labels[example.org/cost-centre]", "kind": "added"}]);
    assert_eq!(receipt["drift"], expected);
    place.assert_holds(1, 1);
}

/// The Job as another version of harness would have made it: other leaves, and its own digest over them.
fn of_another_version(place: &Place, sample: &Sample) -> Value {
    let (secret, mut job) = place.harness().render(sample);
    place.create("secrets", &secret);
    job["metadata"]["annotations"]["research.harness/render-version"] = json!("0");
    job["spec"]["template"]["spec"]["containers"][0]["env"] = json!([]);
    job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(17);
    job["metadata"]["annotations"]["research.harness/decisive-digest"] =
        json!(decisive_digest(&job).to_hex());
    job
}

#[test]
fn a_job_of_another_render_version_is_the_same() {
    let place = Place::new("older");
    let sample = Sample::new("attempt-1");
    let job = of_another_version(&place, &sample);
    place.create("jobs", &job);
    for sample in [&sample, &sample.signed_again()] {
        let receipt = place.harness().submit(sample).expect(0, "already_submitted");
        assert_eq!(receipt["drift"][0]["kind"], "render-version", "{receipt:#}");
    }
    place.assert_holds(1, 1);
}

#[test]
fn a_job_of_another_render_version_that_was_changed() {
    let place = Place::new("older-changed");
    let sample = Sample::new("attempt-1");
    let job = of_another_version(&place, &sample);
    place.create("jobs", &job);
    let name = find(&job, "/metadata/name").as_str().unwrap();
    place.patch("jobs", name, &json!({"spec": {"parallelism": 0}}));
    let receipt = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(differences(&receipt), ["metadata.annotations[research.harness/decisive-digest]"]);
    place.assert_holds(1, 1);
}

#[test]
fn the_same_result_twice_in_one_call() {
    let place = Place::new("twins");
    let harness = place.harness();
    let first = Sample::new("attempt-1");
    let twin = first.signed_again().with("mission_id", "Mission 8");
    let third = Sample::new("attempt-3");
    let files = [first.write(&harness.inputs()), third.write(&harness.inputs())];
    let other = harness.inputs().join("twin.json");
    std::fs::write(&other, twin.value.to_string()).unwrap();
    let run = harness.submit_files(&[&files[0], &other, &files[1]]);
    assert_eq!(run.code, Some(3), "{run}");
    let outcomes: Vec<_> = run
        .receipts()
        .iter()
        .map(|receipt| receipt["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["invalid", "invalid", "created"], "{run}");
    for receipt in &run.receipts()[..2] {
        assert_eq!(receipt["problems"][0]["code"], "same-result-twice", "{run}");
    }
    place.assert_holds(1, 1);
}
