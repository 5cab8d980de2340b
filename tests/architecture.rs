//! The map of `src/`, held: which way imports point, and which file alone may touch the world.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path below `src/`, and its text without tests.
struct Source {
    path: String,
    code: String,
    whole: String,
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Code alone: no comments, no texts in quotation marks, no test module at the end of a file.
fn code_of(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
    let lines = text.lines().map(|line| {
        // A `//` inside of a text (a URL) cuts the line as well; what stands before it is enough here.
        line.split("//").next().unwrap_or_default()
    });
    let mut code = String::new();
    let mut in_text = false;
    let mut escaped = false;
    for character in lines.collect::<Vec<_>>().join("\n").chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            // A text that was cut at `//` ends with its line.
            '\n' => {
                in_text = false;
                code.push('\n');
            }
            _ if in_text => {}
            _ => code.push(character),
        }
    }
    code
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let whole = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            Source { path, code: code_of(&whole), whole }
        })
        .filter(|source| !is_test(&source.path))
        .collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
}

/// The part of the tool that a file belongs to.
fn layer(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

/// Files in which any of `words` stands in code.
fn files_with(words: &[&str]) -> BTreeSet<String> {
    let holds = |source: &Source| words.iter().any(|word| source.code.contains(word));
    sources().into_iter().filter(holds).map(|source| source.path).collect()
}

fn assert_only(words: &[&str], allowed: &[&str]) {
    let found = files_with(words);
    let unexpected: Vec<&String> =
        found.iter().filter(|path| !allowed.contains(&path.as_str())).collect();
    assert!(
        unexpected.is_empty(),
        "{words:?} belongs into {allowed:?}, and stands in {unexpected:?}"
    );
    // A rule that no file meets any more is a rule that finds nothing.
    assert!(!found.is_empty(), "no file holds {words:?}; is the rule still about anything?");
}

/// What code that reads no clock, no environment, no file and no network never names.
const EFFECTS: [&str; 13] = [
    "std::fs",
    "std::process",
    "std::env",
    "std::io",
    "TcpStream",
    "UnixStream",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "std::thread",
    "rustix::",
    "libc::",
    "ureq::",
];

fn is_pure(path: &str) -> bool {
    const PURE_HALF_OF_SUBMIT: [&str; 7] =
        ["ending.rs", "facts.rs", "observe.rs", "plan.rs", "protocol", "receipt.rs", "record.rs"];
    const PURE_HALF_OF_EXECUTION: [&str; 17] = [
        "execution/archive/entry.rs",
        "execution/archive/names.rs",
        "execution/archive/seal.rs",
        "execution/category.rs",
        "execution/control.rs",
        "execution/evidence/build.rs",
        "execution/evidence/mod.rs",
        "execution/evidence/verify.rs",
        "execution/expectation.rs",
        "execution/places.rs",
        "execution/reason.rs",
        "execution/report.rs",
        "execution/run/environment.rs",
        "execution/run/mounts.rs",
        "execution/run/program.rs",
        "execution/run/tail.rs",
        "execution/run/wording.rs",
    ];
    match layer(path) {
        "submission" | "profile" | "render" => true,
        "ledger" => !matches!(path, "ledger/drive.rs" | "ledger/survey.rs" | "ledger/mod.rs"),
        "execution" => PURE_HALF_OF_EXECUTION.contains(&path),
        "status" => !["status/read.rs", "status/listing.rs", "status/follow.rs"].contains(&path),
        "submit" => {
            let name = path.trim_start_matches("submit/");
            PURE_HALF_OF_SUBMIT.iter().any(|pure| {
                name == *pure || name.starts_with(&format!("{}/", pure.trim_end_matches(".rs")))
            })
        }
        _ => false,
    }
}

#[test]
fn what_decides_has_no_effects() {
    let pure: Vec<Source> = sources().into_iter().filter(|source| is_pure(&source.path)).collect();
    assert!(pure.len() > 40, "only {} files", pure.len());
    for source in pure {
        for effect in EFFECTS {
            assert!(!source.code.contains(effect), "{} names {effect}", source.path);
        }
    }
}

/// Every `crate::LAYER` that a file names, in paths and in grouped imports.
fn imports(source: &Source) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |text: &str| {
        let name: String =
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !name.is_empty() {
            found.insert(name);
        }
    };
    for rest in source.code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => add(rest),
            Some(group) => {
                let mut depth = 0;
                let mut start = 0;
                for (index, character) in group.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => {
                            add(&group[start..index]);
                            break;
                        }
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            add(&group[start..index]);
                            start = index + 1;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

#[test]
fn imports_point_one_way() {
    // From the outside in; whatever stands later knows nothing of what stands before. `clock` is a leaf.
    let order = [
        "main",
        "lib",
        "cli",
        "status",
        "ledger",
        "execution",
        "submit",
        "cluster",
        "render",
        "profile",
        "submission",
    ];
    let rank: BTreeMap<&str, usize> =
        order.iter().enumerate().map(|(index, name)| (*name, index)).collect();
    for source in sources() {
        let own = layer(&source.path);
        for import in imports(&source) {
            if import == "clock" {
                assert!(!is_pure(&source.path), "{} knows the clock", source.path);
                continue;
            }
            let (Some(from), Some(to)) = (rank.get(own), rank.get(import.as_str())) else {
                assert!(
                    own == import || own == "clock",
                    "{} imports the unknown `{import}`",
                    source.path
                );
                continue;
            };
            assert!(from <= to, "{} imports `{import}`, which stands outside of it", source.path);
        }
    }
}

#[test]
fn the_clock_imports_nothing() {
    let clock = sources().into_iter().find(|source| source.path == "clock.rs").unwrap();
    assert_eq!(imports(&clock), BTreeSet::new());
}

#[test]
fn each_effect_has_one_home() {
    // The pod has no kubectl and the operator's machine no runner: each has a home of its own, with other rules. Without
    // a cluster `run` is a child.
    assert_only(
        &["Command::new", ".spawn()"],
        &[
            "cluster/process.rs",
            "cluster/guard.rs",
            "execution/run/process.rs",
            "execution/execute/child.rs",
        ],
    );
    assert_only(
        &["SystemTime", "Instant::now", "Timestamp::now", "clock_gettime", "thread::sleep"],
        &["clock.rs"],
    );
    assert_only(
        &["println!", "print!(", "eprint", "anstream::", "ProgressDrawTarget"],
        &["cli/terminal.rs", "cli/progress.rs"],
    );
    // The guard is a process of its own: its standard output is the pipe to harness.
    assert_only(
        &["stdout()", "stderr()"],
        &["cli/terminal.rs", "cli/progress.rs", "cluster/guard.rs"],
    );
    assert_only(&["unsafe {", "unsafe fn", "unsafe impl"], &["cluster/guard.rs"]);
}

#[test]
fn each_file_says_what_it_is_for() {
    for source in sources() {
        assert!(source.whole.starts_with("//! "), "{} begins without `//!`", source.path);
    }
}

#[test]
fn files_stay_readable() {
    for source in sources() {
        let lines = source.code.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", source.path);
    }
}

/// So that the reading of code itself is known to work.
#[test]
fn the_rules_see_code_and_nothing_else() {
    let text = "//! std::fs\nuse crate::{cli, submit::{a, b}, render};\nlet x = \"std::env \\\" unsafe {\"; // Instant\nlet y = \"https://h\";\nstd::net();\n#[cfg(test)]\nmod tests { std::process }";
    let code = code_of(text);
    for hidden in ["std::fs", "std::env", "unsafe", "Instant", "std::process"] {
        assert!(!code.contains(hidden), "{hidden} in {code}");
    }
    assert!(code.contains("std::net"), "{code}");
    let source = Source { path: "render/x.rs".to_owned(), code, whole: text.to_owned() };
    assert_eq!(imports(&source).into_iter().collect::<Vec<_>>(), ["cli", "render", "submit"]);
}
