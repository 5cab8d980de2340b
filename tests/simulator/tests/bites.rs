//! Each broken variant is found out.
#![cfg(test)]
#![expect(clippy::print_stdout, reason = "figures of a run are worth seeing")]

use harness_simulator::lies::Lie;
use harness_simulator::many::many;

/// Schedules within which a broken variant is found out.
const SEEDS: u64 = 5_000;

#[test]
fn every_broken_variant_is_found_out() {
    // The later ones take thousands of schedules, for which there is time with optimisation only.
    let lies = if cfg!(debug_assertions) { &Lie::ALL[..4] } else { &Lie::ALL[..] };
    for &lie in lies {
        let found = many(0, SEEDS, Some(lie));
        let first = found.bad.first_key_value();
        println!("{lie:?}: after {} schedules: {first:?}", found.figures.schedules);
        assert!(first.is_some(), "{lie:?} is not found out within {SEEDS} schedules");
    }
}
