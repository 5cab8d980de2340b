//! How a store ends.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness_test_cluster::{is_running, until};
use harness_test_store::Store;
use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the program; gives the folder of its objects and the process of the S3 server.
fn up() -> (Child, PathBuf, Pid) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_harness-test-store"))
        .arg("up")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines: Vec<String> = output.lines().map(Result::unwrap).take(7).collect();
    let value = |name: &str| {
        lines.iter().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{lines:?}"))
    };
    let server = Pid::from_raw(value("SERVER_PROCESS=").parse().unwrap()).unwrap();
    (child, PathBuf::from(value("OBJECTS=")), server)
}

fn assert_gone(objects: &Path, server: Pid) {
    let folder = objects.parent().unwrap();
    let gone = || !folder.exists() && !is_running(server);
    assert!(until(PATIENCE, gone), "left: {} or {server:?}", folder.display());
}

#[test]
fn a_killed_process_leaves_nothing() {
    for signal in [Signal::KILL, Signal::INT] {
        let (mut child, objects, server) = up();
        assert!(objects.join("results").is_dir() && is_running(server));
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(!child.wait().unwrap().success());
        assert_gone(&objects, server);
    }
}

#[test]
fn the_end_of_its_input_ends_it() {
    let (mut child, objects, server) = up();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_gone(&objects, server);
}

#[test]
fn a_dropped_store_leaves_nothing() {
    let store = Store::start().unwrap();
    let (objects, host) = (store.objects(), store.host());
    let server = Pid::from_raw(i32::try_from(store.server_process()).unwrap()).unwrap();
    drop(store);
    assert!(!objects.exists() && !is_running(server));
    std::net::TcpStream::connect(host).unwrap_err();
}
