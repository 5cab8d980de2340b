//! Output for programs: what it holds is stable, and secrets are no part of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::kit::{
    SIGNATURE, dispatch, folder, harness, harness_image, repository, signed_submission, submission,
    write,
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

/// The schema of SARIF 2.1.0, as the crate that reads it was made from it.
#[expect(clippy::disallowed_methods, reason = "cargo knows where it keeps the sources of a crate")]
fn sarif_schema() -> Value {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let schema = manifest.with_file_name("src").join("schema.json");
    serde_json::from_slice(&fs::read(schema).unwrap()).unwrap()
}

#[test]
fn sarif_fits_its_schema() {
    let folder = folder();
    let write =
        |name: &str, document: &Value| write(folder.path(), name, document).display().to_string();
    let mut wrong = submission("a-1");
    wrong["image"] = json!("busybox\u{1b}[31m::error::x");
    wrong["mission_id"] = json!("");
    let paths = [
        write("a, b:c%.json", &wrong),
        write("good.json", &submission("a-2")),
        write("empty.json", &Value::Null),
    ];
    let arguments =
        ["validate", "-o", "sarif", "-f"].into_iter().chain(paths.iter().map(String::as_str));
    let ended = dispatch(arguments).with(3);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();

    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("sarif.json", sarif_schema()).unwrap();
    let schema = compiler.compile("sarif.json", &mut schemas).unwrap();
    schemas.validate(&document, schema).unwrap_or_else(|error| panic!("{error}\n{document:#}"));
    serde_json::from_value::<serde_sarif::sarif::Sarif>(document.clone()).unwrap();

    let run = &document["runs"][0];
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 3, "{document:#}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index], result["ruleId"].as_str().unwrap());
        let location = &result["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().unwrap();
        assert!(
            uri.ends_with("/a%2C%20b%3Ac%25.json")
                || result["level"] == "warning"
                || uri.ends_with("/empty.json"),
            "{uri}"
        );
        assert!(location["region"]["startLine"].as_u64().unwrap() >= 1);
    }
    assert!(!ended.stdout.contains('\u{1b}') && !ended.stdout.contains(" ::error"), "{ended:#?}");
}
