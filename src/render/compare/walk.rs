//! The walk over a rendered object and the live one beside it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::metadata::Owner;
use super::path::Path;
use super::place::{Addition, Place};
use super::{Drift, DriftKind, equivalence, keys, state};

/// What was seen so far, and what must be known of the two objects to judge a difference.
pub(super) struct Walk<'a> {
    /// The rendered object's name.
    pub(super) name: &'a str,
    /// The live object's UID.
    pub(super) uid: Option<&'a str>,
    /// Whether the profile names a queue.
    pub(super) has_queue: bool,
    /// Whether harness cancelled the Job.
    pub(super) is_cancelled: bool,
    /// Whether the live Job names another Secret than the rendered one: same submission, other URLs.
    pub(super) is_signed_again: bool,
    /// The one Secret that all volumes of the live Job must name.
    secret: Option<&'a str>,
    differences: Vec<Path>,
    drift: Vec<Drift>,
}

impl<'a> Walk<'a> {
    pub(super) fn of_jobs(rendered: &'a Value, live: &'a Value) -> Self {
        let queue = rendered.get("metadata").and_then(|metadata| metadata.get("labels"));
        let secrets = (state::named_secret(rendered), state::named_secret(live));
        Self {
            has_queue: queue.is_some_and(|labels| labels.get(keys::QUEUE_NAME).is_some()),
            is_cancelled: state::cancelled(live).is_some(),
            is_signed_again: matches!(secrets, (Some(ours), Some(theirs)) if ours != theirs),
            ..Self::of_secrets(rendered, live)
        }
    }

    pub(super) fn of_secrets(rendered: &'a Value, live: &'a Value) -> Self {
        let name = rendered.get("metadata").and_then(|metadata| metadata.get("name"));
        Self {
            name: name.and_then(Value::as_str).unwrap_or_default(),
            uid: state::uid(live),
            has_queue: false,
            is_cancelled: false,
            is_signed_again: false,
            secret: None,
            differences: Vec::new(),
            drift: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> (Vec<Path>, Vec<Drift>) {
        (self.differences, self.drift)
    }

    pub(super) fn differs(&mut self, path: Path) {
        self.differences.push(path);
    }

    pub(super) fn drifts(&mut self, path: Path, kind: DriftKind) {
        self.drift.push(Drift { path, kind });
    }

    /// Notes a difference that is harmless only if `harmless` holds.
    pub(super) fn drifts_if(&mut self, harmless: bool, path: Path, kind: DriftKind) {
        if harmless {
            self.drifts(path, kind);
        } else {
            self.differs(path);
        }
    }

    /// Compares two whole Jobs.
    pub(super) fn job(&mut self, rendered: &Value, live: &'a Value) {
        let root = Path::root();
        let (Some(ours), Some(theirs)) = (rendered.as_object(), live.as_object()) else {
            return self.differs(root);
        };
        for (key, value) in ours {
            let live = theirs.get(key).unwrap_or(&Value::Null);
            let path = root.field(key);
            match key.as_str() {
                "metadata" => self.metadata(Owner::Job, &path, value, live),
                "spec" => self.value(Place::JobSpec, &path, value, live),
                _ if value != live => self.differs(path),
                _ => {}
            }
        }
        for (key, value) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            if key != "status" && !value.is_null() {
                self.drifts(root.field(key), DriftKind::Added);
            }
        }
    }

    /// Compares two values that stand at one place.
    pub(super) fn value(&mut self, place: Place, path: &Path, rendered: &Value, live: &'a Value) {
        match place {
            Place::PodMetadata => return self.pod_metadata(path, rendered, live),
            Place::SecretName => return self.secret_name(path, rendered, live),
            Place::Tolerations => return self.tolerations(path, rendered, live),
            _ => {}
        }
        match (place, rendered, live) {
            (_, Value::Object(rendered), Value::Object(live)) => {
                self.object(place, path, rendered, live);
            }
            _ if rendered == live && !rendered.is_array() => {}
            (Place::Amount, _, _) if equivalence::is_same_quantity(rendered, live) => {}
            (Place::Suspend, _, Value::Bool(_)) => {
                self.drifts_if(self.has_queue, path.clone(), DriftKind::Queue);
            }
            (Place::Deadline, _, _) if self.is_cancelled && is_lower(live, rendered) => {}
            (Place::HarnessImage, _, _) => {
                let is_pinned = live.as_str().is_some_and(equivalence::is_pinned_image);
                self.drifts_if(is_pinned, path.clone(), DriftKind::HarnessImage);
            }
            (Place::SecretItems, Value::Array(ours), Value::Array(theirs))
                if self.is_signed_again
                    && ours != theirs
                    && equivalence::needed_items(ours) == equivalence::needed_items(theirs) =>
            {
                self.drifts(path.clone(), DriftKind::SignedAgain);
            }
            (_, Value::Array(rendered), Value::Array(live)) => {
                self.list(place, path, rendered, live);
            }
            _ => self.differs(path.clone()),
        }
    }

    /// Compares the fields of two objects, and judges those that are only in the live one.
    pub(super) fn object(
        &mut self,
        place: Place,
        path: &Path,
        rendered: &Map<String, Value>,
        live: &'a Map<String, Value>,
    ) {
        for (key, ours) in rendered {
            let theirs = live.get(key).unwrap_or(&Value::Null);
            if place.is_unset(key, ours) && place.is_unset(key, theirs) {
                continue;
            }
            match live.get(key) {
                Some(theirs) => self.value(place.field(key), &path.field(key), ours, theirs),
                None => self.differs(path.field(key)),
            }
        }
        for (key, theirs) in live {
            if !rendered.contains_key(key) && !is_mirrored(place, key, theirs, rendered) {
                self.addition(place, path, key, theirs);
            }
        }
    }

    fn addition(&mut self, place: Place, path: &Path, key: &str, live: &Value) {
        let path = path.field(key);
        match place.addition(key, live) {
            Addition::Silent => {}
            Addition::Harmless => self.drifts(path, DriftKind::Added),
            Addition::Decisive => self.differs(path),
            Addition::Queue => {
                let by_queue = self.has_queue && is_of_queue(place, key, live);
                self.drifts_if(by_queue, path, DriftKind::Queue);
            }
            Addition::Selector => {
                if !self.is_own_selector(live) {
                    self.differs(path);
                }
            }
        }
    }

    /// Whether a selector is the one that the server generates: this Job's UID and nothing else.
    fn is_own_selector(&self, selector: &Value) -> bool {
        let label = only_member(selector)
            .filter(|(key, _)| *key == "matchLabels")
            .and_then(|(_, labels)| only_member(labels));
        label.is_some_and(|(key, value)| {
            matches!(key, "batch.kubernetes.io/controller-uid" | "controller-uid")
                && value.as_str().is_some_and(|uid| self.uid == Some(uid))
        })
    }

    /// Compares two lists: the same elements in the same order.
    fn list(&mut self, place: Place, path: &Path, rendered: &[Value], live: &'a [Value]) {
        let (Some(ours), Some(theirs)) = (names(rendered), names(live)) else {
            return self.list_by_index(place, path, rendered, live);
        };
        if ours != theirs {
            self.other_names(path, &ours, &theirs);
        }
        let theirs: BTreeMap<&str, &'a Value> = theirs.into_iter().zip(live).collect();
        for (name, ours) in ours.into_iter().zip(rendered) {
            if let Some(theirs) = theirs.get(name) {
                self.value(place.element(ours), &path.item(name), ours, theirs);
            }
        }
    }

    /// Names the elements that are missing and those that were added, or the list if they only moved.
    fn other_names(&mut self, path: &Path, ours: &[&str], theirs: &[&str]) {
        let missing = ours.iter().filter(|name| !theirs.contains(name));
        let added = theirs.iter().filter(|name| !ours.contains(name));
        let mut changed = missing.chain(added).peekable();
        if changed.peek().is_none() {
            self.differs(path.clone());
        }
        for name in changed {
            self.differs(path.item(name));
        }
    }

    fn list_by_index(&mut self, place: Place, path: &Path, rendered: &[Value], live: &'a [Value]) {
        if rendered.len() != live.len() {
            return self.differs(path.clone());
        }
        for (index, (ours, theirs)) in rendered.iter().zip(live).enumerate() {
            self.value(place.element(ours), &path.item(&index.to_string()), ours, theirs);
        }
    }

    /// A queue appends tolerations to those that are rendered.
    fn tolerations(&mut self, path: &Path, rendered: &Value, live: &'a Value) {
        let (Some(ours), Some(theirs)) = (rendered.as_array(), live.as_array()) else {
            return self.differs(path.clone());
        };
        let common = theirs.len().min(ours.len());
        self.list_by_index(Place::Closed, path, ours, &theirs[..common]);
        for index in common..theirs.len() {
            let path = path.item(&index.to_string());
            self.drifts_if(self.has_queue, path, DriftKind::Queue);
        }
    }

    /// Our Secret is compared by the pattern of its name; all volumes must name the same one.
    fn secret_name(&mut self, path: &Path, rendered: &Value, live: &'a Value) {
        let is_ours = |name: &&str| equivalence::is_signed_secret(name, self.name);
        if !rendered.as_str().as_ref().is_some_and(is_ours) {
            if rendered != live {
                self.differs(path.clone());
            }
            return;
        }
        match live.as_str().filter(is_ours) {
            Some(name) if *self.secret.get_or_insert(name) == name => {}
            _ => self.differs(path.clone()),
        }
    }
}

fn is_lower(live: &Value, rendered: &Value) -> bool {
    matches!((live.as_u64(), rendered.as_u64()), (Some(live), Some(rendered)) if live < rendered)
}

/// The server writes `serviceAccountName` into the older `serviceAccount` too.
fn is_mirrored(place: Place, key: &str, live: &Value, rendered: &Map<String, Value>) -> bool {
    place == Place::PodSpec
        && key == "serviceAccount"
        && rendered.get("serviceAccountName") == Some(live)
}

/// Whether a queue may have added this: node labels, tolerations, and gates of its own.
fn is_of_queue(place: Place, key: &str, live: &Value) -> bool {
    match (place, key, live) {
        (Place::NodeSelector, _, label) => label.is_string(),
        (_, "nodeSelector", Value::Object(labels)) => labels.values().all(Value::is_string),
        (_, "tolerations", Value::Array(_)) => true,
        (_, "schedulingGates", Value::Array(gates)) => gates.iter().all(|gate| {
            let name = gate.get("name").and_then(Value::as_str);
            name.is_some_and(|name| name.starts_with(keys::QUEUE_PREFIX))
        }),
        _ => false,
    }
}

fn only_member(object: &Value) -> Option<(&str, &Value)> {
    let object = object.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(key, value)| (key.as_str(), value))
}

/// The names of the elements, if each has one of its own.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    let names: Option<Vec<&str>> =
        list.iter().map(|element| element.get("name")?.as_str()).collect();
    let distinct: BTreeSet<&str> = names.iter().flatten().copied().collect();
    names.filter(|names| names.len() == distinct.len())
}
