//! `run`'s end of the control socket: connects, says `hello`, waits for `go`, says `finished`.
//!
//! The descriptor closes on exec, and this process cannot be traced, so the runner never holds it. A connection that
//! ends before `hello` says that nothing was and nothing will be started.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::Refusal;
use super::supervise::Event;
use crate::clock::Clock;
use crate::execution::control::{
    FromPublish, FromRun, MAX_LINE_BYTES, SOCKET_NAME, from_line, to_line,
};
use crate::execution::{Category, Places, RunReport};

/// How long `publish` may take to listen. Its container is started first, from an image that `stage` has used already.
const UNTIL_IT_LISTENS: Duration = Duration::from_mins(1);

/// How long it may take to record the start on its disk and to answer.
const UNTIL_IT_ANSWERS: Duration = Duration::from_mins(1);

/// How long it may take to accept the last line.
const UNTIL_IT_READS: Duration = Duration::from_secs(10);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// An open connection to `publish`.
pub(super) struct Connection {
    stream: UnixStream,
}

impl Connection {
    /// Connects as soon as `publish` listens, and tells of its answer and of its end.
    pub(super) fn open(
        places: &Places,
        sender: &Sender<Event>,
        events: &Receiver<Event>,
        clock: &dyn Clock,
    ) -> Result<Self, Refusal> {
        let socket = places.control().join(SOCKET_NAME);
        let end = clock.boottime() + UNTIL_IT_LISTENS;
        let stream = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) if clock.boottime() >= end || !may_come(&error) => {
                    return Err(Refusal::new(
                        Category::Environment,
                        format!("publish does not listen on {}: {error}", socket.display()),
                        "the runner was not started; see why the container `publish` did not start",
                    ));
                }
                Err(_) => {
                    if let Ok(Event::Asked) = events.recv_timeout(PAUSE) {
                        return Err(stopped());
                    }
                }
            }
        };
        let listening = stream.try_clone().and_then(|stream| listen(stream, sender.clone()));
        let writable = stream.set_write_timeout(Some(UNTIL_IT_READS));
        listening.and(writable).map_err(|error| {
            Refusal::new(
                Category::Environment,
                format!("the connection to publish cannot be used: {error}"),
                "check the limit of processes and threads of the container",
            )
        })?;
        Ok(Self { stream })
    }

    /// Says what would be started, and returns when it may be.
    pub(super) fn ask(
        &mut self,
        command: &[String],
        events: &Receiver<Event>,
        clock: &dyn Clock,
    ) -> Result<(), Refusal> {
        let hello = FromRun::Hello {
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_vec(),
        };
        if !self.say(&hello).is_ok_and(|fits| fits) {
            return Err(Refusal::new(
                Category::Environment,
                "publish did not take the greeting: it has ended, or the command with its control characters is too long for one line",
                "the runner was not started; see how the container `publish` ended",
            ));
        }
        let end = clock.boottime() + UNTIL_IT_ANSWERS;
        loop {
            let left = end.saturating_sub(clock.boottime());
            match events.recv_timeout(left) {
                Ok(Event::Answer(Some(FromPublish::Go {}))) => return Ok(()),
                Ok(Event::Answer(Some(FromPublish::Refused { cause }))) => {
                    return Err(Refusal::new(
                        Category::AlreadyStarted,
                        format!("publish refuses the start: {cause}"),
                        "nothing is run twice: read the result if there is one, or submit with a new attempt_id",
                    ));
                }
                Ok(Event::Asked) => return Err(stopped()),
                Ok(Event::Answer(None) | Event::ConnectionEnded)
                | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
                    return Err(Refusal::new(
                        Category::Environment,
                        "publish ended, or gave no answer, before it allowed the start",
                        "the runner was not started; see how the container `publish` ended",
                    ));
                }
                Ok(Event::RunnerEnded(_) | Event::AllEnded | Event::Over(_)) => {}
            }
        }
    }

    /// Says how the runner ended, which is the last word.
    pub(super) fn finish(&mut self, report: &RunReport) -> io::Result<()> {
        if !self.say(&FromRun::Finished { report: report.clone() })? {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // A socket keeps what is written to it until it is read, also after this process.
        self.stream.shutdown(Shutdown::Write)
    }

    /// Whether it fits into one line; only a command of control characters does not.
    fn say(&mut self, message: &FromRun) -> io::Result<bool> {
        let line = to_line(message);
        if line.len() > MAX_LINE_BYTES {
            return Ok(false);
        }
        self.stream.write_all(line.as_bytes())?;
        Ok(true)
    }
}

/// Whether `publish` may still be on its way.
fn may_come(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
    )
}

fn stopped() -> Refusal {
    Refusal::new(
        Category::Stopped,
        "it was asked to stop before the runner was started",
        "the pod's deadline passed, or it was cancelled or evicted: see the Job's and the pod's conditions",
    )
}

/// What is said when the record cannot be written any more.
pub(super) fn lost(report: &RunReport) -> Refusal {
    let ending = super::wording::sentence(&report.ending, 0);
    Refusal::new(
        Category::Environment,
        format!(
            "publish ended before it knew the runner's end, so nothing can be published; of the runner: {ending}"
        ),
        "see how the container `publish` ended; this attempt is used up, submit with a new attempt_id",
    )
}

/// Reads for as long as `publish` lives: one answer, and then the end.
fn listen(mut stream: UnixStream, events: Sender<Event>) -> io::Result<()> {
    let task = move || {
        let mut line = Vec::new();
        let mut is_answered = false;
        let mut piece = [0; 1024];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(_) if is_answered => {}
                Ok(count) => {
                    line.extend_from_slice(&piece[..count]);
                    let end = line.iter().position(|byte| *byte == b'\n');
                    if end.is_some() || line.len() >= MAX_LINE_BYTES {
                        let answer = end.and_then(|end| from_line(&line[..end]));
                        let _ = events.send(Event::Answer(answer));
                        is_answered = true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = events.send(Event::ConnectionEnded);
    };
    std::thread::Builder::new().name("connection".to_owned()).spawn(task).map(drop)
}
