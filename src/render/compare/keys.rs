//! The labels and annotations by which harness knows its objects, and which of them are identities.

use serde_json::Value;

use super::path::Path;
use crate::render::names::{self, MANAGED_BY, RESULT_IDENTITY};

pub(super) use crate::render::names::{
    CANCELLED_AT, CANCELLED_BY, DECISIVE_DIGEST, PREFIX, QUEUE_LABEL as QUEUE_NAME,
    RENDER_VERSION_KEY as RENDER_VERSION, SECRET_DIGEST,
};

/// Where the objects lie, as the URLs spell it; the submission digest binds inputs by their bytes and the result
/// by its identity instead.
pub(super) const OBJECTS: [&str; 4] =
    [names::MISSION_OBJECT, names::SNAPSHOT_OBJECT, names::RESUME_OBJECT, names::RESULT_OBJECT];

/// What all labels and annotations of Kueue begin with.
pub(super) const QUEUE_PREFIX: &str = "kueue.x-k8s.io/";

/// A path below `metadata`.
type Key = &'static [&'static str];

/// Without one of these equal, a Job is another experiment or none of harness'.
pub(super) const JOB_IDENTITY: [Key; 6] = [
    &["name"],
    &["namespace"],
    &["labels", MANAGED_BY],
    &["labels", RESULT_IDENTITY],
    &["annotations", RESULT_IDENTITY],
    &["annotations", names::SUBMISSION_DIGEST],
];

/// What tells people which other experiment a Job is.
pub(super) const JOB_DESCRIPTION: [Key; 3] = [
    &["annotations", names::ATTEMPT_ID],
    &["annotations", names::MISSION_ID],
    &["annotations", names::PROFILE_DIGEST],
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
