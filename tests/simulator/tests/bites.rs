//! The broken variants that chance meets are found out; the rarer ones are found by the model, which leaves nothing to
//! chance (`tests/model/tests/bites.rs`).
#![cfg(test)]
#![expect(clippy::print_stdout, reason = "figures of a run are worth seeing")]

use harness_simulator::lies::Lie;
use harness_simulator::many::many;

/// Schedules within which a broken variant is found out.
const SEEDS: u64 = 5_000;

/// Those that some hundred schedules meet.
const MET: [Lie; 4] =
    [Lie::BlindToRecords, Lie::LossTakenForNo, Lie::LossTakenForDone, Lie::DeleteByName];

#[test]
fn every_broken_variant_that_chance_meets_is_found_out() {
    for lie in MET {
        let found = many(0, SEEDS, Some(lie));
        let first = found.bad.first_key_value();
        println!("{lie:?}: after {} schedules: {first:?}", found.figures.schedules);
        assert!(first.is_some(), "{lie:?} is not found out within {SEEDS} schedules");
    }
}
