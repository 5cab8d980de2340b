//! From the queue to the end: what Kueue writes on a Job is drift, and anything beyond it is not.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::{Place, QUEUE, Sample};
use crate::lab::{Lab, PATIENCE, sample};

/// Where the live Job differs, by the receipt of another submit, if all of that is the queue's doing.
#[track_caller]
fn drift(lab: &Lab) -> Vec<String> {
    let receipt = lab.harness().submit(&sample("attempt-1").signed_again());
    let receipt = receipt.expect(0, "already_submitted");
    let drift = receipt["drift"].as_array().unwrap();
    assert!(drift.iter().all(|one| one["kind"] != "added"), "{receipt:#}");
    let by_queue = drift.iter().filter(|one| one["kind"] == "queue");
    by_queue.map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn queued_admitted_and_over() {
    let lab = Lab::new("admitted");
    let name = lab.submitted(&sample("attempt-1"));
    let job = lab.get("jobs", &name);
    assert_eq!(job["spec"]["suspend"], true);
    assert_eq!(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], QUEUE);

    // There is no such queue yet, which only Kueue can tell.
    let is_said = || !lab.workload(&name)["status"]["conditions"].is_null();
    assert!(until(PATIENCE, is_said), "{:#}", lab.workload(&name));
    let queued = lab.keep_when("queued-without-a-queue", &name, "queued", "queued");
    let sentence = queued["diagnosis"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("LocalQueue lab doesn't exist"), "{queued:#}");
    assert_eq!(
        (&queued["diagnosis"]["basis"], &queued["run_started"]),
        (&json!("queue"), &json!("never"))
    );
    assert_eq!(drift(&lab), Vec::<String>::new(), "waiting changes nothing");

    lab.open_queue(&json!({"example.org/pool": "research"}));
    let pod = lab.pod(&name);
    assert_eq!(pod["spec"]["nodeSelector"], json!({"example.org/pool": "research"}));
    let admitted = lab.keep_when("admitted-by-kueue", &name, "pending", "scheduling");
    assert_eq!((&admitted["run_started"], &admitted["remarks"]), (&json!("never"), &json!([])));
    let changed = [
        "spec.suspend",
        "spec.template.metadata.annotations[kueue.x-k8s.io/workload]",
        "spec.template.metadata.labels[kueue.x-k8s.io/cluster-queue-name]",
        "spec.template.metadata.labels[kueue.x-k8s.io/local-queue-name]",
        "spec.template.metadata.labels[kueue.x-k8s.io/podset]",
        "spec.template.spec.nodeSelector",
    ];
    let mut found = drift(&lab);
    found.sort();
    assert_eq!(found, changed);

    lab.run(&pod);
    let running = lab.status_when(&name, "running", "running");
    assert_eq!(running["remarks"], json!([]), "{running:#}");
    lab.succeed(&pod);
    lab.status_when(&name, "succeeded", "succeeded");
    let receipt = lab.harness().submit(&sample("attempt-1")).expect(0, "already_submitted");
    assert_eq!(receipt["job"]["state"], "succeeded");
}

#[test]
fn what_no_queue_does_is_no_drift() {
    let lab = Lab::new("changed");
    let name = lab.submitted(&sample("attempt-1"));
    let template = |change: &Value| json!({"spec": {"template": change}});
    let affinity = json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}],
    }}}}});
    let gates = json!({"spec": {"schedulingGates": [{"name": "example.org/gate"}]}});
    for (change, undo, path) in [
        (affinity, json!({"spec": {"affinity": null}}), "spec.template.spec.affinity"),
        (gates, json!({"spec": {"schedulingGates": null}}), "spec.template.spec.schedulingGates"),
        (
            json!({"metadata": {"labels": {"research.harness/result-identity": "0"}}}),
            json!({"metadata": {"labels": {"research.harness/result-identity": label(&lab, &name)}}}),
            "spec.template.metadata.labels[research.harness/result-identity]",
        ),
    ] {
        lab.patch("jobs", &name, &template(&change));
        let receipt = lab.harness().submit(&sample("attempt-1")).expect(4, "conflict");
        assert_eq!(receipt["differences"], json!([path]), "{receipt:#}");
        lab.patch("jobs", &name, &template(&undo));
        lab.harness().submit(&sample("attempt-1")).expect(0, "already_submitted");
    }
}

fn label(place: &Place, job: &str) -> Value {
    place.get("jobs", job)["spec"]["template"]["metadata"]["labels"]["research.harness/result-identity"].clone()
}

#[test]
fn a_default_queue_takes_nothing_that_names_no_queue() {
    let lab = Lab::new("default");
    lab.local_queue("default");
    let probe = json!({"metadata": {"name": "probe"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}],
    }}}});
    let path = format!("{}?dryRun=All", lab.collection("jobs"));
    let takes = || lab.cluster.admin_post(&path, &probe).1["spec"]["suspend"] == true;
    assert!(until(PATIENCE, takes), "Kueue leaves Jobs without a queue alone");
    // Kueue would give the Job its label and suspend it, and it is no longer the experiment that was submitted.
    let receipt = lab.harness().submit(&Sample::new("attempt-1")).expect(5, "refused");
    assert_eq!(receipt["differences"], json!(["spec.suspend"]), "{receipt:#}");
    lab.assert_holds(0, 0);
}
