//! Every state of every quick setting, with the protocols as they ship.
#![cfg(test)]

use std::collections::BTreeSet;

use harness_model::alike::fingerprint;
use harness_model::check::{Order, check};
use harness_model::reads::Reads;
use harness_model::setting::{Setting, quick};
use harness_model::variant::Variant;
use harness_model::world::{Protocols, State};
use stateright::Model as _;

/// The largest would take minutes without optimisation.
fn is_in_time(setting: &Setting) -> bool {
    !cfg!(debug_assertions)
        || (setting.submitters.len() + setting.keepers.len() == 2 && setting.budget.crashes == 0)
}

#[test]
fn every_property_holds_in_every_state() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for setting in quick().into_iter().filter(is_in_time) {
        let found = check(&setting, Variant::Sound, Order::Breadth, threads);
        assert!(found.states > 400, "{}: only {} states", setting.name, found.states);
        if let Some(violation) = found.violations.first() {
            panic!("{}: {} does not hold\n{}", setting.name, violation.property, violation.story);
        }
    }
}

/// That few moments of a read are told apart hides nothing: neither a state of the cluster, nor what is on its way in it, nor
/// what receipts say. Of the broken protocol too, which must be found out.
#[test]
fn reads_that_are_answered_late_hide_nothing() {
    let settings = quick();
    let chosen = settings.iter().filter(|setting| {
        [
            "two submitters, a foreign hand, a no",
            "a submitter, two pruners, a sweep",
            "a submitter, a release, a pruner",
            "two submitters, two losses",
            "a submitter, a release of what a queue stops",
        ]
        .contains(&setting.name)
            && is_in_time(setting)
    });
    for setting in chosen {
        for variant in [Variant::Sound, Variant::RecordFirst, Variant::BlindRetry] {
            let all = |reads| outward(&Protocols { setting: setting.clone(), variant, reads });
            let (late, at_any_time) = (all(Reads::Late), all(Reads::AtAnyTime));
            assert!(at_any_time.len() > 10, "only {}", at_any_time.len());
            assert_eq!(late, at_any_time, "{}, {variant:?}", setting.name);
        }
    }
}

/// All that can be seen from outside, of every state.
fn outward(model: &Protocols) -> BTreeSet<u64> {
    let mut open = model.init_states();
    let (mut seen, mut outward) = (BTreeSet::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        if seen.insert(fingerprint(&state)) {
            let State { cluster, in_flight, untrue, needless_no, .. } = &state;
            outward.insert(fingerprint(&(cluster, in_flight, untrue, needless_no)));
            let mut steps = Vec::new();
            model.actions(&state, &mut steps);
            open.extend(steps.into_iter().filter_map(|step| model.next_state(&state, step)));
        }
    }
    outward
}

/// What the larger settings rest on, which are visited in the other order.
#[test]
fn either_order_visits_the_same_states() {
    let settings = quick();
    let setting = settings.iter().find(|one| one.name.starts_with("two submitters, two losses"));
    let states = |order| check(setting.unwrap(), Variant::Sound, order, 1).states;
    assert_eq!(states(Order::Breadth), states(Order::Depth));
}
