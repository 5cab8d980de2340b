//! The bundle for eyes: masked by default, as a document of a kind that no API server knows.
//!
//! A `List` would be dangerous to print: `kubectl create -f` of it would create the Job.

use serde_json::{Map, Value, json};

use super::Bundle;

/// What stands in place of a secret part.
pub const MASK: &str = "<masked>";

/// One `MaskedBundle` document, with every query and header value masked.
pub fn masked(bundle: &Bundle) -> Value {
    let mut secret = bundle.secret().clone();
    let values = bundle.secret_values();
    let masked: Map<String, Value> = values
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::String(mask(key, value))))
        .collect();
    secret["data"] = Value::Object(masked);
    json!({
        "apiVersion": "research.harness/v1",
        "kind": "MaskedBundle",
        "job": bundle.job(),
        "secret": secret,
    })
}

/// A `v1` List of the real objects, secrets included.
pub fn revealed(bundle: &Bundle) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [bundle.secret(), bundle.job()],
    })
}

fn mask(key: &str, value: &str) -> String {
    if key == super::secret::PUT_HEADERS_KEY {
        return MASK.to_owned();
    }
    match value.split_once('?') {
        Some((place, _)) => format!("{place}?{MASK}"),
        None => value.to_owned(),
    }
}
