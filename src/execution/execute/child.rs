//! `run` as a child process: its start, the request to stop, and the end of everything that it left.

use std::fs;
use std::io::{PipeReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::Settings;
use crate::clock::Clock;
use crate::execution::publish::Neighbour;
use crate::execution::{Category, Places, Reason, Step, run};

/// Takes what `run` and the runner print, piece by piece.
pub type Log = Box<dyn FnMut(&[u8]) + Send>;

/// How often to look whether it is to stop, and whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long it may take to end by itself after its report.
const UNTIL_IT_ENDS: Duration = Duration::from_secs(2);

/// How long killed processes may take to be gone, and the rest of their output to be read.
const UNTIL_ALL_ENDED: Duration = Duration::from_secs(5);

/// The file in the control folder that it leaves its reason in; the runner can write there too.
const MESSAGE: &str = "run.json";

/// `run`, started.
pub(super) struct Run {
    child: Mutex<Child>,
    leader: Pid,
    clock: Arc<dyn Clock>,
    log_ended: Mutex<Receiver<()>>,
}

impl Run {
    /// Starts it, and passes a request to stop on to it.
    pub(super) fn start(
        settings: &Settings<'_>,
        places: &Places,
        log: Log,
        clock: &Arc<dyn Clock>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Arc<Self>, Reason> {
        let broken = |error: std::io::Error| {
            Reason::new(
                Step::Run,
                Category::Environment,
                &format!("`run` cannot be started: {error}"),
                "nothing was started; look at this machine's limits for processes and threads",
            )
        };
        let (child, output) = spawn(settings, places).map_err(broken)?;
        let leader = Pid::from_child(&child);
        let (ended, log_ended) = channel();
        let running = Arc::new(Self {
            child: Mutex::new(child),
            leader,
            clock: Arc::clone(clock),
            log_ended: Mutex::new(log_ended),
        });
        let read = move || {
            read_to_the_end(output, log);
            // Nobody may wait for it any more.
            let _ = ended.send(());
        };
        let watch = {
            let (running, stop) = (Arc::clone(&running), Arc::clone(stop));
            move || running.pass_on(&stop)
        };
        let threads = thread("output", read).and_then(|()| thread("stop", watch));
        if let Err(error) = threads {
            running.see_to_its_end();
            return Err(broken(error));
        }
        Ok(running)
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if self.has_ended() {
                return;
            }
            self.clock.sleep(LOOK);
        }
        // Under the lock its number cannot become another's.
        let mut child = self.lock();
        if matches!(child.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process(self.leader, Signal::TERM);
        }
    }

    /// Waits a moment for `until` to become true.
    fn wait(&self, longest: Duration, until: impl Fn() -> bool) -> bool {
        let end = self.clock.boottime() + longest;
        while !until() {
            if self.clock.boottime() >= end {
                return false;
            }
            self.clock.sleep(LOOK);
        }
        true
    }

    /// Waits until everything that it printed was passed on.
    pub(super) fn wait_for_its_log(&self) {
        let ended = self.log_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(UNTIL_ALL_ENDED);
    }
}

impl Neighbour for Run {
    fn has_ended(&self) -> bool {
        !matches!(self.lock().try_wait(), Ok(None))
    }

    /// After its report it ends by itself; what is left then, and whatever a killed one left, is killed.
    fn see_to_its_end(&self) {
        self.wait(UNTIL_IT_ENDS, || self.has_ended());
        self.wait(UNTIL_ALL_ENDED, || {
            let child = self.lock();
            let is_alone = run::reap_what_ended();
            drop(child);
            if !is_alone {
                run::kill_descendants(self.leader);
            }
            is_alone
        });
    }
}

/// What it left as its reason. Nothing but a hint once the runner was started.
pub(super) fn reason(places: &Places) -> Option<Reason> {
    let message = fs::read_to_string(message(places)).ok()?;
    Reason::parse(&message).filter(|reason| reason.step == Step::Run)
}

fn message(places: &Places) -> PathBuf {
    places.control().join(MESSAGE)
}

fn thread(name: &str, task: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(task).map(drop)
}

fn read_to_the_end(mut output: PipeReader, mut log: Log) {
    let mut piece = vec![0; 16 << 10];
    loop {
        match output.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => log(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Starts it in a group of its own, so that a key on the terminal reaches this process alone, which passes it on once.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that starts `run` without a pod"
)]
fn spawn(settings: &Settings<'_>, places: &Places) -> std::io::Result<(Child, PipeReader)> {
    forbid_new_privileges()?;
    let (output, theirs) = std::io::pipe()?;
    let profile = settings.fitted.profile;
    let mut command = Command::new(&settings.binary);
    command
        .arg0("harness")
        .args(["prediction", "run"])
        .arg(format!("--max-seconds={}", settings.fitted.submission.max_seconds()))
        .arg(format!("--pod-deadline={}", settings.fitted.deadlines.pod))
        .arg(format!("--publication={}", profile.allowances.publication))
        .arg(format!("--output-size={}", profile.volumes.output.canonical()))
        .arg(format!("--scratch-size={}", profile.volumes.scratch.canonical()))
        .arg("--root")
        .arg(places.root())
        .arg("--termination-log")
        .arg(message(places))
        .arg("--")
        .args(&settings.command)
        .env_clear()
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(theirs.try_clone()?)
        .stderr(theirs);
    Ok((command.spawn()?, output))
}

/// As in the pod (`allowPrivilegeEscalation: false`): nothing that is started from here becomes root by a program such as
/// `sudo`, and root could read this process.
fn forbid_new_privileges() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}
