//! `harness prediction dispatch logs`: the output of an experiment's steps, now or until it is over.
//!
//! The exit code follows the Job, never the stream of its output.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::args::{LogStep, LogsArgs};
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{connect, neutral, signals};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{Access, Connection, Outcome};
use crate::execution::Step;
use crate::status::{ReadError, Status, StepState, Target};

/// How long one stream of output may last; the longest experiment is shorter.
const LONGEST_STREAM: Duration = Duration::from_hours(30);

/// How often a step that has not begun is looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads that may fail in a row while output is followed.
const SURVIVED_FAILURES: u32 = 60;

pub(super) fn run(args: &LogsArgs) -> Result<Exit> {
    let target = match Target::parse(&args.name) {
        Ok(target) => target,
        Err(allowed) => bail!("{}: {allowed}", crate::submission::excerpt::excerpt(&args.name)),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = connect::options(&args.cluster, Access::Watch, true);
    let stop = signals::stop_at_once()?;
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => return Ok(connect::unreachable(&why)),
    };
    let reader = Reader { connection, clock, stop, args };
    Ok(reader.read(target))
}

struct Reader<'a> {
    connection: Connection,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    args: &'a LogsArgs,
}

impl Reader<'_> {
    fn read(&self, mut target: Target) -> Exit {
        let steps: Vec<Step> = match (self.args.step, self.args.follow) {
            (Some(LogStep::Stage), _) => vec![Step::Stage],
            (Some(LogStep::Publish), _) => vec![Step::Publish],
            (Some(LogStep::Run), _) | (None, false) => vec![Step::Run],
            (None, true) => vec![Step::Stage, Step::Run, Step::Publish],
        };
        let mut status = match self.look(&target) {
            Ok(status) => status,
            Err(exit) => return exit,
        };
        target.uid = status.job_uid.clone().filter(|_| !status.is_recorded);
        for step in steps {
            if self.args.follow {
                status = match self.wait_for(step, &target, status) {
                    Ok(status) => status,
                    Err(exit) => return exit,
                };
            }
            if let Err(exit) = self.print(step, &status, &target) {
                return exit;
            }
        }
        if self.args.follow { self.last_word(&target) } else { Exit::of_status(&status, None) }
    }

    /// What the Job says once the output is over: it takes a moment to say so.
    fn last_word(&self, target: &Target) -> Exit {
        let patience = self.clock.boottime() + Duration::from_mins(10);
        loop {
            match self.look(target) {
                Ok(status) if self.args.step.is_some() || !is_under_way(&status) => {
                    return Exit::of_status(&status, None);
                }
                Err(exit) => return exit,
                Ok(_) if self.clock.boottime() > patience => return Exit::Waited,
                Ok(_) => self.clock.sleep(PAUSE),
            }
            if self.is_stopped() {
                return Exit::Unknown;
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || terminal::output_ended()
    }

    fn look(&self, target: &Target) -> Result<Status, Exit> {
        let mut failures = 0;
        loop {
            match crate::status::read(&self.connection, &*self.clock, target, Duration::MAX) {
                Ok(status) => return Ok(status),
                Err(ReadError::Unknown(_))
                    if self.args.follow && failures < SURVIVED_FAILURES && !self.is_stopped() =>
                {
                    failures += 1;
                    self.clock.sleep(PAUSE);
                }
                Err(error) => {
                    terminal::say(Tone::Error, &neutral::lines(&error.to_string()));
                    return Err(match error {
                        ReadError::Refused(_) => Exit::Refused,
                        ReadError::Unknown(_) => Exit::Unknown,
                    });
                }
            }
        }
    }

    /// Waits until a step has begun or will not begin any more.
    fn wait_for(&self, step: Step, target: &Target, mut status: Status) -> Result<Status, Exit> {
        while has_not_begun(&status, step) && is_under_way(&status) {
            if self.is_stopped() {
                return Err(Exit::Unknown);
            }
            self.clock.sleep(PAUSE);
            status = self.look(target)?;
        }
        Ok(status)
    }

    /// Prints the output of a step; a stream that breaks is taken up where it broke.
    fn print(&self, step: Step, status: &Status, target: &Target) -> Result<(), Exit> {
        // Of a pod without a node the API server answers 204 and nothing, which looks like no answer of its own.
        let Some(pod) = status.pod.as_ref().filter(|_| !has_not_begun(status, step)) else {
            say_gone(step, status);
            return Ok(());
        };
        let requests = self.connection.requests();
        let follow = self.args.follow;
        if follow {
            terminal::say(Tone::Note, &format!("output of `{}`", step.name()));
        }
        let lines = Some(self.args.tail).filter(|_| !follow);
        let request = requests.stream_log(&pod.name, step.name(), lines, follow, LONGEST_STREAM);
        let mut output = Output::default();
        loop {
            let mut skip = output.printed;
            let streamed = self.stream(&request, &mut |piece| {
                let known = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
                skip -= known as u64;
                output.take(&piece[known..]);
            });
            if self.is_stopped() {
                return Err(Exit::Unknown);
            }
            let Err(outcome) = streamed else { break };
            match *outcome {
                Outcome::Done(_) => break,
                Outcome::Refused(refusal) => {
                    let why = neutral::lines(&refusal.message);
                    terminal::say(Tone::Warning, &format!("`{}`: {why}", step.name()));
                    say_gone(step, status);
                    break;
                }
                Outcome::Unknown(_) if follow => {
                    self.clock.sleep(PAUSE);
                    self.look(target)?;
                }
                Outcome::Unknown(unknown) => {
                    terminal::say(Tone::Error, &neutral::lines(&unknown.to_string()));
                    return Err(Exit::Unknown);
                }
            }
        }
        output.end();
        Ok(())
    }

    /// Streams on a thread of its own, so that a stop does not wait for the next line.
    fn stream(
        &self,
        request: &crate::cluster::Request,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Box<Outcome>> {
        let watcher = self.connection.watcher();
        std::thread::scope(|scope| {
            let stream = scope.spawn(|| {
                watcher.log(request, &mut |piece| {
                    take(piece);
                    if self.is_stopped() {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
            });
            while !stream.is_finished() {
                if self.is_stopped() {
                    self.connection.end();
                }
                self.clock.sleep(Duration::from_millis(5));
            }
            stream.join().expect("streaming does not panic")
        })
    }
}

fn say_gone(step: Step, status: &Status) {
    let name = step.name();
    let gone = if is_under_way(status) {
        format!("there is no output of `{name}` yet: {}", status.diagnosis.sentence)
    } else {
        format!(
            "the output of `{name}` is not there (any more); what is known: {}\nthe end of the runner's output is \
             kept in the evidence inside the result object{}",
            status.diagnosis.sentence,
            status.identity.result_object.as_ref().map(|it| format!(", {it}")).unwrap_or_default()
        )
    };
    terminal::say(Tone::Note, &neutral::lines(&gone));
}

fn is_under_way(status: &Status) -> bool {
    !status.phase.is_over()
        && status.phase != crate::status::Phase::Absent
        && status.job_uid.is_some()
}

fn has_not_begun(status: &Status, step: Step) -> bool {
    let waits = |it: &crate::status::StepStatus| it.step == step && it.state == StepState::Waiting;
    status.steps.is_empty() || status.steps.iter().any(waits)
}

/// Output on its way to standard output: raw, or harmless where eyes see it.
#[derive(Default)]
struct Output {
    printed: u64,
    stream: neutral::Stream,
    ends_a_line: bool,
}

impl Output {
    fn take(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        self.printed += piece.len() as u64;
        self.ends_a_line = piece.last() == Some(&b'\n');
        if !terminal::is_seen() {
            terminal::raw(piece);
            return;
        }
        terminal::raw(self.stream.bytes(piece).as_bytes());
    }

    /// A prompt of the shell must not stand behind the last line.
    fn end(&self) {
        if self.printed > 0 && !self.ends_a_line && terminal::is_seen() {
            terminal::raw(b"\n");
        }
    }
}
