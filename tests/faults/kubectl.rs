//! kubectl dies, or stands still, in the middle: harness never says what is not so.

use std::time::Duration;

use harness_test_cluster::fault::FaultProxy;
use harness_test_cluster::until;
use rustix::process::{Signal, kill_process};

use crate::kit::PATIENCE;
use crate::kit::process::{Family, Started, assert_empty, is_asleep, stop};
use crate::kit::steps::Step;
use crate::kit::{Harness, Place, Sample, in_parallel};

#[test]
fn kubectl_is_killed_at_any_request() {
    in_parallel(Step::ALL, |step| {
        hurt_kubectl_at(step, Signal::KILL);
    });
}

/// kubectl ends by itself in the middle: in good order, and in a panic of Go with all that it prints.
#[test]
fn kubectl_dies_by_itself_at_any_request() {
    let ends = [Signal::TERM, Signal::QUIT].into_iter();
    let cases = ends.flat_map(|end| Step::ALL.map(|step| (step, end)));
    in_parallel(cases, |(step, end)| hurt_kubectl_at(step, end));
}

/// The create waits in the socket of a kubectl that was stopped before it could read it, and kubectl goes on when
/// harness has given that request up: whether it still sends it or not, there is one Job.
#[test]
fn kubectl_goes_on_after_a_create_was_given_up() {
    let place = Place::new("resumed");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let harness = place.harness_through(&proxy).arg("--request-timeout=1");
    let (started, family) = stopped_before_the_job(&place, &proxy, &harness, &sample);
    let came = || {
        proxy
            .exchanges()
            .iter()
            .any(|one| one.path.ends_with("/jobs") && !one.query.contains("dryRun"))
    };
    assert!(!until(Duration::from_millis(2500), came), "a stopped kubectl has sent the create");
    kill_process(family.kubectl(), Signal::CONT).unwrap();
    let run = started.end();
    family.assert_gone();
    run.assert_hides(&sample);
    let (code, outcome) = run.outcome();
    assert!(code == 0 && ["created", "already_submitted"].contains(&outcome.as_str()), "{run}");
    place.assert_holds(1, 1);
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 1);
    place.assert_hides(&sample);
}

/// As before, but the guard is killed too, and nobody is left to end kubectl: it dies with its parent, as it asked the
/// kernel to, and never reads the create.
#[test]
fn a_stopped_kubectl_does_not_outlive_a_killed_guard() {
    let place = Place::new("orphan");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let harness = place.harness_through(&proxy).arg("--request-timeout=1");
    let (started, family) = stopped_before_the_job(&place, &proxy, &harness, &sample);
    kill_process(family.guard(), Signal::KILL).unwrap();
    family.assert_gone();
    let run = started.end();
    let receipt = run.expect(6, "unknown");
    assert!(!receipt["detail"].as_str().unwrap().contains("created the Job"), "{run}");
    run.assert_hides(&sample);
    place.assert_holds(0, 1);
    place.harness().submit(&sample).expect(0, "created");
    place.assert_holds(1, 1);
    place.assert_hides(&sample);
}

/// A run whose Secret was created, and whose kubectl was stopped before the create of the Job could reach it.
fn stopped_before_the_job(
    place: &Place,
    proxy: &FaultProxy,
    harness: &Harness,
    sample: &Sample,
) -> (Started, Family) {
    let held = proxy.hold(Step::CreateSecret.requests(&place.namespace.name));
    let started = Started::submit(harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let family = started.family();
    // harness stands still while kubectl passes the answer on, so that its next request meets a stopped kubectl.
    stop(started.process());
    held.release_and_wait().unwrap();
    let kubectl = family.kubectl();
    assert!(until(PATIENCE, || is_asleep(kubectl)), "kubectl does not come to rest");
    stop(kubectl);
    started.signal(Signal::CONT);
    (started, family)
}

/// A laptop that sleeps, a debugger: the create is on its way when harness gives up, and lands afterwards.
#[test]
fn kubectl_stands_still_at_a_create() {
    in_parallel([Step::CreateSecret, Step::CreateJob], |step| {
        hurt_kubectl_at(step, Signal::STOP);
    });
}

fn hurt_kubectl_at(step: Step, signal: Signal) {
    let place = Place::new("kubectl");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(step.requests(&place.namespace.name));
    let harness = place.harness_through(&proxy).arg("--request-timeout=1");
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let family = started.family();
    kill_process(family.kubectl(), signal).unwrap();
    let run = started.end();
    family.assert_gone();
    assert_empty(&harness.temporary());
    let receipt = run.expect(6, "unknown");
    let detail = receipt["detail"].as_str().unwrap();
    let expected = match step {
        Step::CreateJob => "the Job may have been created",
        _ => "no Job was created by this call",
    };
    assert!(detail.starts_with(expected), "{step:?}: {run}");
    run.assert_hides(&sample);
    held.release_and_wait().unwrap();
    let expected = if step == Step::CreateJob { "already_submitted" } else { "created" };
    place.harness().submit(&sample).expect(0, expected);
    place.assert_holds(1, 1);
    place.assert_hides(&sample);
}
