//! Credential plugins, which kubectl runs: slow, broken, loud, or with a question on the terminal.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::kit::process::{Started, assert_empty};
use crate::kit::{Harness, Place, Sample, command, in_parallel};

/// A folder with a plugin and a kubeconfig that uses it.
struct Plugin {
    folder: tempfile::TempDir,
}

impl Plugin {
    fn new(place: &Place, text: &str, interactive: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("plugin").tempdir().unwrap();
        let path = folder.path().join("plugin");
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": { "token": place.cluster.admin_token() },
        });
        fs::write(folder.path().join("credential"), credential.to_string()).unwrap();
        let there = folder.path().display();
        fs::write(&path, format!("#!/bin/sh\nTHERE='{there}'\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut config: Value =
            serde_json::from_slice(&fs::read(place.cluster.kubeconfig()).unwrap()).unwrap();
        for user in config["users"].as_array_mut().unwrap() {
            user["user"] = json!({ "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": path,
                "interactiveMode": interactive,
            }});
        }
        fs::write(folder.path().join("config"), config.to_string()).unwrap();
        Self { folder }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    fn harness(&self, place: &Place) -> Harness {
        Harness::new(&self.kubeconfig(), place.cluster.kubectl(), &place.namespace.name)
    }
}

const GIVE: &str = "cat \"$THERE/credential\"";

#[test]
fn a_plugin_that_says_a_lot() {
    let place = Place::new("loud");
    let text = format!("head -c 1000000 /dev/zero | tr '\\0' x >&2\necho >&2\n{GIVE}");
    let plugin = Plugin::new(&place, &text, "Never");
    let sample = Sample::new("attempt-1");
    let run = plugin.harness(&place).submit(&sample);
    assert_eq!(run.outcome(), (0, "created".to_owned()), "{} bytes of stderr", run.stderr.len());
    place.assert_holds(1, 1);
}

#[test]
fn plugins_that_give_nothing() {
    let texts = [
        "echo 'please log in first' >&2; exit 1",
        "echo '{}'",
        "echo '<html>log in</html>'",
        "exec sleep 600",
    ];
    in_parallel(texts, |text| {
        let place = Place::new("plugin");
        let plugin = Plugin::new(&place, text, "Never");
        let sample = Sample::new("attempt-1");
        let harness = plugin.harness(&place).arg("--request-timeout=1");
        let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
        let family = started.family();
        let run = started.end();
        family.assert_gone();
        assert_empty(&harness.temporary());
        let receipt = run.expect(6, "unknown");
        let detail = receipt["detail"].as_str().unwrap();
        assert!(detail.contains("no Job was created by this call"), "{text}: {run}");
        place.assert_holds(0, 0);
        // With credentials, the same command goes through.
        place.harness().submit(&sample).expect(0, "created");
    });
}

/// A plugin that asks: it has the terminal, and what is typed reaches it and nobody else.
#[test]
fn a_plugin_that_asks_on_the_terminal() {
    let place = Place::new("asks");
    let text = format!(
        "printf 'Your name: ' >/dev/tty\nread -r name </dev/tty\n[ \"$name\" = grace ] || exit 1\n{GIVE}"
    );
    let plugin = Plugin::new(&place, &text, "Always");
    let harness = plugin.harness(&place);
    let sample = Sample::new("attempt-1");
    let submit = harness.command(&[sample.write(&harness.inputs())]);
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap());
    let words: Vec<String> =
        std::iter::once(submit.get_program()).chain(submit.get_args()).map(quoted).collect();
    // script(1) gives the command a terminal of its own and passes on what is typed.
    let mut terminal = command("script");
    terminal.env_clear().envs(submit.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.env("SHELL", "/bin/sh").env("TERM", "dumb");
    terminal
        .args(["-q", "-e", "-c", &format!("exec {}", words.join(" "))])
        .arg(Path::new("/dev/null"));
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    typed.write_all(b"grace\n").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(typed);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("Your name: ") && shown.contains("\"outcome\":\"created\""), "{shown}");
    place.assert_holds(1, 1);
}
