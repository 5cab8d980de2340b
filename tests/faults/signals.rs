//! Ctrl-C and TERM: the first ends the command with what is known, the second at once.

use rustix::process::Signal;

use crate::kit::process::{Started, assert_empty};
use crate::kit::steps::Step;
use crate::kit::{Place, Sample, command, in_parallel};

#[test]
fn a_signal_at_any_request() {
    let cases = Step::ALL.into_iter().enumerate();
    in_parallel(cases, |(index, step)| {
        let signal = if index % 2 == 0 { Signal::INT } else { Signal::TERM };
        signal_at(step, signal);
    });
}

fn signal_at(step: Step, signal: Signal) {
    let place = Place::new("signal");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(step.requests(&place.namespace.name));
    let harness = place.harness_through(&proxy);
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let family = started.family();
    started.signal(signal);
    started.wait_until_taken();
    held.release();
    let run = started.end();
    family.assert_gone();
    assert_empty(&harness.temporary());
    let created = step == Step::CreateJob;
    if created {
        run.expect(0, "created");
    } else {
        let receipt = run.expect(6, "unknown");
        let detail = receipt["detail"].as_str().unwrap();
        assert!(detail.starts_with("no Job was created by this call"), "{step:?}: {run}");
        let state = if step == Step::CreateSecret { "created" } else { "" };
        assert!(receipt["secret"]["state"].as_str().unwrap().starts_with(state), "{run}");
    }
    assert!(run.stderr.contains("running the same command again is safe"), "{run}");
    run.assert_hides(&sample);
    let secrets = usize::from(created || step == Step::CreateSecret);
    place.assert_holds(usize::from(created), secrets);
    let expected = if created { "already_submitted" } else { "created" };
    place.harness().submit(&sample).expect(0, expected);
    place.assert_holds(1, 1);
}

#[test]
fn a_hang_up_that_is_ignored_from_before_ends_nothing() {
    let place = Place::new("nohup");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(Step::CreateSecret.requests(&place.namespace.name));
    let harness = place.harness_through(&proxy);
    let submit = harness.command(&[sample.write(&harness.inputs())]);
    let mut command = command("sh");
    command.env_clear().args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(submit.get_program()).args(submit.get_args());
    command.envs(submit.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let started = Started::command(command);
    held.wait_until_read().unwrap();
    started.signal(Signal::HUP);
    held.release();
    started.end().expect(0, "created");
    place.assert_holds(1, 1);
}

#[test]
fn the_second_signal_ends_at_once() {
    in_parallel([Signal::INT, Signal::TERM], |signal| {
        let place = Place::new("twice");
        let sample = Sample::new("attempt-1");
        let proxy = place.proxy();
        let held = proxy.hold(Step::CreateJob.requests(&place.namespace.name));
        let harness = place.harness_through(&proxy);
        let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
        held.wait_until_read().unwrap();
        let family = started.family();
        started.signal(signal);
        started.wait_until_taken();
        started.signal(signal);
        let run = started.end();
        assert_eq!((run.code, run.stdout.as_str()), (None, ""), "{run}");
        family.assert_gone();
        assert_empty(&harness.temporary());
        held.release_and_wait().unwrap();
        place.harness().submit(&sample).expect(0, "already_submitted");
        place.assert_holds(1, 1);
    });
}
