//! harness is killed at every request: kubectl and the guard end, and the same command again makes one Job.

use rustix::process::Signal;

use crate::kit::process::{Started, assert_empty};
use crate::kit::steps::Step;
use crate::kit::{Place, Sample, in_parallel};

/// Whether what was on its way arrives before the command is run again, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrives {
    Before,
    After,
}

#[test]
fn killed_at_any_request() {
    let cases = Step::ALL.map(|step| (step, Arrives::Before));
    let late = [(Step::CreateSecret, Arrives::After), (Step::CreateJob, Arrives::After)];
    in_parallel(cases.into_iter().chain(late), |(step, arrives)| kill_at(step, arrives));
}

fn kill_at(step: Step, arrives: Arrives) {
    let place = Place::new("killed");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(step.requests(&place.namespace.name));
    let harness = place.harness_through(&proxy);
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let family = started.family();
    started.signal(Signal::KILL);
    let run = started.end();
    assert_eq!((run.code, run.stdout.as_str()), (None, ""), "{step:?}\n{run}");
    family.assert_gone();
    assert_empty(&harness.temporary());

    let (before, after) = (arrives == Arrives::Before, arrives == Arrives::After);
    if before {
        held.release_and_wait().unwrap();
    }
    let expected = if step == Step::CreateJob && before { "already_submitted" } else { "created" };
    place.harness().submit(&sample).expect(0, expected);
    if after {
        assert_eq!(held.release_and_wait().unwrap(), 409, "{step:?}: the name is taken");
    }
    place.assert_holds(1, 1);
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.assert_hides(&sample);
    run.assert_hides(&sample);
}
