//! `run`: starts the submission's code in its own image, bounds it, and reports how it ended.
//!
//! ```text
//! checks ──▶ connect, hello ──▶ go ──▶ spawn ──▶ supervise ──▶ kill what is left ──▶ finished
//! ```
//!
//! It holds no URL and no Secret, and everything that it could be told by the runner is hostile. What it says to
//! `publish` over the connection is the record; its termination message is a hint. Before `go` nothing was started, and
//! after `go` this attempt is used up, whatever happens.

mod command;
mod connection;
mod environment;
mod lookup;
mod memory;
mod mounts;
mod process;
mod program;
mod relay;
mod sizes;
mod start;
mod supervise;
mod tail;
pub mod wording;

pub use self::sizes::entries_allowed;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;

use self::connection::Connection;
use self::lookup::Found;
use self::memory::Memory;
use self::relay::Relay;
use self::sizes::{Allowed, SizeWatch};
use self::supervise::{Event, Supervision};
use super::{Category, Ending, Places, Reason, RunReport, Step};
use crate::clock::Clock;

/// Closes this process to others of the same user, and makes it the one that orphans come to; `execute` needs the same.
pub(super) fn close_this_process() -> Result<(), Reason> {
    process::prepare().map_err(|refusal| refusal.reason())
}

/// Kills everything that this process started, and what that started. Without `/proc` the group of `leader` is all that
/// is known.
pub(super) fn kill_descendants(leader: rustix::process::Pid) {
    process::kill_tree(leader);
}

/// Reaps every child that has ended; says whether none is left.
pub(super) fn reap_what_ended() -> bool {
    process::reap_what_ended()
}

/// What `run` is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where things lie.
    pub places: Places,
    /// The runner's budget in seconds.
    pub max_seconds: u32,
    /// The pod's deadline in seconds from its start.
    pub pod_deadline: u64,
    /// What publication needs of it, in seconds.
    pub publication: u64,
    /// The size of the output folder, in bytes.
    pub output_bytes: u64,
    /// The size of the scratch folder, in bytes.
    pub scratch_bytes: u64,
    /// The submission's command; empty when the image says what to start.
    pub command: Vec<String>,
    /// What the image says in `HARNESS_RUNNER`.
    pub image_command: Option<OsString>,
    /// Where programs are looked for: the image's `PATH`.
    pub path: Option<OsString>,
}

/// Where the runner's output goes: the container's log.
#[derive(Debug)]
pub struct Sinks {
    /// Standard output.
    pub stdout: File,
    /// Standard error.
    pub stderr: File,
}

/// An end before the runner was started.
struct Refusal {
    category: Category,
    sentence: String,
    remedy: &'static str,
}

impl Refusal {
    fn new(category: Category, sentence: impl Into<String>, remedy: &'static str) -> Self {
        Self { category, sentence: sentence.into(), remedy }
    }

    fn reason(&self) -> Reason {
        Reason::new(Step::Run, self.category, &self.sentence, self.remedy)
    }
}

/// Runs the runner to its end, whatever that is.
pub fn run(settings: &Settings, sinks: Sinks, clock: &dyn Clock) -> Reason {
    match attempt(settings, sinks, clock) {
        Ok(reason) => reason,
        Err(refusal) => refusal.reason(),
    }
}

fn attempt(settings: &Settings, sinks: Sinks, clock: &dyn Clock) -> Result<Reason, Refusal> {
    process::prepare()?;
    let (sender, events) = channel();
    process::listen_for_signals(&sender)?;
    start::refuse_an_earlier_start(&settings.places)?;
    start::refuse_what_does_not_fit(settings, clock)?;
    let mut connection = Connection::open(&settings.places, &sender, &events, clock)?;
    // Waiting may have used up what was left.
    start::refuse_what_does_not_fit(settings, clock)?;
    let words = command::choose(&settings.command, settings.image_command.as_deref());
    connection.ask(words.as_deref().unwrap_or_default(), &events, clock)?;
    let run = words
        .and_then(|words| lookup::find(words, settings))
        .and_then(|found| Run::start(settings, &found, sinks, &sender, clock));
    let (report, publish_is_gone) = match run {
        Ok(run) => run.wait_for_its_end(&events, clock),
        Err(cause) => (not_executed(cause, clock), false),
    };
    let told = connection.finish(&report);
    if publish_is_gone || told.is_err() {
        return Err(connection::lost(&report));
    }
    Ok(wording::reason(Step::Run, &report.ending, settings.max_seconds))
}

fn not_executed(cause: String, clock: &dyn Clock) -> RunReport {
    RunReport {
        ending: Ending::NotExecuted { cause },
        started_at: None,
        finished_at: instant(clock.now()),
        wall_milliseconds: 0,
        cpu_milliseconds: None,
        peak_memory_bytes: None,
        output_tail: String::new(),
        output_bytes: 0,
    }
}

/// RFC 3339 to the millisecond.
fn instant(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// A runner that was started, and all that watches it.
struct Run<'a> {
    settings: &'a Settings,
    leader: rustix::process::Pid,
    relay: Relay,
    sizes: SizeWatch,
    memory: Option<Memory>,
    started_at: Timestamp,
    started: Duration,
}

impl<'a> Run<'a> {
    fn start(
        settings: &'a Settings,
        found: &Found,
        sinks: Sinks,
        events: &Sender<Event>,
        clock: &dyn Clock,
    ) -> Result<Self, String> {
        let memory = Memory::of_this_container();
        let scratch = settings.places.scratch();
        start::make_temporary_folder(&settings.places)
            .map_err(|error| format!("cannot prepare the scratch folder: {error}"))?;
        let (started_at, started) = (clock.now(), clock.boottime());
        let variables = environment::variables(
            &settings.places,
            start::has_resume(&settings.places),
            settings.max_seconds,
            started_at,
        );
        let runner = process::spawn(&found.program, &found.words, &variables, &scratch)
            .map_err(|error| lookup::explain(&found.program, &error))?;
        let leader = runner.pid;
        let unwatched = |error: std::io::Error| {
            process::kill_tree(leader);
            format!("cannot watch the runner, which was killed: {error}")
        };
        process::reap(leader, events.clone()).map_err(unwatched)?;
        let relay = Relay::start(runner.stdout, runner.stderr, sinks).map_err(unwatched)?;
        let sizes = SizeWatch::start(Self::allowed(settings), events.clone()).map_err(unwatched)?;
        Ok(Self { settings, leader, relay, sizes, memory, started_at, started })
    }

    fn allowed(settings: &Settings) -> Vec<(PathBuf, Allowed)> {
        vec![
            (settings.places.output(), Allowed::output(settings.output_bytes)),
            (settings.places.scratch(), Allowed::scratch(settings.scratch_bytes)),
        ]
    }

    /// The report, and whether `publish` went away meanwhile.
    fn wait_for_its_end(self, events: &Receiver<Event>, clock: &dyn Clock) -> (RunReport, bool) {
        let budget = Duration::from_secs(u64::from(self.settings.max_seconds));
        let ended = Supervision {
            clock,
            events,
            leader: self.leader,
            budget_end: self.started + budget,
            memory: self.memory.as_ref(),
        }
        .to_the_end();
        let wall = ended.at.saturating_sub(self.started);
        drop(self.sizes);
        let output = self.relay.end();
        let report = RunReport {
            ending: ended.ending,
            started_at: Some(instant(self.started_at)),
            finished_at: instant(clock.now()),
            wall_milliseconds: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            cpu_milliseconds: process::cpu_milliseconds_of_children(),
            peak_memory_bytes: self.memory.as_ref().and_then(Memory::peak),
            output_tail: output.tail,
            output_bytes: output.bytes,
        };
        (report, ended.publish_is_gone)
    }
}
