//! `publish`: waits for the end of `run`, packs what it left, and creates the result object, once.
//!
//! ```text
//! listen -> hello -> the started marker -> go -> finished, or the end of the connection -> pack -> PUT -> read back
//! ```
//!
//! Nothing is published when `run` never said hello: then nothing ran. Everything else is an outcome to publish, a
//! runner that failed or was killed too. A stop (the pod's deadline, a cancel, an eviction) reaches `run` at the same
//! moment; what it reports, and what there is of the output, is published within the grace that the kubelet gives.

mod marker;
mod pack;
mod reason;
mod send;
mod settle;
mod socket;
mod target;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use jiff::Timestamp;

use self::pack::{Outcome, Package};
use self::send::{Sending, Sent};
use self::socket::{Connection, Heard, Listener};
use super::control::{FromPublish, FromRun, from_line, to_line};
use super::evidence::Facts;
use super::pod_start::Begun;
use super::store::Store;
use super::{Category, Ending, Places, Reason, RunReport, Step};
use crate::clock::Clock;

pub use target::Target;

/// After its budget a runner gets TERM, ten seconds, KILL; `run` then needs a moment to report.
const UNTIL_IT_IS_KILLED: Duration = Duration::from_secs(15);

/// How long a stopped `run` may take to report; of the 30 s of grace the rest is for publishing.
const STOPPED_REPORT: Duration = Duration::from_secs(13);

/// How long after a stop this step ends by itself: before the kubelet kills it, so that it still says why.
const STOPPED_END: Duration = Duration::from_secs(27);

/// What is kept of the publication's time for the last words.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How long the line with `go` may take to be written.
const SAY: Duration = Duration::from_secs(10);

/// What one `publish` is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What goes into the evidence.
    pub facts: Facts,
    /// How long the pod may live.
    pub pod_deadline: Duration,
    /// How much of that is kept for publication.
    pub publication: Duration,
    /// The size of the output volume in bytes.
    pub output_bytes: u64,
    /// Where things lie.
    pub places: Places,
    /// When the pod's time began.
    pub begun: Begun,
}

/// What can be learned of `run`, and done to it, beside the connection.
pub trait Neighbour {
    /// Whether it has ended, so that nobody will connect any more.
    fn has_ended(&self) -> bool;

    /// Returns when nothing that it started is left to write to the output.
    fn see_to_its_end(&self);
}

/// A container of the same pod: nothing is known of it, and the end of its first process is the end of everything in it.
#[derive(Debug, Clone, Copy)]
pub struct Container;

impl Neighbour for Container {
    fn has_ended(&self) -> bool {
        false
    }

    fn see_to_its_end(&self) {}
}

/// Whether the marker in the spool says that the runner may have been started.
pub fn may_have_run(places: &Places) -> bool {
    marker::exists(&places.spool())
}

/// What this step waits with.
struct Moment<'a> {
    clock: &'a dyn Clock,
    stop: &'a AtomicBool,
    /// When the pod's time is over, by the boot-time clock.
    end: Duration,
}

/// What is known of the run once it has ended.
struct Ran {
    command: Vec<String>,
    started_on: Timestamp,
    report: Option<RunReport>,
}

/// Runs the step to its end.
pub fn publish(
    settings: &Settings,
    target: Target,
    store: Store,
    neighbour: &dyn Neighbour,
    clock: &Arc<dyn Clock>,
    stop: &AtomicBool,
) -> Reason {
    let spool = settings.places.spool();
    let urls = settings.places.urls();
    let age = settings.begun.age(&[&spool, &urls.join(target::PUT_URL)], clock.as_ref());
    let end = clock.boottime() + settings.pod_deadline.saturating_sub(age);
    let moment = Moment { clock: clock.as_ref(), stop, end };
    let ran = match wait(settings, neighbour, &moment) {
        Ok(ran) => ran,
        Err(reason) => return reason,
    };
    neighbour.see_to_its_end();
    let package = match pack::pack(settings, &target.object(), &ran, clock.now()) {
        Ok(package) => package,
        Err(reason) => return reason,
    };
    let sent = send(settings, target, store, &package, clock, &moment);
    reason::of(&package, &sent)
}

/// Waits for the whole run: from its hello to its end.
fn wait(
    settings: &Settings,
    neighbour: &dyn Neighbour,
    moment: &Moment<'_>,
) -> Result<Ran, Reason> {
    let spool = settings.places.spool();
    if marker::exists(&spool) {
        return Err(marker::already_started());
    }
    let control = settings.places.control();
    let listener = Listener::bind(&control).map_err(|error| {
        broken(&format!("no socket can be made in {}: {error}", control.display()))
    })?;
    let (mut connection, command) = greet(settings, neighbour, moment, listener)?;
    if let Err(error) = marker::make(&spool) {
        let cause = "the start could not be recorded";
        let _ = connection.say(&to_line(&FromPublish::Refused { cause: cause.to_owned() }), SAY);
        return Err(match error.kind() {
            std::io::ErrorKind::AlreadyExists => marker::already_started(),
            _ => broken(&format!("{cause} in {}: {error}", spool.display())),
        });
    }
    let started_on = moment.clock.now();
    let started = moment.clock.boottime();
    // Whoever went away before `go` started nothing, but that cannot be known here: it counts as a start.
    let said = connection.say(&to_line(&FromPublish::Go {}), SAY);
    let report = match said {
        Ok(()) => finished(settings, moment, &mut connection, started, started_on),
        Err(_) => Some(lost(moment, started, started_on)),
    };
    Ok(Ran { command, started_on, report })
}

/// The first connection, which is `run`'s: it connects before any research code runs.
fn greet(
    settings: &Settings,
    neighbour: &dyn Neighbour,
    moment: &Moment<'_>,
    listener: Listener,
) -> Result<(Connection, Vec<String>), Reason> {
    // Later, the budget does not fit any more, and `run` refuses by itself.
    let budget = Duration::from_secs(u64::from(settings.facts.expectation.max_seconds));
    let latest = moment.end.saturating_sub(settings.publication).saturating_sub(budget);
    let until = latest + UNTIL_IT_IS_KILLED.min(settings.publication / 4);
    let is_over = || moment.stop.load(Ordering::Relaxed) || neighbour.has_ended();
    let mut connection = match listener.accept(moment.clock, until, &is_over) {
        Ok(Some(connection)) => connection,
        Ok(None) if moment.stop.load(Ordering::Relaxed) => return Err(stopped()),
        Ok(None) if neighbour.has_ended() => {
            return Err(never_started("`run` ended before it connected"));
        }
        Ok(None) => {
            return Err(never_started("`run` did not connect while its budget still fitted"));
        }
        Err(error) => return Err(broken(&format!("the control socket failed: {error}"))),
    };
    match connection.hear(moment.clock, until, Some(moment.stop)) {
        Heard::Line(line) => match from_line::<FromRun>(&line) {
            Some(FromRun::Hello { command, .. }) => Ok((connection, command)),
            _ => Err(never_started("`run` connected and did not say hello")),
        },
        Heard::Ended => Err(never_started("`run` connected and went away before it said hello")),
        Heard::TooLong => Err(never_started("`run` said more than fits into a line")),
        Heard::TimeUp => Err(never_started("`run` connected and said nothing")),
        Heard::Stopped => Err(stopped()),
    }
}

/// The report; none when `run` did not report by the time when publication must begin.
fn finished(
    settings: &Settings,
    moment: &Moment<'_>,
    connection: &mut Connection,
    started: Duration,
    started_on: Timestamp,
) -> Option<RunReport> {
    let kept =
        settings.publication.saturating_sub(UNTIL_IT_IS_KILLED.min(settings.publication / 4));
    let until = moment.end.saturating_sub(kept);
    let heard = match connection.hear(moment.clock, until, Some(moment.stop)) {
        Heard::Stopped => {
            let until = until.min(moment.clock.boottime() + STOPPED_REPORT);
            connection.hear(moment.clock, until, None)
        }
        heard => heard,
    };
    match heard {
        Heard::Line(line) => match from_line::<FromRun>(&line) {
            Some(FromRun::Finished { report }) => Some(report),
            // Only `run` holds the connection; what is no report from it is the end of it.
            _ => Some(lost(moment, started, started_on)),
        },
        Heard::Ended | Heard::TooLong => Some(lost(moment, started, started_on)),
        Heard::TimeUp | Heard::Stopped => None,
    }
}

/// What is reported for a `run` that was killed before it could.
fn lost(moment: &Moment<'_>, started: Duration, started_on: Timestamp) -> RunReport {
    let wall = moment.clock.boottime().saturating_sub(started);
    RunReport {
        ending: Ending::Lost,
        started_at: Some(started_on.to_string()),
        finished_at: moment.clock.now().to_string(),
        wall_milliseconds: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        cpu_milliseconds: None,
        peak_memory_bytes: None,
        output_tail: String::new(),
        output_bytes: 0,
    }
}

/// Sends in a thread, which is left behind when time is up: no store can keep this step from saying how it ended.
fn send(
    settings: &Settings,
    target: Target,
    store: Store,
    package: &Package,
    clock: &Arc<dyn Clock>,
    moment: &Moment<'_>,
) -> Sent {
    let archive = match File::open(&package.archive) {
        Ok(archive) => archive,
        Err(error) => return Sent::Failed(format!("the archive cannot be read: {error}")),
    };
    let limit = moment.end.saturating_sub(LAST_WORDS);
    let sending = Sending {
        store,
        target,
        archive,
        packed: package.packed,
        job_uid: settings.facts.pod().job_uid,
        submission_digest: settings.facts.submission_digest.to_hex(),
        until: limit,
        clock: Arc::clone(clock),
    };
    let (sender, receiver) = sync_channel(1);
    let task = move || {
        // Nobody is there any more to hear of it when time was up.
        let _ = sender.send(sending.send());
    };
    if let Err(error) = std::thread::Builder::new().name("send".to_owned()).spawn(task) {
        return Sent::Failed(format!("no thread can be started: {error}"));
    }
    let mut until = limit;
    let mut was_stopped = false;
    loop {
        match receiver.recv_timeout(Duration::from_millis(100)) {
            Ok(sent) => return sent,
            Err(RecvTimeoutError::Disconnected) => {
                return Sent::Failed("sending broke off".to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if moment.stop.load(Ordering::Relaxed) && !was_stopped {
            was_stopped = true;
            // A stop that was heard while waiting for the report has used its share already.
            let used = match package.outcome {
                Outcome { category: Category::Stopped, .. } => STOPPED_REPORT,
                _ => Duration::ZERO,
            };
            until = until.min(moment.clock.boottime() + STOPPED_END.saturating_sub(used));
        }
        if moment.clock.boottime() >= until {
            return Sent::CannotTell(
                "the time for publication ended while the store was asked".to_owned(),
            );
        }
    }
}

fn broken(sentence: &str) -> Reason {
    Reason::new(
        Step::Publish,
        Category::Environment,
        sentence,
        "nothing was started; look at the node's disk and at the volumes of the pod",
    )
}

fn never_started(sentence: &str) -> Reason {
    Reason::new(
        Step::Publish,
        Category::NeverStarted,
        &format!("{sentence}; the runner was not started, and nothing is published"),
        "see how the container `run` ended; an attempt that provably never ran can be released",
    )
}

fn stopped() -> Reason {
    Reason::new(
        Step::Publish,
        Category::Stopped,
        "it was asked to stop before the runner was started; nothing is published",
        "see why: a signal, a cancel, an eviction, the pod's deadline",
    )
}
