//! How the programs are built and cached, with a stand-in for `go`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use harness_test_cluster::{is_running, until};
use rustix::process::Pid;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

/// A cache of its own, and a file with a line for each build.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn builds(&self) -> PathBuf {
        self.folder.path().join("builds")
    }

    /// `harness-test-cluster build` with a `go` that behaves in this manner.
    fn build(&self, manner: &str) -> Command {
        let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-go");
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness-test-cluster"));
        command
            .arg("build")
            .env("PATH", format!("{fake}:/usr/bin:/bin"))
            .env("XDG_CACHE_HOME", self.folder.path())
            .env("BUILDS", self.builds())
            .env("MANNER", manner)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What the cache holds, without the lock.
    fn cached(&self) -> Vec<PathBuf> {
        let cache = self.folder.path().join("harness-test-cluster");
        let entries = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.extension().is_none_or(|extension| extension != "lock"))
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn two_at_a_time_build_once() {
    let place = Place::new();
    let children = [0, 1].map(|_| place.build("quick").spawn().unwrap());
    let outputs = children.map(|child| child.wait_with_output().unwrap());
    for Output { status, stdout, stderr } in &outputs {
        assert!(status.success(), "{}", text(stderr));
        let folder = PathBuf::from(text(stdout).trim());
        assert_eq!(place.cached(), std::slice::from_ref(&folder));
        for program in ["etcd", "kubectl", "kube-apiserver", "kube-controller-manager"] {
            assert!(folder.join(program).is_file(), "no {program}");
        }
    }
    assert_eq!(fs::read_to_string(place.builds()).unwrap().lines().count(), 4);
    assert!(outputs.iter().any(|output| text(&output.stderr).contains("building etcd")));

    let again = place.build("failing").output().unwrap();
    assert_eq!((again.status.code(), text(&again.stderr).as_str()), (Some(0), ""));
}

#[test]
fn a_failed_build_shows_why_and_leaves_nothing() {
    let place = Place::new();
    let output = place.build("failing").output().unwrap();
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(message.contains("error: etcd could not be built"), "{message}");
    assert!(message.contains("no space left on device"), "{message}");
    assert_eq!(place.cached(), [] as [&Path; 0]);
}

#[test]
fn a_killed_build_leaves_nothing() {
    let place = Place::new();
    let mut child = place.build("endless").spawn().unwrap();
    let file = place.folder.path().join("builds.child");
    assert!(until(PATIENCE, || file.exists()), "it did not begin");
    let number = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let compiler = Pid::from_raw(number).unwrap();
    assert!(is_running(compiler));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(until(PATIENCE, || place.cached().is_empty() && !is_running(compiler)));
}

#[test]
fn without_go_it_says_what_to_install() {
    let place = Place::new();
    let output = place.build("quick").env("PATH", place.folder.path()).output().unwrap();
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(message.contains("there is no `go` on PATH"), "{message}");
    assert!(message.contains("install Go 1.26 or newer"), "{message}");
}
