//! Recorded situations: objects as a real API server held them, and what `status` has to say of them.
//!
//! `UPDATE_SITUATIONS=1` records them anew: each is a real Job of the control plane with its real pod, whose status
//! is then set as a kubelet would; UIDs, names and times are made the same on every machine. Without it the files
//! are read and derived from.

use std::fs;
use std::path::{Path, PathBuf};

use harness::status::{Situation, Status, derive};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kit::{Place, Sample, find};

/// The time of every recorded situation, ten minutes after its Job began.
const NOW: &str = "2030-01-02T03:14:05Z";
const BEGUN: &str = "2030-01-02T03:04:05Z";
const LATER: &str = "2030-01-02T03:05:05Z";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/situations")
}

/// One situation: its name, the expected phase and category, and how it comes about.
struct Case {
    name: &'static str,
    phase: &'static str,
    category: &'static str,
    job: Value,
    pod: Value,
    events: Vec<(&'static str, &'static str, &'static str)>,
}

fn case(
    name: &'static str,
    phase: &'static str,
    category: &'static str,
    job: Value,
    pod: Value,
) -> Case {
    Case { name, phase, category, job, pod, events: Vec::new() }
}

impl Case {
    /// With an event about the Job or the pod.
    fn event(mut self, about: &'static str, reason: &'static str, message: &'static str) -> Self {
        self.events.push((about, reason, message));
        self
    }
}

fn failed() -> Value {
    failed_by("BackoffLimitExceeded")
}

fn failed_by(reason: &str) -> Value {
    json!({"conditions": [{"type": "Failed", "status": "True", "reason": reason, "message": "as the controller says it", "lastTransitionTime": LATER}], "failed": 1})
}

fn complete() -> Value {
    json!({"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": LATER}], "succeeded": 1, "completionTime": LATER})
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

fn unscheduled(reason: &str, message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message, "lastTransitionTime": BEGUN}]})
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<Case> {
    let none = || Value::Null;
    let started = || json!({"startTime": BEGUN, "active": 1, "ready": 0});
    let mut cases = vec![
        case("accepted", "pending", "accepted", json!("empty"), none()),
        case("queued", "queued", "queued", json!("queued"), none()),
        case("suspended", "queued", "suspended", json!("suspended"), none()),
        case("no-pod-yet", "pending", "no-pod-yet", json!({"startTime": BEGUN}), none()),
        case("pod-vanished-active", "unknown", "pod-vanished", started(), none()),
        case("pod-vanished-failed", "failed", "pod-vanished", failed(), none()),
        case("job-deadline", "failed", "deadline", failed_by("DeadlineExceeded"), none()),
        case("job-deadline-unschedulable", "failed", "deadline", failed_by("DeadlineExceeded"), none())
            .event("job", "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu. preemption: none"),
        case("quota", "pending", "quota", json!({"startTime": BEGUN}), none())
            .event("job", "FailedCreate", "Error creating: pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
        case("pod-security", "pending", "pod-security", json!({"startTime": BEGUN}), none())
            .event("job", "FailedCreate", "Error creating: pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": privileged (container \"agent\" must not set securityContext.privileged=true)"),
        case("admission", "pending", "admission", json!({"startTime": BEGUN}), none())
            .event("job", "FailedCreate", "Error creating: admission webhook \"w.example.org\" denied the request: no"),
        case("scheduling", "pending", "scheduling", started(), json!({"phase": "Pending"})),
        case("unschedulable", "pending", "unschedulable", started(), unscheduled("Unschedulable", "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.")),
        case("scheduling-gated", "pending", "scheduling-gated", started(), unscheduled("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")),
        case("starting", "pending", "starting", started(), stuck("PodInitializing", "")),
        case("pulling", "pending", "pulling", started(), stuck("PodInitializing", "")).event("pod", "Pulling", "Pulling image \"i\""),
        case("secret-missing-mount", "pending", "secret-missing", started(), stuck("ContainerCreating", ""))
            .event("pod", "FailedMount", "MountVolume.SetUp failed for volume \"stage-urls\" : secret \"prediction-a-1\" not found"),
        case("secret-missing-env", "staging", "secret-missing", started(), pod("Pending", done("stage", ""), running("publish"), waiting("run", "CreateContainerConfigError", "secret \"runner\" not found"))),
        case("volume-missing", "pending", "volume-missing", started(), stuck("ContainerCreating", ""))
            .event("pod", "FailedMount", "MountVolume.SetUp failed for volume \"ca\" : configmap \"ca\" not found"),
        case("container-config", "pending", "container-config", started(), stuck("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")),
        case("container-create", "pending", "container-create", started(), stuck("CreateContainerError", "failed to create containerd task")),
        case("sandbox", "pending", "container-create", started(), stuck("ContainerCreating", ""))
            .event("pod", "FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network"),
        case("image-backoff-old", "pending", "image-not-found", started(), stuck("ImagePullBackOff", "Back-off pulling image \"i\""))
            .event("pod", "Failed", "Failed to pull image \"i\": rpc error: code = NotFound desc = failed to resolve reference \"i\": i: not found"),
        case("image-name", "pending", "image-name", started(), stuck("InvalidImageName", "couldn't parse image name")),
        case("staging", "staging", "staging", started(), pod("Pending", running("stage"), waiting("publish", "PodInitializing", ""), waiting("run", "PodInitializing", ""))),
        case("running", "running", "running", started(), pod("Running", done("stage", ""), running("publish"), running("run"))),
        case("publishing", "publishing", "publishing", started(), pod("Running", done("stage", ""), running("publish"), done("run", ""))),
        case("publishing-a-failure", "publishing", "publishing", started(), pod("Running", done("stage", ""), running("publish"), ended("run", 21, "Error", &said("run", "runner-failed")))),
        case("finishing", "publishing", "finishing", started(), pod("Succeeded", done("stage", ""), done("publish", ""), done("run", ""))),
        case("sidecar", "publishing", "sidecar", started(), with(pod("Running", done("stage", ""), done("publish", ""), done("run", "")), json!({"containerStatuses": [done("publish", ""), done("run", ""), running("agent")]}))),
        case("node-lost", "running", "node-lost", started(), with(pod("Running", done("stage", ""), running("publish"), running("run")), json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": LATER}]}))),
        case("succeeded", "succeeded", "succeeded", complete(), pod("Succeeded", done("stage", ""), done("publish", &said("publish", "succeeded")), done("run", ""))),
        case("succeeded-pod-gone", "succeeded", "succeeded", complete(), none()),
        case("cancelled", "cancelled", "cancelled", with(failed(), json!({"cancelled": true})), none()),
        case("cancel-requested", "running", "cancel-requested", with(started(), json!({"cancelled": true})), pod("Running", done("stage", ""), running("publish"), running("run"))),
        case("oom-run", "failed", "out-of-memory", failed(), published("runner-killed", 22, ended("run", 137, "OOMKilled", ""))),
        case("oom-stage", "failed", "out-of-memory", failed(), stopped_at_stage(ended("stage", 137, "OOMKilled", ""))),
        case("oom-told-by-publish", "failed", "out-of-memory", failed(), published("out-of-memory", 24, ended("run", 24, "Error", ""))),
        case("run-forges-success", "failed", "runner-failed", failed(), published("runner-failed", 21, ended("run", 0, "Completed", &said("run", "succeeded")))),
        case("run-hint-only", "failed", "budget-exceeded", failed(), pod("Failed", done("stage", ""), ended("publish", 137, "Error", ""), ended("run", 23, "Error", &said("run", "budget-exceeded")))),
        case("exit-code-only", "failed", "digest-mismatch", failed(), stopped_at_stage(ended("stage", 14, "Error", ""))),
        case("exit-code-unknown", "failed", "step-failed", failed(), stopped_at_stage(ended("stage", 3, "Error", "a forged message"))),
        case("start-error", "failed", "container-start", failed(), published("never-started", 26, ended("run", 128, "StartError", "failed to create containerd task: failed to create shim task: OCI runtime create failed: exec: \"/harness/tools/harness\": exec format error: unknown"))),
        case("pod-deadline-run", "failed", "deadline", failed(), with(published("stopped", 27, ended("run", 27, "Error", &said("run", "stopped"))), json!({"reason": "DeadlineExceeded", "message": "Pod was active on the node longer than the specified deadline"}))),
        case("pod-deadline-stage", "failed", "deadline", failed(), with(stopped_at_stage(ended("stage", 27, "Error", &said("stage", "stopped"))), json!({"reason": "DeadlineExceeded"}))),
        case("pod-deadline-pull", "failed", "deadline", failed(), with(stopped_at_stage(waiting("stage", "PodInitializing", "")), json!({"reason": "DeadlineExceeded"}))),
        case("evicted", "failed", "evicted", failed(), with(published("stopped", 27, ended("run", 137, "Error", "")), json!({"reason": "Evicted", "message": "The node was low on resource: memory."}))),
        case("preempted", "failed", "preempted", failed(), with(published("stopped", 27, ended("run", 143, "Error", "")), json!({"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempting to accommodate a higher priority pod", "lastTransitionTime": LATER}]}))),
        case("node-refused", "failed", "node-refused", failed(), json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu"})),
        case("failed-unexplained", "failed", "failed", failed_by("Unheard"), json!({"phase": "Failed"})),
    ];
    for (name, message) in [
        (
            "image-not-found",
            "rpc error: code = NotFound desc = failed to pull and unpack image: registry.test/a@sha256:11: not found",
        ),
        (
            "image-auth",
            "failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized",
        ),
        ("image-platform", "no match for platform in manifest: not found"),
        (
            "image-digest",
            "unexpected commit digest sha256:22, expected sha256:11: failed precondition",
        ),
        ("image-registry", "dial tcp 127.0.0.1:5000: connect: connection refused"),
        ("image-rate-limit", "429 Too Many Requests - toomanyrequests"),
        ("image-pull", "a word that nobody knows"),
    ] {
        cases.push(case(
            name,
            "pending",
            name,
            json!({"startTime": BEGUN, "active": 1, "ready": 0}),
            stuck("ErrImagePull", message),
        ));
    }
    for category in harness::execution::Category::ALL {
        let (name, code) = (category.name(), i64::from(category.exit_code()));
        if code != 0 && name != "stopped" {
            let name: &'static str = Box::leak(format!("publish-{name}").into_boxed_str());
            let run = ended("run", code.min(25), "Error", "");
            cases.push(case(
                name,
                "failed",
                category.name(),
                failed(),
                published(category.name(), code, run),
            ));
        }
    }
    cases
}

/// Every recorded situation, by name, with what is expected of it.
pub(crate) fn recorded() -> Vec<(String, Situation, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let read = |name: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(path.join(name)).unwrap()).unwrap()
        };
        let objects = read("objects.json");
        let some = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
        let situation = Situation {
            name: find(&objects, "/name").as_str().unwrap().to_owned(),
            namespace: "research".to_owned(),
            job: some(&objects["job"]),
            pods: objects["pods"].as_array().cloned(),
            events: objects["events"].as_array().cloned().unwrap_or_default(),
            workload: some(&objects["workload"]),
            record: some(&objects["record"]),
            now: NOW.parse::<Timestamp>().unwrap(),
            awaited_uid: objects["awaited_uid"].as_str().map(str::to_owned),
            submission_digest: None,
        };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        found.push((name, situation, read("expected.json")));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn expectation(status: &Status) -> Value {
    json!({
        "phase": status.phase, "category": status.diagnosis.category, "sentence": status.diagnosis.sentence,
        "basis": status.diagnosis.basis, "step": status.diagnosis.step, "run_started": status.run_started,
        "remarks": status.remarks,
    })
}

#[test]
fn every_situation_is_told_as_it_was_recorded() {
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
    if std::env::var_os("UPDATE_SITUATIONS").is_some() {
        record_all();
    }
    let all = recorded();
    assert!(all.len() >= 60, "only {} situations", all.len());
    let mut wrong = Vec::new();
    for (name, situation, expected) in &all {
        let found = expectation(&derive(situation));
        if found != *expected {
            wrong.push(format!("{name}: {found:#}\ninstead of {expected:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table above decides what is right, the files keep its words.
#[test]
fn phases_and_categories_are_those_of_the_table() {
    let all = recorded();
    let mut wrong = Vec::new();
    for case in cases() {
        let (_, situation, _) = all.iter().find(|(name, ..)| name == case.name).expect(case.name);
        let status = derive(situation);
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
    let listed = harness_test_cluster::until(std::time::Duration::from_secs(30), || {
        !place.list("pods").is_empty()
    });
    assert!(listed, "the controller made no pod");
    let mut pod = place.list("pods").remove(0);
    normalise(&mut job, &mut pod);
    for case in cases() {
        let (job, pods, events) = set(&case, &job, &pod);
        let objects =
            json!({"name": job["metadata"]["name"], "job": job, "pods": pods, "events": events});
        let folder = folder().join(case.name);
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, value: &Value| {
            fs::write(folder.join(name), serde_json::to_string_pretty(value).unwrap() + "\n")
                .unwrap();
        };
        write("objects.json", &objects);
        let situation = Situation {
            name: job["metadata"]["name"].as_str().unwrap().to_owned(),
            namespace: "research".to_owned(),
            job: Some(job.clone()),
            pods: Some(pods),
            events,
            workload: None,
            record: None,
            now: NOW.parse().unwrap(),
            awaited_uid: None,
            submission_digest: None,
        };
        write("expected.json", &expectation(&derive(&situation)));
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
    match case.job.as_str() {
        None => {
            let mut status = case.job.clone();
            if status.as_object_mut().unwrap().remove("cancelled").is_some() {
                job["metadata"]["annotations"]["research.harness/cancelled-at"] = json!(LATER);
                job["metadata"]["annotations"]["research.harness/cancelled-by"] = json!("ada");
            }
            if status.get("startTime").is_none() {
                status["startTime"] = json!(BEGUN);
            }
            job["status"] = status;
        }
        Some("empty") => {}
        Some(kind) => {
            job["spec"]["suspend"] = json!(true);
            job["status"] = json!({"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended", "lastTransitionTime": BEGUN}]});
            if kind == "queued" {
                job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = json!("lab");
            }
        }
    }
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
