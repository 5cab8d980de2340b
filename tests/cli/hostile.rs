//! Input that wants to command a terminal or a CI system: through every field, every name and every output.

use std::fs;

use serde_json::{Value, json};

use crate::kit::{Ended, dispatch, folder, harness_image, signed_submission, submission, write};

/// Colours, cursor, a reversed line, workflow commands in both forms, and line breaks to put them first.
const PAYLOAD: &str = "x\u{1b}[31m\u{9b}2J\u{202e}\u{200b}\r\n::error::taken ##[error]taken\u{7}\u{0}\u{2028}::add-mask::y";

/// Characters that show as something else than themselves.
fn is_harmless(character: char) -> bool {
    harness::submission::excerpt::is_printable(character) || character == '\n'
}

#[track_caller]
fn check_characters(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        let odd = text.chars().find(|character| !is_harmless(*character));
        assert_eq!(odd, None, "{ended:#?}");
        // `\##[` is broken up and no command any more.
        assert_eq!(text.matches("##[").count(), text.matches("\\##[").count(), "{ended:#?}");
    }
}

/// No line, and no part of one, is a workflow command.
#[track_caller]
fn check_commands(ended: &Ended) {
    check_characters(ended);
    for text in [&ended.stdout, &ended.stderr] {
        let text = text.replace("\\::", "").replace("\\:", "");
        assert!(!text.contains("::"), "{ended:#?}");
    }
}

/// Every line of standard output is one annotation, whatever its values hold.
#[track_caller]
fn check_annotations(ended: &Ended) {
    check_characters(ended);
    for line in ended.stdout.lines() {
        let rest = line.strip_prefix("::error ").or_else(|| line.strip_prefix("::warning "));
        let (properties, message) = rest.expect(line).split_once("::").expect(line);
        let mut names = Vec::new();
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').expect(line);
            names.push(name);
            assert!(!value.contains([':', '\r', '\n']), "{line}");
        }
        assert!(names == ["file", "title"] || names == ["file", "line", "col", "title"], "{line}");
        assert!(message.contains("found ") && message.contains("; allowed: "), "{line}");
    }
}

/// Submissions with the payload at every place that takes a text, and as names of fields.
fn hostile_submissions() -> Vec<Value> {
    let whole = {
        let mut whole = submission("a");
        let more = json!({
            "resume_url": "https://ex-bkt.s3.us-west-2.amazonaws.com/in/earlier.tar",
            "resume_sha256": "5".repeat(64),
            "result_put_headers": {"if-none-match": "*"},
            "credentials_expire_at": "2026-12-01T08:00:00Z",
            "runner_secret_name": "token",
            "namespace_uid": "7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11",
        });
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    };
    let mut all = vec![whole.clone()];
    for name in whole.as_object().unwrap().keys() {
        for value in [
            json!(PAYLOAD),
            json!(format!("https://ex-bkt.s3.us-west-2.amazonaws.com/{PAYLOAD}/a")),
            json!(["a", PAYLOAD]),
            json!({ PAYLOAD: PAYLOAD }),
        ] {
            let mut hostile = whole.clone();
            hostile[name] = value;
            all.push(hostile);
        }
    }
    let mut unknown = whole.clone();
    unknown[PAYLOAD] = json!(PAYLOAD);
    all.push(unknown);
    let mut nested = whole;
    nested["search_budget"][PAYLOAD] = json!(1);
    all.push(nested);
    all
}

#[test]
fn no_field_reaches_a_terminal_or_a_log_as_it_is() {
    let folder = folder();
    let hostile = hostile_submissions();
    for (index, document) in hostile.iter().enumerate() {
        write(folder.path(), format!("{index:03}.json"), document);
    }
    let duplicated = serde_json::to_string(PAYLOAD).unwrap();
    let text = format!("{{{duplicated}: 1, {duplicated}: 2}}");
    fs::write(folder.path().join("duplicated.json"), text).unwrap();
    fs::write(folder.path().join("raw.json"), PAYLOAD).unwrap();

    let path = folder.path().display().to_string();
    check_commands(&dispatch(["validate", "-f", &path]).with(3));
    check_annotations(&dispatch(["validate", "-f", &path, "-o", "github"]).with(3));
    let ended = dispatch(["validate", "-f", &path, "-o", "json"]).with(3);
    check_commands(&ended);
    assert_eq!(ended.json_lines().len(), hostile.len() + 2);
    check_commands(&dispatch(["validate", "-f", &path, "-o", "sarif"]).with(3));
    for output in ["text", "json"] {
        let arguments =
            ["submit", "-f", &path, "--dry-run", "client", "--context", "c", "-n", "lab"];
        check_commands(&dispatch(arguments.into_iter().chain(["-o", output])).with(3));
    }
}

#[test]
fn file_names_are_as_hostile() {
    let folder = folder();
    let name = PAYLOAD.replace(['\0', '/'], "") + "a,b:c%0A.json";
    write(folder.path(), &name, &json!({"attempt_id": "A"}));
    let path = folder.path().join(&name).display().to_string();
    check_commands(&dispatch(["validate", "-f", &path]).with(3));
    let ended = dispatch(["validate", "-f", &path, "-o", "github"]).with(3);
    check_annotations(&ended);
    assert!(ended.stdout.contains("%2Cb%3Ac%250A.json"), "{ended:#?}");
    check_commands(&dispatch(["validate", "-f", &path, "-o", "json"]).with(3));
    check_commands(&dispatch(["render", "-f", &path, "-n", "lab"]).with(3));
    check_commands(&dispatch(["validate", "-f", &(path + "missing")]).with(2));
    let arguments = ["validate", "-f", "-", "--profiles", PAYLOAD.split('\0').next().unwrap()];
    check_commands(&dispatch(arguments).with(2));
}

#[test]
fn what_is_valid_and_hostile_is_rendered_harmlessly_and_unchanged() {
    let folder = folder();
    let mut document = signed_submission("a");
    let word = PAYLOAD.replace('\0', "");
    let long = "a long argument ".repeat(40);
    document["runner_command"] =
        json!(["sh", "-c", word, long, "yes", "1e3", "null", "- a: b # c"]);
    let path = write(folder.path(), "a.json", &document).display().to_string();
    let image = harness_image();
    for reveal in [None, Some("--reveal-secrets")] {
        let render = |output: &str| {
            let arguments =
                ["render", "-f", &path, "-n", "lab", "--harness-image", &image, "-o", output];
            dispatch(arguments.into_iter().chain(reveal)).with(0)
        };
        let (yaml, json) = (render("yaml"), render("json"));
        check_commands(&yaml);
        check_commands(&json);
        let from_yaml: Value = serde_yaml::from_str(&yaml.stdout).unwrap();
        let from_json: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(from_yaml, from_json);
        assert!(from_json.to_string().contains(&serde_json::to_string(&word).unwrap()));
        let block = yaml.stdout.lines().find(|line| {
            [">", ">-", ">+", "|", "|-", "|+"].contains(&line.split(' ').next_back().unwrap())
        });
        assert_eq!(block, None);
    }
}
