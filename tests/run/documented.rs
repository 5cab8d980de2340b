//! The examples of `docs/runner.md`, taken from the document and run.

use std::fs;
use std::path::Path;

use harness::execution::Ending;

use crate::kit::Pod;

fn example(language: &str, first_line: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runner.md");
    let document = fs::read_to_string(path).unwrap();
    let fence = format!("```{language}\n{first_line}\n");
    let start = document.find(&fence).unwrap_or_else(|| panic!("no {fence:?}"));
    let body = &document[start + language.len() + 4..];
    body[..body.find("\n```").unwrap()].to_owned() + "\n"
}

fn pod_with(name: &str, program: &str) -> (Pod, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let pod = Pod::new().contained();
    let path = pod.path(name);
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (pod, path)
}

#[test]
fn the_python_example_searches_until_its_deadline_and_leaves_a_result() {
    let (pod, path) = pod_with("search.py", &example("python", "#!/usr/bin/env python3"));
    let ended = pod.budget(25).run(&[&path]);
    ended.expect(0, &Ending::Exited { code: 0 });
}

#[test]
fn the_python_example_leaves_what_it_has_when_it_is_stopped() {
    let (pod, path) = pod_with("search.py", &example("python", "#!/usr/bin/env python3"));
    let pod = pod.image_variable("SEARCH_MARGIN_SECONDS", "0").budget(2);
    let ended = pod.run(&[&path]);
    assert!(
        matches!(ended.report().ending, Ending::Exited { code: 0 } | Ending::BudgetExceeded),
        "{ended:?}"
    );
    let result: serde_json::Value = serde_json::from_str(&pod.output("prediction.json")).unwrap();
    assert_eq!(result["mission_id"], "Mission 7");
}

#[test]
fn the_shell_example_leaves_a_result() {
    let (pod, path) = pod_with("search.sh", &example("sh", "#!/bin/sh"));
    let ended = pod.run(&[&path]);
    ended.expect(0, &Ending::Exited { code: 0 });
    assert!(pod.output("prediction.txt").contains("data"));
    assert!(ended.said().contains("budget of 60 seconds"));
}
