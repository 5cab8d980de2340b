//! Random changes of a stored Job, and any JSON in place of one.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Where anything may be changed or removed: the server's own.
const FREE: [&str; 9] = [
    "/status",
    "/metadata/creationTimestamp",
    "/metadata/generation",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/annotations/research.harness~1secret-digest",
    "/spec/template/spec/initContainers/0/image",
    "/spec/template/spec/containers/0/image",
    "/spec/template/metadata/creationTimestamp",
];

/// What the server generates: it may be missing, but not be another's.
const REMOVABLE: [&str; 5] = [
    "/spec/selector",
    "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
    "/spec/template/metadata/labels/batch.kubernetes.io~1job-name",
    "/spec/template/metadata/labels/controller-uid",
    "/spec/template/metadata/labels/job-name",
];

/// Objects to which a field of no meaning may be added.
const OPEN: [&str; 13] = [
    "",
    "/metadata",
    "/metadata/labels",
    "/metadata/annotations",
    "/spec",
    "/spec/template",
    "/spec/template/metadata",
    "/spec/template/metadata/labels",
    "/spec/template/metadata/annotations",
    // A name to pull with; the image that is pulled is pinned.
    "/spec/template/spec/imagePullSecrets/0",
    STAGE,
    PUBLISH,
    RUN,
];

#[derive(Debug, Clone)]
enum Change {
    Remove,
    Replace(Value),
    Add(String, Value),
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u32..9).prop_map(Value::from),
        "[a-z0-9]{0,3}".prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        "[a-z]{0,3}",
        prop::sample::select(vec![
            "apiVersion",
            "kind",
            "metadata",
            "name",
            "namespace",
            "uid",
            "labels",
            "annotations",
            "spec",
            "template",
            "containers",
            "initContainers",
            "volumes",
            "secret",
            "secretName",
            "items",
            "image",
            "resources",
            "limits",
            "cpu",
            "env",
            "ports",
            "hostPort",
            "selector",
            "matchLabels",
            "tolerations",
            "nodeSelector",
            "schedulingGates",
            "suspend",
            "status",
            "conditions",
            "type",
            "data",
            "immutable",
            "emptyDir",
            "sizeLimit",
            "affinity",
            keys::CANCELLED_AT,
            keys::RENDER_VERSION,
            keys::QUEUE_NAME,
            keys::SECRET_DIGEST,
        ])
        .prop_map(str::to_owned),
    ];
    scalar().prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Remove),
        scalar().prop_map(Change::Replace),
        any_json().prop_map(Change::Replace),
        ("[a-z]{1,4}", any_json()).prop_map(|(key, value)| Change::Add(format!("x{key}"), value)),
    ]
}

fn is_under(pointer: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn is_allowed(pointer: &str, change: &Change) -> bool {
    match change {
        _ if is_under(pointer, &FREE) => true,
        Change::Remove => REMOVABLE.contains(&pointer),
        Change::Replace(value) => {
            (value.is_null() || *value == Value::Array(Vec::new())) && REMOVABLE.contains(&pointer)
        }
        Change::Add(_, Value::Null) => true,
        // Go knows no difference between an empty list and none.
        Change::Add(_, Value::Array(list)) if list.is_empty() => true,
        Change::Add(_, _) => OPEN.contains(&pointer) || pointer == POD,
    }
}

/// Applies the change; whether there was anything to do.
fn apply(live: &mut Value, pointer: &str, change: &Change) -> bool {
    let place = live.pointer_mut(pointer).unwrap();
    match change {
        Change::Remove if pointer.is_empty() => return false,
        Change::Remove => remove(live, pointer),
        Change::Replace(value) if place == value => return false,
        Change::Replace(value) => *place = value.clone(),
        Change::Add(key, value) => match place {
            Value::Object(map) => drop(map.insert(key.clone(), value.clone())),
            Value::Array(list) => list.push(value.clone()),
            _ => return false,
        },
    }
    true
}

proptest! {
    #[test]
    fn a_random_change_is_seen_unless_it_is_allowed(place in any::<Index>(), change in change()) {
        let (rendered, mut live) = plain();
        let pointers = pointers(&live);
        let pointer = &pointers[place.index(pointers.len())];
        if !apply(&mut live, pointer, &change) {
            return Ok(());
        }
        let is_list = live.pointer(pointer).is_some_and(Value::is_array);
        let is_same = compare_job(&rendered, &live).is_same();
        if is_list && matches!(change, Change::Add(..)) {
            prop_assert!(!is_same || is_under(pointer, &FREE), "{pointer} {change:?}");
        } else if is_same {
            prop_assert!(is_allowed(pointer, &change), "{pointer} {change:?}");
        }
    }

    #[test]
    fn any_json_is_taken(one in any_json(), other in any_json()) {
        let (job, _) = queued();
        let (secret, _) = secrets();
        for (rendered, live) in [(&job, &one), (&one, &job), (&one, &other), (&one, &one)] {
            let _ = compare_job(rendered, live);
        }
        for (rendered, live) in [(&secret, &one), (&one, &secret), (&one, &other)] {
            let _ = compare_secret(rendered, live);
        }
        prop_assert!(!compare_job(&job, &one).is_same());
        prop_assert!(!compare_secret(&secret, &one).is_same());
        let _ = (named_secret(&one), uid(&one), is_terminating(&one), cancelled(&one));
        let _ = (job_state(&one), decisive_digest(&one));
    }

    #[test]
    fn any_json_within_a_job_is_taken(place in any::<Index>(), value in any_json()) {
        let (rendered, mut live) = queued();
        let pointers = pointers(&live);
        *live.pointer_mut(&pointers[place.index(pointers.len())]).unwrap() = value;
        let _ = (compare_job(&rendered, &live), compare_job(&live, &rendered));
        let _ = (named_secret(&live), cancelled(&live), job_state(&live), decisive_digest(&live));
    }
}
