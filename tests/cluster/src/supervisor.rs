//! The supervisor process: starts, ends and outlives the programs of one cluster.
//!
//! It is a POSIX shell that runs `supervisor.sh`, not a program of this crate: a library that is used from
//! another package's tests cannot know where its own programs were built, or whether they were. It watches
//! a pipe whose write end only this process holds, so it notices every kind of end, SIGKILL included.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::wait;

pub(crate) const SCRIPT: &str = include_str!("supervisor.sh");

/// How long the supervisor may take to kill its parts and to remove the folder: containers take their time.
const END: Duration = Duration::from_secs(40);
/// How long one that was started by another may take for an answer.
const ANSWER: Duration = Duration::from_mins(1);

/// Which environment the supervised programs see.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Environment {
    /// That of this process, for `go`.
    Inherited,
    /// Only `PATH`: etcd takes every `ETCD_*` variable for a flag.
    Clean,
}

/// Which network the supervised programs are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// That of this process.
    Host,
    /// One of their own, which exists as long as the supervisor does; needs root.
    Own,
}

/// A running supervisor; dropping it kills its parts and removes the state folder.
#[derive(Debug)]
pub(crate) struct Supervisor {
    state: PathBuf,
    /// None when another supervisor has started it, and will end it.
    shell: Option<Child>,
    orders: Option<File>,
    answers: BufReader<File>,
}

impl Supervisor {
    /// Starts a supervisor, which creates `state`; the folder must not exist.
    pub(crate) fn start(state: &Path, environment: Environment, network: Network) -> Result<Self> {
        let mut command = match network {
            Network::Host => Command::new("/bin/sh"),
            // Without `--fork`, it becomes the shell: one process id for both.
            Network::Own => Command::new("unshare"),
        };
        if matches!(environment, Environment::Clean) {
            command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        }
        if matches!(network, Network::Own) {
            command.args(["--net", "/bin/sh"]);
        }
        let mut shell = command
            .args(["-c", SCRIPT, "supervisor"])
            .arg(state)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("/bin/sh could not be started")?;
        let orders = shell.stdin.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let answers = shell.stdout.take().context("the supervisor has no output")?;
        let answers = BufReader::new(File::from(OwnedFd::from(answers)));
        let mut supervisor = Self { state: state.to_owned(), shell: Some(shell), orders, answers };
        supervisor
            .answer("ready")
            .with_context(|| format!("the folder {} could not be created", state.display()))?;
        Ok(supervisor)
    }

    /// One that another supervisor has started, through two FIFOs; it lives as long as its starter lets it.
    pub(crate) fn at(state: &Path, orders: &Path, answers: &Path) -> Result<Self> {
        let open = |path| File::options().read(true).write(true).open(path);
        let (orders, answers) = (open(orders)?, open(answers)?);
        let answers = BufReader::new(answers);
        let mut supervisor =
            Self { state: state.to_owned(), shell: None, orders: Some(orders), answers };
        supervisor.answer("ready")?;
        Ok(supervisor)
    }

    /// The process id of its shell, if this process has started it.
    pub(crate) fn process(&self) -> Option<Pid> {
        self.shell.as_ref().map(Pid::from_child)
    }

    /// Starts a program under `name`; its output is appended to `NAME.log` in the state folder.
    pub(crate) fn start_part(&mut self, name: &str, argv: &[String]) -> Result<Pid> {
        if let Some(odd) = argv.iter().find(|argument| argument.contains('\n')) {
            bail!(
                "the argument {odd:?} of {name} has a line break, which supervisor.sh cannot pass on"
            );
        }
        let lines: String = argv.iter().flat_map(|argument| [argument, "\n"]).collect();
        fs::write(self.state.join(format!("{name}.argv")), lines)?;
        let answer = self.order(&format!("start {name}"), "started ")?;
        answer
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .with_context(|| format!("the supervisor called {answer:?} a process id"))
    }

    /// Kills a program and waits for it; gives its exit status as a shell counts (128 + signal), if it ran.
    pub(crate) fn end_part(&mut self, name: &str) -> Result<Option<i32>> {
        Ok(self.order(&format!("end {name}"), "ended ")?.parse().ok())
    }

    /// Lets the parts live on without this process until `finish` is written to `orders` in the state folder.
    pub(crate) fn detach(mut self) -> Result<()> {
        self.order("detach", "detached")?;
        self.orders = None;
        Ok(())
    }

    fn order(&mut self, order: &str, expected: &str) -> Result<String> {
        let orders = self.orders.as_mut().context("the supervisor was detached")?;
        writeln!(orders, "{order}")
            .with_context(|| format!("the supervisor is gone at `{order}`"))?;
        self.answer(expected).with_context(|| format!("the supervisor failed at `{order}`"))
    }

    fn answer(&mut self, expected: &str) -> Result<String> {
        if self.shell.is_none() {
            // A FIFO that is open for both has no end to tell that nobody is there any more.
            let mut ready = [PollFd::new(self.answers.get_ref(), PollFlags::IN)];
            let patience = Timespec { tv_sec: ANSWER.as_secs().cast_signed(), tv_nsec: 0 };
            if poll(&mut ready, Some(&patience))? == 0 {
                bail!("no answer within {} s", ANSWER.as_secs());
            }
        }
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match line.trim_end().strip_prefix(expected) {
            Some(rest) => Ok(rest.to_owned()),
            None => bail!("the supervisor answered {line:?} instead of {expected:?}"),
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let (Some(_), Some(shell)) = (self.orders.take(), &mut self.shell) else { return };
        let ended = wait::until(END, || matches!(shell.try_wait(), Ok(Some(_)) | Err(_)));
        if !ended {
            // The group exists as long as its leader was not waited for, so this reaches no stranger.
            let _ = kill_process_group(Pid::from_child(shell), Signal::KILL);
            drop(shell.wait());
        }
    }
}

/// Ends a control plane that was detached, by its folder, and waits until it is gone.
pub fn end_detached(state: &Path) -> Result<()> {
    let orders = state.join("orders");
    if !fs::metadata(&orders).is_ok_and(|found| found.file_type().is_fifo()) {
        bail!("no control plane runs in {}", state.display());
    }
    // Without a reader, a FIFO cannot be opened for writing without waiting (ENXIO, open(2)).
    let fifo = rustix::fs::open(&orders, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty())
        .with_context(|| format!("no control plane runs in {}", state.display()))?;
    rustix::io::write(&fifo, b"finish\n")?;
    if wait::until(END, || !state.exists()) {
        return Ok(());
    }
    bail!("the control plane in {} did not end within {} s", state.display(), END.as_secs())
}

/// Whether a process runs; one that has died and was not waited for yet does not.
pub fn is_running(process: Pid) -> bool {
    let number = process.as_raw_nonzero();
    if Path::new("/proc/self/stat").exists() {
        // proc(5): the state is the first field after the name, which stands in parentheses.
        return fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| {
            stat.rsplit_once(')')
                .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
        });
    }
    Command::new("/bin/ps").args(["-o", "stat=", "-p", &number.to_string()]).output().is_ok_and(
        |output| output.status.success() && !output.stdout.trim_ascii().starts_with(b"Z"),
    )
}

/// The last lines of a program's log, for an error message.
pub(crate) fn log_tail(state: &Path, name: &str) -> String {
    const LINES: usize = 25;
    let log = state.join(format!("{name}.log"));
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    if tail.is_empty() {
        return format!("{name} wrote nothing to its log");
    }
    format!("the end of the log of {name}:\n{}", tail.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_nobody_reads_ends_everything() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let mut supervisor = Supervisor::start(&state, Environment::Clean, Network::Host).unwrap();
        let argv = ["/bin/sleep", "1000"].map(str::to_owned);
        let part = supervisor.start_part("sleep", &argv).unwrap();
        // As when its starter is killed between an order and the answer: the pipe breaks first.
        supervisor.answers = BufReader::new(File::open("/dev/null").unwrap());
        writeln!(supervisor.orders.as_mut().unwrap(), "end other").unwrap();
        assert!(wait::until(END, || !state.exists() && !is_running(part)), "{part:?} goes on");
    }
}
