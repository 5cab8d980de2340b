//! The guard: a process between harness and kubectl that ends kubectl when harness ends, however.
//!
//! kubectl holds the operator's credentials behind an open socket, and does not end when its parent
//! does. Nothing that harness does about that survives its own SIGKILL, and a parent-death signal
//! follows the thread that spawned, not the process. So harness starts itself once more as kubectl's
//! parent; this process waits for the end of a socket whose other end only harness holds, and then
//! ends kubectl and removes the folder of its socket. It reads no configuration and no request.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::process::{become_kubectl, spawn_starter};

/// The first argument that makes an executable the guard. `main` looks for it before anything else
/// and hands the arguments behind it to [`guard_main`].
pub const ARGUMENT: &str = "__guard-kubectl";

/// Behind [`ARGUMENT`]: become kubectl. The guard's process number, kubectl and its arguments follow.
const START: &str = "start";

/// What the guard says on its standard output when kubectl does not start; an error number follows.
pub(super) const NOT_STARTED: &str = "harness-guard: not started: ";

/// A wait for what SIGKILL ended: only a process stuck in the kernel takes longer, and that cannot be
/// helped.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// What the guard is told to do.
struct Task {
    /// How long kubectl may take to end.
    grace: Duration,
    /// The socket to remove, and its folder with it.
    socket: PathBuf,
    /// kubectl.
    program: OsString,
    /// Its arguments.
    arguments: Vec<OsString>,
}

/// The arguments behind [`ARGUMENT`].
pub(super) fn arguments(
    grace: Duration,
    socket: &Path,
    program: &Path,
    arguments: &[OsString],
) -> Vec<OsString> {
    let mut all = vec![
        OsString::from(ARGUMENT),
        OsString::from(grace.as_millis().to_string()),
        socket.into(),
        program.into(),
    ];
    all.extend_from_slice(arguments);
    all
}

fn parse(grace: &OsString, mut rest: impl Iterator<Item = OsString>) -> Option<Task> {
    Some(Task {
        grace: Duration::from_millis(grace.to_str()?.parse().ok()?),
        socket: rest.next()?.into(),
        program: rest.next()?,
        arguments: rest.collect(),
    })
}

/// Something that the guard waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// harness closed its end, or is gone.
    HarnessEnded,
    /// kubectl ended; it is not reaped yet, so that its number still belongs to it.
    KubectlEnded,
    /// Somebody asked this process to end.
    Terminated,
}

/// Runs as the guard of kubectl. `arguments` are those behind [`ARGUMENT`]; the exit code is
/// kubectl's, or 128 and the signal's number.
pub fn guard_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(first) = arguments.next() else {
        return ExitCode::from(2);
    };
    if first == START {
        return start_kubectl(arguments);
    }
    let Some(task) = parse(&first, arguments) else {
        return ExitCode::from(2);
    };
    ignore_interrupts();
    adopt_orphans();
    // Before kubectl exists, so that no signal ends this process while there is something to tidy up.
    let started = catch_signals()
        .and_then(|signals| Ok((signals, spawn_starter(&starter_arguments(&task))?)));
    let code = match started {
        Ok((signals, kubectl)) => watch(kubectl, signals, task.grace),
        Err(error) => say_not_started(&error),
    };
    remove_socket(&task.socket);
    // A grandchild may hold a copy of the descriptor; the end is told by the connection itself.
    let _ = rustix::net::shutdown(io::stdout(), rustix::net::Shutdown::Both);
    code
}

fn starter_arguments(task: &Task) -> Vec<OsString> {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let mut all = vec![ARGUMENT.into(), START.into(), own.into(), task.program.clone()];
    all.extend_from_slice(&task.arguments);
    all
}

/// Becomes kubectl, tied to the life of the guard, so that even a killed guard takes it along.
///
/// Here a parent-death signal is right: the guard's first thread started this process, and lives as
/// long as the guard.
fn start_kubectl(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let guard = arguments.next().and_then(|guard| guard.to_str()?.parse().ok());
    let (Some(guard), Some(program)) = (guard.and_then(Pid::from_raw), arguments.next()) else {
        return ExitCode::from(2);
    };
    #[cfg(target_os = "linux")]
    // Where the kernel refuses, the guard alone ends kubectl, as on other systems.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if rustix::process::getppid() != Some(guard) {
        // It died before the signal was asked for.
        return ExitCode::FAILURE;
    }
    say_not_started(&become_kubectl(&program, &arguments.collect::<Vec<_>>()))
}

fn say_not_started(error: &io::Error) -> ExitCode {
    let number = error.raw_os_error().unwrap_or(0);
    // Without harness there is nobody to tell.
    let _ = writeln!(io::stdout(), "{NOT_STARTED}{number}");
    ExitCode::from(127)
}

/// Ctrl-C reaches every process of the terminal's foreground group. harness decides what it means;
/// kubectl inherits that it is ignored (Go keeps an ignored SIGINT), so the connection lives on.
#[expect(
    unsafe_code,
    reason = "the standard library cannot ignore a signal; SIG_IGN installs no handler, so no code of \
              ours runs in a signal context, and no other thread exists yet"
)]
fn ignore_interrupts() {
    // SAFETY: `signal` with `SIG_IGN` touches no memory of this process.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// A `kubectl` that is a script leaves the real one behind when it ends; such an orphan comes to
/// this process then, which ends it too.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Where the kernel refuses, an orphan goes to init as everywhere else.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Takes the signals that would end this process. What is caught is reset for kubectl, so a signal
/// that is ignored from before (`nohup`) is left alone and stays ignored there.
fn catch_signals() -> io::Result<Signals> {
    Signals::new(not_ignored([SIGTERM, SIGHUP, SIGQUIT]))
}

/// Those of the signals that this process does not ignore from before it started.
pub(crate) fn not_ignored(signals: [i32; 3]) -> impl Iterator<Item = i32> {
    let ignored = ignored_signals();
    signals.into_iter().filter(move |signal| ignored & (1 << (signal - 1)) == 0)
}

/// The set of ignored signals, where the system shows it: `man 5 proc_pid_status`.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

fn watch(mut kubectl: Child, signals: Signals, grace: Duration) -> ExitCode {
    let pid = Pid::from_child(&kubectl);
    let (sender, events) = sync_channel(3);
    let watching = start_watching(pid, signals, &sender);
    let first = match &watching {
        Ok(()) => events.recv().unwrap_or(Event::HarnessEnded),
        Err(_) => Event::HarnessEnded,
    };
    if first != Event::KubectlEnded {
        end(pid, grace, &events);
    }
    let status = if watching.is_ok() { kubectl.try_wait() } else { kubectl.wait().map(Some) };
    end_orphans(grace);
    match status {
        Ok(Some(status)) => exit_code(status),
        _ => ExitCode::FAILURE,
    }
}

fn start_watching(
    kubectl: Pid,
    mut signals: Signals,
    sender: &SyncSender<Event>,
) -> io::Result<()> {
    let terminated = sender.clone();
    spawn(move || {
        // A hang-up or a quit goes to the whole group: harness decides, and this process stays
        // until the end to tidy up.
        if signals.forever().any(|signal| signal == SIGTERM) {
            let _ = terminated.send(Event::Terminated);
        }
    })?;
    let harness = sender.clone();
    spawn(move || {
        wait_for_harness();
        let _ = harness.send(Event::HarnessEnded);
    })?;
    let ended = sender.clone();
    spawn(move || {
        wait_for(kubectl);
        let _ = ended.send(Event::KubectlEnded);
    })
}

fn spawn(task: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().spawn(task).map(drop)
}

/// Waits for the end of the connection that is this process's standard output.
fn wait_for_harness() {
    let mut ignored = [0; 64];
    loop {
        match rustix::io::read(io::stdout(), &mut ignored) {
            Ok(0) => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Waits for the end of a child without reaping it.
fn wait_for(child: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(child), options) {}
}

fn end(kubectl: Pid, grace: Duration, events: &Receiver<Event>) {
    // It is not reaped, so the number is still its own; it may be gone already.
    let _ = rustix::process::kill_process(kubectl, Signal::TERM);
    if !has_ended(events, grace) {
        let _ = rustix::process::kill_process(kubectl, Signal::KILL);
        has_ended(events, AFTER_KILL);
    }
}

/// Whether kubectl ended within `limit`, or so: at most two other events start the wait again.
fn has_ended(events: &Receiver<Event>, limit: Duration) -> bool {
    loop {
        match events.recv_timeout(limit) {
            Ok(Event::KubectlEnded) => return true,
            Ok(Event::HarnessEnded | Event::Terminated) => {}
            Err(_) => return false,
        }
    }
}

/// Ends what kubectl left behind in our process group. A plugin that made itself a daemon has a
/// session of its own and is left alone.
fn end_orphans(grace: Duration) {
    let orphans = orphans();
    if orphans.is_empty() {
        return;
    }
    for orphan in &orphans {
        let _ = rustix::process::kill_process(*orphan, Signal::TERM);
    }
    let (sender, ended) = sync_channel(1);
    let waited_for = orphans.clone();
    let waiting = spawn(move || {
        waited_for.into_iter().for_each(wait_for);
        let _ = sender.send(());
    });
    if waiting.is_err() || ended.recv_timeout(grace).is_err() {
        for orphan in orphans {
            let _ = rustix::process::kill_process(orphan, Signal::KILL);
        }
    }
}

/// Children of this process that share its group; kubectl itself is reaped already.
fn orphans() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero();
    // Not every kernel has this file (`CONFIG_PROC_CHILDREN`), and only Linux adopts.
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    let group = rustix::process::getpgrp();
    children
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|child| child.parse().ok().and_then(Pid::from_raw))
        .filter(|child| rustix::process::getpgid(Some(*child)) == Ok(group))
        .collect()
}

fn remove_socket(socket: &Path) {
    // harness removes them as well, so they may be gone.
    let _ = std::fs::remove_file(socket);
    if let Some(folder) = socket.parent() {
        let _ = std::fs::remove_dir(folder);
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
