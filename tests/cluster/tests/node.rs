//! How a node begins, is hurt and ends; needs root.

#![expect(clippy::disallowed_methods, reason = "these tests run programs and wait for them")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness_test_cluster::{ADDRESS, Node, is_running, node, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(4);
const PROGRAM: &str = env!("CARGO_BIN_EXE_harness-test-cluster");

/// What must be gone after the end of a node.
#[derive(Debug)]
struct Traces {
    state: PathBuf,
    groups: Vec<PathBuf>,
    network: PathBuf,
    processes: BTreeSet<i32>,
}

impl Traces {
    fn of(state: &Path) -> Self {
        let supervisor = fs::read_to_string(state.join("supervisor.pid")).unwrap();
        let network = fs::read_link(format!("/proc/{}/ns/net", supervisor.trim())).unwrap();
        let list = fs::read_to_string(state.join("cgroups")).unwrap();
        let processes = in_network(&network);
        let groups = list.lines().map(PathBuf::from).collect();
        Self { state: state.to_owned(), groups, network, processes }
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> =
            self.groups.iter().filter(|path| path.exists()).map(show).collect();
        left.extend(self.state.exists().then(|| show(&self.state)));
        let running = |number: &&i32| Pid::from_raw(**number).is_some_and(is_running);
        let processes = in_network(&self.network);
        left.extend(self.processes.union(&processes).filter(running).map(ToString::to_string));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        left.extend(
            mounts.lines().filter(|line| line.contains(&show(&self.state))).map(str::to_owned),
        );
        left
    }

    #[track_caller]
    fn assert_gone(&self) {
        assert!(until(PATIENCE, || self.left().is_empty()), "left: {:#?}", self.left());
    }
}

fn show(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

/// All processes in a network namespace.
fn in_network(namespace: &Path) -> BTreeSet<i32> {
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str().and_then(|name| name.parse().ok()));
    let network = |number: &i32| fs::read_link(format!("/proc/{number}/ns/net"));
    numbers.filter(|number| network(number).is_ok_and(|found| found == namespace)).collect()
}

/// `up --node` with all its state below a temporary folder.
fn up(folder: &TempDir, arguments: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(["up", "--node"])
        .args(arguments)
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What it says once it is up, by name.
fn said(child: &mut Child) -> impl Fn(&str) -> String + use<> {
    let output = BufReader::new(child.stdout.take().unwrap());
    // To the last line: the program fails when nobody reads what it says.
    let lines: Vec<String> = output.lines().map(Result::unwrap).take(6).collect();
    move |name| {
        let value = |line: &String| line.strip_prefix(&format!("{name}=")).map(str::to_owned);
        lines.iter().find_map(value).expect("it did not start")
    }
}

/// A pod that runs until it is ended.
fn endless(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.test/pause:1"}]},
    })
}

#[test]
fn a_killed_process_leaves_nothing_of_its_node() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = up(&folder, &[]);
    let said = said(&mut child);
    let mut words: Vec<String> = said("ENTER").split(' ').map(str::to_owned).collect();
    let manifest = folder.path().join("pod.json");
    fs::write(&manifest, endless("pod").to_string()).unwrap();
    words.extend([said("KUBECTL"), format!("--kubeconfig={}", said("KUBECONFIG"))]);
    words.extend([
        format!("--context={}", said("CONTEXT")),
        format!("--filename={}", show(&manifest)),
    ]);
    let kubectl = |arguments: &[&str]| {
        Command::new(&words[0]).args(&words[1..]).args(arguments).output().unwrap()
    };
    let created = kubectl(&["create"]);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let wait = ["wait", "--for=condition=Ready", "--timeout=240s"];
    assert!(kubectl(&wait).status.success());

    let traces = Traces::of(Path::new(&said("KUBECONFIG")).parent().unwrap());
    // The supervisor, etcd, API server, controllers, scheduler, registry, unshare and its child, containerd, kubelet, shim.
    assert!(traces.processes.len() >= 11, "{traces:?}");
    assert!(traces.groups.iter().all(|group| group.exists()), "{traces:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    traces.assert_gone();
}

#[test]
fn a_node_that_is_killed_while_it_starts_leaves_nothing() {
    for moment in ["cgroups", "init.sh", "node.pid", "node/containerd.pid", "node/kubelet.pid"] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = up(&folder, &[]);
        let mut reached = None;
        let look = || {
            let mut states =
                fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
            reached = states.find(|state| state.join(moment).exists());
            reached.is_some()
        };
        assert!(until(PATIENCE, look), "{moment}");
        let traces = Traces::of(&reached.unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        traces.assert_gone();
    }
}

#[test]
fn a_node_in_the_background_stays_until_it_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut child = up(&folder, &["--state", &show(&state)]);
    said(&mut child)("ENTER");
    assert!(child.wait().unwrap().success());
    let traces = Traces::of(&state);
    assert!(traces.processes.iter().filter_map(|number| Pid::from_raw(*number)).all(is_running));
    let down = Command::new(PROGRAM).args(["down", "--state"]).arg(&state).status().unwrap();
    assert!(down.success());
    traces.assert_gone();
}

#[test]
fn containers_outlive_kubelet_and_containerd() {
    let node = Node::start().unwrap();
    let namespace = node.cluster().namespace("stops").unwrap().name;
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let runs = |name: &str| {
        let (_, pod) = node.cluster().admin_get(&format!("{pods}/{name}"));
        pod["status"]["containerStatuses"][0]["state"]["running"].is_object()
    };
    assert_eq!(node.cluster().admin_post(&pods, &endless("first")).0, 201);
    assert!(until(PATIENCE, || runs("first")));
    let container = node.container(&namespace, "first", "main").unwrap();
    let before = container.processes();
    assert_eq!(before.len(), 1);

    node.stop_kubelet().unwrap();
    node.stop_containerd().unwrap();
    assert_eq!(node.cluster().admin_post(&pods, &endless("second")).0, 201);
    assert_eq!(container.processes(), before);
    assert!(!runs("second"));
    node.start_containerd().unwrap();
    node.start_kubelet().unwrap();
    assert!(until(PATIENCE, || runs("second")));
    assert_eq!(container.processes(), before);

    kill_process(container.first_process().unwrap(), Signal::KILL).unwrap();
    let restarted = || {
        let (_, pod) = node.cluster().admin_get(&format!("{pods}/first"));
        pod["status"]["containerStatuses"][0]["restartCount"] == 1 && runs("first")
    };
    assert!(until(PATIENCE, restarted));

    let traces = Traces::of(node.state());
    drop(node);
    assert!(traces.left().is_empty(), "{:#?}", traces.left());
}

#[test]
fn threads_enter_the_network_one_by_one() {
    let inside = || fs::read_link("/proc/thread-self/ns/net").unwrap();
    let outside = fs::read_link("/proc/self/ns/net").unwrap();
    let node = node();
    assert_ne!(inside(), outside);
    assert_eq!(std::thread::spawn(inside).join().unwrap(), inside());
    let child = Command::new("readlink").arg("/proc/self/ns/net").output().unwrap();
    assert_eq!(String::from_utf8(child.stdout).unwrap().trim(), show(inside()));
    let there = node.inside("readlink").arg("/proc/1/ns/net").output().unwrap();
    assert_eq!(String::from_utf8(there.stdout).unwrap().trim(), show(inside()));
    // Nobody listens, which is found out at once: the address exists.
    let error = std::net::TcpStream::connect((ADDRESS, 1)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn without_root_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    fs::copy(PROGRAM, &program).unwrap();
    let output = Command::new(program).args(["up", "--node"]).uid(65534).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("error: a node needs root"), "{message}");
}

#[test]
fn a_place_that_the_node_covers_is_refused() {
    let output =
        Command::new(PROGRAM).args(["up", "--node", "--state", "/run/node"]).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cannot lie below /run"), "{message}");
    assert!(!Path::new("/run/node").exists());
}
