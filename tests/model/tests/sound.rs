//! Every state of every quick setting, with the protocols as they ship.
#![cfg(test)]

use harness_model::check::check;
use harness_model::setting::quick;
use harness_model::variant::Variant;

#[test]
fn every_property_holds_in_every_state() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for setting in quick() {
        let found = check(&setting, Variant::Sound, threads);
        assert!(found.states > 1_000, "{}: only {} states", setting.name, found.states);
        for violation in &found.violations {
            panic!("{}: {} does not hold\n{}", setting.name, violation.property, violation.story);
        }
    }
}
