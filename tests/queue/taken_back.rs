//! A Job that Kueue takes back and starts again: that its code may run a second time is said.

use std::sync::Once;

use serde_json::{Value, json};

use crate::kit::MANIFESTS;
use crate::lab::{Lab, sample};

fn sentence(status: &Value) -> &str {
    status["diagnosis"]["sentence"].as_str().unwrap()
}

/// Runs it until the runner is at work, in a namespace whose ledger is protected.
fn running(lab: &Lab) -> (String, Value) {
    static PROTECTED: Once = Once::new();
    PROTECTED.call_once(|| {
        lab.kubectl_anywhere(&["apply", "-k", &format!("{MANIFESTS}/protection")]);
    });
    let label = json!({"metadata": {"labels": {"research.harness/admission": "enforced"}}});
    let path = format!("/api/v1/namespaces/{}", lab.namespace.name);
    assert_eq!(lab.cluster.admin_patch(&path, &label).0, 200);
    lab.open_queue(&json!({}));
    let name = lab.submitted(&sample("attempt-1"));
    let pod = lab.pod(&name);
    lab.run(&pod);
    lab.status_when(&name, "running", "running");
    (name, pod)
}

#[test]
fn preempted_while_its_code_ran() {
    let lab = Lab::new("preempted");
    let (name, first) = running(&lab);
    let container = json!({"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    lab.more_important("more-important", &pod);
    lab.keep_when("preempted-by-kueue", &name, "queued", "requeued");
    lab.gone(&first);
    lab.job_when(&name, |job| job["status"]["active"].as_i64().unwrap_or_default() == 0);
    let requeued = lab.status(&name);
    let said = sentence(&requeued);
    assert!(
        said.starts_with(
            "the queue `lab` took the Job back after its code had been started: Preempted"
        ),
        "{requeued:#}"
    );
    assert_eq!(requeued["run_started"], "yes", "{requeued:#}");
    let receipt = lab.harness().submit(&sample("attempt-1")).expect(0, "already_submitted");
    assert_eq!(receipt["job"]["state"], "queued");
    lab.harness().run(&["release", &name, "--yes"]).expect(4, "not_released");

    lab.delete("jobs", "more-important");
    let second = lab.pod(&name);
    let again = lab.status_when(&name, "pending", "scheduling");
    assert_eq!(again["run_started"], "yes", "{again:#}");
    lab.run(&second);
    let twice = lab.keep_when("run-again-by-kueue", &name, "running", "run-more-than-once");
    assert_eq!(twice["remarks"], json!(["the code was started in 2 pods of this Job"]));
    lab.harness().submit(&sample("attempt-1")).expect(0, "already_submitted");
    lab.succeed(&second);
    let over = lab.status_when(&name, "succeeded", "succeeded");
    assert_eq!(over["remarks"], json!(["the code was started in 2 pods of this Job"]));

    // An hour later the events are gone, and Kueue's count is left.
    let events = lab.collection("events");
    assert_eq!(lab.cluster.admin_delete(&events, None).0, 200);
    let later = lab.status(&name);
    let remark = "the queue took it back once after it had admitted it; its code may have been started each time";
    assert_eq!(later["remarks"], json!([remark]));
}

#[test]
fn evicted_before_its_pod_had_a_node() {
    let lab = Lab::new("evicted");
    lab.open_queue(&json!({}));
    let name = lab.submitted(&sample("attempt-1"));
    lab.pod(&name);
    lab.hold_queue(true);
    let requeued = lab.keep_when("evicted-by-kueue", &name, "queued", "requeued");
    let said = sentence(&requeued);
    assert!(said.starts_with("the queue `lab` took the Job back after it had started: "), "{said}");
    assert!(said.contains("ClusterQueue"), "{said}");
    // Its pod is gone and had no node, which nothing shows any more.
    lab.job_when(&name, |job| job["status"]["active"].as_i64().unwrap_or_default() == 0);
    assert_eq!(lab.status(&name)["run_started"], "unknown");
    lab.hold_queue(false);
    lab.pod(&name);
    let again = lab.status_when(&name, "pending", "scheduling");
    let remark = "the queue took it back once after it had admitted it; its code may have been started each time";
    assert_eq!((&again["run_started"], &again["remarks"]), (&json!("unknown"), &json!([remark])));
}
