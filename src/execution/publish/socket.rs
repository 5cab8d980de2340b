//! `publish`'s end of the control socket: one connection ever, lines of bounded length, no wait without an end.
//!
//! All containers of the pod run as the same user, so credentials tell nothing. That the first connection is `run`'s
//! follows from the order: `publish` listens before `run` starts, and `run` connects before any research code runs.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::Clock;
use crate::execution::control::{MAX_LINE_BYTES, SOCKET_NAME};

/// How long to wait before looking whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A socket that nobody has connected to yet.
pub(super) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Listens in the control folder, which only `publish` can write to. A socket that is there is of a `publish` that
    /// was killed: nobody listens to it.
    pub(super) fn bind(control: &Path) -> io::Result<Self> {
        let path = control.join(SOCKET_NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// The first connection; later ones are refused, since the socket goes. None when time is up, or nobody will come
    /// any more.
    pub(super) fn accept(
        self,
        clock: &dyn Clock,
        until: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<Option<Connection>> {
        let accepted = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break Some(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if is_over() || clock.boottime() >= until {
                break None;
            }
            wait_readable(&self.listener, until.saturating_sub(clock.boottime()))?;
        };
        fs::remove_file(&self.path)?;
        let Some(stream) = accepted else { return Ok(None) };
        stream.set_nonblocking(false)?;
        Ok(Some(Connection { stream, read: Vec::new() }))
    }
}

/// What came over the connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// One line, without its line feed.
    Line(Vec<u8>),
    /// The other side is gone.
    Ended,
    /// More than fits into a line.
    TooLong,
    /// Nothing in time.
    TimeUp,
    /// This step was asked to stop meanwhile.
    Stopped,
}

/// The one connection.
pub(super) struct Connection {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Connection {
    /// Writes a line.
    pub(super) fn say(&mut self, line: &str, within: Duration) -> io::Result<()> {
        self.stream.set_write_timeout(Some(within))?;
        self.stream.write_all(line.as_bytes())
    }

    /// Reads a line.
    pub(super) fn hear(
        &mut self,
        clock: &dyn Clock,
        until: Duration,
        stop: Option<&AtomicBool>,
    ) -> Heard {
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                return Heard::Line(line);
            }
            if self.read.len() >= MAX_LINE_BYTES {
                return Heard::TooLong;
            }
            match wait_readable(&self.stream, until.saturating_sub(clock.boottime())) {
                Ok(true) => match self.stream.read(&mut buffer) {
                    Ok(0) => return Heard::Ended,
                    Ok(read) => self.read.extend_from_slice(&buffer[..read]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Heard::Ended,
                },
                Ok(false) if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) => {
                    return Heard::Stopped;
                }
                Ok(false) if clock.boottime() >= until => return Heard::TimeUp,
                Ok(false) => {}
                Err(_) => return Heard::Ended,
            }
        }
    }
}

/// Waits a moment, at most `longest`, for something to come.
fn wait_readable(socket: &impl AsFd, longest: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    let timeout = Timespec::try_from(longest.min(LOOK)).expect("a tenth of a second");
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
