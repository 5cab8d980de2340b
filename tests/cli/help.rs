//! Help, version and wrong usage.

use std::fmt::Write as _;

use crate::kit::{harness, repository};

const COMMANDS: [&[&str]; 24] = [
    &[],
    &["init"],
    &["prediction"],
    &["prediction", "dispatch"],
    &["prediction", "dispatch", "validate"],
    &["prediction", "dispatch", "render"],
    &["prediction", "dispatch", "submit"],
    &["prediction", "dispatch", "status"],
    &["prediction", "dispatch", "list"],
    &["prediction", "dispatch", "logs"],
    &["prediction", "dispatch", "cancel"],
    &["prediction", "dispatch", "release"],
    &["prediction", "dispatch", "prune"],
    &["prediction", "stage"],
    &["prediction", "run"],
    &["prediction", "publish"],
    &["prediction", "execute"],
    &["evidence"],
    &["evidence", "verify"],
    &["profiles"],
    &["explain"],
    &["schema"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let ended = harness(&arguments).with(0);
        assert!(ended.stderr.is_empty(), "{ended:?}");
        let name = command.join("-");
        insta::assert_snapshot!(
            format!("help-{}", if name.is_empty() { "all" } else { &name }),
            ended.stdout
        );
    }
}

/// The page of all commands is their help, so that it cannot tell another story.
#[test]
#[expect(clippy::disallowed_methods, reason = "goldens are updated by the environment")]
fn the_page_of_all_commands_is_their_help() {
    let mut page = String::from(
        "# Commands\n\nEvery command's `--help`, written by a test; `UPDATE_GOLDENS=1 cargo test --test cli` writes it anew.\n",
    );
    for command in COMMANDS {
        let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let words: Vec<&str> = ["harness"].iter().chain(command).copied().collect();
        let help = harness(&arguments).with(0).stdout;
        let name = words.join(" ");
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    }
    let path = repository().join("docs/commands.md");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/commands.md is not what the commands say");
}

#[test]
fn no_command_is_left_out_above() {
    for command in COMMANDS {
        let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = harness(&arguments).stdout;
        let Some((_, listed)) = help.split_once("\nCommands:\n") else { continue };
        let listed = listed.split("\n\n").next().unwrap();
        // The lines of a description that was wrapped are indented further.
        for line in listed.lines().filter(|line| !line.starts_with("    ")) {
            let name = line.split_whitespace().next().unwrap();
            let inner: Vec<&str> = command.iter().copied().chain([name]).collect();
            assert!(name == "help" || COMMANDS.contains(&inner.as_slice()), "{inner:?}");
        }
    }
}

#[test]
fn the_version_is_the_packages() {
    let expected = format!("harness {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(harness(["--version"]).with(0).stdout, expected);
}

#[test]
fn wrong_usage_is_two_and_says_so_on_standard_error() {
    let wrong: [&[&str]; 14] = [
        &[],
        &["no-such-command"],
        &["prediction"],
        &["prediction", "dispatch", "no-such-command"],
        &["prediction", "dispatch", "validate"],
        &["prediction", "dispatch", "validate", "-f", "-", "-o", "xml"],
        &["prediction", "dispatch", "validate", "-f", "-", "--at", "tomorrow"],
        &["prediction", "dispatch", "render", "-f", "-"],
        &["prediction", "dispatch", "render", "-f", "-", "-n", "Not_A_Label"],
        &["prediction", "dispatch", "submit", "-f", "-", "-n", "lab"],
        &[
            "prediction",
            "dispatch",
            "submit",
            "-f",
            "-",
            "-n",
            "lab",
            "--context",
            "c",
            "--in-cluster",
        ],
        &[
            "prediction",
            "dispatch",
            "submit",
            "-f",
            "-",
            "-n",
            "lab",
            "--context",
            "c",
            "--jobs",
            "0",
        ],
        &["explain", "no-such-code"],
        &["schema", "no-such-schema"],
    ];
    for arguments in wrong {
        let ended = harness(arguments).with(2);
        assert!(ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
        assert!(!ended.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_command_that_stands_deeper_is_found() {
    for (arguments, word) in
        [(&["submit", "-f", "x"][..], "submit"), (&["prediction", "validate"], "validate")]
    {
        let ended = harness(arguments).with(2);
        let whole = format!("it is `harness prediction dispatch {word}`");
        assert!(ended.stderr.contains(&whole), "{ended:#?}");
    }
}

#[test]
fn a_word_is_explained_with_hyphens_or_underscores() {
    let story = |word| harness(["explain", word]).with(0).stdout;
    assert_eq!(story("already-submitted"), story("already_submitted"));
    assert_eq!(story("image_not_pinned"), story("image-not-pinned"));
}

#[test]
fn explain_lists_what_it_tells() {
    let list = harness(["explain"]).with(0).stdout;
    let words: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(words.len() > 80, "{list}");
    for word in ["image-not-pinned", "already_submitted", "6"] {
        assert!(words.contains(&word), "{word}");
        let story = harness(["explain", word]).with(0).stdout;
        assert!(story.lines().count() > 2, "{story}");
    }
}

#[test]
fn every_schema_is_json() {
    for name in ["submission", "signed", "profile", "receipt", "validation", "record"] {
        let text = harness(["schema", name]).with(0).stdout;
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema["type"], "object", "{name}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    for command in COMMANDS {
        let arguments: Vec<&str> = ["man"].iter().chain(command.iter()).copied().collect();
        let page = harness(&arguments).with(0).stdout;
        let name = ["harness"].iter().chain(command.iter()).copied().collect::<Vec<_>>().join("-");
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(".SH DESCRIPTION"), "{page}");
    }
    let wrong = harness(["man", "prediction", "submit"]).with(2);
    assert!(wrong.stderr.contains("`harness prediction` has no command"), "{}", wrong.stderr);
}

/// kubectl finds `kubectl-harness` in PATH and runs it for `kubectl harness`:
/// <https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/>.
#[test]
#[expect(clippy::disallowed_methods, reason = "the name of the program is what is tested")]
fn a_kubectl_plugin_names_itself_as_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-harness");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_harness"), &plugin).unwrap();
    let output = std::process::Command::new(&plugin)
        .args(["prediction", "dispatch", "submit", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Usage: kubectl harness prediction dispatch submit"), "{help}");
}
