//! `manifests/cluster`, as far as tests of the binary need it.

use serde_json::Value;

/// The folder.
pub(crate) const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/cluster");

/// The rules of a role of `manifests/cluster`.
pub(crate) fn rules(role: &str) -> Value {
    let path = format!("{MANIFESTS}/role-{role}.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n")
        .map(|document| serde_yaml::from_str::<Value>(document).unwrap())
        .find(|document| document["kind"] == "Role")
        .unwrap()["rules"]
        .clone()
}
