//! What a scheduler, a kubelet and time do to an experiment, done by hand.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::{Action, FaultProxy, Requests};
use harness_test_cluster::{Grant, User, until};
use serde_json::{Value, json};

use crate::kit::{Place, Sample, find};

pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// How the Job is called, after it was submitted.
pub(crate) fn submitted(place: &Place, sample: &Sample) -> String {
    let created = place.harness().submit(sample).expect(0, "created");
    created["job"]["name"].as_str().unwrap().to_owned()
}

/// The rules of a role of `manifests/cluster`.
pub(crate) fn rules(role: &str) -> Value {
    let path = format!("{}/manifests/cluster/role-{role}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n")
        .map(|document| serde_yaml::from_str::<Value>(document).unwrap())
        .find(|document| document["kind"] == "Role")
        .unwrap()["rules"]
        .clone()
}

/// A user with the rules of a role of `manifests/cluster`, and no other.
pub(crate) fn user(place: &Place, role: &str) -> User {
    place.cluster.user(&[Grant::in_namespace(&place.namespace.name, rules(role))]).unwrap()
}

/// Writes a status until no controller's write comes in between.
#[track_caller]
pub(crate) fn set_status(
    place: &Place,
    resource: &str,
    name: &str,
    change: impl Fn(&Value) -> Value,
) {
    let mut last = (0, Value::Null);
    let done = until(PATIENCE, || {
        let mut object = place.get(resource, name);
        object["status"] = change(&object);
        let path = format!("{}/status", place.path(resource, name));
        last = place.cluster.admin_put(&path, &object);
        last.0 == 200
    });
    assert!(done, "{last:#?}");
}

/// Ends the Job as its controller does, so many hours ago.
#[track_caller]
pub(crate) fn end(place: &Place, name: &str, condition: &str, hours: i64) {
    let at = (SystemClock.now() - jiff::SignedDuration::from_hours(hours)).to_string();
    let at = format!("{}Z", &at[..19]);
    set_status(place, "jobs", name, |job| {
        let start = match &job["status"]["startTime"] {
            Value::Null => job["metadata"]["creationTimestamp"].clone(),
            start => start.clone(),
        };
        let ready = if condition == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let stands = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at});
        let mut status =
            json!({"startTime": start, "conditions": [stands(ready), stands(condition)]});
        if condition == "Complete" {
            status["completionTime"] = start;
            status["succeeded"] = json!(1);
        }
        status
    });
}

/// The Job's pod, once its controller has made it.
#[track_caller]
pub(crate) fn pod(place: &Place, name: &str) -> Value {
    let mut found = Vec::new();
    let came = until(PATIENCE, || {
        found = place.list("pods");
        found.retain(|pod| pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == name);
        !found.is_empty()
    });
    assert!(came, "the Job {name} got no pod: {:#}", Value::Array(place.list("events")));
    found.remove(0)
}

/// What a scheduler does. A pod on a node that does not exist would be collected after a while.
#[track_caller]
pub(crate) fn bind(place: &Place, pod: &Value) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "by-hand"}});
    let (status, answer) = place.cluster.admin_post("/api/v1/nodes", &node);
    assert!(matches!(status, 201 | 409), "{answer:#}");
    let name = pod["metadata"]["name"].as_str().unwrap();
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "by-hand"},
    });
    let path = format!("{}/binding", place.path("pods", name));
    let (status, answer) = place.cluster.admin_post(&path, &binding);
    assert_eq!(status, 201, "{answer:#}");
}

/// What a kubelet says of a pod whose `stage` failed: `run` waits and never had a container, unless it has this ID.
#[track_caller]
pub(crate) fn fail_in_stage(place: &Place, pod: &Value, run_id: Option<&str>) {
    let name = pod["metadata"]["name"].as_str().unwrap();
    let digest = "7".repeat(64);
    let run_state = match run_id {
        None => json!({"waiting": {"reason": "PodInitializing"}}),
        Some(id) => json!({"terminated": {"exitCode": 21, "containerID": id, "reason": "Error"}}),
    };
    set_status(place, "pods", name, |_| {
        json!({
            "phase": "Failed",
            "conditions": [{"type": "Initialized", "status": "False"}],
            "initContainerStatuses": [{
                "name": "stage", "image": "h", "imageID": format!("h@sha256:{digest}"), "ready": false,
                "restartCount": 0, "containerID": "containerd://5747a6e",
                "state": {"terminated": {"exitCode": 14, "reason": "Error", "containerID": "containerd://5747a6e"}},
            }],
            "containerStatuses": [
                {"name": "publish", "image": "h", "imageID": "", "ready": false, "restartCount": 0,
                 "state": {"waiting": {"reason": "PodInitializing"}}},
                {"name": "run", "image": "r", "imageID": "", "ready": false, "restartCount": 0,
                 "containerID": run_id.unwrap_or_default(), "state": run_state},
            ],
        })
    });
}

/// Waits until the Job has this terminal condition, by its controller.
#[track_caller]
pub(crate) fn wait_for(place: &Place, name: &str, condition: &str) {
    let mut job = Value::Null;
    let done = until(PATIENCE, || {
        job = place.get("jobs", name);
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == condition && one["status"] == "True")
    });
    assert!(done, "{job:#}");
}

/// Whether an object stands.
pub(crate) fn stands(place: &Place, resource: &str, name: &str) -> bool {
    place.cluster.admin_get(&place.path(resource, name)).0 == 200
}

/// Lets every answer say that it is so many days later.
pub(crate) fn later(proxy: &FaultProxy, days: i64) {
    let time = SystemClock.now() + jiff::SignedDuration::from_hours(24 * days);
    let date = time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let headers = vec![("Date".to_owned(), date)];
    proxy.when(Requests::new("", ""), Action::SetHeaders(headers));
}

/// Panics unless the experiment is pruned: a record that is right, and nothing else.
#[track_caller]
pub(crate) fn assert_pruned(place: &Place, name: &str, job_uid: &Value, outcome: &str) -> Value {
    place.assert_holds(0, 0);
    let kept = place.get("configmaps", name);
    assert_eq!(kept["immutable"], true);
    let record: Value =
        serde_json::from_str(kept["data"]["record.json"].as_str().unwrap()).unwrap();
    assert_eq!(record["job_name"], name);
    assert_eq!(record["job_uid"], *job_uid);
    assert_eq!(record["outcome"], outcome);
    assert_eq!(record["namespace_uid"], place.namespace.uid.as_str());
    record
}

/// The UID of the Job.
pub(crate) fn uid(place: &Place, name: &str) -> Value {
    find(&place.get("jobs", name), "/metadata/uid").clone()
}
