//! Situations that a control plane without nodes makes: each test brings one about on a real API server with its real
//! controllers, and says what `status` has to tell of it.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::{Component, ControlPlane, Options, until};
use jiff::{SignedDuration, Unit};
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::situation::Taken;
use crate::kit::{Harness, Place, Sample, find};

/// A control plane that a test may take apart.
fn own(prefix: &str) -> Place {
    let plane = Box::leak(Box::new(ControlPlane::start(&Options::default()).unwrap()));
    Place::on(plane, prefix)
}

fn harness(place: &Place) -> Harness {
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/status/profiles");
    place.harness().env("HARNESS_PROFILES", profiles)
}

fn sample(profile: &str) -> Sample {
    Sample::new("attempt-1").with("resource_profile", profile)
}

/// Submits an experiment and gives its Job's name.
#[track_caller]
fn submitted(place: &Place, profile: &str) -> String {
    let receipt = harness(place).submit(&sample(profile)).expect(0, "created");
    find(&receipt, "/job/name").as_str().unwrap().to_owned()
}

#[track_caller]
fn wait(place: &Place, name: &str, what: &str, condition: impl Fn(&Value) -> bool) {
    let met = until(PATIENCE, || condition(&place.get("jobs", name)));
    assert!(met, "{what} never came: {:#}", place.get("jobs", name));
}

/// The only pod, once the controller has made it and counted it.
#[track_caller]
fn pod(place: &Place, name: &str) -> Value {
    wait(place, name, "its pod", |job| job["status"]["active"] == 1);
    let mut pods = place.list("pods");
    assert_eq!(pods.len(), 1, "{pods:#?}");
    pods.remove(0)
}

/// Waits for an event with this reason about an object.
#[track_caller]
fn event(place: &Place, reason: &str) {
    let is_there = || place.list("events").iter().any(|event| event["reason"] == reason);
    assert!(until(PATIENCE, is_there), "no event {reason}");
}

fn has_failed(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Failed"))
}

fn uid(object: &Value) -> String {
    find(object, "/metadata/uid").as_str().unwrap().to_owned()
}

/// Sets the status of a pod as its kubelet would.
#[track_caller]
fn set_status(place: &Place, pod: &Value, status: &Value) {
    let path = place.path("pods", find(pod, "/metadata/name").as_str().unwrap());
    let (code, answer) =
        place.cluster.admin_patch(&format!("{path}/status"), &json!({"status": status}));
    assert_eq!(code, 200, "{answer:#}");
}

/// Binds a pod to a node, as the scheduler does.
#[track_caller]
fn bind(place: &Place, pod: &Value) {
    let name = find(pod, "/metadata/name").as_str().unwrap();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}});
    let path = format!("{}/binding", place.path("pods", name));
    let (code, answer) = place.cluster.admin_post(&path, &binding);
    assert_eq!(code, 201, "{answer:#}");
}

#[test]
fn before_any_controller() {
    let place = own("accepted");
    place.cluster.stop(Component::ControllerManager).unwrap();
    let name = submitted(&place, "standard-v1");
    Taken::of(&place, &name).keep("accepted", "pending", "accepted");
    let digest = "7".repeat(64);
    Taken::of(&place, &name).asking_for(&digest).keep("another-submission", "pending", "accepted");
    Taken::of(&place, &name).without_pods().keep("pods-unreadable", "pending", "unknown");
}

#[test]
fn waiting_for_a_scheduler() {
    let place = Place::new("scheduling");
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    let taken = Taken::of(&place, &name);
    taken.clone().keep("scheduling", "pending", "scheduling");
    taken.clone().by_a_clock_ahead(-3600).keep("clock-behind", "pending", "scheduling");
    taken.by_a_clock_ahead(7200).keep("clock-ahead", "pending", "scheduling");
}

#[test]
fn in_a_queue_and_taken_back() {
    let place = Place::new("queued");
    let name = submitted(&place, "queued-v1");
    let suspended = |job: &Value| job["status"]["conditions"][0]["type"] == "Suspended";
    wait(&place, &name, "the condition", suspended);
    Taken::of(&place, &name).keep("queued", "queued", "queued");
    place.patch("jobs", &name, &json!({"spec": {"suspend": false}}));
    pod(&place, &name);
    Taken::of(&place, &name).keep("admitted-by-a-queue", "pending", "scheduling");
    place.patch("jobs", &name, &json!({"spec": {"suspend": true}}));
    wait(&place, &name, "its pod's end", |job| {
        job["status"]["active"].is_null() && job["status"]["startTime"].is_null()
    });
    Taken::of(&place, &name).keep("requeued", "queued", "requeued");
}

#[test]
fn suspended_by_hand_and_cancelled() {
    let place = Place::new("suspended");
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    place.patch("jobs", &name, &json!({"spec": {"suspend": true}}));
    wait(&place, &name, "its pod's end", |job| job["status"]["active"].is_null());
    Taken::of(&place, &name).keep("suspended", "queued", "suspended");
    place.harness().run(&["cancel", &name, "--yes"]).expect(0, "cancelled");
    Taken::of(&place, &name).keep("recorded-cancelled", "cancelled", "recorded");
}

#[test]
fn cancelled_before_it_had_a_node() {
    let place = own("cancelled");
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    place.cluster.stop(Component::ControllerManager).unwrap();
    place.harness().run(&["cancel", &name, "--yes"]).expect(0, "cancel_requested");
    Taken::of(&place, &name).keep("cancel-requested-pending", "pending", "cancel-requested");
    place.cluster.start_component(Component::ControllerManager).unwrap();
    wait(&place, &name, "its end", has_failed);
    Taken::of(&place, &name).keep("cancelled-pending", "cancelled", "cancelled");
}

#[test]
fn refused_by_quota() {
    let place = Place::new("quota");
    place.create("resourcequotas", &json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}));
    let path = place.path("resourcequotas", "none");
    let counted = || place.cluster.admin_get(&path).1["status"]["hard"]["pods"] == "0";
    assert!(until(PATIENCE, counted), "the quota is not counted");
    let name = submitted(&place, "standard-v1");
    event(&place, "FailedCreate");
    Taken::of(&place, &name).keep("quota", "pending", "quota");
    place.patch("jobs", &name, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    wait(&place, &name, "its end", has_failed);
    Taken::of(&place, &name).keep("job-deadline-quota", "failed", "deadline");
}

#[test]
fn refused_by_pod_security_after_an_injection() {
    let place = Place::new("security");
    let (code, answer) = place.cluster.admin_patch(
        &format!("/api/v1/namespaces/{}", place.namespace.name),
        &json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
    );
    assert_eq!(code, 200, "{answer:#}");
    place.inject(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'agent', image: 'agent', securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: true}}]}}",
    );
    let name = submitted(&place, "standard-v1");
    event(&place, "FailedCreate");
    Taken::of(&place, &name).keep("pod-security", "pending", "pod-security");
}

#[test]
fn held_back_by_a_gate() {
    let place = Place::new("gated");
    place.inject(
        "Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: 'example.org/gate'}]}}",
    );
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    let is_said =
        || place.list("pods")[0]["status"]["conditions"][0]["reason"] == "SchedulingGated";
    assert!(until(PATIENCE, is_said), "{:#?}", place.list("pods"));
    Taken::of(&place, &name).keep("scheduling-gated", "pending", "scheduling-gated");
}

#[test]
fn refused_by_an_admission_policy() {
    let place = Place::new("admission");
    place.refuse_pods("every pod names its team");
    let name = submitted(&place, "standard-v1");
    event(&place, "FailedCreate");
    Taken::of(&place, &name).keep("admission", "pending", "admission");
}

#[test]
fn a_pod_deleted_by_hand() {
    let place = Place::new("deleted-pod");
    let name = submitted(&place, "standard-v1");
    let pod = pod(&place, &name);
    place.delete("pods", find(&pod, "/metadata/name").as_str().unwrap());
    wait(&place, &name, "its end", has_failed);
    let is_gone = || place.list("pods").is_empty();
    assert!(until(PATIENCE, is_gone), "the pod stays");
    Taken::of(&place, &name).keep("pod-vanished-failed", "failed", "pod-vanished");
}

/// The controller deletes the pod before it writes why.
#[test]
fn a_deadline_whose_pod_is_deleted_before_the_job_says_so() {
    let place = own("overdue");
    let name = submitted(&place, "standard-v1");
    let pod = pod(&place, &name);
    wait(&place, &name, "its start", |job| job.pointer("/status/startTime").is_some());
    place.cluster.stop(Component::ControllerManager).unwrap();
    place.patch("jobs", &name, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    // Times of the API have whole seconds.
    SystemClock.sleep(Duration::from_secs(2));
    place.delete("pods", find(&pod, "/metadata/name").as_str().unwrap());
    Taken::of(&place, &name)
        .by_hand("the deletion, which is the controller's, and the condition's absence, which lasts for milliseconds")
        .keep("job-deadline-unsaid", "pending", "deadline");
}

#[test]
fn a_pod_that_is_gone_before_its_controller_knows() {
    let place = own("vanished");
    let name = submitted(&place, "standard-v1");
    let pod = pod(&place, &name);
    place.cluster.stop(Component::ControllerManager).unwrap();
    let pod_name = find(&pod, "/metadata/name").as_str().unwrap();
    place.delete("pods", pod_name);
    Taken::of(&place, &name).keep("pod-being-deleted", "pending", "pod-vanished");
    place.patch("pods", pod_name, &json!({"metadata": {"finalizers": null}}));
    Taken::of(&place, &name).keep("pod-vanished-active", "unknown", "pod-vanished");
}

#[test]
fn the_deadline_of_the_job() {
    let place = Place::new("deadline");
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    place.patch("jobs", &name, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    wait(&place, &name, "its end", has_failed);
    assert!(until(PATIENCE, || place.list("pods").is_empty()), "the pod stays");
    Taken::of(&place, &name).keep("job-deadline", "failed", "deadline");
}

#[test]
fn deleted_and_made_anew() {
    let place = Place::new("replaced");
    let name = submitted(&place, "standard-v1");
    let first = uid(&place.get("jobs", &name));
    place.patch("jobs", &name, &json!({"metadata": {"finalizers": ["example.org/keep"]}}));
    pod(&place, &name);
    place.delete("jobs", &name);
    wait(&place, &name, "its deletion", |job| job["metadata"]["deletionTimestamp"].is_string());
    Taken::of(&place, &name).keep("being-deleted", "pending", "being-deleted");
    place.patch("jobs", &name, &json!({"metadata": {"finalizers": null}}));
    let gone = || place.list("jobs").is_empty() && place.list("pods").is_empty();
    assert!(until(PATIENCE, gone), "the Job stays");
    Taken::of(&place, &name).awaiting(&first).keep("deleted", "absent", "deleted");
    Taken::of(&place, &name).keep("absent", "absent", "absent");
    submitted(&place, "standard-v1");
    pod(&place, &name);
    let taken = Taken::of(&place, &name).awaiting(&first);
    taken.keep("replaced", "unknown", "replaced");
}

#[test]
fn somebody_elses_job() {
    let place = Place::new("foreign");
    let name = format!("prediction-{}", "1234".repeat(8));
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}},
    });
    place.create("jobs", &job);
    wait(&place, &name, "its pod", |job| job["status"]["active"] == 1);
    Taken::of(&place, &name).keep("foreign", "unknown", "foreign");
}

/// The record is that of a real prune; that the Job ended long ago is set by hand, for prune takes no younger one.
#[test]
fn pruned() {
    let place = Place::new("pruned");
    let name = submitted(&place, "standard-v1");
    pod(&place, &name);
    let long_ago = (SystemClock.now() - SignedDuration::from_hours(8 * 24)).round(Unit::Second);
    let long_ago = long_ago.unwrap().to_string();
    let attempt = || {
        let mut job = place.get("jobs", &name);
        let start = find(&job, "/status/startTime").clone();
        let stands = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": long_ago, "lastTransitionTime": long_ago});
        job["status"] = json!({
            "startTime": start, "completionTime": start, "succeeded": 1,
            "conditions": [stands("SuccessCriteriaMet"), stands("Complete")],
        });
        place.cluster.admin_put(&format!("{}/status", place.path("jobs", &name)), &job).0
    };
    assert!(until(PATIENCE, || attempt() == 200), "the Job could not be ended");
    place.harness().run(&["prune", "--yes"]).expect(0, "pruned");
    assert!(until(PATIENCE, || place.list("jobs").is_empty()), "the Job stays");
    let taken = Taken::of(&place, &name).by_hand("the end of the Job, before it was pruned");
    taken.clone().keep("recorded", "succeeded", "recorded");
    taken.awaiting("99999999-9999-4999-8999-999999999999").keep(
        "recorded-of-another",
        "succeeded",
        "recorded",
    );
}

/// Who may restart after a disruption has two pods; the first one's status is set as a kubelet that evicts sets it, and
/// the second is the controller's.
#[test]
fn two_pods_of_one_job() {
    let place = Place::new("two-pods");
    let name = submitted(&place, "restarted-v1");
    let first = pod(&place, &name);
    bind(&place, &first);
    let time = find(&first, "/metadata/creationTimestamp").clone();
    let ended = |name: &str, code: i64| {
        json!({"name": name, "image": name, "imageID": format!("{name}@sha256:{}", "0".repeat(64)), "containerID": format!("containerd://{name}-1"), "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "startedAt": time, "finishedAt": time, "containerID": format!("containerd://{name}-1")}}})
    };
    let evicted = json!({
        "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.", "startTime": time,
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": "The node was low on resource: memory.", "lastTransitionTime": time, "lastProbeTime": null}],
        "initContainerStatuses": [ended("stage", 0)],
        "containerStatuses": [ended("publish", 27), ended("run", 137)],
    });
    set_status(&place, &first, &evicted);
    assert!(until(PATIENCE, || place.list("pods").len() == 2), "no second pod");
    wait(&place, &name, "the count", |job| job["status"]["active"] == 1);
    Taken::of(&place, &name).by_hand("the status of the first pod").keep(
        "two-pods",
        "pending",
        "scheduling",
    );
    let pods = place.list("pods");
    let second = pods.iter().find(|pod| uid(pod) != uid(&first)).unwrap();
    bind(&place, second);
    let running = |name: &str| json!({"name": name, "image": name, "imageID": format!("{name}@sha256:{}", "0".repeat(64)), "containerID": format!("containerd://{name}-2"), "ready": true, "restartCount": 0, "state": {"running": {"startedAt": time}}});
    let works = json!({
        "phase": "Running", "startTime": time,
        "initContainerStatuses": [ended("stage", 0)],
        "containerStatuses": [running("publish"), running("run")],
    });
    set_status(&place, second, &works);
    Taken::of(&place, &name).by_hand("the status of both pods").keep(
        "run-more-than-once",
        "running",
        "run-more-than-once",
    );
}
