//! Situations that no cluster of the tests makes, typed by hand: a real Job of the control plane with its real pod, whose
//! status is then set as a kubelet would. Each says why it is not recorded.
//!
//! `UPDATE_SITUATIONS=1` writes them anew.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::situation::{BEGUN, read, situation, told, write};
use crate::kit::{Place, Sample};

/// The time of every situation here, ten minutes after its Job began.
const NOW: &str = "2030-01-02T03:14:05Z";
const LATER: &str = "2030-01-02T03:05:05Z";

/// One situation: its name, the expected phase and category, how it comes about, and why nobody records it.
struct Case {
    name: &'static str,
    phase: &'static str,
    category: &'static str,
    job: Value,
    pod: Value,
    events: Vec<(&'static str, &'static str, &'static str)>,
    reason: &'static str,
}

fn case(
    name: &'static str,
    phase: &'static str,
    category: &'static str,
    job: Value,
    pod: Value,
) -> Case {
    Case { name, phase, category, job, pod, events: Vec::new(), reason: "" }
}

impl Case {
    /// With an event about the Job or the pod.
    fn event(mut self, about: &'static str, reason: &'static str, message: &'static str) -> Self {
        self.events.push((about, reason, message));
        self
    }

    /// Why it is typed by hand.
    fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }
}

fn failed() -> Value {
    failed_by("BackoffLimitExceeded")
}

fn failed_by(reason: &str) -> Value {
    json!({"conditions": [{"type": "Failed", "status": "True", "reason": reason, "message": "as the controller says it", "lastTransitionTime": LATER}], "failed": 1})
}

fn done(name: &str, message: &str) -> Value {
    ended(name, 0, "Completed", message)
}

fn ended(name: &str, code: i64, reason: &str, message: &str) -> Value {
    json!({"name": name, "image": "i", "imageID": format!("i@sha256:{name}"), "containerID": format!("containerd://{name}"), "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": reason, "message": message, "startedAt": BEGUN, "finishedAt": LATER, "containerID": format!("containerd://{name}")}}})
}

fn running(name: &str) -> Value {
    json!({"name": name, "image": "i", "imageID": format!("i@sha256:{name}"), "containerID": format!("containerd://{name}"), "ready": true, "restartCount": 0, "state": {"running": {"startedAt": BEGUN}}})
}

fn waiting(name: &str, reason: &str, message: &str) -> Value {
    json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": reason, "message": message}}})
}

#[expect(clippy::needless_pass_by_value, reason = "reads as a table")]
fn pod(phase: &str, stage: Value, publish: Value, run: Value) -> Value {
    json!({"phase": phase, "startTime": BEGUN, "initContainerStatuses": [stage], "containerStatuses": [publish, run]})
}

/// A pod whose `stage` waits.
fn stuck(reason: &str, message: &str) -> Value {
    pod(
        "Pending",
        waiting("stage", reason, message),
        waiting("publish", "PodInitializing", ""),
        waiting("run", "PodInitializing", ""),
    )
}

/// A pod that `stage` ended.
fn stopped_at_stage(stage: Value) -> Value {
    pod(
        "Failed",
        stage,
        waiting("publish", "PodInitializing", ""),
        waiting("run", "PodInitializing", ""),
    )
}

fn said(step: &str, category: &str) -> String {
    json!({"schema_version": "prediction_reason.v1", "step": step, "category": category, "sentence": format!("what {step} says of {category}"), "remedy": "", "digests": {"evidence": "e".repeat(64)}}).to_string()
}

/// A pod that ran to its end, with these words of `publish`.
fn published(category: &str, code: i64, run: Value) -> Value {
    pod(
        "Failed",
        done("stage", ""),
        ended("publish", code, "Error", &said("publish", category)),
        run,
    )
}

#[expect(clippy::needless_pass_by_value, reason = "reads as a table")]
fn with(mut status: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        status[key] = value.clone();
    }
    status
}

/// What a real kubelet or controller says only where something is broken that tests do not break.
fn cases() -> Vec<Case> {
    let started = || json!({"startTime": BEGUN, "active": 1, "ready": 0});
    let old_node = "kubelets of other versions say it so";
    let lost = "a kubelet that lost a step's message cannot be asked for";
    let fire = "tests/fire brings it about, never twice in the same way";
    let words = "it takes another runtime or another registry than those of the tests";
    let mut cases = vec![
        case("no-pod-yet", "pending", "no-pod-yet", json!({"startTime": BEGUN}), Value::Null)
            .because("it lasts for milliseconds"),
        case("oom-stage", "failed", "out-of-memory", failed(), stopped_at_stage(ended("stage", 137, "OOMKilled", "")))
            .because("no input of the tests makes `stage` need more memory than it has"),
        case("starting", "pending", "starting", started(), stuck("PodInitializing", ""))
            .because("it lasts for moments"),
        case("finishing", "publishing", "finishing", started(), pod("Succeeded", done("stage", ""), done("publish", ""), done("run", "")))
            .because("a controller lags for moments"),
        case("finishing-a-failure", "publishing", "finishing", started(), published("runner-failed", 21, ended("run", 21, "Error", "")))
            .because("a controller lags for moments"),
        case("publish-stopped", "failed", "stopped", failed(), published("stopped", 27, ended("run", 27, "Error", "")))
            .because("what stops a step says why, in everything that the tests can do"),
        case("image-name", "pending", "image-name", started(), stuck("InvalidImageName", "couldn't parse image name"))
            .because("harness refuses every name that a node cannot read"),
        case("image-backoff-old", "pending", "image-not-found", started(), stuck("ImagePullBackOff", "Back-off pulling image \"i\""))
            .event("pod", "Failed", "Failed to pull image \"i\": rpc error: code = NotFound desc = failed to resolve reference \"i\": i: not found")
            .because(old_node),
        case("image-pull", "pending", "image-pull", started(), stuck("ErrImagePull", "a word that nobody knows")).because(words),
        case("container-config", "pending", "container-config", started(), stuck("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))
            .because("the pod names its user, so that no image of the tests can be root's"),
        case("node-lost-old", "running", "node-lost", started(), with(pod("Running", done("stage", ""), running("publish"), running("run")), json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": LATER}]})))
            .because(old_node),
        case("oom-told-by-publish", "failed", "out-of-memory", failed(), published("out-of-memory", 24, ended("run", 24, "Error", "")))
            .because("what the kernel does depends on the version of the control groups"),
        case("exit-code-only", "failed", "digest-mismatch", failed(), stopped_at_stage(ended("stage", 14, "Error", ""))).because(lost),
        case("exit-code-unknown", "failed", "step-failed", failed(), stopped_at_stage(ended("stage", 3, "Error", "a forged message"))).because(lost),
        case("node-refused", "failed", "node-refused", failed(), json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu"}))
            .because("scheduler and kubelet of one node do not disagree"),
        case("refused-and-unpublished", "failed", "node-refused", failed(), with(published("publication-failed", 26, ended("run", 27, "Error", "")), json!({"reason": "OutOfmemory", "message": "Pod was rejected: Node didn't have enough resource: memory"})))
            .because("the kubelet takes the volumes away before or after `publish` has ended"),
        case("stage-killed", "failed", "step-failed", failed(), stopped_at_stage(ended("stage", 137, "Error", ""))).because(fire),
        case("publish-killed", "failed", "publication-failed", failed(), pod("Failed", done("stage", ""), ended("publish", 137, "Error", ""), done("run", ""))).because(fire),
        case("publish-killed-early", "failed", "publication-failed", failed(), pod("Failed", done("stage", ""), ended("publish", 137, "Error", ""), ended("run", 29, "Error", &said("run", "environment")))).because(fire),
        case("status-lost", "failed", "step-failed", failed(), published("succeeded", 0, ended("run", 255, "Unknown", &said("run", "succeeded")))).because(fire),
        case("status-lost-publish", "failed", "publication-failed", failed(), pod("Failed", done("stage", ""), ended("publish", 255, "Unknown", ""), done("run", ""))).because(fire),
        case("status-lost-stage", "failed", "step-failed", failed(), stopped_at_stage(ended("stage", 255, "Unknown", &said("stage", "succeeded")))).because(fire),
        case("started-again", "failed", "already-started", failed(), published("succeeded", 0, with(ended("run", 10, "Error", &said("run", "already-started")), json!({"restartCount": 1})))).because(fire),
        case("restart-counted", "failed", "step-failed", failed(), pod("Failed", done("stage", ""), ended("publish", 255, "Unknown", &said("publish", "succeeded")), with(done("run", &said("run", "succeeded")), json!({"restartCount": 1})))).because(fire),
        case("failed-unexplained", "failed", "failed", failed_by("Unheard"), json!({"phase": "Failed"}))
            .because("nobody knows what would bring it about"),
    ];
    for (category, reason) in [
        (
            "already-started",
            "a container of these pods is started twice only by a kubelet that forgot the first time",
        ),
        ("environment", "it takes a node that breaks what the pod was promised"),
        ("never-started", "it takes a kubelet that never gets to `run` while `publish` waits"),
    ] {
        let end = harness::execution::Category::ALL.into_iter().find(|one| one.name() == category);
        let code = i64::from(end.unwrap().exit_code());
        let name: &'static str = Box::leak(format!("publish-{category}").into_boxed_str());
        let run = ended("run", code.min(25), "Error", "");
        let status = published(category, code, run);
        cases.push(case(name, "failed", category, failed(), status).because(reason));
    }
    cases
}

/// Every name of this table.
pub(crate) fn names() -> Vec<&'static str> {
    cases().iter().map(|case| case.name).collect()
}

/// The table decides what is right, the files keep its words.
#[test]
fn phases_and_categories_are_those_of_the_table() {
    if crate::kit::situation::are_recorded() {
        record_all();
    }
    let mut wrong = Vec::new();
    for case in cases() {
        assert!(!case.reason.is_empty(), "{}", case.name);
        let status = told(&read(case.name).situation);
        let found = (status.phase.name(), status.diagnosis.category.name());
        if found != (case.phase, case.category) {
            wrong.push(format!("{}: {found:?}, {}", case.name, status.diagnosis.sentence));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn record_all() {
    let place = Place::new("situations");
    let sample = Sample::new("attempt-1");
    place.harness().submit(&sample).expect(0, "created");
    let mut job = place.job();
    let listed = until(std::time::Duration::from_secs(30), || !place.list("pods").is_empty());
    assert!(listed, "the controller made no pod");
    let mut pod = place.list("pods").remove(0);
    normalise(&mut job, &mut pod);
    for case in cases() {
        let (job, pods, events) = set(&case, &job, &pod);
        let name = job["metadata"]["name"].clone();
        let objects = json!({
            "name": name, "now": NOW, "job": job, "pods": pods, "events": events, "record": null, "awaited_uid": null,
        });
        let origin = json!({"made": "by hand", "reason": case.reason});
        assert!(!told(&situation(&objects)).diagnosis.sentence.is_empty());
        write(case.name, &objects, &origin);
    }
}

const JOB_UID: &str = "11111111-1111-4111-8111-111111111111";
const POD_UID: &str = "22222222-2222-4222-8222-222222222222";

/// The same on every machine and at every time, and without what is only long.
fn normalise(job: &mut Value, pod: &mut Value) {
    let old = job["metadata"]["uid"].as_str().unwrap().to_owned();
    for (object, uid) in [(&mut *job, JOB_UID), (&mut *pod, POD_UID)] {
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["namespace"] = json!("research");
        object["metadata"]["creationTimestamp"] = json!(BEGUN);
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        object["metadata"]["resourceVersion"] = json!("1");
        let text = object.to_string().replace(&old, JOB_UID);
        *object = serde_json::from_str(&text).unwrap();
    }
    job["status"] = json!({});
}

fn set(case: &Case, job: &Value, pod: &Value) -> (Value, Vec<Value>, Vec<Value>) {
    let mut job = job.clone();
    let mut status = case.job.clone();
    if status.get("startTime").is_none() {
        status["startTime"] = json!(BEGUN);
    }
    job["status"] = status;
    let mut pods = Vec::new();
    if !case.pod.is_null() {
        let mut pod = pod.clone();
        pod["status"] = case.pod.clone();
        if case.pod.get("startTime").is_some() || case.pod.get("reason").is_some() {
            pod["spec"]["nodeName"] = json!("node-1");
        }
        pods.push(pod);
    }
    let events = case.events.iter().map(|(about, reason, message)| {
        json!({"involvedObject": {"uid": if *about == "job" { JOB_UID } else { POD_UID }}, "reason": reason, "message": message, "type": "Warning", "lastTimestamp": LATER})
    });
    (job, pods, events.collect())
}
