//! What the tests of the command line share: running the program, and submissions to run it on.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Checks the exit code, and shows everything if it is another.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// The lines of standard output as JSON documents.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The program, with nothing of the developer's environment that could change what it does.
#[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    for name in [
        "HARNESS_PROFILES",
        "HARNESS_IMAGE",
        "HARNESS_KUBECTL",
        "NO_COLOR",
        "COLUMNS",
        "KUBECONFIG",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs the program.
pub(crate) fn harness<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Ended {
    harness_with_input(arguments, b"")
}

/// Runs the program with something on its standard input.
pub(crate) fn harness_with_input<I: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = I>,
    input: &[u8],
) -> Ended {
    let mut child = command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read all of it closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `prediction dispatch` and a command with its arguments.
pub(crate) fn dispatch<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Ended {
    let own = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    harness(["prediction".into(), "dispatch".into()].into_iter().chain(own))
}

/// The repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The harness image of tests.
pub(crate) fn harness_image() -> String {
    format!("registry.example.org/harness@sha256:{}", "5".repeat(64))
}

/// A valid submission without signatures.
pub(crate) fn submission(attempt: &str) -> Value {
    json!({
        "schema_version": "prediction_submission.v1",
        "attempt_id": attempt,
        "mission_id": "Mission 7",
        "image": format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)),
        "evaluator_version": format!("sha256:{}", "2".repeat(64)),
        "resource_profile": "standard-v1",
        "search_budget": {"max_seconds": 600},
        "mission_url": "https://ex-bkt.s3.us-west-2.amazonaws.com/in/mission.json",
        "mission_sha256": "3".repeat(64),
        "snapshot_url": "https://ex-bkt.s3.us-west-2.amazonaws.com/in/snapshot.tar",
        "snapshot_sha256": "4".repeat(64),
        "result_put_url": format!("https://ex-bkt.s3.us-west-2.amazonaws.com/out/{attempt}/result.tar"),
        "result_readback_url": format!("https://ex-bkt.s3.us-west-2.amazonaws.com/out/{attempt}/result.tar"),
        "runner_command": ["python3", "-m", "search"],
    })
}

/// What stands in every made-up signature.
pub(crate) const SIGNATURE: &str =
    "5ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7";

/// The same with signatures that were made now and live for a day.
pub(crate) fn signed_submission(attempt: &str) -> Value {
    let now = SystemClock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut submission = submission(attempt);
    for (name, headers) in [
        ("mission_url", "host"),
        ("snapshot_url", "host"),
        ("result_put_url", "host%3Bif-none-match"),
        ("result_readback_url", "host"),
    ] {
        let url = submission[name].as_str().unwrap();
        submission[name] = json!(format!(
            "{url}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAMADEUPFORTESTS00%2F{}%2Fus-west-2%2Fs3%2Faws4_request\
&X-Amz-Date={now}&X-Amz-Expires=86400&X-Amz-SignedHeaders={headers}&X-Amz-Signature={SIGNATURE}",
            &now[..8]
        ));
    }
    submission
}

/// A folder of its own for a test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("harness-cli-").tempdir().unwrap()
}

/// Writes a document into a folder.
pub(crate) fn write(folder: &Path, name: impl AsRef<Path>, document: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, document.to_string()).unwrap();
    path
}
