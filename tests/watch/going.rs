//! A run of harness that is going on, and what it has written so far.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::FaultProxy;
use harness_test_cluster::{ADMIN_CONTEXT, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) use crate::kit::PATIENCE;
use crate::kit::process::{arguments, descendants};
use crate::kit::{HARNESS_IMAGE, Place, Run, command};

/// A command of `prediction dispatch` in a namespace, as the administrator, through a proxy if there is one.
pub(crate) fn dispatch(place: &Place, proxy: Option<&FaultProxy>, arguments: &[&str]) -> Command {
    let kubeconfig = proxy.map_or_else(|| place.cluster.kubeconfig(), FaultProxy::kubeconfig);
    let mut command = command(env!("CARGO_BIN_EXE_harness"));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("HARNESS_IMAGE", HARNESS_IMAGE)
        .stdin(Stdio::null())
        .args(["prediction", "dispatch"])
        .args(arguments)
        .args(["--context", ADMIN_CONTEXT, "-n", &place.namespace.name, "--kubeconfig"])
        .arg(kubeconfig)
        .arg("--kubectl")
        .arg(place.cluster.kubectl());
    command
}

/// Runs such a command to its end.
pub(crate) fn run(place: &Place, arguments: &[&str]) -> Run {
    let mut command = dispatch(place, None, arguments);
    let output = command.output().unwrap();
    Run::new(&command, &output)
}

/// What has come out of a pipe so far.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(crate) fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let this = Self::default();
        let written = this.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                written.0.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        this
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Waits until this has been written.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let came = until(PATIENCE, || self.text().contains(text));
        assert!(came, "{text:?} does not come, only:\n{}", self.text());
    }

    /// The JSON documents of all whole lines.
    #[track_caller]
    pub(crate) fn documents(&self) -> Vec<Value> {
        let text = self.text();
        let whole = text.rsplit_once('\n').map(|(whole, _)| whole).unwrap_or_default();
        whole.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

/// A command that goes on.
pub(crate) struct Going {
    child: Child,
    pub(crate) out: Written,
    pub(crate) err: Written,
}

impl Going {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = Written::of(child.stdout.take().unwrap());
        let err = Written::of(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    pub(crate) fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).unwrap();
    }

    /// Kills its kubectl, as the kernel does when memory runs out.
    #[track_caller]
    pub(crate) fn kill_kubectl(&self) {
        let is_kubectl = |process: &Pid| {
            let first = arguments(*process).into_iter().next().unwrap_or_default();
            first.ends_with("/kubectl")
        };
        let kubectl = descendants(self.process()).into_iter().find(is_kubectl);
        kill_process(kubectl.expect("kubectl runs"), Signal::KILL).unwrap();
    }

    /// Waits for the end, and gives the exit code.
    #[track_caller]
    pub(crate) fn code(&mut self) -> Option<i32> {
        let mut ended = None;
        let in_time = until(PATIENCE, || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(in_time, "it goes on:\n{}\n{}", self.out.text(), self.err.text());
        ended.and_then(|status| status.code())
    }

    /// Panics unless it ends with this code.
    #[track_caller]
    pub(crate) fn ends_with(&mut self, code: i32) {
        let ended = self.code();
        // The threads that read may be a little behind.
        assert_eq!(ended, Some(code), "{}\n{}", self.out.text(), self.err.text());
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long something takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = SystemClock.boottime();
    let done = work();
    (done, SystemClock.boottime().saturating_sub(before))
}
