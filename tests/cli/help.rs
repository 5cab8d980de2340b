//! Help, version and wrong usage.

use crate::kit::harness;

const COMMANDS: [&[&str]; 13] = [
    &[],
    &["init"],
    &["prediction"],
    &["prediction", "dispatch"],
    &["prediction", "dispatch", "validate"],
    &["prediction", "dispatch", "render"],
    &["prediction", "dispatch", "submit"],
    &["prediction", "dispatch", "cancel"],
    &["prediction", "dispatch", "release"],
    &["prediction", "dispatch", "prune"],
    &["profiles"],
    &["explain"],
    &["schema"],
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
