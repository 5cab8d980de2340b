//! The identity of what provably never ran is free again, and of nothing else.

use harness_test_cluster::fault::Requests;
use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::{Place, Sample};
use crate::world::{
    PATIENCE, bind, end, fail_in_stage, pod, stands, submitted, uid, user, wait_for,
};

#[track_caller]
fn refused(place: &Place, name: &str, why: &str) {
    let before = uid(place, name);
    let receipt = place.harness().run(&["release", name, "--yes"]).expect(4, "not_released");
    assert!(receipt["detail"].as_str().unwrap().contains(why), "{why}: {receipt:#}");
    assert_eq!(uid(place, name), before);
    assert_eq!(place.secrets().len(), 1);
}

#[test]
fn as_the_operator_a_failed_job_whose_run_never_had_a_container() {
    let place = Place::new("release");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    let live = pod(&place, &name);
    bind(&place, &live);
    fail_in_stage(&place, &live, None);
    wait_for(&place, &name, "Failed");
    let first = uid(&place, &name);
    let operator = place.harness_as(&user(&place, "operator"));
    operator.run(&["release", &name, "--yes"]).expect(0, "released");
    place.assert_holds(0, 0);
    assert!(!stands(&place, "configmaps", &name), "no record: it may run");
    operator.run(&["release", &name, "--yes"]).expect(9, "missing");
    place.harness().submit(&sample).expect(0, "created");
    assert_ne!(uid(&place, &name), first);
}

#[test]
fn as_the_operator_a_pending_job_whose_pod_has_no_node() {
    let place = Place::new("release-pending");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    pod(&place, &name);
    let operator = place.harness_as(&user(&place, "operator"));
    operator.run(&["release", &name, "--yes"]).expect(0, "released");
    place.assert_holds(0, 0);
    place.harness().submit(&sample.signed_again()).expect(0, "created");
    assert!(until(PATIENCE, || place.list("pods").len() == 1));
}

/// Releases it, and lets this happen while its delete of such an object is on its way: the version that it names is past.
#[track_caller]
fn overtaken(place: &Place, name: &str, object: &str, meanwhile: impl FnOnce(), why: &str) {
    let proxy = place.proxy();
    let held = proxy.hold(Requests::new("DELETE", object));
    let harness = place.harness_through(&proxy);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| harness.run(&["release", name, "--yes"]));
        held.wait_until_read().unwrap();
        meanwhile();
        assert_eq!(held.release_and_wait().unwrap(), 409);
        run.join().unwrap()
    });
    let receipt = run.expect(4, "not_released");
    assert!(receipt["detail"].as_str().unwrap().contains(why), "{receipt:#}");
}

/// The pod gets its node between the look and the delete: the version is the proof, and it does not hold.
#[test]
fn a_pod_that_gets_its_node_meanwhile_is_left_alone() {
    let place = Place::new("release-bound");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let live = pod(&place, &name);
    overtaken(&place, &name, "/pods/", || bind(&place, &live), "has a node");
    let after = place.get("pods", live["metadata"]["name"].as_str().unwrap());
    assert_eq!(after["metadata"]["deletionTimestamp"], Value::Null);
    place.assert_holds(1, 1);
}

#[test]
fn without_the_proof_nothing_changes() {
    let place = Place::new("release-refused");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let live = pod(&place, &name);
    bind(&place, &live);
    refused(&place, &name, "has a node");
    place.patch("jobs", &name, &json!({"spec": {"suspend": true}}));
    refused(&place, &name, "may have been started before");

    let place = Place::new("release-ran");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let live = pod(&place, &name);
    bind(&place, &live);
    fail_in_stage(&place, &live, Some("containerd://1"));
    wait_for(&place, &name, "Failed");
    refused(&place, &name, "so it was started");

    let place = Place::new("release-gone");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let live = pod(&place, &name);
    bind(&place, &live);
    fail_in_stage(&place, &live, None);
    wait_for(&place, &name, "Failed");
    place.delete("pods", live["metadata"]["name"].as_str().unwrap());
    assert!(until(PATIENCE, || place.list("pods").is_empty()));
    refused(&place, &name, "its pod is gone");

    let place = Place::new("release-succeeded");
    let name = submitted(&place, &Sample::new("attempt-1"));
    end(&place, &name, "Complete", 1);
    refused(&place, &name, "succeeded");
}

/// One that waits in a queue which nobody looks at.
fn queued(place: &Place) -> String {
    let sample = Sample::new("attempt-1").with("resource_profile", "queued-v1");
    let created = place.harness_with_queue().submit(&sample).expect(0, "created");
    assert_eq!(created["job"]["state"], "queued");
    created["job"]["name"].as_str().unwrap().to_owned()
}

#[test]
fn as_the_operator_a_job_that_no_queue_ever_admitted() {
    let place = Place::new("release-queued");
    let name = queued(&place);
    let status = place.harness().run(&["status", &name]);
    assert!(status.stdout.contains("dispatch release"), "{status}");
    let operator = place.harness_as(&user(&place, "operator"));
    operator.run(&["release", &name, "--yes"]).expect(0, "released");
    place.assert_holds(0, 0);
}

/// The queue admits it between the last look and the delete: the version is the proof, and it does not hold.
#[test]
fn a_job_that_its_queue_admits_meanwhile_is_left_alone() {
    let place = Place::new("release-admitted");
    let name = queued(&place);
    let admit = || {
        place.patch("jobs", &name, &json!({"spec": {"suspend": false}}));
    };
    overtaken(&place, &name, "/jobs/", admit, "its queue started it");
    place.assert_holds(1, 0);
}

/// A pod that was stopped and started again leaves no trace of the first time.
#[test]
fn a_job_that_was_resumed_is_not_released() {
    let place = Place::new("release-resumed");
    let name = submitted(&place, &Sample::new("attempt-1"));
    pod(&place, &name);
    for suspend in [true, false] {
        place.patch("jobs", &name, &json!({"spec": {"suspend": suspend}}));
        let seen = || {
            let job = place.get("jobs", &name);
            let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let word = if suspend { "True" } else { "False" };
            conditions.iter().any(|one| one["type"] == "Suspended" && one["status"] == word)
        };
        assert!(until(PATIENCE, seen));
    }
    refused(&place, &name, "suspended and started again");
}
