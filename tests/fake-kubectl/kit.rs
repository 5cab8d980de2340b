//! What tests with the fake kubectl share: building it, scripting it, waiting for processes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use harness::clock::{Clock, SystemClock};
use harness::cluster::{Access, ConnectError, ConnectOptions, Connection, Context};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest wait for something that must happen; far longer than it takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The folder of the built programs.
///
/// Cargo builds the programs of another package only when asked to, so the first test asks.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        let profile = own.ancestors().nth(2).unwrap().to_owned();
        let name = profile.file_name().unwrap().to_str().unwrap();
        let status = command(std::env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--package", "harness-fake-kubectl"])
            .args(["--profile", if name == "debug" { "dev" } else { name }])
            .arg("--target-dir")
            .arg(profile.parent().unwrap())
            .status()
            .unwrap();
        assert!(status.success(), "the fake kubectl does not build");
        profile
    })
}

/// A command of a test.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
    std::process::Command::new(program)
}

/// The process that holds a connection.
pub(crate) fn probe() -> PathBuf {
    programs().join("connection-probe")
}

/// The clock.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// A fake kubectl with a script of its own.
pub(crate) struct Fake {
    folder: TempDir,
}

impl Fake {
    /// Writes the script; `record` and `requests` are added to it.
    pub(crate) fn new(mut script: Value) -> Self {
        let folder = tempfile::Builder::new().prefix("fake-").tempdir().unwrap();
        script["record"] = json!(folder.path().join("record"));
        script["requests"] = json!(folder.path().join("requests"));
        std::fs::write(folder.path().join("kubectl.json"), script.to_string()).unwrap();
        // A link, for a program that was just written may be busy while another test forks.
        let fake = programs().join("harness-fake-kubectl");
        std::os::unix::fs::symlink(fake, folder.path().join("kubectl")).unwrap();
        std::fs::create_dir(folder.path().join("sockets")).unwrap();
        Self { folder }
    }

    /// A fake that answers every request like this.
    pub(crate) fn answering(rule: Value) -> Self {
        Self::new(json!({ "answers": [rule] }))
    }

    /// The path of kubectl.
    pub(crate) fn kubectl(&self) -> PathBuf {
        self.folder.path().join("kubectl")
    }

    /// The folder in which sockets are made.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.folder.path().join("sockets")
    }

    /// Options for it.
    pub(crate) fn options(&self) -> ConnectOptions {
        let context = Context::Named("lab-context".to_owned());
        let mut options = ConnectOptions::new(context, "lab", Access::Submit);
        options.kubectl = self.kubectl();
        options.guard = Some(probe());
        options.folders = vec![self.sockets()];
        options.request_timeout = PATIENCE;
        options.ready_timeout = PATIENCE;
        options
    }

    /// Connects.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.options(), &clock()).unwrap()
    }

    /// Fails to connect.
    pub(crate) fn fail(&self) -> ConnectError {
        match Connection::open(&self.options(), &clock()) {
            Ok(_) => panic!("connected"),
            Err(error) => error,
        }
    }

    /// What it recorded about itself.
    pub(crate) fn record(&self) -> Value {
        let path = self.folder.path().join("record");
        wait_until("kubectl has started", || path.exists());
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// The requests that it got.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("requests")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until kubectl and its guard are gone, and nothing of theirs is left.
    pub(crate) fn assert_gone(&self) {
        let record = self.record();
        for process in ["process", "parent", "grandchild"] {
            if let Some(number) = record[process].as_u64() {
                wait_until(process, || !is_running(number));
            }
        }
        let is_empty = || std::fs::read_dir(self.sockets()).unwrap().next().is_none();
        wait_until("the folder of the socket is removed", is_empty);
    }
}

/// Whether a process runs; one that nobody reaped yet does not.
pub(crate) fn is_running(number: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{number}/stat")) else { return false };
    // The state stands behind the name, which may hold anything but is in parentheses.
    !stat.rsplit(") ").next().unwrap_or_default().starts_with(['Z', 'X'])
}

/// Waits for a state, not for a time.
pub(crate) fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let end = SystemClock.boottime() + PATIENCE;
    while !reached() {
        assert!(SystemClock.boottime() < end, "never: {what}");
        SystemClock.sleep(Duration::from_millis(5));
    }
}

/// What waits for nothing takes less than this on a busy machine as well; what tests exclude by it lasts a minute or more.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(20);

/// How long something takes.
pub(crate) fn time<T>(task: impl FnOnce() -> T) -> (T, Duration) {
    let start = SystemClock.boottime();
    let result = task();
    (result, SystemClock.boottime().saturating_sub(start))
}

/// A `Status` of failure, as the API server writes it.
pub(crate) fn status(code: u16, reason: &str, message: &str, details: Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code,
    })
}

/// The namespace of all tests, as the API server writes it.
pub(crate) fn namespace() -> Value {
    json!({ "kind": "Namespace", "apiVersion": "v1", "metadata": { "name": "lab", "uid": "u-1" } })
}

/// A Job of this name.
pub(crate) fn job(name: &str) -> Value {
    json!({
        "kind": "Job", "apiVersion": "batch/v1",
        "metadata": { "name": name, "namespace": "lab", "uid": "u-2" },
    })
}
