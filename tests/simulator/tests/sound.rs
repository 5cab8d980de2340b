//! Ten thousand schedules against the code as it ships; a few of them where it is not optimised.
#![cfg(test)]
#![expect(clippy::print_stdout, reason = "figures of a run are worth seeing")]

use harness_simulator::faults::Fault;
use harness_simulator::many::{Found, many};
use harness_simulator::play::play;

/// How many there is time for.
const SEEDS: u64 = if cfg!(debug_assertions) { 200 } else { 10_000 };

#[test]
fn every_schedule_holds() {
    let Found { figures, bad, took } = many(0, SEEDS, None);
    println!("{figures}in {:.1} s", took.as_secs_f64());
    assert!(bad.is_empty(), "replay with `cargo run -p harness-simulator -- --seed S`: {bad:#?}");
    // None of it is for show: everything that may befall a request did, and every end was met.
    for fault in Fault::ALL {
        assert!(
            figures.faults.get(&format!("{fault:?}")).is_some_and(|count| *count > 10),
            "{fault:?}"
        );
    }
    for outcome in [
        "submit: created",
        "submit: already_submitted",
        "submit: already_recorded",
        "submit: cancelled",
        "submit: refused",
        "submit: unknown",
        "cancel: cancel_requested",
        "cancel: cancelled",
        "release: released",
        "release: not_released",
        "prune: pruned",
        "prune: already_recorded",
        "remove-secrets: secrets_removed",
    ] {
        assert!(figures.outcomes.contains_key(outcome), "{outcome} was never met");
    }
}

#[test]
fn a_seed_is_always_the_same_schedule() {
    for seed in [3, 14, 159] {
        assert_eq!(play(seed, None).trace, play(seed, None).trace);
    }
}
