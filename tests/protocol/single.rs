//! Every fault at every request, and every pair of faults; then a clean run. No sampling.

use std::sync::atomic::AtomicBool;

use harness::cluster::Resource;
use harness::submit::{Limits, Plan, Receipt, ReceiptOutcome};

use crate::clock::VirtualClock;
use crate::faults::{Fault, Point, Wire, classes_of, faults_of};
use crate::plans::inputs;
use crate::run::{check_converged, check_history, check_receipt, submit};
use crate::world::{RIVAL, World};

/// What stands in the namespace when the run begins.
#[derive(Debug, Clone, Copy)]
enum Start {
    Empty,
    /// An earlier run, which made the Secret and no Job.
    SecretThere,
    /// An earlier run's Job, whose Secret somebody has deleted.
    JobAlone,
}

/// A rival, with a signature of its own, whose Job comes to be just before this request.
type Rival = Option<Point>;

#[test]
fn every_pair_of_faults_in_an_empty_namespace() {
    explore(Start::Empty);
}

#[test]
fn every_pair_of_faults_where_the_secret_is_there() {
    explore(Start::SecretThere);
}

#[test]
fn every_pair_of_faults_where_the_secret_is_lost() {
    explore(Start::JobAlone);
}

#[test]
fn every_fault_while_a_rival_wins_at_any_moment() {
    let (ours, theirs) = (inputs("ab", 86_400), inputs("cd", 86_400));
    let (plan, rival) = (ours.plan(), theirs.plan());
    let scene = Scene { plan: &plan, rival: &rival, start: Start::Empty };
    let clean = scene.play(&[], None);
    let mut removed = 0;
    for moment in clean.trace.clone() {
        let run = scene.play(&[], Some(moment));
        removed += usize::from(run.secret_state == "removed");
        for point in run.trace {
            for fault in faults_of(point) {
                scene.play(&[(point, fault)], Some(moment));
            }
        }
    }
    assert!(removed > 0, "no run removed the Secret that it no longer needs");
}

/// A rival's Job that a hand has made to name both Secrets: ours may be in use, so it stays.
#[test]
fn a_secret_that_the_job_may_use_is_left_to_prune() {
    let (ours, theirs) = (inputs("ab", 86_400), inputs("cd", 86_400));
    let (plan, rival) = (ours.plan(), theirs.plan());
    let ours = &plan.bundle().names().secret;
    let mut job = rival.bundle().job().clone();
    let volumes = job.pointer_mut("/spec/template/spec/volumes").unwrap().as_array_mut().unwrap();
    volumes.push(serde_json::json!({"name": "more", "secret": {"secretName": ours}}));
    let scene = Scene { plan: &plan, rival: &rival, start: Start::Empty };
    let mut created = 0;
    for moment in scene.play(&[], None).trace {
        let world = scene.world();
        let stop = AtomicBool::new(false);
        let name = &rival.bundle().names().job;
        let arrive = |point| {
            if point == moment && world.get(Resource::Jobs, name).is_none() {
                world.put(RIVAL, Resource::Jobs, name, &job);
            }
        };
        let wire = Wire::new(&world, 1, &stop).before(&arrive);
        let receipt = submit(&world, &wire, &plan, Limits::default(), &stop);
        check_history(&world).unwrap();
        assert_ne!(receipt.secret.as_ref().unwrap().state, "removed", "{receipt:#?}");
        if world.made_by(1, Resource::Secrets) > 0 && receipt.outcome == ReceiptOutcome::Conflict {
            created += 1;
            assert!(world.get(Resource::Secrets, ours).is_some(), "{receipt:#?}");
        }
    }
    assert!(created > 0, "no run had made its Secret when the Job came");
}

#[test]
fn a_name_that_is_taken_and_cannot_be_read_is_no_refusal() {
    let (ours, theirs) = (inputs("ab", 86_400), inputs("cd", 86_400));
    let (plan, rival) = (ours.plan(), theirs.plan());
    for unreadable in [1, u32::MAX] {
        let world = World::new(VirtualClock::default());
        let stop = AtomicBool::new(false);
        let arrive = |point| {
            if point == ("create Job", 1) {
                put(&world, &rival);
            }
        };
        let mut wire = Wire::new(&world, 1, &stop).before(&arrive);
        for read in 2..=unreadable.min(8) + 1 {
            wire = wire.with(("read Job", read), Fault::Refused(403, "Forbidden", None));
        }
        let receipt = submit(&world, &wire, &plan, Limits::default(), &stop);
        let expected = match unreadable {
            1 => ReceiptOutcome::AlreadySubmitted,
            _ => ReceiptOutcome::Unknown,
        };
        assert_eq!(receipt.outcome, expected, "{}", receipt.detail);
        check_receipt(&world, 1, &receipt).unwrap();
        check_history(&world).unwrap();
    }
}

fn explore(start: Start) {
    let (ours, theirs) = (inputs("ab", 86_400), inputs("cd", 86_400));
    let (plan, rival) = (ours.plan(), theirs.plan());
    let scene = Scene { plan: &plan, rival: &rival, start };
    let mut runs = 0;
    for first in scene.play(&[], None).trace {
        for fault in faults_of(first) {
            let trace = scene.play(&[(first, fault)], None).trace;
            // A pair whose second comes first is met the other way round.
            let after = trace.iter().skip_while(|point| **point != first).skip(1).copied();
            for second in after {
                for other in classes_of(second) {
                    scene.play(&[(first, fault), (second, other)], None);
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 300, "only {runs} pairs");
}

struct Scene<'a> {
    plan: &'a Plan<'a>,
    rival: &'a Plan<'a>,
    start: Start,
}

struct Played {
    trace: Vec<Point>,
    secret_state: &'static str,
}

impl Scene<'_> {
    /// One run with these faults, then clean ones; what floats lands before or after the second.
    fn play(&self, faults: &[(Point, Fault)], rival: Rival) -> Played {
        let floats = faults.iter().any(|(_, fault)| matches!(fault, Fault::Late(_)));
        if floats {
            self.play_once(faults, rival, true);
        }
        self.play_once(faults, rival, false)
    }

    fn play_once(&self, faults: &[(Point, Fault)], rival: Rival, very_late: bool) -> Played {
        let world = self.world();
        let stop = AtomicBool::new(false);
        let arrive = |point| {
            if Some(point) == rival {
                put(&world, self.rival);
            }
        };
        let mut wire = Wire::new(&world, 1, &stop).before(&arrive);
        for (point, fault) in faults {
            wire = wire.with(*point, *fault);
        }
        let receipt = submit(&world, &wire, self.plan, Limits::default(), &stop);
        let context = || {
            format!(
                "{:?}, faults {faults:?}, rival {rival:?}, very late {very_late}\nreceipt: {receipt:#?}\nsent: {:?}\nhistory: {:#?}",
                self.start,
                wire.seen(),
                world.history()
            )
        };
        let hold = |result: Result<(), String>| {
            if let Err(problem) = result {
                panic!("{problem}\n{}", context());
            }
        };
        hold(check_receipt(&world, 1, &receipt));
        hold(check_history(&world));
        if !very_late {
            world.land();
            hold(check_history(&world));
        }
        let second = self.again(&world, 2);
        hold(check_receipt(&world, 2, &second));
        hold(check_history(&world));
        hold(check_converged(&world, &second));
        if very_late {
            world.land();
            let third = self.again(&world, 3);
            hold(check_history(&world));
            hold(check_converged(&world, &third));
            assert_eq!(third.outcome, ReceiptOutcome::AlreadySubmitted, "{}", context());
        }
        let secret_state = receipt.secret.as_ref().unwrap().state;
        let trace = wire.seen();
        Played { trace, secret_state }
    }

    fn again(&self, world: &World, who: u32) -> Receipt {
        let stop = AtomicBool::new(false);
        let wire = Wire::new(world, who, &stop);
        submit(world, &wire, self.plan, Limits::default(), &stop)
    }

    fn world(&self) -> World {
        let world = World::new(VirtualClock::default());
        let bundle = self.plan.bundle();
        match self.start {
            Start::Empty => {}
            Start::SecretThere => {
                world.put(0, Resource::Secrets, &bundle.names().secret, bundle.secret());
            }
            Start::JobAlone => world.put(0, Resource::Jobs, &bundle.names().job, bundle.job()),
        }
        world
    }
}

/// The rival's Secret and Job come to be, if there is none yet.
fn put(world: &World, plan: &Plan<'_>) {
    let bundle = plan.bundle();
    if world.get(Resource::Jobs, &bundle.names().job).is_none() {
        world.put(RIVAL, Resource::Secrets, &bundle.names().secret, bundle.secret());
        world.put(RIVAL, Resource::Jobs, &bundle.names().job, bundle.job());
    }
}
