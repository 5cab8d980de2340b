//! The table of places: what may be added where, and what an empty value means there.

use super::super::place::{Addition, Place};
use super::super::walk::Walk;
use super::*;

#[test]
fn only_a_closed_place_takes_no_addition() {
    let added = |place: Place| place.addition("newField", &json!("x"));
    for place in [Place::Open, Place::Template, Place::JobSpec, Place::PodSpec] {
        assert_eq!(added(place), Addition::Harmless, "{place:?}");
    }
    for place in [Place::Closed, Place::Exact, Place::Resources, Place::SecretSource] {
        assert_eq!(added(place), Addition::Decisive, "{place:?}");
    }
}

/// Go leaves an empty list out, so it is nothing; but in an affinity an empty term means all or none.
#[test]
fn an_empty_value_means_something_where_it_says() {
    for (place, is_unset) in [
        (Place::Closed, true),
        (Place::PodSpec, true),
        (Place::Exact, false),
        (Place::Amounts, false),
        (Place::NodeSelector, false),
    ] {
        assert_eq!(place.is_unset("key", &json!([])), is_unset, "{place:?}");
        assert!(place.is_unset("key", &Value::Null), "{place:?}");
    }
}

#[test]
fn what_stands_in_a_place_is_as_open_as_it() {
    for (place, key, expected) in [
        (Place::PodSpec, "affinity", Place::Exact),
        (Place::Exact, "nodeAffinity", Place::Exact),
        (Place::PodSpec, "hostAliases", Place::Closed),
        (Place::PodSpec, "newField", Place::Open),
        (Place::Open, "newField", Place::Open),
        (Place::Closed, "newField", Place::Closed),
    ] {
        assert_eq!(place.field(key), expected, "{place:?} {key}");
    }
    for (list, expected) in [
        (Place::Open, Place::Open),
        (Place::Exact, Place::Exact),
        (Place::Closed, Place::Closed),
        (Place::Volumes, Place::Volume),
    ] {
        assert_eq!(list.element(&json!({})), expected, "{list:?}");
    }
}

#[test]
fn metadata_that_is_none_is_compared_as_it_stands() {
    for (live, count) in [(json!("odd"), 0), (json!("other"), 1), (json!({}), 1)] {
        let mut walk = Walk::of_jobs(&RENDERED, &STORED);
        walk.pod_metadata(&Path::root(), &json!("odd"), &live);
        assert_eq!(walk.finish().0.len(), count, "{live}");
    }
}

#[test]
fn a_path_shows_as_its_text() {
    let path = Path::root().field("spec").item("a b");
    assert_eq!(
        (path.to_string(), format!("{path:?}")),
        ("spec[a b]".into(), "\"spec[a b]\"".into())
    );
    assert_eq!(Path::root().to_string(), ".");
}

/// They stand in receipts.
#[test]
fn names_are_stable() {
    let drift = [
        (DriftKind::Added, "added"),
        (DriftKind::HarnessImage, "harness-image"),
        (DriftKind::Queue, "queue"),
        (DriftKind::RenderVersion, "render-version"),
        (DriftKind::SignedAgain, "signed-again"),
    ];
    assert!(drift.iter().all(|(kind, name)| kind.name() == *name));
    let failed = JobState::Failed { at: None, reason: String::new() };
    let states = [
        (JobState::Queued, "queued"),
        (JobState::Pending, "pending"),
        (JobState::Running, "active"),
        (JobState::Succeeded { at: None }, "succeeded"),
        (failed, "failed"),
    ];
    assert!(states.iter().all(|(state, name)| state.name() == *name));
}
