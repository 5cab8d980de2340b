//! The forms that operators write, as types for JSON Schema. Only for tests: the readers in `fields.rs` and
//! `signed.rs` decide, and the tests below hold these mirrors to them.
//!
//! A schema cannot say everything (whether two URLs name one object, say): it accepts whatever the reader
//! accepts, and refuses most of what the reader refuses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};

/// An experiment: a digest-pinned image, inputs bound by digest, and one result object that is created once.
#[expect(dead_code, reason = "the fields are read by the schema's generator only")]
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "Submission")]
#[schemars(extend("dependentRequired" = json!({
    "resume_url": ["resume_sha256"],
    "resume_sha256": ["resume_url"],
})))]
pub(crate) struct SubmissionForm {
    /// The version of this form.
    #[schemars(extend("const" = "prediction_submission.v1"))]
    schema_version: Option<String>,
    /// Your name for this attempt: a DNS label. One segment of the result's path repeats it.
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(min = 1, max = 63))]
    attempt_id: String,
    /// The mission's own name, as the mission document has it: printable, no space at either end.
    #[schemars(regex(pattern = r"^\S(.*\S)?$"), length(min = 1, max = 256))]
    mission_id: String,
    /// The image that runs: registry host, repository and digest. A tag beside the digest is ignored.
    #[schemars(regex(pattern = r"^[^@/\s]+/[^@\s]+@sha256:[0-9a-f]{64}$"))]
    image: String,
    /// The evaluator's version, as the mission document has it.
    #[schemars(regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    evaluator_version: String,
    /// The name of a profile; `harness profiles` lists them.
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(min = 1, max = 63))]
    resource_profile: String,
    /// What the search may use.
    search_budget: SearchBudgetForm,
    /// Where the mission document lies.
    #[schemars(with = "Url")]
    mission_url: String,
    /// SHA-256 of the mission document.
    #[schemars(with = "ObjectDigest")]
    mission_sha256: String,
    /// Where the data archive lies.
    #[schemars(with = "Url")]
    snapshot_url: String,
    /// SHA-256 of the data archive.
    #[schemars(with = "ObjectDigest")]
    snapshot_sha256: String,
    /// Where an earlier result lies that the run continues from; comes with its digest.
    #[schemars(with = "Option<Url>")]
    resume_url: Option<String>,
    /// SHA-256 of the earlier result.
    #[schemars(with = "Option<ObjectDigest>")]
    resume_sha256: Option<String>,
    /// Where the result is created, once. One whole segment of its path is `ID`, `attempt=ID` or `ID.EXTENSION`.
    #[schemars(with = "Url")]
    result_put_url: String,
    /// The headers that were signed into `result_put_url`, with their exact values.
    #[schemars(with = "Option<Headers>")]
    result_put_headers: Option<BTreeMap<String, String>>,
    /// A GET URL of the result object: the run then sees beforehand whether the result exists, and verifies it afterwards.
    #[schemars(with = "Option<Url>")]
    result_readback_url: Option<String>,
    /// When the temporary credentials end that signed the URLs, in UTC.
    #[schemars(with = "Option<Time>")]
    credentials_expire_at: Option<String>,
    /// What the run starts, program first; no shell reads it. Absent: what the image says in its `HARNESS_RUNNER`.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 16384)))]
    runner_command: Option<Vec<String>>,
    /// An existing Secret whose keys become the runner's environment; the profile must allow it.
    #[schemars(
        regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
        length(min = 1, max = 253),
        extend("not" = json!({"pattern": "^prediction-"}))
    )]
    runner_secret_name: Option<String>,
    /// The UID of the namespace that is meant; any other namespace is then refused.
    #[schemars(regex(pattern = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"))]
    namespace_uid: Option<String>,
}

/// What the search may use.
#[expect(dead_code, reason = "the fields are read by the schema's generator only")]
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct SearchBudgetForm {
    /// How long the search may take, in seconds. It must fit the profile.
    #[schemars(range(min = 1, max = 86400))]
    max_seconds: u32,
}

/// Signed spellings of URLs that a submission names already, for `submit --signed`. Holds secrets: keep it out of git.
#[expect(dead_code, reason = "the fields are read by the schema's generator only")]
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "SignedUrls")]
pub(crate) struct SignedForm {
    /// The mission document, signed for GET.
    #[schemars(with = "Option<Url>")]
    mission_url: Option<String>,
    /// The data archive, signed for GET.
    #[schemars(with = "Option<Url>")]
    snapshot_url: Option<String>,
    /// The earlier result, signed for GET.
    #[schemars(with = "Option<Url>")]
    resume_url: Option<String>,
    /// The result, signed for a PUT that creates and never overwrites.
    #[schemars(with = "Option<Url>")]
    result_put_url: Option<String>,
    /// The result, signed for GET.
    #[schemars(with = "Option<Url>")]
    result_readback_url: Option<String>,
    /// The headers that were signed into `result_put_url`, with their exact values.
    #[schemars(with = "Option<Headers>")]
    result_put_headers: Option<BTreeMap<String, String>>,
    /// When the temporary credentials end that signed the URLs, in UTC.
    #[schemars(with = "Option<Time>")]
    credentials_expire_at: Option<String>,
}

macro_rules! inline_schema {
    ($name:ident, $schema:expr) => {
        struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let Value::Object(schema) = $schema else { panic!("an object") };
                schema.into()
            }
        }
    };
}

inline_schema!(
    Url,
    json!({"type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]://", "maxLength": 8192})
);
inline_schema!(ObjectDigest, json!({"type": "string", "pattern": "^(sha256:)?[0-9a-f]{64}$"}));
inline_schema!(
    Time,
    json!({
        "type": "string",
        "format": "date-time",
        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]00:00)$"
    })
);
inline_schema!(
    Headers,
    json!({
        "type": "object",
        "maxProperties": 32,
        "propertyNames": {"pattern": "^[-!#$%&'*+.^_`|~0-9A-Za-z]{1,128}$"},
        "additionalProperties": {"type": "string", "pattern": "^[!-~]([ -~]*[!-~])?$", "maxLength": 2048}
    })
);

/// The schema of a form: a field is absent or has a value, and is never null.
pub(crate) fn of_form<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    without_null(&mut schema);
    schema
}

/// Takes `null` out of a schema that was made from optional fields, and the names of Rust's own types.
pub(crate) fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // The name of a Rust type says nothing to a reader of the schema.
            if map.get("format").is_some_and(|format| format == "uint32") {
                map.remove("format");
            }
            if let Some(Value::Array(types)) = map.get("type")
                && let [only, null] = types.as_slice()
                && null == "null"
            {
                let only = only.clone();
                map.insert("type".into(), only);
            }
            if let Some(Value::Array(mut choices)) = map.remove("anyOf") {
                assert_eq!(choices.pop(), Some(json!({ "type": "null" })));
                let Some(Value::Object(only)) = choices.pop() else { panic!("an optional type") };
                map.extend(only);
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => (),
    }
}

/// Checks a document against a schema with an independent validator, formats included.
pub(crate) fn check(schema: &Value, document: &Value) -> Result<(), String> {
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource("schema.json", schema.clone()).map_err(|error| error.to_string())?;
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).map_err(|error| error.to_string())?;
    schemas.validate(document, index).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
