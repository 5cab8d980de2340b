//! `harness init`: what it writes is valid, and what is there is never touched.

use std::fs;
use std::path::Path;

use harness::submission::{Mission, Sha256Digest, Submission};
use serde_json::Value;

use crate::kit::{Ended, dispatch, folder, harness};

fn init(directory: &Path, more: &[&str]) -> Ended {
    let directory = directory.display().to_string();
    harness(["init", &directory].iter().chain(more))
}

fn read(path: impl AsRef<Path>) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn validate(directory: &Path) -> Ended {
    let submission = directory.join("submission.json").display().to_string();
    let profiles = directory.join("profiles").display().to_string();
    dispatch(["validate", "-f", &submission, "--profiles", &profiles])
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_starter_validates_as_it_is() {
    let folder = folder();
    let directory = folder.path().join("new/starter");
    let ended = init(&directory, &[]).with(0);
    assert_eq!(ended.stdout.matches("wrote ").count(), 3, "{ended:#?}");
    for placeholder in ["image", "snapshot_sha256", "mission_id", "evaluator_version"] {
        assert!(ended.stderr.contains(placeholder), "{ended:#?}");
    }
    validate(&directory).with(0);

    let bytes = fs::read(directory.join("submission.json")).unwrap();
    let submission = Submission::parse(&bytes).unwrap();
    let bytes = fs::read(directory.join("inputs/mission.json")).unwrap();
    assert_eq!(submission.mission().sha256, Sha256Digest::of(&bytes));
    let mission = Mission::parse(&bytes).unwrap();
    assert_eq!(&mission.mission_id, submission.mission_id());
    assert_eq!(mission.evaluator_version, submission.evaluator_version());
    assert_eq!(mission.max_seconds, submission.max_seconds());

    // The directory as a whole can be named too: it holds no other document that would be taken for a submission.
    let profiles = directory.join("profiles").display().to_string();
    let whole = directory.display().to_string();
    dispatch(["validate", "-f", &whole, "--profiles", &profiles]).with(0);

    let submission = directory.join("submission.json").display().to_string();
    dispatch(["render", "-f", &submission, "--profiles", &profiles, "-n", "lab"]).with(0);
}

#[test]
fn a_starter_with_placeholders_is_never_submitted() {
    let folder = folder();
    init(folder.path(), &[]).with(0);
    let warned = validate(folder.path()).with(0);
    assert!(
        warned.stderr.contains("at /image: a digest is still a placeholder")
            && warned.stderr.contains("also at: /evaluator_version, /snapshot_sha256"),
        "{warned:#?}"
    );
    let submission = folder.path().join("submission.json").display().to_string();
    let profiles = folder.path().join("profiles").display().to_string();
    let place = ["-n", "lab", "--context", "c", "--dry-run", "client", "-o", "json"];
    let refused =
        dispatch(["submit", "-f", &submission, "--profiles", &profiles].iter().chain(&place))
            .with(3);
    assert_eq!(refused.stdout.matches("digest-placeholder").count(), 3, "{refused:#?}");
}

#[test]
fn the_next_command_can_be_pasted() {
    let folder = folder();
    let directory = folder.path().join("it's here");
    let ended = init(&directory, &[]).with(0);
    let next = ended.stdout.lines().find_map(|line| line.strip_prefix("next: harness ")).unwrap();
    let program = env!("CARGO_BIN_EXE_harness");
    #[expect(clippy::disallowed_methods, reason = "the shell that a user would paste it into")]
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("'{program}' {next}"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn what_can_be_known_is_used() {
    let folder = folder();
    let snapshot = folder.path().join("data.tar.zst");
    let content = vec![7_u8; (5 << 20) + 3];
    fs::write(&snapshot, &content).unwrap();
    let mission = folder.path().join("search mission.json");
    let text = format!(
        r#"{{"mission_id": "M é", "evaluator_version": "sha256:{}", "search_budget": {{"max_seconds": 5000}}, "x": 1}}"#,
        "7".repeat(64)
    );
    fs::write(&mission, &text).unwrap();
    let image = format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64));
    let directory = folder.path().join("starter");
    let (snapshot, mission) = (snapshot.display().to_string(), mission.display().to_string());
    let arguments = [
        "--attempt-id",
        "a-1",
        "--image",
        &image,
        "--mission",
        &mission,
        "--snapshot",
        &snapshot,
        "--bucket-url",
        "https://ex-bkt.s3.us-west-2.amazonaws.com/lab/",
        "--harness-image",
        &image,
    ];
    let ended = init(&directory, &arguments).with(0);
    assert!(!directory.join("inputs").exists(), "{ended:#?}");
    validate(&directory).with(0);
    let submission = read(directory.join("submission.json"));
    assert_eq!(submission["attempt_id"], "a-1");
    assert_eq!(submission["image"], image);
    assert_eq!(submission["mission_id"], "M é");
    assert_eq!(submission["search_budget"]["max_seconds"], 5000);
    assert_eq!(submission["mission_sha256"], Sha256Digest::of(&text).to_hex());
    assert_eq!(submission["snapshot_sha256"], Sha256Digest::of(&content).to_hex());
    let base = "https://ex-bkt.s3.us-west-2.amazonaws.com/lab";
    assert_eq!(submission["mission_url"], format!("{base}/inputs/mission.json"));
    assert_eq!(submission["snapshot_url"], format!("{base}/inputs/data.tar.zst"));
    assert_eq!(submission["result_put_url"], format!("{base}/results/a-1/result.tar"));
    assert!(
        ended.stderr.contains("runner_command") && !ended.stderr.contains("image"),
        "{ended:#?}"
    );
}

#[test]
fn the_longest_budget_fits_too() {
    let folder = folder();
    init(folder.path(), &["--max-seconds", "86400", "--mission-id", "Mission 7"]).with(0);
    validate(folder.path()).with(0);
    assert_eq!(read(folder.path().join("inputs/mission.json"))["mission_id"], "Mission 7");
}

#[test]
fn nothing_is_overwritten_and_nothing_is_written_by_half() {
    for existing in ["submission.json", "inputs/mission.json", "profiles/starter-v1.yaml"] {
        let folder = folder();
        fs::create_dir(folder.path().join("profiles")).unwrap();
        fs::create_dir(folder.path().join("inputs")).unwrap();
        fs::write(folder.path().join(existing), "mine").unwrap();
        let before = entries(folder.path());
        let ended = init(folder.path(), &[]).with(2);
        assert!(ended.stderr.contains(existing), "{ended:#?}");
        assert!(ended.stderr.contains("nothing was written"), "{ended:#?}");
        assert!(ended.stdout.is_empty());
        assert_eq!(fs::read(folder.path().join(existing)).unwrap(), b"mine");
        assert_eq!(entries(folder.path()), before);
    }
    // A link to nowhere is there as well.
    let folder = folder();
    std::os::unix::fs::symlink("/no/such/file", folder.path().join("submission.json")).unwrap();
    init(folder.path(), &[]).with(2);
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = folder();
    fs::write(folder.path().join("profiles"), "a file, no folder").unwrap();
    init(folder.path(), &[]).with(2);
    assert_eq!(entries(folder.path()), 1);
    init(&folder.path().join("profiles/inner"), &[]).with(2);
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn wrong_arguments_write_nothing() {
    let folder = folder();
    let broken = folder.path().join("broken.json");
    fs::write(&broken, r#"{"mission_id": "M"}"#).unwrap();
    let broken = broken.display().to_string();
    let wrong: [&[&str]; 9] = [
        &["--attempt-id", "A"],
        &["--image", "model:latest"],
        &["--mission", &broken],
        &["--mission", "/no/such/file"],
        &["--snapshot", "/no/such/file"],
        &["--bucket-url", "http://storage.example.org"],
        &["--bucket-url", "https://storage.example.org/a?signature=canary"],
        &["--max-seconds", "0"],
        &["--mission", &broken, "--max-seconds", "5"],
    ];
    for arguments in wrong {
        let ended = init(&folder.path().join("starter"), arguments).with(2);
        assert!(!format!("{ended:?}").contains("canary"), "{ended:#?}");
        assert_eq!(entries(folder.path()), 1, "{arguments:?}");
    }
}
