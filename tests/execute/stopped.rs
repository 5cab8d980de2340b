//! Ctrl-C and SIGKILL at each step, and the same command again.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use harness_test_store::{Action, Requests};
use rustix::process::Signal;

use crate::kit::{
    Trial, is_running, signal, store, wait_for, wait_for_request, wait_for_the_end_of,
};

fn requests(method: &str, object: &str) -> Requests {
    Requests::new(method, &format!("/{object}"))
}

/// A runner that says when it runs, and never ends by itself.
fn waiting(trial: &Trial) -> (String, String) {
    let mark = format!("{}-waiting", trial.attempt);
    let script = format!("echo half > \"$HARNESS_OUTPUT/half\"; exec -a {mark} sleep 1000");
    (script, mark)
}

fn wait_until_it_runs(mark: &str) {
    wait_for(mark, || {
        // The shell has the mark in its arguments as well, until it becomes what it starts.
        fs::read_dir("/proc").unwrap().flatten().find(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.starts_with(mark.as_bytes())
        })
    });
}

#[test]
fn a_stop_during_staging_leaves_nothing() {
    let trial = Trial::new();
    store().when(requests("GET", &trial.input("snapshot")), Action::Stall(3));
    let child = trial.start(&["true"]);
    wait_for_request("GET", &trial.input("snapshot"));
    signal(&child, Signal::INT);
    let ended = trial.end(child);
    let document = ended.expect(27, "stopped");
    assert_eq!(document["published"], false);
    assert!(ended.stderr.contains("a second signal ends at once"), "{ended:#?}");
    assert!(!trial.is_published() && trial.left().is_empty());
}

#[test]
fn a_stop_under_way_publishes_what_there_is_as_a_pod_does() {
    let trial = Trial::new();
    let (script, mark) = waiting(&trial);
    let child = trial.start(&["bash", "-c", &script]);
    wait_until_it_runs(&mark);
    signal(&child, Signal::TERM);
    let document = trial.end(child).expect(27, "stopped");
    assert_eq!(document["published"], true);
    assert_eq!(trial.published_outcome(), "stopped");
    assert_eq!(trial.published_file("half").as_deref(), Some("half\n"));
    assert!(!is_running(&mark));
}

#[test]
fn a_stop_during_publication_lets_it_end() {
    let trial = Trial::new();
    store().when(requests("PUT", &trial.result()), Action::DelayRequest(Duration::from_secs(3)));
    let child = trial.start(&["true"]);
    wait_for_request("PUT", &trial.result());
    signal(&child, Signal::INT);
    trial.end(child).expect(0, "succeeded");
    assert_eq!(trial.published_outcome(), "succeeded");
}

#[test]
fn a_second_signal_ends_at_once_and_the_runner_with_it() {
    let trial = Trial::new();
    let mark = format!("{}-stubborn", trial.attempt);
    let script = format!("trap '' TERM INT; exec -a {mark} sleep 1000");
    let child = trial.start(&["bash", "-c", &script]);
    wait_until_it_runs(&mark);
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    wait_for_the_end_of(&mark);
    assert!(!trial.is_published());
    assert_eq!(trial.left().len(), 1, "what ran and is not published stays");
}

#[test]
fn a_kill_during_staging_is_no_start() {
    let trial = Trial::new().rooted();
    store().when(requests("GET", &trial.input("snapshot")).nth(1), Action::Stall(3));
    let child = trial.start(&["true"]);
    wait_for_request("GET", &trial.input("snapshot"));
    signal(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    trial.shell("true").expect(10, "already-started");
    // Nothing ran, so that a new folder is a first start.
    fs::remove_dir_all(trial.root()).unwrap();
    trial.shell("true").expect(0, "succeeded");
}

#[test]
fn a_kill_under_way_ends_the_runner_too() {
    let trial = Trial::new().rooted();
    let (script, mark) = waiting(&trial);
    let child = trial.start(&["bash", "-c", &script]);
    wait_until_it_runs(&mark);
    signal(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    wait_for_the_end_of(&mark);
    assert!(!trial.is_published());
    trial.shell("true").expect(10, "already-started");
    assert!(trial.root().join("spool/started").exists());
}

#[test]
fn a_kill_during_publication_is_not_published_twice() {
    let trial = Trial::new().rooted();
    let put = requests("PUT", &trial.result()).nth(1);
    store().when(put, Action::DelayResponse(Duration::from_mins(5)));
    let child = trial.start(&["sh", "-c", "echo 1 > \"$HARNESS_OUTPUT/one\""]);
    wait_for("the result", || trial.is_published().then_some(()));
    signal(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    let first = store().get(&trial.result()).unwrap();
    trial.shell("true").expect(10, "already-started");
    fs::remove_dir_all(trial.root()).unwrap();
    trial.shell("true").expect(11, "already-published");
    assert_eq!(store().get(&trial.result()).unwrap(), first);
    assert_eq!(trial.published_outcome(), "succeeded");
}
