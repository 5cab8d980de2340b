//! The immutable Secret: one key per URL, and nothing secret outside of `data`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::k8s::{ObjectMeta, Secret, TextMap};
use super::names::{self, Names};
use crate::submission::Submission;

/// The key of the headers that go with the PUT, as JSON with sorted names.
pub(super) const PUT_HEADERS_KEY: &str = "result_put_headers";

/// The Secret's keys and values; only those that are present.
pub(super) fn values(submission: &Submission) -> BTreeMap<&'static str, String> {
    let mut values: BTreeMap<&'static str, String> = submission
        .urls()
        .into_iter()
        .map(|(field, url)| (field.name(), url.expose().to_owned()))
        .collect();
    let headers = &submission.result().put_headers;
    if !headers.is_empty() {
        values.insert(
            PUT_HEADERS_KEY,
            serde_json::to_string(headers).expect("a map of texts serialises"),
        );
    }
    values
}

/// Renders the Secret.
pub(super) fn render(names: &Names, values: &BTreeMap<&'static str, String>) -> Secret {
    Secret {
        api_version: "v1",
        kind: "Secret",
        metadata: ObjectMeta {
            name: Some(names.secret.clone()),
            namespace: Some(names.namespace.clone()),
            labels: names.labels(),
            // Only what the values decide: another submission with the same URLs finds the same Secret.
            annotations: TextMap::from([
                (names::RESULT_IDENTITY.to_owned(), names.result_identity.to_hex()),
                (names::SECRET_DIGEST.to_owned(), names.secret_digest.to_hex()),
            ]),
        },
        secret_type: "Opaque",
        immutable: true,
        data: values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value)))
            .collect(),
    }
}
