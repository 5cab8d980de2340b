//! The Secret: bytes, type and immutability are exact.

use serde_json::{Map, Value};

use super::metadata::Owner;
use super::path::Path;
use super::walk::Walk;
use super::{DriftKind, Verdict, keys, verdict, without_repetition};

/// Compares a rendered Secret with one that an API server holds, or answers with to a dry run.
///
/// `data` is the same set of keys with the same base64 texts. Paths name keys and never hold a value.
pub fn compare_secret(rendered: &Value, live: &Value) -> Verdict {
    let differing = keys::differing_identities(rendered, live, &keys::SECRET_IDENTITY);
    let mut walk = Walk::of_secrets(rendered, live);
    walk.secret(rendered, live);
    let (differences, drift) = walk.finish();
    if differing.is_empty() {
        verdict(differences, drift)
    } else {
        Verdict::Foreign { differences: without_repetition(differing, differences) }
    }
}

impl<'a> Walk<'a> {
    fn secret(&mut self, rendered: &Value, live: &'a Value) {
        let root = Path::root();
        let (Some(ours), Some(theirs)) = (rendered.as_object(), live.as_object()) else {
            return self.differs(root);
        };
        for (key, value) in ours {
            let live = theirs.get(key).unwrap_or(&Value::Null);
            let path = root.field(key);
            match key.as_str() {
                "metadata" => self.metadata(Owner::Secret, &path, value, live),
                "data" => self.data(&path, value, live),
                _ if value != live => self.differs(path),
                _ => {}
            }
        }
        if theirs.get("immutable") != Some(&Value::Bool(true)) && ours.get("immutable").is_none() {
            self.differs(root.field("immutable"));
        }
        for (key, value) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            // Bytes under another name would reach the pod all the same.
            let is_harmless = !matches!(key.as_str(), "data" | "stringData");
            if !value.is_null() {
                self.drifts_if(is_harmless, root.field(key), DriftKind::Added);
            }
        }
    }

    fn data(&mut self, path: &Path, rendered: &Value, live: &Value) {
        let empty = Map::new();
        let (Some(ours), Some(theirs)) =
            (rendered.as_object(), if live.is_null() { Some(&empty) } else { live.as_object() })
        else {
            return self.differs(path.clone());
        };
        for (key, value) in ours {
            if theirs.get(key) != Some(value) {
                self.differs(path.field(key));
            }
        }
        for key in theirs.keys().filter(|key| !ours.contains_key(*key)) {
            self.differs(path.field(key));
        }
    }
}
