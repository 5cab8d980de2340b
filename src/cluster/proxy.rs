//! One `kubectl proxy`, from its command line to its end.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::guard::{self, NOT_STARTED};
use super::process::{Tail, Variable, own_executable, spawn_guard};
use super::{ConnectError, ConnectOptions, Context};
use crate::clock::Clock;

/// Bytes of a socket's path; 103 is what macOS takes, and Linux takes 107.
const LONGEST_SOCKET_PATH: usize = 103;

/// How kubectl says that it listens.
const READY: &str = "Starting to serve on ";

/// How long a stop may go unnoticed while kubectl starts.
const STOP_LAG: Duration = Duration::from_millis(50);

/// What may stand before the ready line.
const LONGEST_PREAMBLE: usize = 64 * 1024;

/// How long the end of standard error may lag behind the end of kubectl.
const STDERR_LAG: Duration = Duration::from_millis(250);

/// How long the guard may take beyond the grace of kubectl, and then of its orphans.
const GUARD_MARGIN: Duration = Duration::from_secs(2);

/// A running kubectl that serves. Dropping it ends kubectl.
pub(super) struct Proxy {
    control: UnixStream,
    child: Child,
    output: Option<Tail>,
    stderr: Tail,
    grace: Duration,
    // Dropped last: the folder goes when kubectl has gone.
    folder: Folder,
}

/// The private folder of the socket.
struct Folder(TempDir);

impl Folder {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Without opening anything: a walk through it, as `TempDir` makes it, fails where no descriptor is left.
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_file(socket_in(self.path()));
        let _ = fs::remove_dir(self.path());
    }
}

impl Proxy {
    /// Starts kubectl and waits until it serves.
    pub(super) fn start(options: &ConnectOptions, clock: &dyn Clock) -> Result<Self, ConnectError> {
        check(options)?;
        let deadline = clock.boottime().saturating_add(options.ready_timeout);
        let folder = make_folder(&options.folders)?;
        let socket = socket_in(folder.path());
        let arguments = arguments(options, &socket);
        let program = match &options.guard {
            Some(program) => program.clone(),
            None => own_executable()?,
        };
        let guard = spawn_guard(
            &program,
            &guard::arguments(options.grace, &socket, &options.kubectl, &arguments),
            environment(&options.context),
            options.stdin_is_free,
        )
        .map_err(|source| ConnectError::Guard { program, source })?;
        let mut proxy = Self {
            control: guard.control,
            child: guard.child,
            output: None,
            stderr: Tail::of(guard.stderr, options.on_stderr.clone())?,
            grace: options.grace,
            folder,
        };
        proxy.wait_until_ready(options, clock, deadline)?;
        proxy.output = Some(Tail::of(proxy.control.try_clone()?, None)?);
        Ok(proxy)
    }

    /// Where it serves.
    pub(super) fn socket(&self) -> PathBuf {
        socket_in(self.folder.path())
    }

    /// The end of its standard error.
    pub(super) fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    /// Asks the guard to end kubectl; the drop waits for it.
    pub(super) fn end(&self) {
        let _ = self.control.shutdown(Shutdown::Write);
    }

    /// Whether kubectl is gone.
    pub(super) fn has_ended(&self) -> bool {
        self.output.as_ref().is_none_or(|output| output.wait_for_end(Duration::ZERO))
    }

    fn wait_until_ready(
        &mut self,
        options: &ConnectOptions,
        clock: &dyn Clock,
        deadline: Duration,
    ) -> Result<(), ConnectError> {
        match read_ready_line(&self.control, clock, deadline, options.stop.as_deref())? {
            Preamble::Ready => Ok(()),
            Preamble::Stopped => Err(ConnectError::Stopped),
            Preamble::Late => Err(ConnectError::NotReady {
                command: command_line(options),
                allowed: options.ready_timeout,
                stderr: self.stderr.text(),
            }),
            Preamble::NotStarted(error) => Err(not_started(options, error)),
            Preamble::Ended => {
                // The guard closes the connection as its last act.
                let ended = self.child.wait()?;
                self.stderr.wait_for_end(STDERR_LAG);
                Err(ended_early(options, ended.code(), self.stderr.text()))
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The guard reads the end of this and ends kubectl. It is gone if kubectl ended first.
        self.end();
        // Once for kubectl and once for its orphans.
        let limit = self.grace.saturating_mul(2).saturating_add(GUARD_MARGIN);
        let ended = match &self.output {
            Some(output) => output.wait_for_end(limit),
            None => wait_for_end(&self.control, limit),
        };
        if !ended {
            // Only a guard that somebody stopped gets here.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn wait_for_end(mut control: &UnixStream, limit: Duration) -> bool {
    if control.set_read_timeout(Some(limit)).is_err() {
        return false;
    }
    let mut ignored = [0; 4096];
    loop {
        match control.read(&mut ignored) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// What came before kubectl served, or did not.
#[derive(Debug)]
pub enum Preamble {
    /// It serves.
    Ready,
    /// The caller no longer wants it.
    Stopped,
    /// It said nothing in time.
    Late,
    /// It ended.
    Ended,
    /// It was not even started.
    NotStarted(io::Error),
}

fn read_ready_line(
    mut control: &UnixStream,
    clock: &dyn Clock,
    deadline: Duration,
    stop: Option<&AtomicBool>,
) -> io::Result<Preamble> {
    let mut said = Vec::new();
    let mut piece = [0; 1024];
    let preamble = loop {
        let left = deadline.saturating_sub(clock.boottime());
        if left.is_zero() {
            break Preamble::Late;
        }
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            break Preamble::Stopped;
        }
        let nap = if stop.is_some() { left.min(STOP_LAG) } else { left };
        control.set_read_timeout(Some(nap))?;
        match control.read(&mut piece) {
            Ok(0) => break Preamble::Ended,
            Ok(count) => said.extend_from_slice(&piece[..count]),
            // Whether that was the deadline is seen above.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            Err(error) => return Err(error),
        }
        if let Some(preamble) = preamble(&said) {
            break preamble;
        }
        if said.len() > LONGEST_PREAMBLE {
            // Only the last, incomplete line can still become the one we wait for.
            said.drain(..said.len() - READY.len() - 1024);
        }
    };
    control.set_read_timeout(None)?;
    Ok(preamble)
}

/// What kubectl, or its guard, has said so far, as far as it decides anything; pure.
pub fn preamble(said: &[u8]) -> Option<Preamble> {
    // What stands behind the last end of line is not complete yet.
    let end = said.iter().rposition(|byte| *byte == b'\n')?;
    said[..end].split(|byte| *byte == b'\n').find_map(|line| {
        if line.starts_with(READY.as_bytes()) {
            return Some(Preamble::Ready);
        }
        let number = line.strip_prefix(NOT_STARTED.as_bytes())?;
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some(Preamble::NotStarted(io::Error::from_raw_os_error(number)))
    })
}

fn not_started(options: &ConnectOptions, source: io::Error) -> ConnectError {
    let program = options.kubectl.clone();
    match source.kind() {
        io::ErrorKind::NotFound => ConnectError::KubectlNotFound { program },
        _ => ConnectError::KubectlNotStarted { program, source },
    }
}

/// Whether a line is kubectl's own sentence for a context that the kubeconfig does not have. It has been the same
/// since kubectl 1.10, and only messages depend on it.
pub fn says_context_is_missing(line: &str) -> bool {
    line.starts_with("error: context ") && line.ends_with(" does not exist")
}

fn ended_early(options: &ConnectOptions, code: Option<i32>, stderr: String) -> ConnectError {
    if let Context::Named(context) = &options.context
        && stderr.lines().any(says_context_is_missing)
    {
        return ConnectError::NoSuchContext { context: context.clone() };
    }
    let ended = match code {
        Some(code) if code > 128 => format!("signal {}", code - 128),
        Some(code) => format!("exit status {code}"),
        None => "its guard was killed".to_owned(),
    };
    ConnectError::EndedEarly { command: command_line(options), ended, stderr }
}

fn check(options: &ConnectOptions) -> Result<(), ConnectError> {
    let invalid = |option, found: &str, allowed| {
        let found = if found.is_empty() { "empty".to_owned() } else { format!("{found:?}") };
        Err(ConnectError::InvalidOption { option, found, allowed })
    };
    match &options.context {
        Context::Named(name) if name.is_empty() => {
            return invalid(
                "--context",
                name,
                "name the context; harness never takes the current one",
            );
        }
        Context::InCluster { token } if !token.exists() => {
            return Err(ConnectError::NotInCluster { token: token.clone() });
        }
        Context::InCluster { .. } => {
            if let Some(kubeconfig) = &options.kubeconfig {
                let allowed =
                    "a pod's service account needs none; leave it out with `--in-cluster`";
                return invalid("--kubeconfig", &kubeconfig.to_string_lossy(), allowed);
            }
        }
        Context::Named(_) => {}
    }
    // It becomes part of a regular expression and of paths.
    if !is_dns_label(&options.namespace) {
        let allowed = "a namespace has 1 to 63 of a-z, 0-9 and `-`, and no `-` at either end";
        return invalid("--namespace", &options.namespace, allowed);
    }
    let user = options.impersonate_user.as_deref();
    if user == Some("") {
        return invalid("--as", "", "name the user to act as");
    }
    if user.is_none() && !options.impersonate_groups.is_empty() {
        return invalid("--as", "", "groups can only be taken on together with a user");
    }
    Ok(())
}

fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn make_folder(candidates: &[PathBuf]) -> Result<Folder, ConnectError> {
    let mut tried = Vec::new();
    for candidate in candidates {
        let made = std::path::absolute(candidate).and_then(|candidate| {
            tempfile::Builder::new()
                .prefix("harness-")
                .rand_bytes(8)
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir_in(candidate)
        });
        match made.map(Folder) {
            Ok(folder) => {
                let length = socket_in(folder.path()).as_os_str().len();
                if length <= LONGEST_SOCKET_PATH {
                    return Ok(folder);
                }
                tried.push(format!("{} is too long", candidate.display()));
            }
            Err(error) => tried.push(format!("{}: {error}", candidate.display())),
        }
    }
    Err(ConnectError::NoFolder { tried })
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("s")
}

fn arguments(options: &ConnectOptions, socket: &Path) -> Vec<OsString> {
    let flag = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
        let mut flag = OsString::from(name);
        flag.push("=");
        flag.push(value);
        flag
    };
    let mut arguments = vec![OsString::from("proxy"), flag("--unix-socket", &socket)];
    match &options.context {
        Context::Named(name) => {
            arguments.push(flag("--context", name));
            if let Some(kubeconfig) = &options.kubeconfig {
                arguments.push(flag("--kubeconfig", kubeconfig));
            }
        }
        // Its environment names an empty kubeconfig.
        Context::InCluster { .. } => {}
    }
    if let Some(user) = &options.impersonate_user {
        arguments.push(flag("--as", user));
    }
    for group in &options.impersonate_groups {
        arguments.push(flag("--as-group", group));
    }
    arguments.push(flag("--accept-paths", &options.access.accept_paths(&options.namespace)));
    arguments.push(flag("--reject-methods", &options.access.reject_methods()));
    arguments
}

/// `KUBERC=off`, for the file could add flags; a fixed locale, for kubectl translates its messages.
/// An empty kubeconfig makes kubectl use the pod's service account, also where a home has a kubeconfig.
///
/// kubectl spends a third of its start on collecting garbage from a heap of a few megabytes. Without a
/// `GOGC` the collector waits for `GOMEMLIMIT`, which a short life never reaches and a long one is held
/// to: <https://go.dev/doc/gc-guide#Memory_limit>.
fn environment(context: &Context) -> &'static [Variable] {
    const NAMED: [Variable; 5] = [
        ("KUBERC", Some("off")),
        ("LC_ALL", Some("C.UTF-8")),
        ("LANGUAGE", None),
        ("GOGC", Some("off")),
        ("GOMEMLIMIT", Some("96MiB")),
    ];
    const IN_CLUSTER: [Variable; 6] =
        [NAMED[0], NAMED[1], NAMED[2], NAMED[3], NAMED[4], ("KUBECONFIG", Some("/dev/null"))];
    match context {
        Context::Named(_) => &NAMED,
        Context::InCluster { .. } => &IN_CLUSTER,
    }
}

/// The command line for a message: enough to know which kubectl and which cluster.
fn command_line(options: &ConnectOptions) -> String {
    let mut line = format!("{} proxy", options.kubectl.display());
    if let Context::Named(context) = &options.context {
        line.push_str(" --context=");
        line.push_str(context);
    }
    line
}
