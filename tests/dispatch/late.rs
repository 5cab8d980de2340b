//! Creates that arrive after harness gave up on them.

use std::process::Stdio;

use harness_test_cluster::fault::{Exchange, Requests};
use harness_test_cluster::{Grant, until};
use serde_json::json;

use crate::kit::PATIENCE;
use crate::kit::{Harness, Place, Run, Sample, command, find};

/// The real creates of a resource.
pub(crate) fn creates(resource: &str) -> Requests {
    Requests::new("POST", &format!("/{resource}?")).without("dryRun")
}

/// Starts a submission that the test interrupts or waits for.
pub(crate) fn start(harness: &Harness, sample: &Sample) -> Started {
    let mut command = harness.command(&[sample.write(&harness.inputs())]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Started { shown: command, child }
}

/// A submission under way.
pub(crate) struct Started {
    shown: std::process::Command,
    child: std::process::Child,
}

impl Started {
    /// What Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        let process = self.child.id().to_string();
        assert!(command("kill").args(["-INT", &process]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Run {
        let output = self.child.wait_with_output().unwrap();
        Run::new(&self.shown, &output)
    }
}

#[test]
fn the_second_try_overtakes_the_first() {
    let place = Place::new("overtaken");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs").nth(1));
    let harness = place.harness_through(&proxy).arg("--request-timeout=1");
    let created = harness.submit(&sample).expect(0, "created");
    place.assert_holds(1, 1);
    assert_eq!(held.release_and_wait().unwrap(), 409, "the name is taken");
    place.assert_holds(1, 1);
    assert_eq!(created["job"]["uid"], *find(&place.job(), "/metadata/uid"));
}

#[test]
fn the_job_lands_after_harness_gave_up() {
    let place = Place::new("landed");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let harness = place.harness_through(&proxy).arg("--request-timeout=1");
    let run = harness.submit(&sample);
    let detail = run.expect(6, "unknown")["detail"].to_string();
    assert!(detail.contains("the Job may have been created"), "{detail}");
    place.assert_holds(0, 1);
    // Several tries are on their way, and whichever is first wins.
    held.release();
    assert!(until(PATIENCE, || proxy.exchanges().iter().all(|one| one.answered.is_some())));
    let is_real = |one: &&Exchange| one.path.ends_with("/jobs") && !one.query.contains("dryRun");
    let answers: Vec<_> =
        proxy.exchanges().iter().filter(is_real).filter_map(|one| one.answered).collect();
    let landed = answers.iter().filter(|answer| **answer == 201).count();
    let taken = answers.iter().filter(|answer| **answer == 409).count();
    assert_eq!((landed, landed + taken), (1, answers.len()), "{answers:?}");
    assert!(taken > 0, "{answers:?}");
    place.assert_holds(1, 1);
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.harness().submit(&sample.signed_again()).expect(0, "already_submitted");
    place.assert_holds(1, 1);
}

#[test]
fn the_job_lands_after_another_signature_was_submitted() {
    let place = Place::new("outrun");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let harness = place.harness_through(&proxy).arg("--request-timeout=3");
    let started = start(&harness, &sample);
    held.wait_until_read().unwrap();
    started.interrupt();
    let run = started.end();
    run.assert_hides(&sample);
    run.expect(6, "unknown");
    let created = place.harness().submit(&sample.signed_again()).expect(0, "created");
    assert_eq!(held.release_and_wait().unwrap(), 409);
    place.assert_holds(1, 2);
    assert_eq!(created["job"]["uid"], *find(&place.job(), "/metadata/uid"));
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 2);
}

/// Two signatures, both Secrets made, one Job: the loser removes its own Secret and no other.
#[test]
fn the_loser_of_a_race_removes_its_own_secret() {
    let place = Place::new("loser");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let loser = place.harness_through(&proxy);
    let started = start(&loser, &sample.signed_again());
    held.wait_until_read().unwrap();
    let created = place.harness().submit(&sample).expect(0, "created");
    place.assert_holds(1, 2);
    held.release();
    let receipt = started.end().expect(0, "already_submitted");
    assert_eq!(receipt["secret"]["state"], "removed");
    assert_eq!(receipt["job"]["uid"], created["job"]["uid"]);
    place.assert_holds(1, 1);
    assert_eq!(place.secrets(), [created["secret"]["name"].as_str().unwrap()]);
}

#[test]
fn a_loser_that_may_not_delete_leaves_its_secret() {
    let place = Place::new("left");
    let sample = Sample::new("attempt-1");
    let rules = json!([
        {"apiGroups": [""], "resources": ["namespaces", "configmaps"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "create"]},
    ]);
    let user = place.cluster.user(&[Grant::in_namespace(&place.namespace.name, rules)]).unwrap();
    let proxy = place.proxy_as(&user);
    let held = proxy.hold(creates("jobs"));
    let loser = place.harness_through(&proxy);
    let started = start(&loser, &sample.signed_again());
    held.wait_until_read().unwrap();
    place.harness().submit(&sample).expect(0, "created");
    held.release();
    let receipt = started.end().expect(0, "already_submitted");
    assert!(receipt["remarks"].to_string().contains("could not be removed"), "{receipt:#}");
    place.assert_holds(1, 2);
}
