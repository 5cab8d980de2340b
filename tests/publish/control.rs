//! The connection to `run`: who may connect, what may be said, and every way that it can end.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use harness::execution::{Category, Ending};
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Pod, assert_ended, hello, store, wait_for};

fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn the_whole_way() {
    let pod = Pod::new();
    let ended = pod.run(Ending::Exited { code: 0 });
    assert_ended(&ended, Category::Succeeded, "read back and found the same");
    let verdict = pod.published();
    let reason = &ended.reason.digests;
    assert_eq!(verdict["result_digest"], reason["result"].as_str());
    assert_eq!(verdict["evidence_digest"], reason["evidence"].as_str());
    let predicate = &verdict["evidence"]["predicate"];
    assert_eq!(predicate["runDetails"]["metadata"]["invocationId"], pod.job_uid.as_str());
    assert_eq!(predicate["harness_run"]["outcome"], "succeeded");
    assert_eq!(predicate["harness_run"]["command"][1], "run.py");
    let object = predicate["harness_run"]["result_object"].as_str().unwrap();
    assert!(object.ends_with(&pod.object) && !object.contains('?'), "{object}");
    assert_eq!(verdict["evidence"]["subject"][1]["name"], "b/c");
}

#[test]
fn a_runner_that_failed_is_published() {
    for (ending, category) in [
        (Ending::Exited { code: 3 }, Category::RunnerFailed),
        (Ending::Signalled { signal: 11 }, Category::RunnerKilled),
        (Ending::BudgetExceeded, Category::BudgetExceeded),
        (Ending::OutOfMemory, Category::OutOfMemory),
        (Ending::NotExecuted { cause: "No such file".to_owned() }, Category::NoRunner),
        (Ending::Stopped, Category::Stopped),
    ] {
        let pod = Pod::new();
        let ended = pod.run(ending);
        assert_ended(&ended, category, "; published with 2 files");
        let verdict = pod.published();
        assert_eq!(verdict["evidence"]["predicate"]["harness_run"]["outcome"], category.name());
    }
}

#[test]
fn the_end_of_the_connection_is_the_end_of_the_runner() {
    for garbage in [&b""[..], b"garbage\n", b"{\"type\":\"finished\"}\n", &b"x".repeat(70_000)] {
        let pod = Pod::new();
        let child = pod.start();
        let mut connection = pod.connect();
        assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
        // It may be closed before all of it is written.
        let _ = connection.write_all(garbage);
        drop(connection);
        let ended = pod.end(child);
        assert_ended(&ended, Category::RunnerKilled, "was killed at once");
        let verdict = pod.published();
        let report = &verdict["evidence"]["predicate"]["harness_run"]["report"];
        assert_eq!(report["ending"]["kind"], "lost");
    }
}

#[test]
fn the_first_connection_is_the_only_one() {
    let pod = Pod::new();
    let child = pod.start();
    let socket = pod.path("control/run.sock");
    wait_for(|| {
        let mode = fs::metadata(&socket).ok()?.permissions().mode() & 0o777;
        (mode == 0o600).then_some(())
    });
    let mut first = pod.connect();
    assert_eq!(hello(&mut first), "{\"type\":\"go\"}\n");
    assert!(!socket.exists());
    assert!(UnixStream::connect(&socket).is_err());
    drop(first);
    pod.end(child);
}

#[test]
fn a_second_connection_that_was_in_time_is_not_heard() {
    let pod = Pod::new();
    let child = pod.start();
    let mut first = pod.connect();
    let second = UnixStream::connect(pod.path("control/run.sock"));
    assert_eq!(hello(&mut first), "{\"type\":\"go\"}\n");
    if let Ok(mut second) = second {
        // The listener is gone, and with it who waited there.
        second.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let read = second.read(&mut [0; 10]);
        assert!(!matches!(read, Ok(1..)), "{read:?}");
    }
    drop(first);
    pod.end(child);
}

#[test]
fn who_does_not_say_hello_starts_nothing() {
    for said in [&b""[..], b"garbage\n", b"{\"type\":\"go\"}\n", &b"x".repeat(70_000)] {
        let pod = Pod::new();
        let child = pod.start();
        let mut connection = pod.connect();
        let _ = connection.write_all(said);
        drop(connection);
        let ended = pod.end(child);
        assert_ended(&ended, Category::NeverStarted, "nothing is published");
        assert!(!pod.path("spool/started").exists());
        assert_eq!(store().get(&pod.object).unwrap(), None);
    }
}

#[test]
fn a_run_that_never_connects_is_not_waited_for_for_ever() {
    let pod = Pod { deadlines: (8, 4), max_seconds: 3, ..Pod::new() };
    let ended = pod.end(pod.start());
    assert_ended(&ended, Category::NeverStarted, "did not connect");
}

#[test]
fn a_run_that_never_reports_is_not_waited_for_for_ever() {
    let pod = Pod { deadlines: (12, 8), max_seconds: 1, ..Pod::new() };
    let child = pod.start();
    let mut connection = pod.connect();
    assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
    let ended = pod.end(child);
    assert_ended(&ended, Category::OutOfTime, "did not report");
    let run = &pod.published()["evidence"]["predicate"]["harness_run"];
    assert!(run["report"].is_null());
}

#[test]
fn a_stop_before_the_start_publishes_nothing() {
    let pod = Pod::new();
    let child = pod.start();
    wait_for(|| pod.path("control/run.sock").exists().then_some(()));
    signal(&child, Signal::TERM);
    assert_ended(&pod.end(child), Category::Stopped, "nothing is published");
}

#[test]
fn a_stop_under_way_publishes_what_run_reports() {
    let pod = Pod::new();
    let child = pod.start();
    let mut connection = pod.connect();
    assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
    signal(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    let report = crate::kit::report(Ending::Stopped);
    crate::kit::say(&mut connection, &harness::execution::control::FromRun::Finished { report });
    assert_ended(&pod.end(child), Category::Stopped, "published with 2 files");
    pod.published();
}

#[test]
fn a_killed_publish_starts_nothing_again() {
    // Before anybody connected: another one may go on.
    let pod = Pod::new();
    let mut child = pod.start();
    wait_for(|| pod.path("control/run.sock").exists().then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ended(&pod.run(Ending::Exited { code: 0 }), Category::Succeeded, "published");

    // After the start: never again.
    let pod = Pod::new();
    let mut child = pod.start();
    let mut connection = pod.connect();
    assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = pod.end(pod.start());
    assert_ended(&ended, Category::AlreadyStarted, "was started before");
    assert_eq!(store().get(&pod.object).unwrap(), None);
}

#[test]
fn a_spool_that_cannot_keep_the_marker_lets_nothing_start() {
    let pod = Pod::new();
    let child = pod.start();
    let mut connection = pod.connect();
    fs::remove_dir(pod.path("spool")).unwrap();
    let answer = hello(&mut connection);
    assert!(answer.contains("refused"), "{answer}");
    assert_ended(&pod.end(child), Category::Environment, "could not be recorded");
}
