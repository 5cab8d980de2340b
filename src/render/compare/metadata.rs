//! Metadata: ours is exact, the server's own is silent, other people's is drift.

use serde_json::{Map, Value};

use super::path::Path;
use super::walk::Walk;
use super::{DriftKind, equivalence, keys};

/// Whose metadata it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Job,
    Pod,
    Secret,
}

/// Fields that the server writes; `generateName` has no effect beside a name.
const SYSTEM: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl<'a> Walk<'a> {
    pub(super) fn pod_metadata(&mut self, path: &Path, rendered: &Value, live: &'a Value) {
        self.metadata(Owner::Pod, path, rendered, live);
    }

    /// Compares two `metadata`.
    pub(super) fn metadata(
        &mut self,
        owner: Owner,
        path: &Path,
        rendered: &Value,
        live: &'a Value,
    ) {
        let (Some(ours), Some(theirs)) = (rendered.as_object(), live.as_object()) else {
            if rendered != live {
                self.differs(path.clone());
            }
            return;
        };
        let empty = Value::Object(Map::new());
        for kind in ["labels", "annotations"] {
            let ours = ours.get(kind).unwrap_or(&empty);
            self.texts(owner, kind, &path.field(kind), ours, theirs.get(kind));
        }
        for (key, value) in ours.iter().filter(|(key, _)| !is_texts(key)) {
            if theirs.get(key) != Some(value) {
                self.differs(path.field(key));
            }
        }
        for (key, value) in theirs.iter().filter(|(key, _)| !is_texts(key)) {
            if !ours.contains_key(key) {
                self.added_metadata(owner, path, key, value);
            }
        }
    }

    fn added_metadata(&mut self, owner: Owner, path: &Path, key: &str, value: &Value) {
        if SYSTEM.contains(&key) || equivalence::is_unset(key, value) {
            return;
        }
        // An owner takes the Job with it when it goes, and the Job is the record of what ran.
        let is_harmless = owner != Owner::Job || key != "ownerReferences";
        self.drifts_if(is_harmless, path.field(key), DriftKind::Added);
    }

    /// Compares labels or annotations.
    fn texts(
        &mut self,
        owner: Owner,
        kind: &str,
        path: &Path,
        rendered: &Value,
        live: Option<&Value>,
    ) {
        let empty = Map::new();
        let theirs = match live {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(theirs)) => theirs,
            Some(_) => return self.differs(path.clone()),
        };
        let ours = rendered.as_object().unwrap_or(&empty);
        for (key, value) in ours {
            self.rendered_text(owner, path.field(key), key, value, theirs.get(key));
        }
        for (key, value) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            self.added_text(owner, kind, path.field(key), key, value);
        }
    }

    fn rendered_text(
        &mut self,
        owner: Owner,
        path: Path,
        key: &str,
        rendered: &Value,
        live: Option<&Value>,
    ) {
        let is_digest =
            |value: &Value| value.as_str().is_some_and(|text| equivalence::is_hex(text, 64));
        match live {
            Some(live) if live == rendered => {}
            // It follows the URLs' signatures, as the Secret's name does.
            Some(live)
                if owner != Owner::Secret && key == keys::SECRET_DIGEST && is_digest(live) => {}
            Some(Value::String(_)) if self.is_signed_again && keys::OBJECTS.contains(&key) => {
                self.drifts(path, DriftKind::SignedAgain);
            }
            _ => self.differs(path),
        }
    }

    fn added_text(&mut self, owner: Owner, kind: &str, path: Path, key: &str, live: &Value) {
        if key.starts_with(keys::PREFIX) {
            let by_cancel = owner == Owner::Job && kind == "annotations" && self.is_cancelled;
            if !by_cancel || !matches!(key, keys::CANCELLED_AT | keys::CANCELLED_BY) {
                self.differs(path);
            }
        } else if owner == Owner::Pod && kind == "labels" && is_generated(key) {
            if !self.is_generated_value(key, live) {
                self.differs(path);
            }
        } else if owner == Owner::Pod && key.starts_with(keys::QUEUE_PREFIX) {
            self.drifts_if(self.has_queue && live.is_string(), path, DriftKind::Queue);
        } else {
            self.drifts(path, DriftKind::Added);
        }
    }

    /// Whether a generated label names this very Job.
    fn is_generated_value(&self, key: &str, live: &Value) -> bool {
        let expected = if key.ends_with("controller-uid") { self.uid } else { Some(self.name) };
        live.as_str().is_some_and(|live| expected == Some(live))
    }
}

fn is_texts(key: &str) -> bool {
    matches!(key, "labels" | "annotations")
}

/// The labels that the server gives to a Job's pods.
fn is_generated(key: &str) -> bool {
    let name = key.strip_prefix("batch.kubernetes.io/").unwrap_or(key);
    matches!(name, "controller-uid" | "job-name")
}
