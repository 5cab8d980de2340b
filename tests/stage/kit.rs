//! A pod's folders, a store with inputs behind TLS, and runs of the binary between them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use harness::submission::Sha256Digest;
use harness_test_store::{Requests, Store};
use tempfile::TempDir;

const EVALUATOR: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// A pod's folders, a store with inputs, and the arguments of the Job.
pub(crate) struct Pod {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
    pub(crate) staging: u64,
    pub(crate) inputs_size: &'static str,
    pub(crate) max_seconds: u32,
    pub(crate) mission_id: &'static str,
    pub(crate) snapshot: Vec<u8>,
    pub(crate) resume: bool,
}

impl Pod {
    pub(crate) fn new() -> Self {
        let store = Store::start().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("urls")).unwrap();
        let pod = Self {
            store,
            folder,
            staging: 60,
            inputs_size: "64Mi",
            max_seconds: 60,
            mission_id: "m-1",
            snapshot: (0..3_000_000_u32).map(|index| (index % 251) as u8).collect(),
            resume: false,
        };
        pod.store.put("inputs/mission.json", mission()).unwrap();
        pod.store.put("inputs/snapshot", pod.snapshot.clone()).unwrap();
        pod.url("mission_url", &pod.store.sign("GET", "inputs/mission.json").url());
        pod.url("snapshot_url", &pod.store.sign("GET", "inputs/snapshot").url());
        pod
    }

    pub(crate) fn url(&self, name: &str, url: &str) {
        fs::write(self.folder.path().join("urls").join(name), url).unwrap();
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        let snapshot = Sha256Digest::of(&self.snapshot).to_hex();
        command
            .args(["prediction", "stage"])
            .arg(format!("--mission-id={}", self.mission_id))
            .arg(format!("--evaluator-version={EVALUATOR}"))
            .arg(format!("--max-seconds={}", self.max_seconds))
            .arg(format!("--mission-sha256={}", Sha256Digest::of(mission()).to_hex()))
            .arg(format!("--snapshot-sha256={snapshot}"))
            .args(["--pod-deadline=1000", "--publication=30"])
            .arg(format!("--staging={}", self.staging))
            .arg(format!("--inputs-size={}", self.inputs_size))
            .arg("--root")
            .arg(self.folder.path())
            .arg("--termination-log")
            .arg(self.log())
            .env_clear()
            .env("SSL_CERT_FILE", self.store.authority());
        if self.resume {
            command.arg(format!("--resume-sha256={snapshot}"));
        }
        command
    }

    pub(crate) fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    /// Runs and compares the exit code; gives what it said, in which there is never a query.
    pub(crate) fn ends(&self, code: i32) -> String {
        self.said(&self.run(), code)
    }

    pub(crate) fn said(&self, output: &Output, code: i32) -> String {
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        let log = fs::read_to_string(self.log()).unwrap();
        for place in [&text, &log] {
            assert!(!place.contains("X-Amz") && !place.contains('?'), "{place}");
        }
        text
    }

    /// Another snapshot in the store, which the Job names.
    pub(crate) fn set_snapshot(&mut self, bytes: Vec<u8>) {
        self.store.put("inputs/snapshot", &bytes).unwrap();
        self.snapshot = bytes;
    }

    /// The same object as resume too.
    pub(crate) fn with_resume(mut self) -> Self {
        self.store.put("inputs/resume", self.snapshot.clone()).unwrap();
        self.url("resume_url", &self.store.sign("GET", "inputs/resume").url());
        self.resume = true;
        self
    }

    /// Empty volumes, as a new pod has.
    pub(crate) fn empty(&self) {
        for volume in ["inputs", "tools"] {
            match fs::remove_dir_all(self.folder.path().join(volume)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
    }

    /// What lies in the inputs volume, by name.
    pub(crate) fn inputs(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path().join("inputs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn asked(&self, path: &str) -> usize {
        self.store.exchanges().iter().filter(|exchange| exchange.path == path).count()
    }

    pub(crate) fn is_staged(&self) -> bool {
        let inputs = self.folder.path().join("inputs");
        fs::read(inputs.join("snapshot/data")).is_ok_and(|data| data == self.snapshot)
            && fs::read(inputs.join("mission.json")).is_ok_and(|data| data == mission().as_bytes())
            && self.folder.path().join("tools/harness").exists()
    }
}

pub(crate) fn mission() -> String {
    format!(
        r#"{{"mission_id":"m-1","evaluator_version":"{EVALUATOR}","search_budget":{{"max_seconds":60}}}}"#
    )
}

pub(crate) fn snapshot() -> Requests {
    Requests::new("GET", "/inputs/snapshot")
}

/// Waits until this is so, for at most a minute.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "waited for nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
}
