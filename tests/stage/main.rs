//! `harness prediction stage` against a real store over TLS, with faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(clippy::disallowed_methods, reason = "tests start the program and wait")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use harness::submission::Sha256Digest;
use harness_test_store::{Action, Answer, Requests, Store};
use tempfile::TempDir;

const EVALUATOR: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// A pod's folders, a store with inputs, and the arguments of the Job.
struct Pod {
    store: Store,
    folder: TempDir,
    staging: u64,
    inputs_size: &'static str,
    max_seconds: u32,
    mission_id: &'static str,
    snapshot: Vec<u8>,
    resume: bool,
}

impl Pod {
    fn new() -> Self {
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

    fn url(&self, name: &str, url: &str) {
        fs::write(self.folder.path().join("urls").join(name), url).unwrap();
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn command(&self) -> Command {
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

    fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    /// Runs and compares the exit code; gives what it said, in which there is never a query.
    fn ends(&self, code: i32) -> String {
        self.said(&self.run(), code)
    }

    fn said(&self, output: &Output, code: i32) -> String {
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        let log = fs::read_to_string(self.log()).unwrap();
        for place in [&text, &log] {
            assert!(!place.contains("X-Amz") && !place.contains('?'), "{place}");
        }
        text
    }

    fn asked(&self, path: &str) -> usize {
        self.store.exchanges().iter().filter(|exchange| exchange.path == path).count()
    }

    fn is_staged(&self) -> bool {
        let inputs = self.folder.path().join("inputs");
        fs::read(inputs.join("snapshot/data")).is_ok_and(|data| data == self.snapshot)
            && fs::read(inputs.join("mission.json")).is_ok_and(|data| data == mission().as_bytes())
            && self.folder.path().join("tools/harness").exists()
    }
}

fn mission() -> String {
    format!(
        r#"{{"mission_id":"m-1","evaluator_version":"{EVALUATOR}","search_budget":{{"max_seconds":60}}}}"#
    )
}

fn snapshot() -> Requests {
    Requests::new("GET", "/inputs/snapshot")
}

#[test]
fn everything_comes_into_place_once() {
    let mut pod = Pod::new();
    pod.resume = true;
    pod.url("resume_url", &pod.store.sign("GET", "inputs/snapshot").url());
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.ends(0);
    assert!(pod.is_staged());
    assert!(pod.folder.path().join("inputs/resume/data").exists());
    // Again, as after a crash: nothing is run over.
    assert!(pod.ends(10).contains("already-started"));
}

#[test]
fn a_result_that_is_there_stops_and_a_forbidden_look_does_not() {
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.put("results/r", "r").unwrap();
    assert!(pod.ends(11).contains("already-published"));
    assert_eq!(pod.asked("/inputs/snapshot"), 0);
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.when(Requests::new("GET", "/results/"), Action::HideMissing);
    pod.ends(0);
}

#[test]
fn what_the_store_refuses_is_not_asked_again() {
    for (url, code) in [
        (|pod: &Pod| pod.store.sign("GET", "inputs/snapshot").expired().url(), "403"),
        (|pod: &Pod| pod.store.sign("GET", "inputs/missing").url(), "404 NoSuchKey"),
        (|pod: &Pod| pod.store.sign("PUT", "inputs/snapshot").url(), "403"),
    ] as [(fn(&Pod) -> String, &str); 3]
    {
        let pod = Pod::new();
        pod.url("snapshot_url", &url(&pod));
        let said = pod.ends(13);
        assert!(said.contains(code), "{said}");
        assert_eq!(pod.store.exchanges().len(), 2);
    }
    let pod = Pod::new();
    let other = format!("https://{}/inputs/snapshot?canary", pod.store.other_host());
    pod.store.when(snapshot(), Action::Replace(Answer::redirect(307, &other)));
    let said = pod.ends(13);
    assert!(said.contains("the other host"), "{said}");
}

#[test]
fn other_bytes_are_named_and_not_used() {
    let mut pod = Pod::new();
    pod.snapshot[1_500_000] ^= 1;
    let said = pod.ends(14);
    assert!(said.contains(&Sha256Digest::of(&pod.snapshot).to_hex()), "{said}");
    assert!(!pod.folder.path().join("inputs/snapshot").exists());
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Gzip);
    let said = pod.ends(14);
    assert!(said.contains("Content-Encoding gzip"), "{said}");
}

#[test]
fn another_mission_is_named() {
    let mut pod = Pod::new();
    pod.mission_id = "m-2";
    let said = pod.ends(15);
    assert!(said.contains("m-1") && said.contains("m-2"), "{said}");
    let mut pod = Pod::new();
    pod.max_seconds = 61;
    pod.ends(15);
    assert_eq!(pod.asked("/inputs/snapshot"), 0);
}

#[test]
fn what_passes_is_tried_again() {
    for action in [
        Action::DropRequest,
        Action::CutResponse(1_000_000),
        Action::AnnounceLength(4_000_000),
        Action::Replace(Answer::error(503, "SlowDown")),
        Action::Replace(Answer::error(429, "TooMany").header("Retry-After", "1")),
    ] {
        let pod = Pod::new();
        pod.store.when(snapshot().nth(1), action.clone());
        pod.ends(0);
        assert!(pod.is_staged(), "{action:?}");
        // What was announced too long is asked for its rest, which is not there, and then whole.
        let tries = if matches!(action, Action::AnnounceLength(_)) { 3 } else { 2 };
        assert_eq!(pod.asked("/inputs/snapshot"), tries, "{action:?}");
    }
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Chunked);
    pod.ends(0);
    assert!(pod.is_staged());
}

#[test]
fn a_cut_transfer_goes_on_where_it_was() {
    let pod = Pod::new();
    pod.store.when(snapshot().nth(1), Action::CutResponse(2_000_000));
    pod.ends(0);
    let second =
        pod.store.exchanges().into_iter().rfind(|exchange| exchange.path == "/inputs/snapshot");
    let second = second.unwrap();
    assert!(second.headers.contains_key("range") && second.headers.contains_key("if-range"));
    assert_eq!(second.sent, Some(206));
    assert!(second.sent_bytes < 3_000_000, "{second:?}");
    assert!(pod.is_staged());
}

#[test]
fn time_ends_what_does_not_end() {
    for (action, code) in [
        (Action::Trickle(Duration::from_millis(100)), 19),
        (Action::Stall(1000), 19),
        (Action::Replace(Answer::error(503, "SlowDown")), 12),
    ] {
        let mut pod = Pod::new();
        pod.staging = 3;
        pod.store.when(snapshot(), action);
        let began = Instant::now();
        pod.ends(code);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    let mut pod = Pod::new();
    pod.max_seconds = 1000;
    assert!(pod.ends(19).contains("search and publication"));
}

#[test]
fn a_signal_ends_it() {
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Stall(1000));
    let child = pod.command().stderr(std::process::Stdio::piped()).spawn().unwrap();
    while pod.asked("/inputs/snapshot") == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let began = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
    pod.said(&output, 27);
}

#[test]
fn sizes_are_bounded() {
    let mut pod = Pod::new();
    pod.inputs_size = "2Mi";
    assert!(pod.ends(18).contains("3000000 bytes"));
}

#[test]
fn certificates_are_asked_for() {
    let pod = Pod::new();
    let run = |file: &std::path::Path| {
        let output = pod.command().env("SSL_CERT_FILE", file).output().unwrap();
        for name in ["inputs", "tools"] {
            fs::remove_dir_all(pod.folder.path().join(name)).unwrap();
        }
        pod.said(&output, 29)
    };
    assert!(run(std::path::Path::new("/nonexistent/ca.crt")).contains("ca_config_map"));
    assert!(run(&pod.folder.path().join("urls/mission_url")).contains("no `BEGIN CERTIFICATE`"));
    assert!(run(pod.store.wrong_authority()).contains("not trusted"));
}
