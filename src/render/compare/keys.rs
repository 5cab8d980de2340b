//! The labels and annotations by which harness knows its objects, and which of them are identities.

use serde_json::Value;

use super::path::Path;

/// What all labels and annotations of harness begin with.
pub(super) const PREFIX: &str = "research.harness/";
pub(super) const RENDER_VERSION: &str = "research.harness/render-version";
pub(super) const DECISIVE_DIGEST: &str = "research.harness/decisive-digest";
pub(super) const SECRET_DIGEST: &str = "research.harness/secret-digest";
pub(super) const CANCELLED_AT: &str = "research.harness/cancelled-at";
pub(super) const CANCELLED_BY: &str = "research.harness/cancelled-by";
/// Where the objects lie, as the URLs spell it; the submission digest binds inputs by their bytes and the result
/// by its identity instead.
pub(super) const OBJECTS: [&str; 4] = [
    "research.harness/mission-object",
    "research.harness/snapshot-object",
    "research.harness/resume-object",
    "research.harness/result-object",
];
/// What all labels and annotations of Kueue begin with.
pub(super) const QUEUE_PREFIX: &str = "kueue.x-k8s.io/";
/// Kueue's label that puts a Job into a queue.
pub(super) const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";

const RESULT_IDENTITY: &str = "research.harness/result-identity";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// A path below `metadata`.
type Key = &'static [&'static str];

/// Without one of these equal, a Job is another experiment or none of harness'.
pub(super) const JOB_IDENTITY: [Key; 6] = [
    &["name"],
    &["namespace"],
    &["labels", MANAGED_BY],
    &["labels", RESULT_IDENTITY],
    &["annotations", RESULT_IDENTITY],
    &["annotations", "research.harness/submission-digest"],
];

/// What tells people which other experiment a Job is.
pub(super) const JOB_DESCRIPTION: [Key; 3] = [
    &["annotations", "research.harness/attempt-id"],
    &["annotations", "research.harness/mission-id"],
    &["annotations", "research.harness/profile-digest"],
];

/// Without one of these equal, a Secret is none of this experiment's.
pub(super) const SECRET_IDENTITY: [Key; 5] = [
    &["name"],
    &["namespace"],
    &["labels", MANAGED_BY],
    &["labels", RESULT_IDENTITY],
    &["annotations", RESULT_IDENTITY],
];

/// The paths among `keys` that are rendered and not equal in the live object.
pub(super) fn differing_identities(rendered: &Value, live: &Value, keys: &[Key]) -> Vec<Path> {
    let get = |object: &Value, key: Key| {
        key.iter().try_fold(object.get("metadata")?, |value, name| value.get(name)).cloned()
    };
    let mut differing = Vec::new();
    for &key in keys {
        let ours = get(rendered, key);
        if ours.is_some() && ours != get(live, key) {
            let metadata = Path::root().field("metadata");
            differing.push(key.iter().fold(metadata, |path, name| path.field(name)));
        }
    }
    if !live.is_object() {
        differing.push(Path::root());
    }
    differing
}

/// The text of an annotation.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Where an annotation stands.
pub(super) fn annotation_path(key: &str) -> Path {
    Path::root().field("metadata").field("annotations").field(key)
}
