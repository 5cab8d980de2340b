//! When two spellings mean the same, and what is compared by pattern only.
//!
//! Small rules about single values, shared by the comparison and by the decisive digest; pure. Those that the
//! digest uses are frozen with it.

use serde_json::Value;

use crate::profile::Quantity;

/// The amount in billionths of a unit, which no spelling changes; as it stands if it is no quantity.
pub(in crate::render) fn canonical_quantity(value: &Value) -> Value {
    match quantity_nanos(value) {
        Some(nanos) => format!("{nanos}n").into(),
        None => value.clone(),
    }
}

fn quantity_nanos(value: &Value) -> Option<i128> {
    Quantity::parse(value.as_str()?).ok().map(Quantity::nanos)
}

/// Whether two values are the same amount; texts that are no quantities are compared as they are.
pub(in crate::render) fn is_same_quantity(one: &Value, other: &Value) -> bool {
    match (quantity_nanos(one), quantity_nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Whether a container, given its name, is one that runs the harness image.
pub(in crate::render) fn is_harness_container(name: &Value) -> bool {
    matches!(name.as_str(), Some("stage" | "publish"))
}

/// Whether `image` names its bytes: `REPOSITORY@sha256:` and 64 hexadecimal digits.
pub(in crate::render) fn is_pinned_image(image: &str) -> bool {
    image.split_once("@sha256:").is_some_and(|(repository, digits)| {
        is_hex(digits, 64)
            && !repository.is_empty()
            && repository.bytes().all(|b| b.is_ascii_graphic() && b != b'@')
    })
}

/// The items of a Secret volume but for the optional ones, each a file of its key's name.
///
/// A submission that is signed again may bring or lack these; the submission digest leaves them out.
pub(in crate::render) fn needed_items(items: &[Value]) -> Vec<&Value> {
    let is_optional = |item: &Value| {
        let field = |name| item.get(name).filter(|value| !value.is_null());
        let key = field("key").and_then(Value::as_str);
        key.is_some_and(|key| OPTIONAL_ITEMS.contains(&key))
            && field("path") == field("key")
            && field("mode").is_none()
    };
    items.iter().filter(|item| !is_optional(item)).collect()
}

const OPTIONAL_ITEMS: [&str; 2] = ["result_put_headers", "result_readback_url"];

/// Whether `name` is the name of a Secret that harness makes for this Job: `JOB-` and 10 hexadecimal digits.
pub(in crate::render) fn is_signed_secret(name: &str, job_name: &str) -> bool {
    let suffix = name.strip_prefix(job_name).and_then(|rest| rest.strip_prefix('-'));
    suffix.is_some_and(|digits| is_hex(digits, 10))
}

/// Whether `text` is that many lower-case hexadecimal digits.
pub(in crate::render) fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a container's port is opened on the node.
pub(in crate::render) fn is_host_port(port: &Value) -> bool {
    !matches!(port, Value::Object(map) if map.get("hostPort").is_none_or(|port| *port == 0))
}

/// Whether the field `key` with this value means the same as its absence.
///
/// Go leaves empty values out unless the field is a pointer; for pointers to a struct, `{}` may well mean
/// something (a label selector of everything), so the fields are named.
pub(in crate::render) fn is_unset(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(false) => FALSE_IS_UNSET.contains(&key),
        Value::String(text) => text.is_empty() && EMPTY_TEXT_IS_UNSET.contains(&key),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && EMPTY_OBJECT_IS_UNSET.contains(&key),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

const FALSE_IS_UNSET: [&str; 6] =
    ["hostIPC", "hostNetwork", "hostPID", "readOnly", "setHostnameAsFQDN", "shareProcessNamespace"];
const EMPTY_TEXT_IS_UNSET: [&str; 12] = [
    "hostname",
    "medium",
    "mountPropagation",
    "nodeName",
    "prefix",
    "serviceAccount",
    "serviceAccountName",
    "subPath",
    "subPathExpr",
    "subdomain",
    "value",
    "workingDir",
];
const EMPTY_OBJECT_IS_UNSET: [&str; 8] = [
    "annotations",
    "labels",
    "limits",
    "metadata",
    "nodeSelector",
    "requests",
    "resources",
    "securityContext",
];

/// Whether the value is the one that a server may write out where the field is absent.
pub(in crate::render) fn is_default(key: &str, value: &Value) -> bool {
    matches!(
        (key, value.as_str()),
        ("procMount", Some("Default"))
            | ("mountPropagation", Some("None"))
            | ("recursiveReadOnly", Some("Disabled"))
    )
}
