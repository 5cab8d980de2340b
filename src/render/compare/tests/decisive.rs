//! The decisive digest: frozen, the same for what is rendered and what is stored, and sensitive to all it keeps.

use super::*;
use crate::render::decisive::decisive_projection;

const GOLDEN: &str = "342dc90f5655450bbe21ef7efe5bb758552df8b77fc6c43c9480299564cc0917";

/// The list is frozen: a Job that exists carries this digest for ever.
#[test]
fn digest_is_golden() {
    let (rendered, stored) = queued();
    let digest = decisive_digest(&rendered);
    assert_eq!(digest.to_hex(), GOLDEN);
    assert_eq!(decisive_digest(&stored), digest);
    let recorded = &rendered["metadata"]["annotations"]["research.harness/decisive-digest"];
    assert_eq!(recorded.as_str(), Some(GOLDEN));
}

#[test]
fn projection_is_a_part_of_the_job_with_masks() {
    let (rendered, stored) = queued();
    let projection = decisive_projection(&rendered);
    assert_eq!(projection, decisive_projection(&stored));
    let at = |pointer| projection.pointer(pointer).unwrap();
    assert_eq!(at("/spec/template/spec/containers/0/image"), "<harness image>");
    assert_eq!(at("/spec/template/spec/initContainers/0/image"), "<harness image>");
    assert_eq!(at("/spec/template/spec/volumes/6/secret/secretName"), "<signed secret>");
    assert_eq!(at("/spec/template/spec/containers/1/resources/limits/cpu"), "7500000000n");
    for left_out in [
        "/spec/suspend",
        "/spec/activeDeadlineSeconds",
        "/spec/template/metadata",
        "/spec/template/spec/tolerations",
        "/spec/template/spec/nodeSelector",
        "/metadata/annotations/research.harness~1decisive-digest",
        "/metadata/annotations/research.harness~1secret-digest",
    ] {
        assert_eq!(projection.pointer(left_out), None, "{left_out}");
    }
    let keys = |value: &Value| value.as_object().unwrap().len();
    assert_eq!((keys(at("/metadata/annotations")), keys(at("/metadata/labels"))), (6, 2));
}

/// Newer servers default fields anywhere; the digest of an old Job stays.
#[test]
fn new_fields_leave_the_digest() {
    let (rendered, _) = queued();
    let digest = decisive_digest(&rendered);
    let mut live = rendered;
    add_everywhere(&mut live);
    assert_eq!(decisive_digest(&live), digest);
}

fn add_everywhere(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(add_everywhere);
            // Not among resource names, which are data.
            if !map.contains_key("cpu") {
                map.insert("newDefault".to_owned(), "New".into());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(add_everywhere),
        _ => {}
    }
}

/// Everything that is kept decides: without it the digest is another.
#[test]
fn every_kept_leaf_counts() {
    let (rendered, _) = queued();
    let digest = decisive_digest(&rendered);
    let mut changed = 0;
    let projection = decisive_projection(&rendered);
    for pointer in pointers(&projection) {
        let kept = projection.pointer(&pointer).unwrap();
        let mut live = rendered.clone();
        let leaf = live.pointer_mut(&pointer).unwrap();
        if kept.is_object() || kept.is_array() {
            continue;
        }
        *leaf = "another".into();
        assert_ne!(decisive_digest(&live), digest, "{pointer}");
        changed += 1;
    }
    assert!(changed > 200, "{changed}");
}
