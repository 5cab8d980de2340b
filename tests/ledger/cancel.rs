//! An experiment is ended, and that it ran stays.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use harness_test_cluster::until;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::kit::{Place, Sample};
use crate::world::{
    PATIENCE, assert_pruned, bind, end, fail_in_stage, pod, submitted, uid, user, wait_for,
};

#[test]
fn as_the_operator_a_running_pod_is_ended_and_kept() {
    let place = Place::new("cancel");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    let live = pod(&place, &name);
    bind(&place, &live);
    let operator = user(&place, "operator");
    let harness = place.harness_as(&operator);
    assert_eq!(harness.run(&["cancel", &name]).code, Some(2), "nobody can be asked");
    let asked = harness.run(&["cancel", &name, "--yes"]).expect(0, "cancel_requested");
    assert_eq!(asked["job"]["cancelled_by"], operator.name.as_str());
    let job = place.get("jobs", &name);
    let deadline = &job["spec"]["activeDeadlineSeconds"];
    assert_ne!(*deadline, 1, "the Job's deadline would remove the pod and its logs");
    let pod_name = live["metadata"]["name"].as_str().unwrap();
    assert_eq!(place.get("pods", pod_name)["spec"]["activeDeadlineSeconds"], 1);
    // Repeated, by another person: who and when stay.
    let again = place.harness().run(&["cancel", &name, "--yes"]).expect(0, "cancel_requested");
    assert_eq!(again["job"], asked["job"]);
    let said = place.harness().submit(&sample).expect(7, "cancelled");
    assert!(said["detail"].as_str().unwrap().contains(&operator.name), "{said:#}");
    // The kubelet ends it.
    fail_in_stage(&place, &live, Some("containerd://1"));
    wait_for(&place, &name, "Failed");
    harness.run(&["cancel", &name, "--yes"]).expect(0, "cancelled");
    place.assert_holds(1, 1);
    harness.run(&["release", &name, "--yes"]).expect(4, "not_released");
}

#[test]
fn a_pending_job_fails_by_its_own_deadline() {
    let place = Place::new("cancel-pending");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    pod(&place, &name);
    let harness = place.harness_as(&user(&place, "operator"));
    let path = Sample::unsigned("attempt-1").write(&harness.inputs());
    let by_file = harness.run(&["cancel", "-f", path.to_str().unwrap(), "--yes"]);
    by_file.expect(0, "cancel_requested");
    wait_for(&place, &name, "Failed");
    place.harness().submit(&sample).expect(7, "cancelled");
    harness.run(&["cancel", &name, "--yes"]).expect(0, "cancelled");
    // A cancelled experiment is pruned as one.
    let job = uid(&place, &name);
    let proxy = place.proxy();
    crate::world::later(&proxy, 8);
    place.harness_through(&proxy).run(&["prune", "--yes"]).expect(0, "pruned");
    assert_pruned(&place, &name, &job, "cancelled");
}

#[test]
fn a_suspended_job_makes_place_for_its_record() {
    let place = Place::new("cancel-suspended");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    place.patch("jobs", &name, &json!({"spec": {"suspend": true}}));
    let job = uid(&place, &name);
    let operator = user(&place, "operator");
    let cancelled =
        place.harness_as(&operator).run(&["cancel", &name, "--yes"]).expect(0, "cancelled");
    assert!(cancelled["detail"].as_str().unwrap().contains(&operator.name), "{cancelled:#}");
    let record = assert_pruned(&place, &name, &job, "cancelled");
    assert_eq!(record["recorded_by"], operator.name.as_str());
    let again = place.harness().submit(&sample).expect(0, "already_recorded");
    assert!(again["detail"].as_str().unwrap().contains("(cancelled)"), "{again:#}");
    assert!(until(PATIENCE, || place.list("pods").is_empty()));
}

#[test]
fn what_has_ended_or_is_not_there_is_left_alone() {
    let place = Place::new("cancel-finished");
    let name = submitted(&place, &Sample::new("attempt-1"));
    end(&place, &name, "Complete", 1);
    let before = place.get("jobs", &name);
    place.harness().run(&["cancel", &name, "--yes"]).expect(0, "already_finished");
    assert_eq!(place.get("jobs", &name), before);
    let absent = format!("prediction-{}", "0".repeat(32));
    for command in ["cancel", "release"] {
        place.harness().run(&[command, &absent, "--yes"]).expect(9, "missing");
        assert_eq!(place.harness().run(&[command, "my-job", "--yes"]).code, Some(2));
    }
    // A Job under such a name that harness did not make.
    let mut foreign = before;
    foreign["metadata"] = json!({"name": absent});
    foreign["status"] = Value::Null;
    foreign["spec"]["selector"] = Value::Null;
    foreign["spec"]["template"]["metadata"] = json!({});
    place.create("jobs", &foreign);
    for command in ["cancel", "release"] {
        place.harness().run(&[command, &absent, "--yes"]).expect(4, "conflict");
    }
    let watcher = place.harness_as(&user(&place, "watcher"));
    let fresh = submitted(&place, &Sample::new("attempt-2"));
    watcher.run(&["cancel", &fresh, "--yes"]).expect(5, "refused");
}

/// Runs a command with a terminal as its standard input, on which a person types this line.
fn typed(place: &Place, arguments: &[&str], line: &str) -> crate::kit::Run {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let harness = place.harness();
    let mut command = harness.dispatch(arguments);
    command.stdin(terminal);
    let mut person = File::from(ours);
    person.write_all(format!("{line}\n").as_bytes()).unwrap();
    let output = command.output().unwrap();
    crate::kit::Run::new(&command, &output)
}

#[test]
fn a_person_is_asked() {
    let place = Place::new("cancel-asked");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let before = place.get("jobs", &name)["metadata"]["annotations"].clone();
    for no in ["", "n", "no", "what?"] {
        for arguments in [vec!["cancel", &name], vec!["release", &name], vec!["prune"]] {
            let run = typed(&place, &arguments, no);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{no:?}: {run}");
            assert!(run.stderr.contains("[y/N]"), "{run}");
            assert!(run.stderr.contains(&place.namespace.name), "{run}");
        }
    }
    assert_eq!(place.get("jobs", &name)["metadata"]["annotations"], before);
    typed(&place, &["cancel", &name], "y").expect(0, "cancel_requested");
}
