//! Every state of every quick setting, with the protocols as they ship.
#![cfg(test)]

use harness_model::check::{Order, check};
use harness_model::setting::{Setting, quick};
use harness_model::variant::Variant;

#[test]
fn every_property_holds_in_every_state() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // The largest would take minutes without optimisation.
    let is_in_time = |setting: &Setting| {
        !cfg!(debug_assertions)
            || (setting.submitters.len() + setting.keepers.len() == 2
                && setting.budget.crashes == 0)
    };
    for setting in quick().into_iter().filter(|one| is_in_time(one)) {
        let found = check(&setting, Variant::Sound, Order::Breadth, threads);
        assert!(found.states > 1_000, "{}: only {} states", setting.name, found.states);
        if let Some(violation) = found.violations.first() {
            panic!("{}: {} does not hold\n{}", setting.name, violation.property, violation.story);
        }
    }
}

/// What the larger settings rest on, which are visited in the other order.
#[test]
fn either_order_visits_the_same_states() {
    let settings = quick();
    let setting = settings.iter().find(|one| one.name.starts_with("two submitters, two losses"));
    let states = |order| check(setting.unwrap(), Variant::Sound, order, 1).states;
    assert_eq!(states(Order::Breadth), states(Order::Depth));
}
