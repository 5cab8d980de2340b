//! Every leaf that is rendered, changed or removed in the live Job, is seen.

use super::*;

const IDENTITIES: [&str; 6] = [
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/labels/app.kubernetes.io~1managed-by",
    "/metadata/labels/research.harness~1result-identity",
    "/metadata/annotations/research.harness~1result-identity",
    "/metadata/annotations/research.harness~1submission-digest",
];

/// Leaves that are compared by pattern: another value of the same form is no difference.
const BY_PATTERN: [&str; 3] = [
    "/metadata/annotations/research.harness~1secret-digest",
    "/spec/template/spec/initContainers/0/image",
    "/spec/template/spec/containers/0/image",
];

fn is_leaf(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

#[track_caller]
fn assert_seen(rendered: &Value, live: &Value, pointer: &str, what: &str) {
    let verdict = compare_job(rendered, live);
    match &verdict {
        Verdict::Same { .. } => panic!("{pointer} {what} is not seen"),
        Verdict::Altered { differences, .. } => assert!(!differences.is_empty(), "{pointer}"),
        Verdict::Foreign { differences } => {
            assert!(!differences.is_empty(), "{pointer}");
            let covers = |identity: &&str| identity.starts_with(pointer);
            assert!(IDENTITIES.iter().any(covers), "{pointer} {what}: {verdict:?}");
        }
    }
    if IDENTITIES.contains(&pointer) {
        assert!(matches!(verdict, Verdict::Foreign { .. }), "{pointer} {what}: {verdict:?}");
    }
}

#[test]
fn every_node_removed_is_seen() {
    let (rendered, stored) = plain();
    let pointers = pointers(&rendered);
    assert!(pointers.len() > 400, "{}", pointers.len());
    for pointer in pointers.iter().skip(1) {
        let mut live = stored.clone();
        remove(&mut live, pointer);
        assert_seen(&rendered, &live, pointer, "removed");
    }
}

#[test]
fn every_leaf_changed_is_seen() {
    let (rendered, stored) = plain();
    for pointer in pointers(&rendered) {
        let leaf = rendered.pointer(&pointer).unwrap();
        if !is_leaf(leaf) {
            continue;
        }
        let mut others = vec![Value::Null, json!({}), json!([]), json!(""), json!("other")];
        others.push(match leaf {
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            Value::String(text) => json!(format!("{text} ")),
            _ => unreachable!(),
        });
        for other in others {
            let mut live = stored.clone();
            *live.pointer_mut(&pointer).unwrap() = other.clone();
            assert_seen(&rendered, &live, &pointer, &format!("changed to {other}"));
        }
    }
}

#[test]
fn every_text_changed_within_its_form_is_seen_but_for_three() {
    let (rendered, stored) = plain();
    let mut unseen = Vec::new();
    for pointer in pointers(&rendered) {
        let Some(text) = rendered.pointer(&pointer).unwrap().as_str() else { continue };
        let (rest, last) = text.split_at(text.len() - 1);
        let last = if last == "a" { "b" } else { "a" };
        let mut live = stored.clone();
        *live.pointer_mut(&pointer).unwrap() = json!(format!("{rest}{last}"));
        if compare_job(&rendered, &live).is_same() {
            unseen.push(pointer);
        }
    }
    unseen.sort();
    let mut expected = BY_PATTERN.map(str::to_owned);
    expected.sort();
    assert_eq!(unseen, expected);
}

#[test]
fn every_list_reordered_lengthened_or_repeated_is_seen() {
    let (rendered, stored) = plain();
    for pointer in pointers(&rendered) {
        let Some(list) = rendered.pointer(&pointer).unwrap().as_array() else { continue };
        let mut longer = list.clone();
        longer.push(list[0].clone());
        let mut reversed = list.clone();
        reversed.reverse();
        let mut foreign = list.clone();
        foreign.push(json!({ "name": "foreign" }));
        for other in [longer, reversed, foreign, Vec::new()] {
            if other == *list {
                continue;
            }
            let mut live = stored.clone();
            *live.pointer_mut(&pointer).unwrap() = json!(other);
            assert_seen(&rendered, &live, &pointer, &format!("as {other:?}"));
        }
    }
}

#[test]
fn paths_are_those_of_kubectl() {
    let (rendered, stored) = plain();
    let cases = [
        (format!("{RUN}/args/3"), "spec.template.spec.containers[run].args[3]"),
        (format!("{RUN}/image"), "spec.template.spec.containers[run].image"),
        (
            format!("{STAGE}/env/0/value"),
            "spec.template.spec.initContainers[stage].env[HTTP_PROXY].value",
        ),
        (
            format!("{RUN}/resources/limits/nvidia.com~1gpu"),
            "spec.template.spec.containers[run].resources.limits[nvidia.com/gpu]",
        ),
        (
            format!("{RUN}/volumeMounts/5/mountPath"),
            "spec.template.spec.containers[run].volumeMounts[5].mountPath",
        ),
        (
            format!("{POD}/volumes/7/secret/items/0/path"),
            "spec.template.spec.volumes[publish-urls].secret.items[0].path",
        ),
        (
            "/metadata/annotations/research.harness~1mission-id".to_owned(),
            "metadata.annotations[research.harness/mission-id]",
        ),
        ("/spec/backoffLimit".to_owned(), "spec.backoffLimit"),
        ("/kind".to_owned(), "kind"),
    ];
    for (pointer, path) in cases {
        let mut live = stored.clone();
        *live.pointer_mut(&pointer).unwrap() = json!("a secret value");
        let verdict = compare_job(&rendered, &live);
        assert_eq!(altered(&verdict), [path], "{pointer}");
        assert!(!format!("{verdict:?}").contains("a secret value"));
    }
}

#[test]
fn elements_are_named_when_they_come_go_or_move() {
    let (rendered, stored) = plain();
    let containers = |edit: fn(&mut Vec<Value>)| {
        let mut live = stored.clone();
        let list = live.pointer_mut(&format!("{POD}/containers")).unwrap();
        edit(list.as_array_mut().unwrap());
        live
    };
    for (live, path) in [
        (
            containers(|list| list.push(json!({ "name": "istio-proxy" }))),
            "spec.template.spec.containers[istio-proxy]",
        ),
        (containers(|list| drop(list.remove(0))), "spec.template.spec.containers[publish]"),
        (containers(|list| list.reverse()), "spec.template.spec.containers"),
    ] {
        assert_eq!(altered(&compare_job(&rendered, &live)), [path]);
    }
}
