//! Completion scripts, each run by its own shell.

use std::path::Path;
use std::process::Command;

use crate::kit::harness;

/// Runs a shell on a script with the built program first in PATH, and shows everything if it fails.
#[expect(clippy::disallowed_methods, reason = "a script is only right if its shell can run it")]
fn shell(name: &str, script: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_harness")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(name)
        .args(["-c", script])
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("{name}: {error}; on Debian: apt-get install {name}"));
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The command lines that are completed, and what must be offered for each.
const LINES: [(&[&str], &[&str]); 4] = [
    (&["harness", "pred"], &["prediction"]),
    (&["harness", "prediction", "dispatch", "sub"], &["submit"]),
    (&["harness", "prediction", "dispatch", "submit", "--dry"], &["--dry-run"]),
    (
        &["harness", "prediction", "dispatch", "submit", "--dry-run", ""],
        &["none", "client", "server"],
    ),
];

fn check(complete: impl Fn(&[&str]) -> Vec<String>) {
    for (line, expected) in LINES {
        let offered = complete(line);
        for word in expected {
            assert!(offered.iter().any(|offer| offer == word), "{line:?}: {offered:?}");
        }
    }
}

#[test]
fn bash_completes() {
    check(|words| {
        let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let last = words.len() - 1;
        shell(
            "bash",
            &format!(
                "source <(harness completions bash); COMP_WORDS=({line}); COMP_CWORD={last}; COMP_TYPE=9
                 function_name=$(complete -p harness | sed 's/.*-F \\([^ ]*\\).*/\\1/')
                 \"$function_name\" harness '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                words[last],
                words[last - 1],
            ),
        )
        .into_iter()
        .map(|offer| offer.trim_end().to_owned())
        .collect()
    });
}

#[test]
fn fish_completes() {
    check(|words| {
        let script =
            format!("harness completions fish | source; complete -C \"{}\"", words.join(" "));
        // fish shows the description after a tabulator.
        shell("fish", &script)
            .into_iter()
            .map(|offer| offer.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    });
}

#[test]
fn zsh_completes() {
    check(|words| {
        let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        // What the function would hand to the line editor, which there is none of in a script.
        let script = format!(
            "compdef() {{ registered=$1 }}
             _describe() {{ print -rl -- \"${{(@P)@[-1]}}\" }}
             compadd() {{ print -rl -- \"$@\" }}
             source <(harness completions zsh); words=({line}); CURRENT={}; $registered",
            words.len()
        );
        shell("zsh", &script)
            .into_iter()
            .map(|offer| offer.split(':').next().unwrap_or_default().trim_end().to_owned())
            .collect()
    });
}

#[test]
fn every_shell_gets_a_script() {
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = harness(["completions", name]).with(0).stdout;
        assert!(script.contains("harness"), "{name}: {script}");
    }
    harness(["completions", "cmd"]).with(2);
}
