//! Situations of a node that is taken apart: its kubelet or its network stops, it is short of memory, or a more important
//! pod comes. One at a time, for all share the node, which has nothing else to do.
#![cfg(test)]

#[path = "../kit/mod.rs"]
mod common;
#[allow(dead_code, reason = "each test target uses its own part")]
#[path = "../node/kit.rs"]
mod kit;
#[allow(dead_code, reason = "each test target uses its own part")]
#[path = "../node/trial.rs"]
mod trial;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::common::find;
use crate::common::situation::Taken;
use crate::kit::{PATIENCE, container, event, is_running, pod, shell_image};
use crate::trial::Trial;

const LONG: &str = "echo partial > $HARNESS_OUTPUT/partial; echo begun; sleep 600 & wait";

/// The node for one test alone.
fn alone() -> MutexGuard<'static, ()> {
    static NODE: Mutex<()> = Mutex::new(());
    NODE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_node_that_falls_silent() {
    let _alone = alone();
    let mut trial = Trial::shell("silent", LONG);
    let job = trial.submit();
    trial.kit.pod_when(&job, |pod| is_running(pod, "run"));
    trial.kit.node.stop_kubelet().unwrap();
    event(&trial.kit, "NodeNotReady");
    let not_ready = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array().unwrap();
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "False")
    };
    trial.kit.pod_when(&job, not_ready);
    let taken = Taken::of(&trial.kit, &job);
    // The node is put together again before anything is judged: the other tests need it.
    trial.kit.node.start_kubelet().unwrap();
    trial.kit.delete("jobs", &job);
    taken.keep("node-lost", "running", "node-lost");
}

#[test]
fn a_network_that_gives_no_addresses() {
    let _alone = alone();
    let mut trial = Trial::shell("addressless", "true");
    let addresses = trial.kit.node.state().join("cni-state");
    let away = trial.kit.node.state().join("cni-state-away");
    fs::rename(&addresses, &away).unwrap();
    fs::write(&addresses, "no folder").unwrap();
    let job = trial.submit();
    event(&trial.kit, "FailedCreatePodSandBox");
    let taken = Taken::of(&trial.kit, &job);
    fs::remove_file(&addresses).unwrap();
    fs::rename(&away, &addresses).unwrap();
    trial.kit.end_of_job(&job);
    taken.keep("sandbox", "pending", "container-create");
}

#[test]
fn a_more_important_pod() {
    let _alone = alone();
    let mut trial = Trial::shell("preempted", LONG);
    let job = trial.submit();
    trial.kit.pod_when(&job, |pod| is_running(pod, "run"));
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"},
        "value": 1000, "preemptionPolicy": "PreemptLowerPriority", "description": "of a test",
    });
    let cluster = trial.kit.node.cluster();
    let (code, answer) = cluster.admin_post("/apis/scheduling.k8s.io/v1/priorityclasses", &class);
    assert_eq!(code, 201, "{answer:#}");
    let (_, node) = cluster.admin_get("/api/v1/nodes/node");
    let mut urgent = container("main", shell_image(), &["true"]);
    let cpu = find(&node, "/status/allocatable/cpu").clone();
    urgent["resources"] = json!({"requests": {"cpu": cpu, "memory": "16Mi"}, "limits": {"cpu": cpu, "memory": "64Mi"}});
    let mut urgent = pod(&[urgent]);
    urgent["priorityClassName"] = "urgent".into();
    trial.kit.create_job("urgent", &urgent);
    trial.kit.pod_when(&job, |pod| pod["metadata"]["deletionTimestamp"].is_string());
    Taken::of(&trial.kit, &job).keep("preempted", "running", "preempted");
    trial.kit.end_of_job(&job);
    let is_gone = || {
        let pods = trial.kit.list("pods");
        pods.iter()
            .all(|pod| pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] != job.as_str())
    };
    assert!(until(PATIENCE, is_gone), "the pod stays");
    Taken::of(&trial.kit, &job).keep("preempted-pod-gone", "failed", "pod-vanished");
    assert_eq!(trial.kit.end_of_job("urgent"), "Complete");
}

/// Keeps what becomes of an experiment that runs while the kubelet starts anew and wants all memory to be free but these
/// MiB. It takes its threshold from what pods may request, and admits those that run once more.
fn short_of_memory(left: u64, name: &str, category: &str) {
    let mut trial = Trial::shell("short", LONG);
    let job = trial.submit();
    trial.kit.pod_when(&job, |pod| is_running(pod, "run"));
    let node = || trial.kit.node.cluster().admin_get("/api/v1/nodes/node").1;
    let memory = find(&node(), "/status/allocatable/memory").clone();
    let kibibytes = memory.as_str().unwrap().strip_suffix("Ki").unwrap();
    let available = kibibytes.parse::<u64>().unwrap() - (left << 10);
    let file = trial.kit.node.state().join("kubelet.json");
    let before = fs::read_to_string(&file).unwrap();
    let restart_with = |configuration: &str| {
        fs::write(&file, configuration).unwrap();
        trial.kit.node.restart_kubelet().unwrap();
    };
    let mut short: Value = serde_json::from_str(&before).unwrap();
    short["evictionHard"]["memory.available"] = format!("{available}Ki").into();
    restart_with(&short.to_string());
    trial.kit.end_of_job(&job);
    let taken = Taken::of(&trial.kit, &job);
    // As above: the other tests need the node.
    restart_with(&before);
    let is_well = || {
        let node = node();
        let conditions = find(&node, "/status/conditions").as_array().unwrap();
        node["status"]["allocatable"]["memory"] == memory
            && node["spec"]["taints"].is_null()
            && conditions
                .iter()
                .all(|one| one["type"] != "MemoryPressure" || one["status"] == "False")
    };
    assert!(until(PATIENCE, is_well), "the node stays short of memory: {:#}", node());
    taken.keep(name, "failed", category);
}

#[test]
fn a_node_that_is_short_of_memory() {
    let _alone = alone();
    // More than the pod's 352 MiB, and less than control plane and node always use.
    short_of_memory(384, "evicted-under-pressure", "evicted");
}

#[test]
fn a_node_that_has_less_memory_than_before() {
    let _alone = alone();
    short_of_memory(128, "refused-while-running", "node-refused");
}
