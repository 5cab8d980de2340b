//! Secrets: everything rendered is exact, and paths never show a value.

use super::*;

#[test]
fn a_stored_secret_is_the_same() {
    let (rendered, stored) = secrets();
    assert_eq!(compare_secret(&rendered, &stored), Verdict::Same { drift: Vec::new() });
}

#[test]
fn every_change_is_seen() {
    let (rendered, stored) = secrets();
    for pointer in pointers(&rendered).iter().skip(1) {
        let mut live = stored.clone();
        remove(&mut live, pointer);
        assert!(!compare_secret(&rendered, &live).is_same(), "{pointer} removed");
        for other in [json!(null), json!(""), json!("b3RoZXI="), json!({}), json!(false)] {
            let mut live = stored.clone();
            *live.pointer_mut(pointer).unwrap() = other;
            let verdict = compare_secret(&rendered, &live);
            assert!(!verdict.is_same(), "{pointer} changed");
            assert!(!format!("{verdict:?}").contains("b3RoZXI="));
        }
    }
}

#[test]
fn identities_make_it_foreign_and_the_rest_altered() {
    for (pointer, is_foreign) in [
        ("/metadata/name", true),
        ("/metadata/labels/app.kubernetes.io~1managed-by", true),
        ("/metadata/labels/research.harness~1result-identity", true),
        ("/metadata/annotations/research.harness~1result-identity", true),
        ("/metadata/annotations/research.harness~1secret-digest", false),
        ("/data/mission_url", false),
        ("/type", false),
        ("/immutable", false),
    ] {
        let (rendered, mut live) = secrets();
        *live.pointer_mut(pointer).unwrap() = json!("other");
        let verdict = compare_secret(&rendered, &live);
        assert_eq!(matches!(verdict, Verdict::Foreign { .. }), is_foreign, "{pointer}");
    }
}

#[test]
fn additions() {
    for (pointer, key, value, difference) in [
        ("/data", "extra", json!("eA=="), Some("data.extra")),
        ("/data", "value", json!(""), Some("data.value")),
        ("", "stringData", json!({ "x": "y" }), Some("stringData")),
        ("/metadata/labels", "research.harness/x", json!("y"), Some("metadata.labels[")),
        (
            "/metadata/annotations",
            "research.harness/cancelled-at",
            json!("2026-03-01T10:00:00Z"),
            Some("metadata.annotations["),
        ),
        ("/metadata/labels", "team", json!("y"), None),
        ("/metadata", "ownerReferences", json!([{ "kind": "Job" }]), None),
        ("/metadata", "finalizers", json!(["x"]), None),
        ("", "newTopLevel", json!(1), None),
    ] {
        let (rendered, mut live) = secrets();
        put(&mut live, pointer, key, value);
        let verdict = compare_secret(&rendered, &live);
        match difference {
            Some(path) => {
                let found = altered(&verdict);
                assert!(found.len() == 1 && found[0].starts_with(path), "{found:?}");
            }
            None => assert_eq!(drift_of(&verdict).len(), 1, "{key}"),
        }
    }
    let (rendered, mut live) = secrets();
    put(&mut live, "/metadata", "deletionTimestamp", json!("2026-03-01T10:00:00Z"));
    assert_eq!(drift_of(&compare_secret(&rendered, &live)), []);
    assert!(is_terminating(&live));
}

#[test]
fn a_mutable_secret_is_never_the_same() {
    let (mut rendered, mut live) = secrets();
    remove(&mut rendered, "/immutable");
    assert!(compare_secret(&rendered, &live).is_same());
    remove(&mut live, "/immutable");
    assert_eq!(altered(&compare_secret(&rendered, &live)), ["immutable"]);
}
