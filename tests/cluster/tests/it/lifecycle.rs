//! How a control plane begins, is hurt and ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use harness_test_cluster::{Component, ControlPlane, Options, is_running, until};
use rustix::process::Pid;

use crate::{secret, secrets};

const PATIENCE: Duration = Duration::from_secs(30);

/// All process ids that a state folder names: of the supervisor and of the three components.
fn processes(state: &Path) -> Vec<Pid> {
    let files = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    let pids = files.filter(|path| path.extension().is_some_and(|extension| extension == "pid"));
    let read = |path: PathBuf| fs::read_to_string(path).unwrap().trim().parse().unwrap();
    pids.map(|path| Pid::from_raw(read(path)).unwrap()).collect()
}

/// Asserts that nothing is left of a control plane, waiting a little for it.
fn assert_gone(state: &Path, processes: &[Pid]) {
    assert_eq!(processes.len(), 4);
    let gone = || !state.exists() && !processes.iter().any(|process| is_running(*process));
    assert!(until(PATIENCE, gone), "left: {} or one of {processes:?}", state.display());
}

/// Starts the program and gives the state folder that it tells.
fn up(arguments: &[&str]) -> (Child, PathBuf) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_harness-test-cluster"))
        .arg("up")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    // To the last line: the program fails when nobody reads what it says.
    let lines: Vec<String> = output.lines().map(Result::unwrap).take(3).collect();
    let kubeconfig = lines.iter().find_map(|line| line.strip_prefix("KUBECONFIG="));
    let state = Path::new(kubeconfig.expect("it did not start")).parent().unwrap().to_owned();
    (child, state)
}

#[test]
fn a_killed_process_leaves_nothing() {
    let (mut child, state) = up(&[]);
    let processes = processes(&state);
    assert!(processes.iter().all(|process| is_running(*process)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&state, &processes);
}

#[test]
fn the_end_of_its_input_ends_it() {
    let (mut child, state) = up(&["--fsync"]);
    let processes = processes(&state);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_gone(&state, &processes);
}

#[test]
fn one_in_the_background_stays_until_it_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let (mut child, told) = up(&["--state", state.to_str().unwrap()]);
    assert_eq!(told, state);
    assert!(child.wait().unwrap().success());
    let processes = processes(&state);
    assert!(processes.iter().all(|process| is_running(*process)));
    let down = || {
        let program = env!("CARGO_BIN_EXE_harness-test-cluster");
        Command::new(program).arg("down").arg("--state").arg(&state).output().unwrap()
    };
    assert!(down().status.success());
    assert_gone(&state, &processes);
    let again = down();
    assert!(!again.status.success());
    let message = String::from_utf8(again.stderr).unwrap();
    assert!(message.contains("no control plane runs in"), "{message}");
}

#[test]
fn a_panic_leaves_nothing() {
    let test = thread::spawn(|| {
        let cluster = ControlPlane::start(&Options::default()).unwrap();
        let left = (cluster.state().to_owned(), processes(cluster.state()));
        std::panic::panic_any(left);
    });
    let left = test.join().unwrap_err();
    let (state, processes) = left.downcast_ref::<(PathBuf, Vec<Pid>)>().unwrap();
    assert_gone(state, processes);
}

#[test]
fn what_is_stored_survives_stops() {
    let cluster = ControlPlane::start(&Options { fsync: true, ..Options::default() }).unwrap();
    let namespace = cluster.namespace("stops").unwrap().name;
    assert_eq!(cluster.admin_post(&secrets(&namespace), &secret("one")).0, 201);

    cluster.stop_api_server().unwrap();
    assert!(cluster.admin("GET", &secrets(&namespace), None).is_err());
    cluster.start_api_server().unwrap();
    assert_eq!(cluster.count_secrets(&namespace), 1);

    cluster.stop_etcd().unwrap();
    assert_no_answer_from_the_store(&cluster, &namespace);
    cluster.start_etcd().unwrap();
    assert_eq!(cluster.count_secrets(&namespace), 1);
    cluster.restart_api_server().unwrap();
    assert_eq!(cluster.count_secrets(&namespace), 1);

    cluster.pause(Component::Etcd).unwrap();
    assert_no_answer_from_the_store(&cluster, &namespace);
    cluster.resume(Component::Etcd).unwrap();
    assert_eq!(cluster.admin_get(&format!("{}/one", secrets(&namespace))).0, 200);
}

/// The API server answers with a 5xx or, when its deadline passes while it writes one, breaks off.
fn assert_no_answer_from_the_store(cluster: &ControlPlane, namespace: &str) {
    let answer = cluster.admin("GET", &format!("{}/one?timeout=2s", secrets(namespace)), None);
    assert!(matches!(answer, Err(_) | Ok((500.., _))), "{answer:?}");
}

#[test]
fn a_failed_start_shows_the_log() {
    let options =
        Options { api_server_arguments: vec!["--no-such-flag".to_owned()], ..Options::default() };
    let error = format!("{:#}", ControlPlane::start(&options).unwrap_err());
    assert!(error.contains("kube-apiserver ended by itself"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}
