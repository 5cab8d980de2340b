//! What the reads showed allows a create for five minutes only, by either clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use harness::cluster::{Expected, Method, Outcome, Request, Requests, Resource};
use harness::submit::{Api, Limits, Plan, Receipt, ReceiptOutcome};
use jiff::SignedDuration;

use crate::clock::VirtualClock;
use crate::faults::{Point, Wire};
use crate::plans::{inputs, recorded};
use crate::run::{check_receipt, submit};
use crate::world::{RIVAL, World};

const JUMP: Duration = Duration::from_mins(6);

/// While the run sleeps, the same experiment runs, ends and is pruned: a record, and nothing else.
pub(crate) fn history_goes_on(world: &World, plan: &Plan<'_>) {
    let names = plan.bundle().names();
    let (result, submission) = (names.result_identity.to_hex(), names.submission_digest.to_hex());
    let body = recorded(&names.job, &result, &submission);
    world.put(RIVAL, Resource::ConfigMaps, &names.job, &body);
    world.remove(RIVAL, Resource::Secrets, &names.secret);
}

/// Just before this request, the machine is suspended for six minutes.
fn suspended_at(moment: Point, limits: Limits) -> (World, Receipt, Vec<Point>) {
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let stop = AtomicBool::new(false);
    let jump = |point| {
        if point == moment {
            history_goes_on(&world, &plan);
            world.clock.pass(JUMP);
        }
    };
    let wire = Wire::new(&world, 1, &stop).before(&jump);
    let receipt = submit(&world, &wire, &plan, limits, &stop);
    let seen = wire.seen();
    (world, receipt, seen)
}

#[test]
fn after_a_suspension_the_reads_are_made_again() {
    let (world, receipt, seen) = suspended_at(("create Secret", 1), Limits::default());
    assert_eq!(receipt.outcome, ReceiptOutcome::AlreadyRecorded, "{seen:?}");
    assert!(seen.contains(&("read Job", 2)), "{seen:?}");
    assert_eq!(world.all(Resource::Jobs).len(), 0);
    check_receipt(&world, 1, &receipt).unwrap();
}

#[test]
fn a_permission_without_an_end_would_run_the_experiment_twice() {
    let limits = Limits { permission: Duration::MAX, ..Limits::default() };
    let (world, receipt, _) = suspended_at(("create Secret", 1), limits);
    assert_eq!(receipt.outcome, ReceiptOutcome::Created);
    assert_eq!(world.all(Resource::Jobs).len(), 1, "beside the record of the same experiment");
}

/// Answers as the wire does, with another server's clock from this request on.
struct Ahead<'a> {
    wire: Wire<'a>,
    from: &'static str,
}

impl Api for Ahead<'_> {
    fn requests(&self) -> &Requests {
        self.wire.requests()
    }

    fn send(&self, request: &Request) -> Outcome {
        let mut outcome = self.wire.send(request);
        let ahead = self.wire.seen().iter().any(|(what, _)| *what == self.from);
        let jump = SignedDuration::try_from(JUMP).unwrap();
        match &mut outcome {
            Outcome::Done(answer) if ahead => answer.date = answer.date.map(|date| date + jump),
            Outcome::Refused(status) if ahead => status.date = status.date.map(|date| date + jump),
            _ => {}
        }
        outcome
    }
}

#[test]
fn the_clock_of_the_server_ends_the_permission_too() {
    for from in ["rehearse Job", "create Secret"] {
        let world = World::new(VirtualClock::default());
        let inputs = inputs("ab", 86_400);
        let plan = inputs.plan();
        let stop = AtomicBool::new(false);
        let api = Ahead { wire: Wire::new(&world, 1, &stop), from };
        let receipt = submit(&world, &api, &plan, Limits::default(), &stop);
        assert_eq!(receipt.outcome, ReceiptOutcome::Created, "{from}");
        let seen = api.wire.seen();
        let again = seen.iter().position(|point| *point == ("read Job", 2)).unwrap();
        let create = seen.iter().position(|point| point.0 == "create Job").unwrap();
        assert!(again < create, "{from}: {seen:?}");
    }
}

/// Two API servers behind one address; the clock of the second is six minutes ahead.
struct TwoServers<'a> {
    wire: Wire<'a>,
    stop: &'a AtomicBool,
    /// Whether the second one answers.
    second: fn(&Request, &[Point]) -> bool,
}

impl Api for TwoServers<'_> {
    fn requests(&self) -> &Requests {
        self.wire.requests()
    }

    fn send(&self, request: &Request) -> Outcome {
        let mut outcome = self.wire.send(request);
        let seen = self.wire.seen();
        // A run without an end is stopped, so that the test has one.
        self.stop.fetch_or(seen.len() > 200, Ordering::Relaxed);
        let ahead = (self.second)(request, &seen);
        let jump = SignedDuration::try_from(JUMP).unwrap();
        match &mut outcome {
            Outcome::Done(answer) if ahead => answer.date = answer.date.map(|date| date + jump),
            Outcome::Refused(status) if ahead => status.date = status.date.map(|date| date + jump),
            _ => {}
        }
        outcome
    }
}

#[test]
fn clocks_that_never_agree_end_in_an_unknown() {
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let stop = AtomicBool::new(false);
    let second = |request: &Request, _: &[Point]| request.method == Method::Post;
    let api = TwoServers { wire: Wire::new(&world, 1, &stop), stop: &stop, second };
    let receipt = submit(&world, &api, &plan, Limits::default(), &stop);
    let seen = api.wire.seen();
    assert!(seen.len() < 100, "{} requests", seen.len());
    assert_eq!(receipt.outcome, ReceiptOutcome::Unknown);
    assert!(receipt.detail.contains("clocks of the API servers"), "{}", receipt.detail);
    assert_eq!(world.all(Resource::Jobs).len(), 0);
    check_receipt(&world, 1, &receipt).unwrap();
}

#[test]
fn the_oldest_of_the_reads_decides() {
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let stop = AtomicBool::new(false);
    // As if the machine was paused after the first answers and before the Secret was read.
    let second = |request: &Request, seen: &[Point]| {
        let is_secret =
            matches!(request.expected, Expected::Object { resource: Resource::Secrets, .. });
        is_secret || seen.iter().any(|(what, _)| what.starts_with("rehearse"))
    };
    let api = TwoServers { wire: Wire::new(&world, 1, &stop), stop: &stop, second };
    let receipt = submit(&world, &api, &plan, Limits::default(), &stop);
    assert_eq!(receipt.outcome, ReceiptOutcome::Created);
    let seen = api.wire.seen();
    let again = seen.iter().position(|point| *point == ("read Job", 2)).unwrap();
    let create = seen.iter().position(|point| point.0 == "create Job").unwrap();
    assert!(again < create, "{seen:?}");
}

#[test]
fn signatures_that_die_after_a_lost_create_never_hide_the_job() {
    let seconds = 7_200;
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", seconds);
    let plan = inputs.plan();
    let stop = AtomicBool::new(false);
    let die = |point| {
        if point == ("read Job", 2) {
            world.clock.pass(Duration::from_secs(u64::from(seconds)));
        }
    };
    let late = crate::faults::Fault::Late(None);
    let wire = Wire::new(&world, 1, &stop).with(("create Job", 1), late).before(&die);
    let limits = Limits { total: Duration::MAX, ..Limits::default() };
    let receipt = submit(&world, &wire, &plan, limits, &stop);
    assert_eq!(receipt.outcome, ReceiptOutcome::Unknown, "{}", receipt.detail);
    assert!(receipt.detail.contains("may have been created"), "{}", receipt.detail);
    check_receipt(&world, 1, &receipt).unwrap();
}
