//! Copies the runner's output to the container's log, byte for byte, and keeps its tail.
//!
//! One thread a stream, so that neither can hold up the other, and a log that is slow holds up the runner alone: its
//! pipe fills, and it waits in its own write, as it would without harness.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::Sinks;
use super::tail::Tail;

/// How long the log may take for what was still in the pipes, at most 128 KiB, once every process is gone.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// As much as a pipe holds.
const PIECE_BYTES: usize = 64 << 10;

/// What the runner said.
#[derive(Debug)]
pub(super) struct Output {
    /// The last of it.
    pub(super) tail: String,
    /// How many bytes it was in all.
    pub(super) bytes: u64,
}

/// Both streams of the runner.
pub(super) struct Relay {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    tail: Tail,
    bytes: u64,
    ended: usize,
}

impl Relay {
    /// Starts to copy.
    pub(super) fn start(
        stdout: impl Read + Send + 'static,
        stderr: impl Read + Send + 'static,
        sinks: Sinks,
    ) -> io::Result<Self> {
        let relay = Self { shared: Arc::default() };
        relay.copy(0, stdout, sinks.stdout)?;
        relay.copy(1, stderr, sinks.stderr)?;
        Ok(relay)
    }

    fn copy(
        &self,
        stream: usize,
        source: impl Read + Send + 'static,
        sink: File,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let task = move || {
            pump(stream, source, sink, &shared);
            shared.lock().ended += 1;
            shared.ended.notify_all();
        };
        std::thread::Builder::new().name("runner output".to_owned()).spawn(task).map(drop)
    }

    /// What was said, once both streams have ended or the log has had its time. The threads are never joined: a log that
    /// takes nothing would hold them for ever.
    pub(super) fn end(self) -> Output {
        let waited = self
            .shared
            .ended
            .wait_timeout_while(self.shared.lock(), LAST_WRITES, |state| state.ended < 2)
            .unwrap_or_else(PoisonError::into_inner);
        let state = waited.0;
        Output { tail: state.tail.text(), bytes: state.bytes }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pump(stream: usize, mut source: impl Read, sink: File, shared: &Shared) {
    let mut sink = Some(sink);
    let mut piece = vec![0; PIECE_BYTES];
    let mut last = b'\n';
    loop {
        let count = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let piece = &piece[..count];
        last = piece[count - 1];
        {
            let mut state = shared.lock();
            state.bytes += count as u64;
            state.tail.add(stream, piece);
        }
        // A log that is gone for good is no reason to stop the runner, nor to fill its pipe.
        if sink.as_mut().is_some_and(|sink| write_all(sink, piece).is_err()) {
            sink = None;
        }
    }
    // What `run` says after it begins a line of its own.
    if let Some(mut sink) = sink.filter(|_| last != b'\n') {
        let _ = write_all(&mut sink, b"\n");
    }
}

/// As the standard library's, but for a log that was made non-blocking by whoever shares it.
fn write_all(sink: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match rustix::event::poll(&mut [PollFd::new(sink, PollFlags::OUT)], None) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn sinks() -> (Sinks, File, File) {
        let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let sinks = Sinks { stdout: out.try_clone().unwrap(), stderr: err.try_clone().unwrap() };
        (sinks, out, err)
    }

    #[test]
    fn every_byte_arrives_on_its_stream() {
        let (sinks, mut out, mut err) = sinks();
        let binary: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let relay = Relay::start(io::Cursor::new(binary.clone()), &b"said\n"[..], sinks).unwrap();
        let output = relay.end();
        assert_eq!(output.bytes, binary.len() as u64 + 5);
        for (file, expected) in
            [(&mut out, [&binary[..], b"\n"].concat()), (&mut err, b"said\n".to_vec())]
        {
            io::Seek::rewind(file).unwrap();
            let mut written = Vec::new();
            file.read_to_end(&mut written).unwrap();
            assert!(written == expected, "{} of {} bytes", written.len(), expected.len());
        }
    }

    #[test]
    fn a_log_that_does_not_block_gets_everything() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let (sinks, _, err) = sinks();
        let sinks = Sinks { stdout: File::from(OwnedFd::from(ours)), stderr: sinks.stderr };
        let flood = io::repeat(b'x').take(5_000_000);
        let relay = Relay::start(flood, io::empty(), sinks).unwrap();
        let mut read = Vec::new();
        theirs.read_to_end(&mut read).unwrap();
        assert_eq!((read.len(), relay.end().bytes), (5_000_001, 5_000_000));
        drop(err);
    }

    #[test]
    fn a_log_that_is_gone_holds_up_nobody() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let (sinks, _, _err) = sinks();
        let sinks = Sinks { stdout: File::from(OwnedFd::from(ours)), stderr: sinks.stderr };
        let relay = Relay::start(io::repeat(b'x').take(5_000_000), io::empty(), sinks).unwrap();
        let output = relay.end();
        assert_eq!(output.bytes, 5_000_000);
        assert!(output.tail.ends_with("xxx"));
    }
}
