//! README, documentation and examples: links lead somewhere, commands exist, examples are valid.

use std::fs;
use std::path::{Path, PathBuf};

use harness::submission::{Mission, Sha256Digest, Submission};

use crate::kit::{dispatch, harness_image, repository};

/// README and everything in `docs`.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![repository().join("README.md")];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
    documents.sort();
    documents
}

/// A heading as the fragment of a link, as GitHub makes it.
fn fragment(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|character| character.is_alphanumeric() || "-_ ".contains(*character))
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}

/// The targets of `[text](target)` outside of code blocks.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

#[test]
fn relative_links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            count += 1;
            let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(path)
            };
            let leads = target.exists() && (wanted.is_empty() || has_heading(&target, wanted));
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count >= 10, "{count} links");
}

fn has_heading(document: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(document).unwrap();
    text.lines().any(|line| line.starts_with('#') && fragment(line) == wanted)
}

#[test]
fn the_readme_names_every_field_and_exit_code() {
    let text = fs::read_to_string(repository().join("README.md")).unwrap();
    let schema = fs::read_to_string(repository().join("schemas/submission.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    for name in schema["properties"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("`{name}")), "{name}");
    }
    for exit in harness::cli::Exit::BY_URGENCY {
        let row = format!("| {} | {} |", exit.number(), exit.meaning());
        assert!(text.contains(&row), "{row}");
    }
}

#[test]
fn examples_are_valid_and_bound_to_their_mission() {
    let folder = repository().join("examples");
    let mission = fs::read(folder.join("mission.json")).unwrap();
    let read = Mission::parse(&mission).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(folder.join("submissions")).unwrap() {
        let submission = Submission::parse(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        assert_eq!(submission.mission().sha256, Sha256Digest::of(&mission));
        assert_eq!(submission.mission_id(), &read.mission_id);
        assert_eq!(submission.evaluator_version(), read.evaluator_version);
        assert_eq!(submission.max_seconds(), read.max_seconds);
        count += 1;
    }
    assert!(count >= 3);
    let path = folder.join("submissions").display().to_string();
    let ended = dispatch(["validate", "-f", &path, "--harness-image", &harness_image()]).with(0);
    assert_eq!(ended.stdout.lines().count(), count);
}
