//! The mirrors are what the readers read: the same fields, the same required ones, nothing refused that is valid.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::submission::{Problem, SignedUrls, Submission};

/// A submission with every field.
fn complete() -> Value {
    json!({
        "schema_version": "prediction_submission.v1",
        "attempt_id": "a-1",
        "mission_id": "Mission 7: größer",
        "image": format!("registry.example.org:5000/lab/model:v1@sha256:{}", "1".repeat(64)),
        "evaluator_version": format!("sha256:{}", "2".repeat(64)),
        "resource_profile": "standard-v1",
        "search_budget": {"max_seconds": 600},
        "mission_url": "https://storage.example.org/lab/mission.json",
        "mission_sha256": "3".repeat(64),
        "snapshot_url": "HTTPS://storage.example.org/lab/snapshot.tar",
        "snapshot_sha256": format!("sha256:{}", "4".repeat(64)),
        "resume_url": "https://storage.example.org/lab/earlier.tar",
        "resume_sha256": "5".repeat(64),
        "result_put_url": "https://storage.example.org/lab/a-1/result.tar",
        "result_put_headers": {"If-None-Match": "*"},
        "result_readback_url": "https://storage.example.org/lab/a-1/result.tar",
        "credentials_expire_at": "2026-12-01T08:00:00.25Z",
        "runner_command": ["python3", "-m", "search"],
        "runner_secret_name": "lab.token",
        "namespace_uid": "7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11",
    })
}

/// A file of signatures with every field.
fn signed() -> Value {
    let whole = complete();
    let names = [
        "mission_url",
        "snapshot_url",
        "resume_url",
        "result_put_url",
        "result_readback_url",
        "result_put_headers",
        "credentials_expire_at",
    ];
    names.iter().map(|name| ((*name).to_owned(), whole[*name].clone())).collect()
}

fn read_submission(document: &Value) -> Result<(), Vec<Problem>> {
    Submission::parse(document.to_string().as_bytes()).map(drop)
}

fn read_signed(document: &Value) -> Result<(), Vec<Problem>> {
    SignedUrls::parse(document.to_string().as_bytes()).map(drop)
}

fn names(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

/// The fields that a reader asks for, by what it says about one that it does not know.
fn asked_for(document: &Value, read: fn(&Value) -> Result<(), Vec<Problem>>) -> BTreeSet<String> {
    let mut document = document.clone();
    document["no-such-field"] = json!(1);
    let problem = read(&document).unwrap_err().remove(0);
    assert_eq!(problem.fault.code.name, "field-unknown");
    let known = problem.fault.allowed.strip_prefix("one of ").unwrap().to_owned();
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn mirrors_and_readers_have_the_same_fields() {
    let submission = of_form::<SubmissionForm>();
    assert_eq!(names(&submission), asked_for(&complete(), read_submission));
    assert_eq!(names(&submission), complete().as_object().unwrap().keys().cloned().collect());
    assert_eq!(names(&of_form::<SignedForm>()), asked_for(&signed(), read_signed));
}

#[test]
fn what_is_complete_is_valid_for_both() {
    check(&of_form::<SubmissionForm>(), &complete()).unwrap();
    read_submission(&complete()).unwrap();
    check(&of_form::<SignedForm>(), &signed()).unwrap();
    read_signed(&signed()).unwrap();
}

#[test]
fn mirror_and_reader_require_the_same_fields() {
    let schema = of_form::<SubmissionForm>();
    let mut required = BTreeSet::new();
    for name in names(&schema) {
        let mut document = complete();
        document.as_object_mut().unwrap().remove(&name);
        let problems = read_submission(&document).err().unwrap_or_default();
        assert_eq!(check(&schema, &document).is_ok(), problems.is_empty(), "{name}");
        if problems.iter().any(|problem| problem.fault.code.name == "field-missing") {
            required.insert(name);
        }
    }
    let listed: BTreeSet<String> = serde_json::from_value(schema["required"].clone()).unwrap();
    assert_eq!(listed, required);
    for name in signed().as_object().unwrap().keys() {
        let only = json!({ name.as_str(): signed()[name] });
        check(&of_form::<SignedForm>(), &only).unwrap();
        read_signed(&only).unwrap();
    }
}

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    let digest = "a".repeat(64);
    let wrong = [
        ("schema_version", json!("prediction_submission.v2")),
        ("schema_version", Value::Null),
        ("attempt_id", json!("A-1")),
        ("attempt_id", json!("-a")),
        ("attempt_id", json!("a".repeat(64))),
        ("attempt_id", json!(1)),
        ("mission_id", json!("")),
        ("mission_id", json!(" a")),
        ("mission_id", json!("m".repeat(257))),
        ("image", json!("registry.example.org/lab/model:v1")),
        ("image", json!(format!("model@sha256:{digest}"))),
        ("image", json!(format!("registry.example.org/model@sha256:{}", &digest[1..]))),
        ("evaluator_version", json!(digest)),
        ("evaluator_version", json!(format!("sha256:{}", digest.to_uppercase()))),
        ("resource_profile", json!("standard_v1")),
        ("search_budget", json!({})),
        ("search_budget", json!([600])),
        ("search_budget", json!({"max_seconds": 0})),
        ("search_budget", json!({"max_seconds": 86401})),
        ("search_budget", json!({"max_seconds": "600"})),
        ("search_budget", json!({"max_seconds": 600, "more": 1})),
        ("mission_url", json!("http://storage.example.org/mission.json")),
        ("mission_url", json!(format!("https://storage.example.org/{}", "a".repeat(8192)))),
        ("mission_sha256", json!("3")),
        ("snapshot_url", json!("s3://lab/snapshot.tar")),
        ("result_put_url", Value::Null),
        ("result_put_headers", json!({"a b": "c"})),
        ("result_put_headers", json!({"a": ""})),
        ("result_put_headers", json!({"a": " b"})),
        ("result_put_headers", json!({"a": 1})),
        ("result_put_headers", json!(["a"])),
        ("credentials_expire_at", json!("2026-12-01")),
        ("credentials_expire_at", json!("2026-12-01 08:00:00Z")),
        ("credentials_expire_at", json!("2026-13-01T08:00:00Z")),
        ("runner_command", json!([])),
        ("runner_command", json!(["a", ""])),
        ("runner_command", json!("python3")),
        ("runner_command", json!(vec!["a"; 65])),
        ("runner_secret_name", json!("prediction-token")),
        ("runner_secret_name", json!("Token")),
        ("namespace_uid", json!("7F6A2F0C-52A4-4C5E-9D2E-0D4F1F6F7A11")),
    ];
    let schema = of_form::<SubmissionForm>();
    for (name, value) in wrong {
        let mut document = complete();
        document[name] = value;
        check(&schema, &document).expect_err(&format!("the schema takes {name}: {document}"));
        read_submission(&document).expect_err(&format!("the reader takes {name}: {document}"));
    }
}
