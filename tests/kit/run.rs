//! Runs of the harness binary with a cleared environment; what fails shows command, status and both streams.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use harness_test_cluster::ADMIN_CONTEXT;
use serde_json::Value;
use tempfile::TempDir;

use super::sample::{HARNESS_IMAGE, Sample};

/// A way to run `harness prediction dispatch submit` against one namespace.
#[derive(Debug)]
pub(crate) struct Harness {
    /// HOME, TMPDIR and the submissions; removed at the end.
    folder: TempDir,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    context: String,
    namespace: String,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Harness {
    /// Through the context [`ADMIN_CONTEXT`] of a kubeconfig.
    pub(crate) fn new(kubeconfig: &Path, kubectl: &Path, namespace: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("kit").tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        Self {
            folder,
            kubeconfig: kubeconfig.to_owned(),
            kubectl: kubectl.to_owned(),
            context: ADMIN_CONTEXT.to_owned(),
            namespace: namespace.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Through another context.
    pub(crate) fn context(mut self, name: &str) -> Self {
        name.clone_into(&mut self.context);
        self
    }

    /// With another kubectl.
    pub(crate) fn kubectl(mut self, path: impl Into<PathBuf>) -> Self {
        self.kubectl = path.into();
        self
    }

    /// With one more argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// With a variable in the otherwise empty environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The folder that the submissions are written to.
    pub(crate) fn inputs(&self) -> PathBuf {
        self.folder.path().join("in")
    }

    /// The folder that harness has for its temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// The command that submits these files, with JSON receipts; to be spawned by the test itself.
    pub(crate) fn command<P: AsRef<OsStr>>(&self, files: &[P]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.temporary())
            .env("HARNESS_IMAGE", HARNESS_IMAGE)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .args(["prediction", "dispatch", "submit", "-o", "json"])
            .args(["--context", &self.context, "-n", &self.namespace])
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--kubectl")
            .arg(&self.kubectl)
            .args(&self.arguments);
        for file in files {
            command.arg("-f").arg(file);
        }
        command
    }

    /// The command `prediction dispatch` with these arguments, such as `cancel NAME --yes`, with JSON receipts.
    pub(crate) fn dispatch(&self, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.temporary())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .args(["prediction", "dispatch"])
            .args(arguments)
            .args(["-o", "json", "--context", &self.context, "-n", &self.namespace])
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--kubectl")
            .arg(&self.kubectl)
            .args(&self.arguments);
        command
    }

    /// Runs `prediction dispatch` with these arguments to its end.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.dispatch(arguments);
        let output = command.output().unwrap();
        Run::new(&command, &output)
    }

    /// The rendered Secret and Job of a sample, signatures and all.
    #[track_caller]
    pub(crate) fn render(&self, sample: &Sample) -> (Value, Value) {
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .env("HARNESS_IMAGE", HARNESS_IMAGE)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(["prediction", "dispatch", "render", "-o", "json", "--reveal-secrets"])
            .args(["-n", &self.namespace, "-f"])
            .arg(sample.write(&self.inputs()));
        let output = command.output().unwrap();
        let run = Run::new(&command, &output);
        assert_eq!(run.code, Some(0), "{run}");
        let mut list: Value = serde_json::from_str(&run.stdout).unwrap();
        let items = list["items"].as_array_mut().unwrap();
        assert_eq!((&items[0]["kind"], &items[1]["kind"]), (&"Secret".into(), &"Job".into()));
        (items[0].take(), items[1].take())
    }

    /// Submits one sample to its end; nothing of its signatures may show.
    #[track_caller]
    pub(crate) fn submit(&self, sample: &Sample) -> Run {
        let file = sample.write(&self.inputs());
        let run = self.submit_files(&[file]);
        run.assert_hides(sample);
        run
    }

    /// Submits files and directories to the end.
    #[track_caller]
    pub(crate) fn submit_files<P: AsRef<OsStr>>(&self, files: &[P]) -> Run {
        let mut command = self.command(files);
        let output = command.output().unwrap();
        let run = Run::new(&command, &output);
        let left: Vec<_> = fs::read_dir(self.temporary()).unwrap().collect();
        assert!(left.is_empty(), "left in TMPDIR: {left:?}\n{run}");
        run
    }
}

/// A command of a test.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// How a command ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// The command line.
    pub(crate) shown: String,
    /// The exit code; none after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, code, stdout, stderr } = self;
        write!(
            formatter,
            "command: {shown}\nstatus: {code:?}\n--- stdout\n{stdout}--- stderr\n{stderr}"
        )
    }
}

impl Run {
    /// Of a command that the test ran itself.
    pub(crate) fn new(command: &Command, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            shown: format!("{command:?}"),
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The receipts on standard output, in the order in which they came.
    #[track_caller]
    pub(crate) fn receipts(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(receipt) => receipt,
            Err(error) => panic!("no receipt: {error}\n{self}"),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The only receipt, if the command ended with this code and outcome.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, outcome: &str) -> Value {
        let mut receipts = self.receipts();
        let ended = (self.code, receipts.len(), receipts.first().map(|first| &first["outcome"]));
        assert_eq!(ended, (Some(code), 1, Some(&Value::from(outcome))), "{self}");
        receipts.remove(0)
    }

    /// The exit code and the outcome of the only receipt, where more than one is right.
    #[track_caller]
    pub(crate) fn outcome(&self) -> (i32, String) {
        let receipts = self.receipts();
        assert_eq!(receipts.len(), 1, "{self}");
        let outcome = receipts[0]["outcome"].as_str().unwrap_or_default().to_owned();
        match self.code {
            Some(code) => (code, outcome),
            None => panic!("ended by a signal\n{self}"),
        }
    }

    /// Panics when a secret part of the sample stands in either stream.
    #[track_caller]
    pub(crate) fn assert_hides(&self, sample: &Sample) {
        for marker in &sample.markers {
            let leaks = self.stdout.contains(marker) || self.stderr.contains(marker);
            assert!(!leaks, "a secret shows: {marker}\n{self}");
        }
    }
}
