//! `cancel`, `release` and `prune` of what is or was in a queue.

use harness_test_cluster::until;
use serde_json::Value;

use crate::kit::{end, find};
use crate::lab::{Lab, PATIENCE, sample};

#[track_caller]
fn workload_goes(lab: &Lab, job: &str) {
    let is_gone = || lab.workload(job).is_null();
    assert!(until(PATIENCE, is_gone), "{:#}", lab.workload(job));
}

#[test]
fn a_queued_one_is_cancelled_for_good() {
    let lab = Lab::new("cancelled");
    let name = lab.submitted(&sample("attempt-1"));
    let cancelled = lab.harness().run(&["cancel", &name, "--yes"]).expect(0, "cancelled");
    assert_eq!(*find(&cancelled, "/job/name"), Value::from(name.as_str()));
    workload_goes(&lab, &name);
    lab.assert_holds(0, 0);
    let receipt = lab.harness().submit(&sample("attempt-1")).expect(0, "already_recorded");
    assert_eq!(receipt["record"]["outcome"], "cancelled", "{receipt:#}");
    // A queue that opens now finds nothing to start.
    lab.open_queue(&serde_json::json!({}));
    assert_eq!(lab.list("pods"), Vec::<Value>::new());
}

#[test]
fn a_queued_one_is_released_and_queued_again() {
    let lab = Lab::new("queued");
    let name = lab.submitted(&sample("attempt-1"));
    assert!(until(PATIENCE, || !lab.workload(&name).is_null()));
    let queued = lab.status_when(&name, "queued", "queued");
    let remedy = queued["diagnosis"]["remedy"].as_str().unwrap();
    assert!(remedy.contains("dispatch release"), "{remedy}");
    lab.harness().run(&["release", &name, "--yes"]).expect(0, "released");
    lab.assert_holds(0, 0);
    workload_goes(&lab, &name);
    assert_eq!(lab.submitted(&sample("attempt-1")), name);
    lab.open_queue(&serde_json::json!({}));
    lab.pod(&name);
}

#[test]
fn an_admitted_one_without_a_node_is_released_and_queued_again() {
    let lab = Lab::new("released");
    lab.open_queue(&serde_json::json!({}));
    let name = lab.submitted(&sample("attempt-1"));
    lab.pod(&name);
    lab.harness().run(&["release", &name, "--yes"]).expect(0, "released");
    lab.assert_holds(0, 0);
    assert_eq!(lab.submitted(&sample("attempt-1")), name);
    lab.pod(&name);
}

#[test]
fn prune_leaves_what_waits_and_takes_what_is_over() {
    let lab = Lab::new("pruned");
    let waiting = lab.submitted(&sample("attempt-1"));
    assert_eq!(lab.harness().run(&["prune", "--yes"]).receipts(), Vec::<Value>::new());
    lab.assert_holds(1, 1);
    lab.open_queue(&serde_json::json!({}));
    let pod = lab.pod(&waiting);
    lab.run(&pod);
    end(&lab, &waiting, "Complete", 8 * 24);
    let pruned = lab.harness().run(&["prune", "--yes"]).expect(0, "pruned");
    assert_eq!(*find(&pruned, "/job/name"), Value::from(waiting.as_str()));
    workload_goes(&lab, &waiting);
    lab.assert_holds(0, 0);
}
