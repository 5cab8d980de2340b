//! `logs`: which output, how much of it, and where it goes.

use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

use harness_test_cluster::until;
use rustix::process::Signal;
use serde_json::json;

use crate::going::{Going, PATIENCE, dispatch, run, timed};
use crate::hands::{self, submitted};
use crate::kit::{Place, Sample, command};
use crate::kubelet::{Kubelet, Stands, stand};

/// An experiment whose runner is at work and has written three lines.
fn running(prefix: &str) -> (Place, Kubelet, String) {
    let kubelet = Kubelet::shared();
    let place = Place::new(prefix);
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    kubelet.write(&place, "stage", &[b"staged\n"]);
    kubelet.write(&place, "run", &[b"one\n", b"two\n", b"three\n"]);
    kubelet.end_container(&place, "stage");
    (place, kubelet, name)
}

#[test]
fn each_step_and_only_its_last_lines() {
    let (place, _, name) = running("logs");
    for (arguments, expected) in [
        (&["logs", &name][..], "one\ntwo\nthree\n"),
        (&["logs", &name, "--step", "stage"], "staged\n"),
        (&["logs", &name, "--tail", "2"], "two\nthree\n"),
    ] {
        let run = run(&place, arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{run}");
        assert_eq!(run.stderr, "", "{run}");
    }
    assert_eq!(run(&place, &["logs", &name, "--tail", "0"]).code, Some(2));
    assert_eq!(run(&place, &["logs", &name, "--step", "other"]).code, Some(2));
    let absent = format!("prediction-{}", "0".repeat(32));
    assert_eq!(run(&place, &["logs", &absent]).code, Some(9));
}

#[test]
fn following_goes_from_step_to_step_and_ends_with_the_job() {
    let kubelet = Kubelet::shared();
    let place = Place::new("steps");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f"]));
    stand(&place, &name, Stands::Staging);
    kubelet.write(&place, "stage", &[b"fetching\n"]);
    logs.out.wait_for("fetching\n");
    kubelet.end_container(&place, "stage");
    stand(&place, &name, Stands::Running);
    kubelet.write(&place, "run", &[b"half a li"]);
    logs.out.wait_for("half a li");
    kubelet.write(&place, "run", &[b"next\n"]);
    kubelet.write(&place, "publish", &[b"listening\n"]);
    logs.out.wait_for("next\n");
    kubelet.end_container(&place, "run");
    stand(&place, &name, Stands::RunnerFailed);
    kubelet.write(&place, "publish", &[b"published\n"]);
    kubelet.end_container(&place, "publish");
    // The Job itself is ended by the controller.
    logs.ends_with(7);
    let text = logs.out.text();
    assert!(
        text.starts_with("fetching\nhalf a li") && text.ends_with("next\nlistening\npublished\n"),
        "{text}"
    );
    for step in ["stage", "run", "publish"] {
        assert!(
            logs.err.text().contains(&format!("note: output of `{step}`\n")),
            "{}",
            logs.err.text()
        );
    }
}

#[test]
fn following_from_the_last_lines_on() {
    let (place, kubelet, name) = running("follow-tail");
    let arguments = ["logs", &name, "-f", "--step", "run", "--tail", "1"];
    let mut logs = Going::start(dispatch(&place, None, &arguments));
    logs.out.wait_for("three\n");
    kubelet.write(&place, "run", &[b"four\n"]);
    logs.out.wait_for("four\n");
    kubelet.end_container(&place, "run");
    stand(&place, &name, Stands::Succeeded);
    logs.ends_with(0);
    assert_eq!(logs.out.text(), "three\nfour\n");
}

#[test]
fn output_that_is_gone_is_said_to_be() {
    let (place, kubelet, name) = running("gone");
    kubelet.end_container(&place, "run");
    let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f"]));
    logs.out.wait_for("three\n");
    let pod = hands::pod(&place, &name);
    let path = place.path("pods", pod["metadata"]["name"].as_str().unwrap());
    let at_once = json!({"gracePeriodSeconds": 0});
    let (status, answer) = place.cluster.admin_delete(&path, Some(&at_once));
    assert!(status < 300, "{answer:#}");
    // As a kubelet does with a pod that is deleted; then the Job counts it and lets it go.
    stand(&place, &name, Stands::RunnerFailed);
    assert!(until(PATIENCE, || place.list("pods").is_empty()), "the pod stays");
    logs.ends_with(7);
    let gone = run(&place, &["logs", &name]);
    assert_eq!((gone.code, gone.stdout.as_str()), (Some(7), ""), "{gone}");
    assert!(gone.stderr.contains("is not there (any more)"), "{gone}");
    assert!(gone.stderr.contains("/out/attempt-1/result.tar"), "{gone}");
}

#[test]
fn a_pipe_gets_the_bytes_as_they_are() {
    let (place, kubelet, name) = running("bytes");
    let binary: Vec<u8> = (0..=255).filter(|byte| *byte != b'\n').collect();
    kubelet.write(&place, "run", &[&binary, b"\n", b"\x1b[2J\n"]);
    kubelet.end_container(&place, "run");
    let mut expected = b"one\ntwo\nthree\n".to_vec();
    expected.extend_from_slice(&binary);
    expected.extend_from_slice(b"\n\x1b[2J\n");
    let printed = dispatch(&place, None, &["logs", &name]).output().unwrap();
    assert_eq!(printed.stdout, expected);
    stand(&place, &name, Stands::Succeeded);
    let followed =
        dispatch(&place, None, &["logs", &name, "-f", "--step", "run"]).output().unwrap();
    assert_eq!(followed.stdout, expected);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let (place, kubelet, name) = running("reader");
    let line = [b'x'; 1000];
    let many: Vec<&[u8]> = vec![&line; 20_000];
    kubelet.write(&place, "run", &many);
    kubelet.end_container(&place, "run");
    let shell = |arguments: &[&str]| {
        let inner = dispatch(&place, None, arguments);
        let mut shell = command("/bin/bash");
        shell.arg("-c").arg("\"$@\" | head -c 20; exit ${PIPESTATUS[0]}").arg("bash");
        shell.arg(inner.get_program()).args(inner.get_args());
        shell.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        timed(|| shell.output().unwrap())
    };
    // It says what is known of the Job: it is under way.
    let (printed, took) = shell(&["logs", &name, "--tail", "1000000"]);
    assert_eq!(printed.status.code(), Some(0), "{}", String::from_utf8_lossy(&printed.stderr));
    assert!(printed.stderr.is_empty() && took < Duration::from_secs(20), "{took:?}");
    // Nothing is written any more, and still it ends: following, it cannot say how the Job ends.
    let (place, _, name) = running("idle-reader");
    let mut logs = dispatch(&place, None, &["logs", &name, "-f", "--step", "run"]);
    let mut child = logs.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 4]).unwrap();
    drop(stdout);
    assert!(until(PATIENCE, || child.try_wait().unwrap().is_some()), "it goes on");
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

#[test]
fn a_signal_ends_it_at_once() {
    let (place, _, name) = running("stopped");
    for signal in [Signal::INT, Signal::TERM] {
        let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f"]));
        logs.out.wait_for("three\n");
        logs.signal(signal);
        let (code, took) = timed(|| logs.code());
        assert_eq!(code, Some(6), "{}", logs.err.text());
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    assert_eq!(run(&place, &["status", &name]).code, Some(0));
}
