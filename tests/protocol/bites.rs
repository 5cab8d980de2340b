//! Each property fails when what it protects is broken: lies on the wire that make the protocol wrong.

use std::sync::atomic::AtomicBool;

use harness::cluster::{Method, NotSent, Outcome, Request, Requests, Resource, Why};
use harness::submit::{Api, Limits, Receipt};

use crate::clock::VirtualClock;
use crate::faults::{Fault, Wire, unknown, what};
use crate::plans::inputs;
use crate::refusals::{absent, refused};
use crate::run::{check_converged, check_history, check_receipt, submit};
use crate::world::{RIVAL, World, resource_of};

/// A lie about an answer.
type Lie = fn(&Request, Outcome) -> Outcome;

struct Liar<'a> {
    wire: Wire<'a>,
    lie: Lie,
}

impl Api for Liar<'_> {
    fn requests(&self) -> &Requests {
        self.wire.requests()
    }

    fn send(&self, request: &Request) -> Outcome {
        (self.lie)(request, self.wire.send(request))
    }
}

fn run(world: &World, fault: Option<Fault>, lie: Lie) -> Receipt {
    let inputs = inputs("ab", 86_400);
    let stop = AtomicBool::new(false);
    let mut wire = Wire::new(world, 1, &stop);
    if let Some(fault) = fault {
        wire = wire.with(("create Job", 1), fault);
    }
    submit(world, &Liar { wire, lie }, &inputs.plan(), Limits::default(), &stop)
}

fn job_name() -> String {
    inputs("ab", 86_400).plan().bundle().names().job.clone()
}

/// A transport that takes a lost answer for a no, and a reader that sees nothing.
#[test]
fn a_lost_answer_that_is_taken_for_a_no_is_noticed() {
    let lie: Lie = |request, outcome| match what(request) {
        "create Job" => refused(403, "Forbidden", Resource::Jobs, "it"),
        "read Job" => absent(Resource::Jobs, &job_name()),
        _ => outcome,
    };
    let world = World::new(VirtualClock::default());
    let receipt = run(&world, Some(Fault::CutAfter), lie);
    let problem = check_receipt(&world, 1, &receipt).unwrap_err();
    assert!(problem.contains("no Job was created"), "{problem}");
}

/// A transport that says "not sent" of a request that is on its way.
#[test]
fn a_late_create_that_is_called_unsent_is_noticed() {
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", 86_400);
    let stop = AtomicBool::new(false);
    let wire = Wire::new(&world, 1, &stop)
        .with(("create Job", 1), Fault::Late(None))
        .with(("read namespace", 2), Fault::Refused(403, "Forbidden", None));
    let lie: Lie = |request, outcome| match (what(request), outcome) {
        ("create Job", Outcome::Unknown(_)) => {
            unknown(Why::NotSent(NotSent::Malformed { reason: "no".to_owned() }))
        }
        (_, outcome) => outcome,
    };
    let api = Liar { wire, lie };
    let receipt = submit(&world, &api, &inputs.plan(), Limits::default(), &stop);
    assert!(check_receipt(&world, 1, &receipt).is_err(), "{receipt:#?}");
}

/// A success that never happened.
#[test]
fn a_success_that_never_happened_is_noticed() {
    let lie: Lie = |request, outcome| match (what(request), &outcome) {
        ("create Job", Outcome::Unknown(_)) => {
            let mut body: serde_json::Value =
                serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
            body["metadata"]["uid"] = "made-up".into();
            crate::world::done(201, body)
        }
        _ => outcome,
    };
    let world = World::new(VirtualClock::default());
    let receipt = run(&world, Some(Fault::CutBefore), lie);
    assert!(check_receipt(&world, 1, &receipt).is_err(), "{receipt:#?}");
    assert!(check_converged(&world, &receipt).is_err());
}

/// A submitter without the one name: the second Job of the same result.
#[test]
fn a_second_job_is_noticed() {
    let world = World::new(VirtualClock::default());
    run(&world, None, |_, outcome| outcome);
    check_history(&world).unwrap();
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    world.put(2, Resource::Jobs, "prediction-another-name", plan.bundle().job());
    assert!(check_history(&world).unwrap_err().contains("2 Jobs"));
}

/// A world whose deletes ignore the UID, and a rival who made the Secret.
#[test]
fn a_delete_of_what_others_made_is_noticed() {
    let world = World::new(VirtualClock::default());
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let names = plan.bundle().names();
    world.put(RIVAL, Resource::Secrets, &names.secret, plan.bundle().secret());
    check_history(&world).unwrap();
    world.remove(1, Resource::Secrets, &names.secret);
    assert!(check_history(&world).unwrap_err().contains("deleted"));
}

/// A submitter that cannot see the record runs the experiment a second time.
#[test]
fn a_hidden_record_means_a_second_run() {
    let lie: Lie = |request, outcome| {
        if request.method == Method::Get && resource_of(request) == Resource::ConfigMaps {
            return absent(Resource::ConfigMaps, &job_name());
        }
        outcome
    };
    for (hide, jobs) in [(false, 1), (true, 2)] {
        let world = World::new(VirtualClock::default());
        run(&world, None, |_, outcome| outcome);
        let inputs = inputs("ab", 86_400);
        let plan = inputs.plan();
        let names = plan.bundle().names();
        crate::expiry::history_goes_on(&world, &plan);
        world.remove(RIVAL, Resource::Jobs, &names.job);
        run(&world, None, if hide { lie } else { |_, outcome| outcome });
        assert_eq!(world.made_by(1, Resource::Jobs), jobs, "record hidden: {hide}");
    }
}
