//! Spawning: the only file that starts processes outside the pod.
//!
//! No shell, no inherited descriptors besides the three standard ones, and no text of a request on
//! any command line.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::StderrObserver;

/// A guard process, kubectl's parent.
pub(super) struct Guard {
    /// The process.
    pub(super) child: Child,
    /// What kubectl writes to standard output comes from here; closing it for writing tells the
    /// guard to end kubectl.
    pub(super) control: UnixStream,
    /// Standard error of both.
    pub(super) stderr: ChildStderr,
}

/// One variable of the environment: set to a text, or removed.
pub(super) type Variable = (&'static str, Option<&'static str>);

/// Starts the guard from `program` with `arguments`.
pub(super) fn spawn_guard(
    program: &Path,
    arguments: &[OsString],
    environment: &[Variable],
    stdin_is_free: bool,
) -> io::Result<Guard> {
    // A socket, for it is one descriptor that is read by both sides; both ends close on exec, so
    // that no other child of this process can keep ours open.
    let (control, theirs) = UnixStream::pair()?;
    let mut command = command(program, arguments);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command
        .arg0("harness-guard")
        .stdin(if stdin_is_free { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .stderr(Stdio::piped())
        .spawn()?;
    let stderr = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok(Guard { child, control, stderr })
}

/// Starts this executable once more from the guard: same standard streams, same process group, so
/// that kubectl, which it becomes, keeps the terminal.
pub(super) fn spawn_starter(arguments: &[OsString]) -> io::Result<Child> {
    command(own_executable()?, arguments).spawn()
}

/// Becomes kubectl. Comes back only if that fails.
pub(super) fn become_kubectl(program: &OsStr, arguments: &[OsString]) -> io::Error {
    command(program, arguments).exec()
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
fn command(program: impl AsRef<OsStr>, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// The executable of this very process, also after its file was replaced by a newer one.
pub(super) fn own_executable() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// The last part of a stream that is read for ever, so that its writer is never held up.
pub(super) struct Tail {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    read: Mutex<Read>,
    ended: Condvar,
}

/// What was read of a stream.
#[derive(Default)]
struct Read {
    kept: Vec<u8>,
    has_ended: bool,
}

/// Bytes kept of a stream.
pub(super) const TAIL: usize = 64 * 1024;

impl Tail {
    /// Reads `stream` on a thread of its own until its end, and shows every piece to `observer`.
    ///
    /// The thread is never joined: a grandchild may hold the stream open for ever.
    pub(super) fn of(
        stream: impl io::Read + Send + 'static,
        observer: Option<StderrObserver>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let task = move || {
            drain(stream, &theirs, observer.as_ref());
            theirs.lock().has_ended = true;
            theirs.ended.notify_all();
        };
        std::thread::Builder::new().name("kubectl output".to_owned()).spawn(task)?;
        Ok(Self { shared })
    }

    /// What is kept of the stream so far.
    pub(super) fn text(&self) -> String {
        let read = self.shared.lock();
        let start = read.kept.len().saturating_sub(TAIL);
        String::from_utf8_lossy(&read.kept[start..]).into_owned()
    }

    /// Waits for the end of the stream, at most this long; says whether it came.
    pub(super) fn wait_for_end(&self, limit: Duration) -> bool {
        let waited = self
            .shared
            .ended
            .wait_timeout_while(self.shared.lock(), limit, |read| !read.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        waited.0.has_ended
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drain(mut stream: impl io::Read, shared: &Shared, observer: Option<&StderrObserver>) {
    let mut piece = [0; 16 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => {
                keep(&mut shared.lock().kept, &piece[..count]);
                if let Some(observer) = observer {
                    observer(&piece[..count]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn keep(kept: &mut Vec<u8>, piece: &[u8]) {
    kept.extend_from_slice(piece);
    // Twice the size before cutting, so that little is moved often.
    if kept.len() > 2 * TAIL {
        kept.drain(..kept.len() - TAIL);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_flood_is_read_to_its_end_and_its_tail_kept() {
        let flood = io::repeat(b'x').take(50_000_000).chain(&b" the end"[..]);
        let tail = Tail::of(flood, None).unwrap();
        assert!(tail.wait_for_end(Duration::from_mins(1)));
        let text = tail.text();
        assert_eq!(text.len(), TAIL);
        assert!(text.ends_with("x the end"));
        assert!(tail.shared.lock().kept.capacity() <= 8 * TAIL);
    }

    #[test]
    fn the_observer_sees_every_piece() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let copy = Arc::clone(&seen);
        let observer: StderrObserver =
            Arc::new(move |piece| copy.lock().unwrap().extend_from_slice(piece));
        let tail = Tail::of(&b"Password: "[..], Some(observer)).unwrap();
        assert!(tail.wait_for_end(Duration::from_mins(1)));
        assert_eq!(*seen.lock().unwrap(), b"Password: ");
    }
}
