//! One experiment on this machine: its inputs in a store, its submission, and the command that executes it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use harness::submission::Sha256Digest;
use harness_test_store::Store;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const EVALUATOR: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// What no output, message, file or result may hold.
pub(crate) const CANARY: &str = "X-Amz-Signature";

/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(2);

/// The user of containers, who owns nothing here.
pub(crate) const ORDINARY: u32 = 65532;

/// One store for all tests of this program; each uses objects of its own.
pub(crate) fn store() -> &'static Store {
    static STORE: OnceLock<Store> = OnceLock::new();
    STORE.get_or_init(|| Store::start().unwrap())
}

/// One experiment.
pub(crate) struct Trial {
    folder: TempDir,
    /// The submission, signed; change it as the test needs.
    pub(crate) submission: Value,
    pub(crate) attempt: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    program: PathBuf,
    profiles: PathBuf,
    is_ordinary: bool,
}

const PROFILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/execute/profiles");

impl Trial {
    /// One with a mission and a snapshot of one plain file.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let attempt = format!("attempt-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::Builder::new().prefix("execute").tempdir().unwrap();
        let mut trial = Self {
            folder,
            submission: json!({
                "attempt_id": attempt,
                "mission_id": "Mission 7",
                "image": format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)),
                "evaluator_version": EVALUATOR,
                "resource_profile": "local-v1",
                "runner_command": ["python3", "/app/search.py"],
            }),
            attempt,
            arguments: Vec::new(),
            environment: Vec::new(),
            program: PathBuf::from(env!("CARGO_BIN_EXE_harness")),
            profiles: PathBuf::from(PROFILES),
            is_ordinary: false,
        };
        open_to_all(trial.folder.path());
        for name in ["tmp", "work"] {
            fs::create_dir(trial.path(name)).unwrap();
            let mode = fs::Permissions::from_mode(0o777);
            fs::set_permissions(trial.path(name), mode).unwrap();
        }
        fs::copy(store().authority(), trial.path("authority.pem")).unwrap();
        trial.set_input("snapshot", b"the data\n");
        let result = trial.result();
        trial.submission["result_put_url"] =
            store().sign("PUT", &result).create_only().url().into();
        trial.submission["result_readback_url"] = store().sign("GET", &result).url().into();
        trial.budget(60)
    }

    /// With another budget, in the mission too.
    pub(crate) fn budget(mut self, seconds: u32) -> Self {
        self.submission["search_budget"] = json!({"max_seconds": seconds});
        let mission = json!({
            "mission_id": "Mission 7",
            "evaluator_version": EVALUATOR,
            "search_budget": {"max_seconds": seconds},
        });
        self.set_input("mission", mission.to_string().as_bytes());
        self
    }

    /// With another field.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.submission[field] = value.into();
        self
    }

    /// With another argument of the command.
    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With a variable of the caller.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As a user who owns nothing here, as on a laptop.
    pub(crate) fn ordinary(mut self) -> Self {
        assert!(rustix::process::getuid().is_root(), "only root can become another user");
        self.is_ordinary = true;
        // A checkout may lie where nobody else can read.
        self.program = self.path("harness");
        let built = env!("CARGO_BIN_EXE_harness");
        fs::hard_link(built, &self.program)
            .or_else(|_| fs::copy(built, &self.program).map(drop))
            .unwrap();
        self.profiles = self.path("profiles");
        fs::create_dir(&self.profiles).unwrap();
        for profile in fs::read_dir(PROFILES).unwrap().map(Result::unwrap) {
            fs::copy(profile.path(), self.profiles.join(profile.file_name())).unwrap();
        }
        self
    }

    /// In this folder, which stays.
    pub(crate) fn rooted(self) -> Self {
        let root = self.root().display().to_string();
        self.arg("--root").arg(root)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("work/root")
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// The object of an input, or of the result.
    pub(crate) fn input(&self, name: &str) -> String {
        format!("inputs/{}/{name}", self.attempt)
    }

    pub(crate) fn result(&self) -> String {
        format!("results/{}/result.tar.gz", self.attempt)
    }

    fn set_input(&mut self, name: &str, bytes: &[u8]) {
        store().put(&self.input(name), bytes).unwrap();
        self.submission[format!("{name}_url")] =
            store().sign("GET", &self.input(name)).url().into();
        self.submission[format!("{name}_sha256")] = Sha256Digest::of(bytes).to_hex().into();
    }

    /// The digits of each signature in the submission.
    pub(crate) fn signatures(&self) -> Vec<String> {
        let values = self.submission.as_object().unwrap().values().filter_map(Value::as_str);
        let digits = values.filter_map(|url| url.split_once(&format!("{CANARY}=")));
        digits.map(|(_, digits)| digits[..64].to_owned()).collect()
    }

    /// The signed submission in a file.
    pub(crate) fn written(&self) -> PathBuf {
        let path = self.path("submission.json");
        fs::write(&path, self.submission.to_string()).unwrap();
        path
    }

    fn harness(&self, arguments: &[&str]) -> Command {
        let mut words: Vec<&str> = Vec::new();
        if self.is_ordinary {
            words.extend(["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"]);
            words.extend(["--inh-caps=-all", "--bounding-set=-all"]);
        }
        words.push(self.program.to_str().unwrap());
        words.extend(arguments);
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", self.path("tmp"))
            .env("SSL_CERT_FILE", self.path("authority.pem"))
            .env("HARNESS_PROFILES", &self.profiles)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the command with the submission through a pipe, and these words as the runner.
    pub(crate) fn start(&self, runner: &[&str]) -> Child {
        let mut arguments = vec!["prediction", "execute", "-f", "-", "-o", "json"];
        arguments.extend(self.arguments.iter().map(String::as_str));
        if !runner.is_empty() {
            arguments.push("--");
            arguments.extend(runner);
        }
        let mut command = self.harness(&arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(self.submission.to_string().as_bytes()).unwrap();
        child
    }

    /// Runs a shell script to its end.
    pub(crate) fn shell(&self, script: &str) -> Ended {
        self.end(self.start(&["sh", "-c", script]))
    }

    /// Waits for the end; nothing that was said may hold a signature.
    pub(crate) fn end(&self, child: Child) -> Ended {
        let ended = Ended::of(child.wait_with_output().unwrap());
        for secret in self.signatures().iter().map(String::as_str).chain([CANARY]) {
            let shows = ended.stdout.contains(secret) || ended.stderr.contains(secret);
            assert!(!shows, "a signature shows: {ended:#?}");
        }
        ended
    }

    /// Runs the command without the submission's pipe, with these arguments alone.
    pub(crate) fn plain(&self, arguments: &[&str]) -> Ended {
        let output = self.harness(arguments).stdin(Stdio::null()).output().unwrap();
        Ended::of(output)
    }

    /// What is in the temporary folder still.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("tmp")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The published result, as `evidence verify -f` with this submission sees it.
    pub(crate) fn published(&self) -> Value {
        let bytes = store().get(&self.result()).unwrap().expect("nothing was published");
        let file = self.path("result.tar.gz");
        fs::write(&file, bytes).unwrap();
        let submission = self.written();
        let words = ["evidence", "verify", "-o", "json", "-f"];
        let mut words: Vec<&str> = words.to_vec();
        words.extend([submission.to_str().unwrap(), file.to_str().unwrap()]);
        let ended = self.plain(&words);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        ended.document()
    }

    /// The outcome of the published evidence.
    pub(crate) fn published_outcome(&self) -> String {
        let verdict = self.published();
        verdict["evidence"]["predicate"]["harness_run"]["outcome"].as_str().unwrap().to_owned()
    }

    /// A file of the published output; none if it is not there.
    pub(crate) fn published_file(&self, name: &str) -> Option<String> {
        let bytes = store().get(&self.result()).unwrap().expect("nothing was published");
        let mut archive = tar::Archive::new(flate2::read::MultiGzDecoder::new(&bytes[..]));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.path().unwrap() == Path::new("output").join(name) {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
                return Some(text);
            }
        }
        None
    }

    pub(crate) fn is_published(&self) -> bool {
        store().get(&self.result()).unwrap().is_some()
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What was printed for programs.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no document: {self:#?}"))
    }

    /// Checks the exit code and the outcome.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, outcome: &str) -> Value {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let document = self.document();
        let said = (&document["outcome"], &document["exit_code"]);
        assert_eq!(said, (&outcome.into(), &code.into()), "{self:#?}");
        document
    }
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the store was asked for this object.
#[track_caller]
pub(crate) fn wait_for_request(method: &str, object: &str) {
    let path = format!("/{object}");
    wait_for(object, || {
        let exchanges = store().exchanges();
        exchanges.iter().any(|it| it.method == method && it.path == path).then_some(())
    });
}

/// Whether any process but this one has `mark` among its arguments.
pub(crate) fn is_running(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
            && entry.file_name().to_str() != Some(&std::process::id().to_string())
    })
}

/// Waits until no process has `mark` among its arguments.
#[track_caller]
pub(crate) fn wait_for_the_end_of(mark: &str) {
    wait_for(mark, || (!is_running(mark)).then_some(()));
}
