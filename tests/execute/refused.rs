//! What is not begun, and what ends before a runner is started.

use std::fs;

use harness_test_store::{Action, Requests};

use crate::kit::{Trial, store};

const TOUCH: &str = "touch \"$HARNESS_OUTPUT/ran\"";

#[test]
fn a_submission_is_checked_as_for_a_cluster() {
    let unsigned = Trial::new();
    let bare = store().sign("GET", &unsigned.input("mission")).unsigned();
    let expired = Trial::new();
    let old = store().sign("GET", &expired.input("snapshot")).expired().url();
    for (trial, code) in [
        (unsigned.with("mission_url", bare), "signature-missing"),
        (expired.with("snapshot_url", old), "url-expired"),
        (Trial::new().with("mission_sha256", "0".repeat(64)), "digest-placeholder"),
        (
            Trial::new().with("namespace_uid", "01234567-89ab-cdef-0123-456789abcdef"),
            "execute-namespace-uid",
        ),
        (Trial::new().with("resource_profile", "unknown-v1"), "profile-unknown"),
    ] {
        let ended = trial.shell(TOUCH);
        let document = ended.expect(3, "invalid");
        let problems = document["problems"].as_array().unwrap();
        assert!(problems.iter().any(|it| it["code"] == code), "{code}: {document:#}");
        assert!(ended.stderr.contains(code), "{ended:#?}");
        assert!(!trial.is_published() && trial.left().is_empty());
    }
}

#[test]
fn public_inputs_need_no_signature() {
    let trial = Trial::new().with("mission_url", "https://127.0.0.1:1/mission.json");
    trial.shell(TOUCH).expect(3, "invalid");
    // Said to be public, it is asked for as it is, and nothing listens there.
    trial.arg("--public-inputs").shell(TOUCH).expect(12, "download-failed");
}

#[test]
fn a_command_is_asked_for() {
    let trial = Trial::new();
    let ended = trial.end(trial.start(&[]));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    for said in ["the image is not run here", "-- python3", "/app/search.py"] {
        assert!(ended.stderr.contains(said), "{said}: {ended:#?}");
    }
    let trial = Trial::new().arg("--env").arg("NOT_THERE");
    let ended = trial.end(trial.start(&["true"]));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("no variable of this name"), "{ended:#?}");
}

#[test]
fn nothing_runs_over_an_earlier_start() {
    let trial = Trial::new().rooted();
    trial.shell(TOUCH).expect(0, "succeeded");
    let again = trial.shell(TOUCH).expect(10, "already-started");
    assert_eq!(again["published"], false);
    // Whatever was removed of it: the folder has to be empty.
    for part in ["output", "scratch", "inputs", "control"] {
        fs::remove_dir_all(trial.root().join(part)).unwrap();
    }
    trial.shell(TOUCH).expect(10, "already-started");
    // In a new folder the result object itself is in the way.
    fs::remove_dir_all(trial.root()).unwrap();
    trial.shell(TOUCH).expect(11, "already-published");
}

#[test]
fn two_at_once_in_one_folder_are_one() {
    let trial = Trial::new().rooted();
    let start = || trial.start(&["sh", "-c", "echo once >> \"$HARNESS_OUTPUT/ran\"; sleep 1"]);
    let (first, second) = (start(), start());
    let mut codes = [trial.end(first).code, trial.end(second).code];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(10)]);
    assert_eq!(trial.published_file("ran").as_deref(), Some("once\n"));
}

#[test]
fn other_bytes_are_not_used() {
    let trial = Trial::new().with("snapshot_sha256", "9".repeat(64));
    let document = trial.shell(TOUCH).expect(14, "digest-mismatch");
    assert!(document["detail"].as_str().unwrap().contains(&"9".repeat(64)), "{document:#}");
    assert_eq!(document["steps"].as_array().unwrap().len(), 1);
    assert!(!trial.is_published() && trial.left().is_empty());
    let trial = Trial::new().budget(60).with("mission_id", "Mission 8");
    trial.shell(TOUCH).expect(15, "identity-mismatch");
}

#[test]
fn a_result_that_is_there_is_not_searched_for_again() {
    let trial = Trial::new();
    store().put(&trial.result(), "somebody's").unwrap();
    trial.shell(TOUCH).expect(11, "already-published");
    assert_eq!(store().get(&trial.result()).unwrap().unwrap(), b"somebody's");
}

#[test]
fn without_a_network_it_ends_within_its_allowance() {
    let trial = Trial::new();
    store()
        .when(Requests::new("GET", &format!("/{}", trial.input("mission"))), Action::DropRequest);
    let document = trial.shell(TOUCH).expect(12, "download-failed");
    assert!(!document["remedy"].is_null(), "{document:#}");
    assert!(!trial.is_published() && trial.left().is_empty());
}
