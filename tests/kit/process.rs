//! A run of harness that is going on, and the processes below it, found by their numbers in `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use harness_test_cluster::{is_running, until};
use rustix::process::{Pid, Signal, kill_process};

use super::PATIENCE;
use super::run::{Harness, Run};

/// A run that was started.
pub(crate) struct Started {
    process: Pid,
    shown: Command,
    output: Receiver<Output>,
}

impl Started {
    /// Starts `submit` of these files.
    pub(crate) fn submit<P: AsRef<OsStr>>(harness: &Harness, files: &[P]) -> Self {
        Self::command(harness.command(files))
    }

    /// Starts this command.
    pub(crate) fn command(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let process = Pid::from_child(&child);
        let (sender, output) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
        Self { process, shown: command, output }
    }

    /// Sends a signal to harness itself.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.process, signal).unwrap();
    }

    /// Waits until no signal is pending any more, so that it was taken.
    pub(crate) fn wait_until_taken(&self) {
        let path = format!("/proc/{}/status", self.process.as_raw_nonzero());
        let none_pending = || {
            let status = fs::read_to_string(&path).unwrap_or_default();
            let pending =
                |line: &str| line.starts_with("ShdPnd:") && !line.ends_with("0000000000000000");
            !status.lines().any(pending)
        };
        assert!(until(PATIENCE, none_pending), "the signal stays pending");
    }

    /// The processes below harness, the guard and kubectl at least.
    pub(crate) fn family(&self) -> Family {
        let mut members = Vec::new();
        let complete = until(PATIENCE, || {
            members = descendants(self.process);
            members.len() >= 2
        });
        assert!(complete, "harness has started nothing: {members:?}");
        Family(members)
    }

    /// The process number of harness.
    pub(crate) fn process(&self) -> Pid {
        self.process
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(self) -> Run {
        match self.output.recv_timeout(PATIENCE) {
            Ok(output) => Run::new(&self.shown, &output),
            Err(error) => panic!("harness does not end: {error}: {:?}", self.shown),
        }
    }
}

/// Processes that harness started.
#[derive(Debug, Clone)]
pub(crate) struct Family(Vec<Pid>);

impl Family {
    /// kubectl: the one that was started last of all, by the guard.
    pub(crate) fn kubectl(&self) -> Pid {
        let is_kubectl = |process: &&Pid| arguments(**process).iter().any(|one| one == "proxy");
        *self.0.iter().rev().find(is_kubectl).expect("kubectl runs")
    }

    /// The guard: the one that harness started, the parent of kubectl.
    pub(crate) fn guard(&self) -> Pid {
        let kubectl = self.kubectl();
        let is_parent = |process: &&Pid| descendants(**process).contains(&kubectl);
        *self.0.iter().find(is_parent).expect("the guard runs")
    }

    /// Waits until none of them runs.
    #[track_caller]
    pub(crate) fn assert_gone(&self) {
        let left = || self.0.iter().filter(|process| is_running(**process)).collect::<Vec<_>>();
        assert!(until(PATIENCE, || left().is_empty()), "still running: {:?}", left());
    }
}

/// The process and everything below it.
pub(crate) fn descendants(process: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut open = vec![process];
    while let Some(parent) = open.pop() {
        let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|one| one.parse().ok());
            for child in children.filter_map(Pid::from_raw) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

/// The arguments of a process; none if it is gone.
pub(crate) fn arguments(process: Pid) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|one| String::from_utf8_lossy(one).into_owned()).collect()
}

/// Stops a process, and waits until each of its threads stands still: until then, one that has not seen the signal goes
/// on.
#[track_caller]
pub(crate) fn stop(process: Pid) {
    kill_process(process, Signal::STOP).unwrap();
    let stands = || {
        let tasks = task_statuses(process);
        !tasks.is_empty() && tasks.iter().all(|status| status.contains("(stopped)"))
    };
    assert!(until(PATIENCE, stands), "{process:?} does not stop");
}

/// Whether the process has nothing to do: over a tenth of a second none of its threads ran.
pub(crate) fn is_asleep(process: Pid) -> bool {
    let switches = || {
        let tasks = task_statuses(process);
        let lines = tasks.iter().flat_map(|status| status.lines());
        let of_interest = |line: &&str| line.contains("ctxt_switches") || line.contains("State");
        lines.filter(of_interest).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = switches();
    let changed = until(Duration::from_millis(100), || switches() != before);
    !before.is_empty() && !changed && !before.iter().any(|line| line.contains("(running)"))
}

/// What the kernel says of each thread of a process.
fn task_statuses(process: Pid) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status"));
    tasks.into_iter().flatten().flatten().filter_map(|task| status(task).ok()).collect()
}

/// Waits until a folder is empty.
#[track_caller]
pub(crate) fn assert_empty(folder: &Path) {
    let left = || fs::read_dir(folder).unwrap().flatten().map(|one| one.path()).collect::<Vec<_>>();
    assert!(until(PATIENCE, || left().is_empty()), "left behind: {:?}", left());
}
