//! The runner's processes: started here, signalled here, reaped here.
//!
//! In a pod `run` is the first process of its container: every orphan comes to it, and one call of the kernel reaches all
//! processes but itself. Elsewhere it makes itself the one that orphans come to, and walks `/proc`. So a child that
//! left the runner's group or session is found in either case.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::Sender;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Refusal;
use super::environment::Variable;
use super::supervise::Event;
use crate::cluster::guard::not_ignored;
use crate::execution::Category;

/// The runner as it was started.
pub(super) struct Runner {
    /// Its number, which is that of its group as well.
    pub(super) pid: Pid,
    /// Its standard output.
    pub(super) stdout: ChildStdout,
    /// Its standard error.
    pub(super) stderr: ChildStderr,
}

/// Closes this process to the runner, which has the same user, and makes it the one that orphans come to.
pub(super) fn prepare() -> Result<(), Refusal> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::DumpableBehavior;
        // Its memory, its open files and its environment in /proc belong to root then, and it cannot be traced:
        // `man 2 PR_SET_DUMPABLE`.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        if rustix::process::dumpable_behavior() != Ok(DumpableBehavior::NotDumpable) {
            return Err(Refusal::new(
                Category::Environment,
                "the kernel does not let this process close itself to others of the same user",
                "allow prctl(PR_SET_DUMPABLE) in the runtime's seccomp profile",
            ));
        }
        // The first process of a container has its orphans anyway.
        let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        if adopts.is_err() && !is_first() {
            return Err(Refusal::new(
                Category::Environment,
                "the kernel does not let this process adopt the runner's orphans",
                "allow prctl(PR_SET_CHILD_SUBREAPER) in the runtime's seccomp profile",
            ));
        }
    }
    Ok(())
}

/// Whether this process is the first of its container.
fn is_first() -> bool {
    rustix::process::getpid().is_init()
}

/// Tells of every request to stop. SIGCHLD is taken so that it is not ignored, in which case the kernel would reap the
/// runner and keep its status to itself.
pub(super) fn listen_for_signals(events: &Sender<Event>) -> Result<(), Refusal> {
    let refusal = |error: io::Error| {
        Refusal::new(
            Category::Environment,
            format!("signals cannot be handled: {error}"),
            "check the limit of processes and threads of the container",
        )
    };
    let handled = not_ignored([SIGTERM, SIGINT, SIGHUP]).chain([SIGCHLD]);
    let mut signals = Signals::new(handled).map_err(refusal)?;
    let events = events.clone();
    let tell = move || {
        for signal in signals.forever() {
            if signal != SIGCHLD && events.send(Event::Asked).is_err() {
                return;
            }
        }
    };
    spawn_thread("signals", tell).map_err(refusal)
}

fn spawn_thread(name: &str, task: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(task).map(drop)
}

/// Starts `program` under the name that it was called by, in a group of its own, in `folder`, with nothing to read.
#[expect(clippy::disallowed_methods, reason = "this is the one place in the pod that spawns")]
pub(super) fn spawn(
    program: &Path,
    words: &[String],
    variables: &[Variable],
    folder: &Path,
) -> io::Result<Runner> {
    let mut command = Command::new(program);
    let mut words = words.iter();
    command.arg0(words.next().map_or(program.as_os_str(), OsStr::new)).args(words);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    Ok(Runner { pid: Pid::from_child(&child), stdout, stderr })
}

/// Reaps every child until there is none, and tells of the end of `leader` and of the last one.
pub(super) fn reap(leader: Pid, events: Sender<Event>) -> io::Result<()> {
    spawn_thread("reaper", move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == leader => {
                    let _ = events.send(Event::RunnerEnded(Status::of(status)));
                }
                Ok(_) | Err(Errno::INTR) => {}
                // No child: none of their children either, for they would be ours now.
                Err(_) => {
                    let _ = events.send(Event::AllEnded);
                    return;
                }
            }
        }
    })
}

/// Reaps every child that has ended already; says whether none is left.
pub(super) fn reap_what_ended() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// By itself.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
}

impl Status {
    fn of(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signalled(signal.unwrap_or(0)),
        }
    }
}

/// Asks the runner's group to end, those of it that are stopped as well.
pub(super) fn terminate_group(leader: Pid) {
    // It may be gone already.
    let _ = rustix::process::kill_process_group(leader, Signal::TERM);
    let _ = rustix::process::kill_process_group(leader, Signal::CONT);
}

/// Whether the runner's group has a member.
pub(super) fn has_group(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader) != Err(Errno::SRCH)
}

/// Kills everything that the runner left, whatever group and session it is in.
pub(super) fn kill_tree(leader: Pid) {
    if is_first() {
        // All processes of this process-number namespace but this one, in one call, so that nothing forks away from
        // it: `man 2 kill` on -1, which is what the group of the first process stands for.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
        return;
    }
    match descendants() {
        Some(descendants) => {
            for process in descendants {
                let _ = rustix::process::kill_process(process, Signal::KILL);
            }
        }
        // Without /proc the group is all that is known.
        None => {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Children of this process, and theirs, as far as `/proc` shows them.
fn descendants() -> Option<Vec<Pid>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Processes come and go meanwhile.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = stat_field(&stat, PARENT) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![rustix::process::getpid().as_raw_pid()];
    while let Some(parent) = next.pop() {
        // Taken out, so that even a wrong table ends.
        for child in children.remove(&parent).unwrap_or_default() {
            next.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    Some(found)
}

/// Places in `/proc/PID/stat`, counted from behind the name: `man 5 proc_pid_stat`, fields 4, 16 and 17.
const PARENT: usize = 1;
const CHILDREN_USER_TIME: usize = 13;
const CHILDREN_SYSTEM_TIME: usize = 14;

fn stat_field<T: std::str::FromStr>(stat: &str, field: usize) -> Option<T> {
    // The name is the process's own choice, parentheses and all; nothing behind it is.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field)?.parse().ok()
}

/// Processor time of all children that were waited for, and theirs, to a hundredth of a second.
pub(super) fn cpu_milliseconds_of_children() -> Option<u64> {
    /// The unit of times in `/proc`, a hundredth of a second on every Linux (`USER_HZ`).
    const MILLISECONDS: u64 = 10;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let user: u64 = stat_field(&stat, CHILDREN_USER_TIME)?;
    let system: u64 = stat_field(&stat, CHILDREN_SYSTEM_TIME)?;
    Some((user + system) * MILLISECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_moves_no_field() {
        let stat = "12 (a) S 9 (b) S 7 12 12 0 -1 4194304 1 2 3 4 5 6 70 80 20 0";
        assert_eq!(stat_field::<i32>(stat, PARENT), Some(7));
        assert_eq!(stat_field::<u64>(stat, CHILDREN_USER_TIME), Some(70));
        assert_eq!(stat_field::<u64>(stat, CHILDREN_SYSTEM_TIME), Some(80));
        assert_eq!(stat_field::<i32>("", PARENT), None);
    }

    #[test]
    fn this_process_has_a_parent_and_times() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let parent = rustix::process::getppid().map(Pid::as_raw_pid);
        assert_eq!(stat_field(&stat, PARENT), parent);
        assert!(cpu_milliseconds_of_children().is_some());
    }
}
