//! Output for programs: what it holds is stable, and secrets are no part of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::{
    SIGNATURE, dispatch, folder, harness, harness_image, signed_submission, submission, write,
};

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn validate_as_json_is_stable() {
    let folder = folder();
    let good = write(folder.path(), "a.json", &submission("a")).display().to_string();
    let wrong = write(folder.path(), "b.json", &json!({"attempt_id": "A"})).display().to_string();
    let ended = dispatch(["validate", "-f", &good, &wrong, "-o", "json"]).with(3);
    let [first, second] = ended.json_lines().try_into().unwrap();
    let expected = BTreeSet::from(["notes", "problems", "schema_version", "source", "valid"]);
    assert_eq!(keys(&first), expected);
    assert_eq!(keys(&second), expected);
    assert_eq!((&first["valid"], &second["valid"]), (&json!(true), &json!(false)));
    assert_eq!(first["schema_version"], "prediction_validation.v1");
    let problem = second["problems"]
        .as_array()
        .unwrap()
        .iter()
        .find(|problem| problem["code"] == "name-not-dns-label")
        .unwrap();
    let expected = ["allowed", "code", "column", "file", "found", "line", "pointer", "remedy"];
    assert_eq!(keys(problem), BTreeSet::from(expected));
    assert_eq!(problem["pointer"], "/attempt_id");
    assert_eq!((&problem["line"], &problem["column"]), (&json!(1), &json!(15)));
}

#[test]
fn annotations_stand_at_their_lines() {
    let folder = folder();
    let path = folder.path().join("a.json");
    std::fs::write(&path, "{\n  \"attempt_id\": \"A\"\n}\n").unwrap();
    let path = path.display().to_string();
    let ended = dispatch(["validate", "-f", &path, "-o", "github"]).with(3);
    let start = format!("::error file={path},line=2,col=17,title=");
    assert!(ended.stdout.lines().any(|line| line.starts_with(&start)), "{ended:#?}");
}

#[test]
fn the_time_can_be_chosen() {
    let folder = folder();
    let document = signed_submission("a");
    let path = write(folder.path(), "a.json", &document).display().to_string();
    dispatch(["validate", "-f", &path]).with(0);
    let ended = dispatch(["validate", "-f", &path, "--at", "2099-01-01T00:00:00Z"]).with(3);
    assert!(ended.stderr.contains("mission_url"), "{ended:#?}");
    assert!(!format!("{ended:?}").contains(SIGNATURE));
    // Without a signature there is nothing that could end.
    let path = write(folder.path(), "b.json", &submission("b")).display().to_string();
    dispatch(["validate", "-f", &path, "--at", "2099-01-01T00:00:00Z"]).with(0);
}

#[test]
fn render_masks_unless_told_otherwise() {
    let folder = folder();
    let path = write(folder.path(), "a.json", &signed_submission("a")).display().to_string();
    let image = harness_image();
    let render = |more: &[&str]| {
        let arguments = ["render", "-f", &path, "-n", "lab", "--harness-image", &image];
        dispatch(arguments.iter().chain(more)).with(0).stdout
    };
    for output in ["yaml", "json"] {
        let masked = render(&["-o", output]);
        assert!(masked.contains("MaskedBundle") && masked.contains("?<masked>"), "{masked}");
        assert!(!masked.contains(SIGNATURE) && !masked.contains("X-Amz"), "{masked}");
        assert_ne!(render(&["-o", output, "--reveal-secrets"]), masked);
        assert_eq!(render(&["-o", output]), masked);
    }
    let ended = dispatch(["render", "-f", &path, "-n", "lab"]).with(3);
    assert!(ended.stderr.contains("harness-image-missing"), "{ended:#?}");
}

#[test]
fn profiles_are_listed_and_shown() {
    let list = harness(["profiles", "-o", "json"]).with(0).stdout;
    let rows: Value = serde_json::from_str(&list).unwrap();
    let expected = [
        "active_deadline_seconds",
        "description",
        "digest",
        "file",
        "harness_image",
        "largest_budget_seconds",
        "name",
    ];
    for row in rows.as_array().unwrap() {
        assert_eq!(keys(row), BTreeSet::from(expected));
    }
    let names: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["long-v1", "standard-v1"]);
    let text = harness(["profiles"]).with(0).stdout;
    assert!(text.contains("standard-v1") && text.contains("1020 s"), "{text}");
    let arguments = harness(["profiles", "--help"]).stdout;
    assert!(arguments.contains("NAME"), "{arguments}");
}
