//! kubectl dies, or stands still, in the middle: harness never says what is not so.

use rustix::process::{Signal, kill_process};

use crate::kit::{Place, Sample, in_parallel};
use crate::process::{Started, assert_empty};
use crate::steps::Step;

#[test]
fn kubectl_is_killed_at_any_request() {
    in_parallel(Step::ALL, |step| {
        hurt_kubectl_at(step, Signal::KILL);
    });
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
    let held = proxy.hold(step.requests(&place));
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
