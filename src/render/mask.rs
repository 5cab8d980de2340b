//! The bundle for eyes: masked by default, as a document of a kind that no API server knows.
//!
//! A `List` would be dangerous to print: `kubectl create -f` of it would create the Job.

use serde_json::{Map, Value};

use super::Bundle;

/// What stands in place of a secret part.
pub const MASK: &str = "<masked>";

/// One `MaskedBundle` document, with every query and header value masked.
pub fn masked(bundle: Bundle) -> Value {
    let Bundle { secret_values, mut secret, job, .. } = bundle;
    let masked: Map<String, Value> = secret_values
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::String(mask(key, value))))
        .collect();
    secret["data"] = Value::Object(masked);
    document([
        ("apiVersion", "research.harness/v1".into()),
        ("kind", "MaskedBundle".into()),
        ("job", job),
        ("secret", secret),
    ])
}

/// A `v1` List of the real objects, secrets included.
pub fn revealed(bundle: Bundle) -> Value {
    let Bundle { secret, job, .. } = bundle;
    document([
        ("apiVersion", "v1".into()),
        ("kind", "List".into()),
        ("items", Value::Array(vec![secret, job])),
    ])
}

/// Takes the values over: `json!` would serialise them once more, which is a sixth of all that `render` does.
fn document<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
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
