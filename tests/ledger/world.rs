//! What a scheduler, a kubelet and time do to an experiment, done by hand.

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::{Action, FaultProxy, Requests};
use harness_test_cluster::{Grant, User, until};
use serde_json::{Value, json};

pub(crate) use crate::kit::{PATIENCE, end, rules, set_status};
use crate::kit::{Place, Sample, find};

/// How the Job is called, after it was submitted.
pub(crate) fn submitted(place: &Place, sample: &Sample) -> String {
    let created = place.harness().submit(sample).expect(0, "created");
    created["job"]["name"].as_str().unwrap().to_owned()
}

/// A user with the rules of a role of `manifests/cluster`, and no other.
pub(crate) fn user(place: &Place, role: &str) -> User {
    place.cluster.user(&[Grant::in_namespace(&place.namespace.name, rules(role))]).unwrap()
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
