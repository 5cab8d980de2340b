//! The process ends after any request, with what it sent still arriving; then it is started again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use harness::cluster::{Outcome, Request, Requests};
use harness::submit::{Api, Limits, Receipt, ReceiptOutcome};

use crate::clock::VirtualClock;
use crate::faults::Wire;
use crate::plans::inputs;
use crate::run::{check_converged, check_history, check_receipt, submit};
use crate::world::{Who, World};

/// A connection whose process is killed at the `limit`th request, before or after it reached the server.
struct Killed<'a> {
    wire: Wire<'a>,
    limit: usize,
    arrives: bool,
}

impl Api for Killed<'_> {
    fn requests(&self) -> &Requests {
        self.wire.requests()
    }

    fn send(&self, request: &Request) -> Outcome {
        let count = self.wire.seen().len();
        assert!(count < self.limit, "killed");
        if count + 1 < self.limit || self.arrives {
            let outcome = self.wire.send(request);
            assert!(count + 1 < self.limit, "killed");
            return outcome;
        }
        panic!("killed");
    }
}

fn run(world: &World, who: Who, signature: &str) -> Receipt {
    let stop = AtomicBool::new(false);
    let inputs = inputs(signature, 86_400);
    let wire = Wire::new(world, who, &stop);
    submit(world, &wire, &inputs.plan(), Limits::default(), &stop)
}

#[test]
fn a_process_that_is_killed_at_any_request_and_run_again() {
    let inputs = inputs("ab", 86_400);
    let mut creates_that_arrived = 0;
    for limit in 1..=8 {
        for arrives in [false, true] {
            for second_signature in ["ab", "cd"] {
                let world = World::new(VirtualClock::default());
                let stop = AtomicBool::new(false);
                let wire = Wire::new(&world, 1, &stop);
                let killed = Killed { wire, limit, arrives };
                let plan = inputs.plan();
                let end = catch_unwind(AssertUnwindSafe(|| {
                    submit(&world, &killed, &plan, Limits::default(), &stop)
                }));
                assert!(end.is_err(), "{limit}: nothing was killed");
                creates_that_arrived += world.history().len();
                let receipt = run(&world, 2, second_signature);
                check_history(&world).unwrap();
                check_converged(&world, &receipt).unwrap();
            }
        }
    }
    assert!(creates_that_arrived > 0);
}

#[test]
fn a_run_that_is_stopped_after_any_request_says_what_is_known() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let mut outcomes = Vec::new();
    for count in 1..=8 {
        let world = World::new(VirtualClock::default());
        let stop = AtomicBool::new(false);
        let wire = Wire::new(&world, 1, &stop).stopping_after(count);
        let receipt = submit(&world, &wire, &plan, Limits::default(), &stop);
        check_receipt(&world, 1, &receipt).unwrap_or_else(|problem| panic!("{count}: {problem}"));
        let again = run(&world, 2, "ab");
        check_history(&world).unwrap();
        check_converged(&world, &again).unwrap();
        outcomes.push(receipt.outcome);
    }
    let (last, others) = outcomes.split_last().unwrap();
    assert_eq!(
        *last,
        ReceiptOutcome::Created,
        "the last answer decided all, so the stop came too late"
    );
    assert!(others.iter().all(|outcome| *outcome == ReceiptOutcome::Unknown), "{outcomes:?}");
}
