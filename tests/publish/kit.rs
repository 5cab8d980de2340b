//! A pod's folders, a real `harness prediction publish` in them, a stand-in for `run`, and a real store.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use harness::execution::control::{FromRun, to_line};
use harness::execution::{Category, Ending, Reason, RunReport};
use harness::submission::Sha256Digest;
use harness_test_store::{Signing, Store};

/// What no output, message or file of this step may hold.
const CANARY: &str = "X-Amz-Signature";

/// One store for all tests of this program; each uses objects of its own.
pub(crate) fn store() -> &'static Store {
    static STORE: OnceLock<Store> = OnceLock::new();
    STORE.get_or_init(|| Store::start().unwrap())
}

/// One pod.
pub(crate) struct Pod {
    pub(crate) root: tempfile::TempDir,
    pub(crate) object: String,
    pub(crate) output_size: String,
    pub(crate) deadlines: (u64, u64),
    pub(crate) max_seconds: u32,
    pub(crate) job_uid: String,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) reason: Reason,
    pub(crate) output: Output,
}

impl Pod {
    /// A pod with an output of two files, whose result can be read back.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let pod = Self {
            root: tempfile::tempdir().unwrap(),
            object: format!("results/attempt-{number}/result.tar.gz"),
            output_size: "1Mi".to_owned(),
            deadlines: (600, 120),
            max_seconds: 60,
            job_uid: format!("job-{number}"),
        };
        for folder in ["output", "spool", "control", "urls"] {
            fs::create_dir(pod.path(folder)).unwrap();
        }
        fs::write(pod.path("output/a"), "some output").unwrap();
        fs::create_dir(pod.path("output/b")).unwrap();
        fs::write(pod.path("output/b/c"), "more output").unwrap();
        let put = store().sign("PUT", &pod.object).create_only();
        pod.url("result_put_url", &put);
        pod.url("result_readback_url", &store().sign("GET", &pod.object));
        pod
    }

    pub(crate) fn without_readback(self) -> Self {
        fs::remove_file(self.path("urls/result_readback_url")).unwrap();
        self
    }

    pub(crate) fn url(&self, name: &str, signing: &Signing) {
        fs::write(self.path("urls").join(name), signing.url()).unwrap();
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub(crate) fn command(&self) -> Command {
        let digest = |text: &str| Sha256Digest::of(text).to_hex();
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        command.env_clear().env("SSL_CERT_FILE", store().authority());
        for (name, value) in [
            ("HARNESS_JOB_UID", self.job_uid.as_str()),
            ("HARNESS_NAMESPACE", "lab"),
            ("HARNESS_POD_NAME", "pod-1"),
            ("HARNESS_POD_UID", "pod-uid"),
            ("HARNESS_NODE_NAME", "node-1"),
        ] {
            command.env(name, value);
        }
        command.args(["prediction", "publish"]);
        for (name, value) in [
            ("mission-id", "mission-1".to_owned()),
            ("evaluator-version", format!("sha256:{}", digest("evaluator"))),
            ("max-seconds", self.max_seconds.to_string()),
            ("mission-sha256", digest("mission")),
            ("snapshot-sha256", digest("snapshot")),
            ("attempt-id", "attempt-1".to_owned()),
            ("image", format!("registry.example.org/runner@sha256:{}", digest("image"))),
            ("profile", "standard-v1".to_owned()),
            ("profile-digest", digest("profile")),
            ("result-identity", digest("identity")),
            ("submission-digest", digest("submission")),
            ("pod-deadline", self.deadlines.0.to_string()),
            ("publication", self.deadlines.1.to_string()),
            ("output-size", self.output_size.clone()),
            ("root", self.root.path().display().to_string()),
            ("termination-log", self.path("log").display().to_string()),
        ] {
            command.arg(format!("--{name}={value}"));
        }
        command
    }

    pub(crate) fn start(&self) -> Child {
        started(&mut self.command())
    }

    /// The same command inside of another one, which gets `before` and then the whole of it.
    pub(crate) fn wrapped(&self, program: &str, before: &[&str]) -> Command {
        let inner = self.command();
        let mut command = Command::new(program);
        command.args(before).arg(inner.get_program()).args(inner.get_args()).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap());
        }
        command
    }

    /// Waits for the socket and connects to it.
    pub(crate) fn connect(&self) -> UnixStream {
        let socket = self.path("control/run.sock");
        wait_for(|| UnixStream::connect(&socket).ok())
    }

    /// Waits for the end; nothing that it left may hold a signature.
    pub(crate) fn end(&self, child: Child) -> Ended {
        let output = child.wait_with_output().unwrap();
        let message = fs::read_to_string(self.path("log")).unwrap_or_default();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for text in [&message, &said, &String::from_utf8_lossy(&output.stdout).into_owned()] {
            assert!(!text.contains(CANARY), "{text}");
        }
        let archive = fs::read(self.path("spool/result.tar.gz")).unwrap_or_default();
        let mut plain = Vec::new();
        let mut decoder = flate2::read::MultiGzDecoder::new(&archive[..]);
        let _ = std::io::Read::read_to_end(&mut decoder, &mut plain);
        assert!(!String::from_utf8_lossy(&plain).contains(CANARY));
        let reason =
            Reason::parse(&message).unwrap_or_else(|| panic!("no reason: {message} {said}"));
        let code = output.status.code();
        assert_eq!(code, Some(i32::from(reason.category.exit_code())), "{reason:?}");
        Ended { reason, output }
    }

    /// The usual course: hello, go, finished with this ending.
    pub(crate) fn run(&self, ending: Ending) -> Ended {
        let child = self.start();
        self.talk(ending);
        self.end(child)
    }

    /// The same with another command line.
    pub(crate) fn run_as(&self, command: &mut Command, ending: Ending) -> Ended {
        let child = started(command);
        self.talk(ending);
        self.end(child)
    }

    pub(crate) fn talk(&self, ending: Ending) {
        let mut connection = self.connect();
        assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
        say(&mut connection, &FromRun::Finished { report: report(ending) });
    }

    /// What the store holds, and what `evidence verify` says of it.
    pub(crate) fn published(&self) -> serde_json::Value {
        let bytes = store().get(&self.object).unwrap().expect("nothing was published");
        verify(&bytes)
    }
}

/// Starts a command whose output is kept.
pub(crate) fn started(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// `evidence verify -o json` of these bytes, which must hold.
pub(crate) fn verify(bytes: &[u8]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result");
    fs::write(&file, bytes).unwrap();
    let output = verify_command(&file);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn verify_command(file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.env_clear().args(["evidence", "verify", "-o", "json"]).arg(file).output().unwrap()
}

pub(crate) fn report(ending: Ending) -> RunReport {
    RunReport {
        ending,
        started_at: Some("2026-12-01T08:00:00Z".to_owned()),
        finished_at: "2026-12-01T08:00:01Z".to_owned(),
        wall_milliseconds: 1000,
        cpu_milliseconds: Some(10),
        peak_memory_bytes: Some(4096),
        output_tail: "done\n".to_owned(),
        output_bytes: 5,
    }
}

pub(crate) fn say(connection: &mut UnixStream, message: &FromRun) {
    connection.write_all(to_line(message).as_bytes()).unwrap();
}

/// Says hello and returns the answer.
pub(crate) fn hello(connection: &mut UnixStream) -> String {
    let command = vec!["python".to_owned(), "run.py".to_owned()];
    say(connection, &FromRun::Hello { harness_version: "0.1.0".to_owned(), command });
    answer(connection)
}

pub(crate) fn answer(connection: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(connection.try_clone().unwrap()).read_line(&mut line).unwrap();
    line
}

/// Bytes that do not compress, the same in every run.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // Xorshift, as Marsaglia gives it: https://www.jstatsoft.org/article/view/v008i14.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited for nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn assert_ended(ended: &Ended, category: Category, part: &str) {
    assert_eq!(ended.reason.category, category, "{:?}", ended.reason);
    assert!(ended.reason.sentence.contains(part), "{:?}", ended.reason);
    assert!(ended.output.stdout.is_empty());
}
