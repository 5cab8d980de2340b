//! The broken variants that chance meets are found out; the rarer ones are found by the model, which leaves nothing to
//! chance (`tests/model/tests/bites.rs`).
#![cfg(test)]
#![expect(clippy::print_stdout, reason = "figures of a run are worth seeing")]

use harness_simulator::lies::Lie;
use harness_simulator::many::many;

/// Schedules within which a broken variant is found out.
const SEEDS: u64 = 5_000;

#[test]
fn every_broken_variant_is_found_out() {
    for lie in Lie::ALL {
        let found = many(0, SEEDS, Some(lie));
        let first = found.bad.first_key_value();
        println!("{lie:?}: after {} schedules: {first:?}", found.figures.schedules);
        assert!(first.is_some(), "{lie:?} is not found out within {SEEDS} schedules");
    }
}
