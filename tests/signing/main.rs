//! What docs/signing.md shows is run as it stands there: harness takes the URLs, and a store keeps what they promise.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]
#![expect(clippy::disallowed_methods, reason = "tests start programs and look for their own cache")]

mod document;
mod elsewhere;
mod python;
mod s3;

use std::fs;
use std::process::Command;

use document::blocks;
use harness_test_store::{ACCESS_KEY, SECRET_KEY};
use serde_json::Value;
use tempfile::TempDir;

/// Snippets that cannot be run without an account, and why.
const NOT_RUN: [(&str, &str, &str); 4] = [
    ("The signed file", "json", "it shows the form; the signatures are left out"),
    ("Amazon S3", "js", "the SDK comes from npm, and the URLs have the form of boto3's"),
    ("Google Cloud Storage", "sh", "Google makes the signature"),
    ("Azure Blob Storage", "sh", "Azure makes the key that signs"),
];

/// Those that tests here run.
const RUN: [(&str, &str); 9] = [
    ("Amazon S3", "python"),
    ("Amazon S3", "sh"),
    ("Cloudflare R2, MinIO, Ceph, DigitalOcean Spaces", "python"),
    ("Alibaba Cloud OSS", "python"),
    ("Alibaba Cloud OSS", "python"),
    ("Google Cloud Storage", "python"),
    ("Azure Blob Storage", "python"),
    ("Tencent Cloud COS", "python"),
    ("Huawei Cloud OBS", "python"),
];

#[test]
fn each_snippet_is_run_or_has_a_reason() {
    let mut found: Vec<(&str, &str)> =
        blocks().iter().map(|block| (block.section, block.language)).collect();
    let mut known: Vec<(&str, &str)> = RUN.to_vec();
    known.extend(NOT_RUN.map(|(section, language, _)| (section, language)));
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// A folder for a snippet, with the submission of docs/submission.md.
fn folder() -> (TempDir, Value) {
    let document = include_str!("../../docs/submission.md");
    let text = document.split("```json\n").nth(1).unwrap().split("\n```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("submission.json"), text).unwrap();
    (folder, serde_json::from_str(text).unwrap())
}

/// The keys of the store, as the AWS SDKs look for them.
fn keys() -> [(&'static str, &'static str); 2] {
    [("AWS_ACCESS_KEY_ID", ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY)]
}

/// Puts what was signed into the submission.
fn signed(submission: &Value, signed: &Value) -> Value {
    let mut submission = submission.clone();
    for (field, value) in signed.as_object().unwrap() {
        submission[field] = value.clone();
    }
    submission
}

/// What is wrong with a submission, as `validate` says it; empty if nothing is.
fn validate(submission: &Value) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), submission.to_string()).unwrap();
    let image = format!("registry.example.org/harness@sha256:{}", "5".repeat(64));
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["prediction", "dispatch", "validate", "--harness-image", &image, "-f"])
        .arg(file.path())
        .env_remove("HARNESS_PROFILES")
        .output()
        .unwrap();
    if output.status.success() {
        return String::new();
    }
    let said = [output.stdout, output.stderr].concat();
    format!("{}\n{}", output.status, String::from_utf8_lossy(&said))
}

#[track_caller]
fn assert_valid(submission: &Value) {
    assert_eq!(validate(submission), "");
}

/// The URL of a field.
fn url<'a>(signed: &'a Value, field: &str) -> &'a str {
    signed[field].as_str().unwrap_or_else(|| panic!("no {field}"))
}
