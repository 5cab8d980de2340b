//! The record: the immutable `ConfigMap` that keeps a result identity refused after its Job was pruned.
//!
//! Pure. `submit` reads it; whoever prunes writes it in the same form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The one key of the `ConfigMap`.
pub const KEY: &str = "record.json";

/// The version of the form.
pub const SCHEMA_VERSION: &str = "prediction_record.v1";

/// What is kept of an experiment for ever. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// `prediction_record.v1`.
    pub schema_version: String,
    /// The name of the Job and of the `ConfigMap`.
    pub job_name: String,
    /// The UID that the Job had.
    pub job_uid: String,
    /// The UID of the namespace.
    pub namespace_uid: String,
    /// The result identity, 64 digits.
    pub result_identity: String,
    /// The submission digest, 64 digits.
    pub submission_digest: String,
    /// How it ended, such as `succeeded` or `failed`.
    pub outcome: String,
    /// When the Job started, RFC 3339.
    pub started_at: Option<String>,
    /// When the Job ended, RFC 3339.
    pub finished_at: Option<String>,
    /// SHA-256 of the evidence, if there was any.
    pub evidence_digest: Option<String>,
    /// The images that really ran, by the pod's status.
    pub image_ids: Vec<String>,
    /// Who recorded it.
    pub recorded_by: String,
    /// When it was recorded, RFC 3339.
    pub recorded_at: String,
}

/// Reads the record out of its `ConfigMap`. A record that cannot be read is a conflict, never an absence.
pub fn read(config_map: &Value) -> Result<Record, String> {
    let text = config_map["data"][KEY].as_str().ok_or_else(|| format!("data.{KEY} is missing"))?;
    let record: Record =
        serde_json::from_str(text).map_err(|_| format!("data.{KEY} cannot be read"))?;
    if record.schema_version != SCHEMA_VERSION {
        return Err(format!("data.{KEY}: schema_version"));
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unreadable_records_are_errors() {
        for wrong in [
            json!({}),
            json!({"data": {}}),
            json!({"data": {"record.json": "{"}}),
            json!({"data": {"record.json": "{}"}}),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
