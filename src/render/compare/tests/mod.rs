//! A rendered Job and Secret of a profile that uses every field, and the same as Kubernetes 1.37 stores them
//! (`*.stored.json` are answers of a real API server, after its controller saw the Job).

mod additions;
mod changes;
mod decisive;
mod job;
mod place;
mod random;
mod secret;
mod state;

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::*;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

static RENDERED: LazyLock<Value> = LazyLock::new(|| parse(include_str!("job.rendered.json")));
static STORED: LazyLock<Value> = LazyLock::new(|| parse(include_str!("job.stored.json")));

/// Rendered and stored, for a profile that names a queue.
fn queued() -> (Value, Value) {
    (RENDERED.clone(), STORED.clone())
}

/// Rendered and stored, for a profile without a queue.
fn plain() -> (Value, Value) {
    let (mut rendered, mut stored) = queued();
    for job in [&mut rendered, &mut stored] {
        job["metadata"]["labels"].as_object_mut().unwrap().remove(keys::QUEUE_NAME);
        job["spec"]["suspend"] = json!(false);
    }
    (rendered, stored)
}

fn secrets() -> (Value, Value) {
    (parse(include_str!("secret.rendered.json")), parse(include_str!("secret.stored.json")))
}

/// JSON pointers of everything in `value`, the root first.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |key: &str, value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        found.extend(pointers(value).iter().map(|below| format!("/{key}{below}")));
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| add(&index.to_string(), value));
        }
        _ => {}
    }
    found
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.remove(&key).unwrap()),
        Value::Array(list) => drop(list.remove(key.parse().unwrap())),
        other => panic!("{other} has no {key}"),
    }
}

fn shown(paths: &[Path]) -> Vec<&str> {
    paths.iter().map(Path::as_str).collect()
}

fn drift_of(verdict: &Verdict) -> Vec<(&str, DriftKind)> {
    match verdict {
        Verdict::Same { drift } => drift.iter().map(|d| (d.path.as_str(), d.kind)).collect(),
        other => panic!("{other:?}"),
    }
}

fn altered(verdict: &Verdict) -> Vec<&str> {
    match verdict {
        Verdict::Altered { differences, .. } => shown(differences),
        other => panic!("{other:?}"),
    }
}

fn foreign(verdict: &Verdict) -> Vec<&str> {
    match verdict {
        Verdict::Foreign { differences } => shown(differences),
        other => panic!("{other:?}"),
    }
}

const POD: &str = "/spec/template/spec";
const STAGE: &str = "/spec/template/spec/initContainers/0";
const PUBLISH: &str = "/spec/template/spec/containers/0";
const RUN: &str = "/spec/template/spec/containers/1";

/// Puts `value` as `key` into the object at `pointer`.
fn put(job: &mut Value, pointer: &str, key: &str, value: Value) {
    job.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
}
