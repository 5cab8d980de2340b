//! Made-up submissions whose secret parts are random markers, so that a leak is found by searching for them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The harness image of all runs.
pub(crate) const HARNESS_IMAGE: &str = "registry.example.org/harness@sha256:5555555555555555555555555555555555555555555555555555555555555555";

const BUCKET: &str = "https://example-bucket.s3.us-west-2.amazonaws.com";
const DAY: Duration = Duration::from_hours(24);

/// The fields that hold URLs.
const URL_FIELDS: [&str; 4] =
    ["mission_url", "snapshot_url", "result_put_url", "result_readback_url"];

/// One submission, and the markers that must never be seen outside its Secret.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// The document; change it as the test needs.
    pub(crate) value: Value,
    /// Signature, access key and session token of every signing.
    pub(crate) markers: Vec<String>,
    attempt: String,
}

impl Sample {
    /// A valid submission of `attempt`, freshly signed for a day.
    pub(crate) fn new(attempt: &str) -> Self {
        Self::unsigned(attempt).signed_again()
    }

    /// The same as it stands in a reviewed file: without any signature.
    pub(crate) fn unsigned(attempt: &str) -> Self {
        let value = json!({
            "schema_version": "prediction_submission.v1",
            "attempt_id": attempt,
            "mission_id": "Mission 7",
            "image": format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)),
            "evaluator_version": format!("sha256:{}", "2".repeat(64)),
            "resource_profile": "standard-v1",
            "search_budget": {"max_seconds": 600},
            "mission_url": format!("{BUCKET}/in/mission.json"),
            "mission_sha256": "3".repeat(64),
            "snapshot_url": format!("{BUCKET}/in/snapshot.tar"),
            "snapshot_sha256": "4".repeat(64),
            "result_put_url": format!("{BUCKET}/out/{attempt}/result.tar"),
            "result_readback_url": format!("{BUCKET}/out/{attempt}/result.tar"),
            "runner_command": ["python3", "-m", "model", "$HOME"],
        });
        Self { value, markers: Vec::new(), attempt: attempt.to_owned() }
    }

    /// The same experiment with other signatures.
    pub(crate) fn signed_again(&self) -> Self {
        self.signed_at(SystemClock.now())
    }

    /// The same experiment with signatures that ended a day ago.
    pub(crate) fn expired(&self) -> Self {
        self.signed_at(SystemClock.now() - 2 * DAY)
    }

    /// The same experiment, signed for a day with temporary credentials at this time.
    pub(crate) fn signed_at(&self, time: Timestamp) -> Self {
        let mut signed = self.clone();
        let (signature, token) = (random_hex(32), random_hex(32));
        let key = format!("ASIA{}", random_hex(8).to_uppercase());
        let date = time.strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = &date[..8];
        for field in URL_FIELDS {
            let Some(url) = self.value[field].as_str() else { continue };
            let bare = url.split('?').next().unwrap_or_default();
            // The guard of the output: its header is signed, so the store refuses a second PUT.
            let headers = if field == "result_put_url" { "host%3Bif-none-match" } else { "host" };
            signed.value[field] = Value::String(format!(
                "{bare}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={key}%2F{day}%2Fus-west-2%2Fs3%2Faws4_request\
                 &X-Amz-Date={date}&X-Amz-Expires=86400&X-Amz-Security-Token={token}&X-Amz-SignedHeaders={headers}\
                 &X-Amz-Signature={signature}"
            ));
        }
        signed.value["credentials_expire_at"] = Value::String((time + DAY).to_string());
        signed.markers.extend([signature, key, token]);
        signed
    }

    /// The same with another value in one field.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.value[field] = value.into();
        self
    }

    /// The document that `--signed` takes: the signed fields only.
    pub(crate) fn signatures(&self) -> Value {
        let mut only = json!({"credentials_expire_at": self.value["credentials_expire_at"]});
        for field in URL_FIELDS {
            only[field] = self.value[field].clone();
        }
        only
    }

    /// The name of the attempt.
    pub(crate) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// Writes the submission into a folder, as `ATTEMPT.json`.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join(format!("{}.json", self.attempt));
        fs::write(&path, self.value.to_string()).unwrap();
        path
    }
}

/// So many random bytes, as lower-case hex digits.
pub(crate) fn random_hex(bytes: usize) -> String {
    use std::fmt::Write as _;
    let mut buffer = vec![0; bytes];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut buffer).unwrap();
    buffer.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}
