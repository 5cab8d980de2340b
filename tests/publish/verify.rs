//! `harness evidence verify`: one changed byte is found, and another submission.

use std::fs;
use std::process::Command;

use harness::execution::Ending;
use serde_json::{Value, json};

use crate::kit::{Pod, store, verify_command};
use crate::made;

#[test]
fn a_changed_byte_is_found_and_named() {
    let pod = Pod::new();
    pod.run(Ending::Exited { code: 0 });
    let bytes = store().get(&pod.object).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result");
    // Every byte is changed in a test of the library; here, whether the command says so.
    for at in (0..bytes.len()).step_by(bytes.len() / 16) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let output = verify_command(&file);
        assert_eq!(output.status.code(), Some(3), "byte {at}");
        let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict["holds"], false);
        assert!(!verdict["findings"].as_array().unwrap().is_empty());
    }
    let missing = verify_command(&folder.path().join("none"));
    assert_eq!(missing.status.code(), Some(2));
}

const IMAGE: &str = "registry.example.org/harness@sha256:5555555555555555555555555555555555555555555555555555555555555555";

/// `evidence verify -f` of a result of the first example against this text: the exit code and the verdict.
fn against(submission: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (result, file) = (folder.path().join("result"), folder.path().join("submission.json"));
    fs::write(&result, made::result(&example(), IMAGE, "job-1").bytes).unwrap();
    fs::write(&file, submission).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .env_clear()
        .env("HARNESS_IMAGE", IMAGE)
        .args(["evidence", "verify", "-o", "json", "-f"])
        .args([&file, &result])
        .output()
        .unwrap();
    let verdict = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code(), verdict)
}

fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/submissions/first-attempt.json");
    fs::read_to_string(path).unwrap()
}

#[test]
fn its_own_submission_is_known_however_it_is_written() {
    let same: Value = serde_json::from_str(&example()).unwrap();
    for text in [example(), same.to_string()] {
        let (code, verdict) = against(&text);
        assert_eq!((code, &verdict["holds"]), (Some(0), &Value::Bool(true)), "{verdict:#}");
        assert_eq!(verdict["compared_with_submission"], true);
        assert!(verdict["cluster"].is_null());
    }
}

#[test]
fn another_submission_is_told_apart_by_name() {
    for (pointer, value, named) in [
        ("/mission_id", json!("another-mission"), "mission_id"),
        ("/mission_sha256", json!("9".repeat(64)), "mission_sha256"),
        ("/search_budget/max_seconds", json!(601), "max_seconds"),
        ("/resource_profile", json!("long-v1"), "profile digest"),
        ("/runner_command", json!(["python3", "other.py"]), "submission digest"),
    ] {
        let mut other: Value = serde_json::from_str(&example()).unwrap();
        *other.pointer_mut(pointer).unwrap() = value;
        let (code, verdict) = against(&other.to_string());
        assert_eq!((code, &verdict["holds"]), (Some(3), &Value::Bool(false)), "{pointer}");
        let findings = verdict["findings"].as_array().unwrap();
        let names = |name| findings.iter().any(|it| it.as_str().unwrap().starts_with(name));
        assert!(names(named) && names("submission digest"), "{pointer}: {findings:#?}");
    }
}

#[test]
fn a_namespace_needs_a_cluster_and_a_cluster_a_namespace() {
    for wrong in [&["-n", "lab"][..], &["--context", "c"], &["--kubeconfig", "k"], &["--as", "u"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_harness"))
            .env_clear()
            .args(["evidence", "verify", "result"])
            .args(wrong)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("required arguments"), "{said}");
    }
}
