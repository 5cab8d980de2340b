//! The cluster lives on: the Job's controller, the scheduler, the kubelet, a queue, the collector of garbage.

use std::time::Duration;

use harness::cluster::Resource;
use harness::render::compare;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chance::Random;
use crate::clock::at;
use crate::server::{CLUSTER, Server, What};

/// Everybody does something for the Job `name`, if there is something to do; says what.
pub fn step(server: &mut Server, name: &str, random: &mut Random) -> Option<&'static str> {
    let pod_name = format!("{name}-pod");
    let pod = server.get(Resource::Pods, &pod_name).map(|pod| pod.body.clone());
    let job = server.get(Resource::Jobs, name).map(|job| job.body.clone());
    match (job, pod) {
        (Some(job), pod) if is_over(&job) => settled(server, &job, &pod_name, pod.as_deref()),
        (Some(job), Some(pod)) if owner(&pod) != job["metadata"]["uid"] => {
            Some(collect(server, &pod_name))
        }
        (Some(job), pod) => alive(server, name, &job, &pod_name, pod.as_deref(), random),
        (None, Some(_)) => Some(collect(server, &pod_name)),
        (None, None) => None,
    }
}

fn is_over(job: &Value) -> bool {
    compare::job_state(job).is_terminal()
}

fn owner(pod: &Value) -> Value {
    pod["metadata"]["ownerReferences"][0]["uid"].clone()
}

fn collect(server: &mut Server, pod_name: &str) -> &'static str {
    server.remove(CLUSTER, Resource::Pods, pod_name);
    "the collector removed a pod without its Job"
}

/// A Job that ended keeps the pod of its own; one that is being deleted goes.
fn settled(
    server: &mut Server,
    job: &Value,
    pod_name: &str,
    pod: Option<&Value>,
) -> Option<&'static str> {
    let pod = pod?;
    if owner(pod) != job["metadata"]["uid"] || compare::is_terminating(pod) {
        server.remove(CLUSTER, Resource::Pods, pod_name);
        return Some("the controller let a pod go");
    }
    None
}

fn alive(
    server: &mut Server,
    name: &str,
    job: &Value,
    pod_name: &str,
    pod: Option<&Value>,
    random: &mut Random,
) -> Option<&'static str> {
    let is_suspended = job["spec"]["suspend"] == true;
    if let Some(pod) = pod {
        if compare::is_terminating(pod) {
            server.remove(CLUSTER, Resource::Pods, pod_name);
            // The pod of a suspended Job is not counted.
            if is_suspended {
                return Some("the controller let the pod of a suspended Job go");
            }
            end(server, name, "Failed", "BackoffLimitExceeded");
            return Some("the controller counted a pod that was deleted");
        }
        if is_suspended {
            server.change(CLUSTER, Resource::Jobs, name, |job| {
                suspended(job, true);
            });
            let time = server.time();
            server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
                pod["metadata"]["deletionTimestamp"] = time;
            });
            return Some("the controller deleted the pod of a suspended Job");
        }
        match pod["status"]["phase"].as_str() {
            Some("Succeeded") => end(server, name, "Complete", ""),
            Some("Failed") => end(server, name, "Failed", "BackoffLimitExceeded"),
            _ => return pod_lives(server, job, pod_name, pod, random),
        }
        return Some("the controller counted a pod that ended");
    }
    if is_suspended {
        if random.permille(400) {
            server.change(CLUSTER, Resource::Jobs, name, |job| {
                suspended(job, true);
                job["spec"]["suspend"] = false.into();
            });
            return Some("the queue started the Job");
        }
        return None;
    }
    if has_passed(server, &job["status"]["startTime"], &job["spec"]["activeDeadlineSeconds"]) {
        end(server, name, "Failed", "DeadlineExceeded");
        return Some("the Job's deadline passed");
    }
    let time = server.time();
    server.change(CLUSTER, Resource::Jobs, name, |job| {
        if job["status"]["conditions"].is_array() {
            suspended(job, false);
        }
        job["status"]["startTime"] = time;
        job["status"]["active"] = 1.into();
    });
    server.create(CLUSTER, Resource::Pods, pod_name, pod_of(name, job));
    Some("the controller made a pod")
}

fn pod_of(name: &str, job: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-pod"),
            "labels": { "batch.kubernetes.io/job-name": name },
            "ownerReferences": [
                { "kind": "Job", "controller": true, "uid": job["metadata"]["uid"] },
            ],
        },
        "spec": {
            "activeDeadlineSeconds": job["spec"]["template"]["spec"]["activeDeadlineSeconds"],
            "secret": compare::named_secret(job),
        },
        "status": { "phase": "Pending" },
    })
}

/// The scheduler and the kubelet.
fn pod_lives(
    server: &mut Server,
    job: &Value,
    pod_name: &str,
    pod: &Value,
    random: &mut Random,
) -> Option<&'static str> {
    if has_passed(server, &job["status"]["startTime"], &job["spec"]["activeDeadlineSeconds"]) {
        let time = server.time();
        end_of(server, job, "Failed", "DeadlineExceeded");
        server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
            pod["metadata"]["deletionTimestamp"] = time;
        });
        return Some("the Job's deadline passed");
    }
    if !pod["spec"]["nodeName"].is_string() {
        let time = server.time();
        return random.permille(500).then(|| {
            server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
                pod["spec"]["nodeName"] = "node".into();
                pod["status"]["startTime"] = time;
            });
            "the scheduler found a node"
        });
    }
    let has_run = pod["status"]["phase"] == "Running";
    if has_passed(server, &pod["status"]["startTime"], &pod["spec"]["activeDeadlineSeconds"]) {
        server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
            pod["status"]["phase"] = "Failed".into();
            pod["status"]["containerStatuses"] = if has_run {
                json!([{ "name": "run", "containerID": "containerd://1", "state": { "terminated": {} } }])
            } else {
                json!([{ "name": "run", "state": { "waiting": {} } }])
            };
        });
        return Some("the pod's deadline passed");
    }
    if !has_run {
        let secret = pod["spec"]["secret"].as_str().unwrap_or_default().to_owned();
        server.get(Resource::Secrets, &secret)?;
        server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
            pod["status"]["phase"] = "Running".into();
            pod["status"]["containerStatuses"] = json!([{
                "name": "run", "containerID": "containerd://1", "restartCount": 0,
                "state": { "running": {} },
            }]);
        });
        let name = pod_name.trim_end_matches("-pod").to_owned();
        let uid = owner(pod).as_str().unwrap_or_default().to_owned();
        server.note(CLUSTER, Resource::Jobs, &name, &uid, What::Ran);
        return Some("the kubelet started `run`");
    }
    random.permille(300).then(|| {
        let phase = if random.permille(800) { "Succeeded" } else { "Failed" };
        server.change(CLUSTER, Resource::Pods, pod_name, |pod| {
            pod["status"]["phase"] = phase.into();
            pod["status"]["containerStatuses"][0]["state"] = json!({ "terminated": {} });
        });
        "the run ended"
    })
}

fn end_of(server: &mut Server, job: &Value, kind: &str, reason: &str) {
    let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    end(server, &name, kind, reason);
}

fn end(server: &mut Server, name: &str, kind: &str, reason: &str) {
    let time = server.time();
    let count = if kind == "Complete" { "succeeded" } else { "failed" };
    server.change(CLUSTER, Resource::Jobs, name, |job| {
        job["status"]["active"] = 0.into();
        if reason != "DeadlineExceeded" {
            job["status"][count] = 1.into();
        }
        let condition = json!({
            "type": kind, "status": "True", "reason": reason, "lastTransitionTime": time,
        });
        match job["status"]["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(condition),
            None => job["status"]["conditions"] = json!([condition]),
        }
    });
}

fn suspended(job: &mut Value, is_suspended: bool) {
    let status = if is_suspended { "True" } else { "False" };
    let is_it = |condition: &&mut Value| condition["type"] == "Suspended";
    let conditions = job["status"]["conditions"].as_array_mut();
    match conditions.and_then(|all| all.iter_mut().find(is_it)) {
        Some(condition) => condition["status"] = status.into(),
        None => job["status"]["conditions"] = json!([{ "type": "Suspended", "status": status }]),
    }
}

fn has_passed(server: &Server, start: &Value, seconds: &Value) -> bool {
    let start: Option<Timestamp> = start.as_str().and_then(|text| text.parse().ok());
    match (start, seconds.as_u64()) {
        (Some(start), Some(seconds)) => at(server.now) >= start + Duration::from_secs(seconds),
        _ => false,
    }
}
