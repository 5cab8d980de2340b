//! `harness prediction dispatch logs`: the output of an experiment's steps, now or until it is over.
//!
//! The exit code follows the Job, never the stream of its output: a stream may end because a step has, or because the
//! kubelet, the API server or kubectl was restarted. Only the Job and its pod say which, and a stream that broke is
//! taken up where it broke.

mod output;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use self::output::Output;
use super::args::{LogStep, LogsArgs};
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{connect, neutral, signals};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{Access, ConnectOptions, Connection, LogRange, Outcome, Request};
use crate::execution::Step;
use crate::status::{
    LONGEST_OUTAGE, Part, PodStatus, ReadError, Resume, SURVIVED_FAILURES, Status, StepState,
    Target,
};

/// Lines that are printed without `--tail` and without `-f`.
const TAIL: u32 = 10_000;

/// How long one stream of output may last; the longest experiment is shorter.
const LONGEST_STREAM: Duration = Duration::from_hours(30);

/// How often a step that has not begun is looked at, and a stream that broke is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the output of a step that is over is asked for before it is given up.
const MOST_TRIES: u32 = 20;

/// How long the Job may take to say that it is over when its steps are.
const PATIENCE: Duration = Duration::from_mins(10);

pub(super) fn run(args: &LogsArgs) -> Result<Exit> {
    let target = match Target::parse(&args.name) {
        Ok(target) => target,
        Err(allowed) => bail!("{}: {allowed}", crate::submission::excerpt::excerpt(&args.name)),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let stop = signals::stop_at_once()?;
    let options = ConnectOptions {
        stop: Some(Arc::clone(&stop)),
        ..connect::options(&args.cluster, Access::Watch, true)
    };
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => return Ok(connect::unreachable(&why)),
    };
    let mut reader = Reader { connection, options, clock, stop, args, target };
    let ended = match reader.look() {
        Ok(status) => {
            reader.target.uid = status.job_uid.clone().filter(|_| !status.is_recorded);
            if args.follow { reader.follow(status) } else { reader.print(&status) }
        }
        Err(exit) => Err(exit),
    };
    Ok(ended.unwrap_or_else(|exit| exit))
}

struct Reader<'a> {
    connection: Connection,
    options: ConnectOptions,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    args: &'a LogsArgs,
    target: Target,
}

/// `Err` is an end before the end: what the command ends with.
impl Reader<'_> {
    /// Prints what there is of one step's output.
    fn print(&self, status: &Status) -> Result<Exit, Exit> {
        let step = self.args.step.map_or(Step::Run, step_of);
        let Some(pod) = pod_with(status, step) else {
            say_gone(step, status);
            return Ok(Exit::of_status(status, None));
        };
        let range = LogRange::Last(self.args.tail.unwrap_or(TAIL));
        let mut output = Output::default();
        let streamed = self.stream(&self.request(pod, step, range), &mut |piece| {
            output.take(piece);
            ControlFlow::Continue(())
        });
        output.end();
        if self.is_asked_to_stop() {
            return Err(Exit::Unknown);
        }
        if let Err(outcome) = streamed
            && !terminal::output_ended()
        {
            match *outcome {
                Outcome::Done(_) => {}
                Outcome::Refused(refusal) => refused(step, &refusal, status)?,
                Outcome::Unknown(unknown) => {
                    terminal::say(Tone::Error, &neutral::lines(&unknown.to_string()));
                    return Err(Exit::Unknown);
                }
            }
        }
        Ok(Exit::of_status(status, None))
    }

    /// Follows one step or all of them, in every pod that there is one after the other.
    fn follow(&mut self, mut status: Status) -> Result<Exit, Exit> {
        let steps: Vec<Step> = match self.args.step {
            Some(step) => vec![step_of(step)],
            None => vec![Step::Stage, Step::Run, Step::Publish],
        };
        let mut index = 0;
        let mut pod = status.pod.clone();
        while let Some(step) = steps.get(index) {
            status = self.wait_for(*step, status)?;
            if !is_another(&status, pod.as_ref()) {
                pod = status.pod.clone().or(pod);
                status = self.follow_step(*step, status)?;
                index += 1;
            }
            if is_another(&status, pod.as_ref()) {
                terminal::say(Tone::Note, "another pod has taken over and begins anew");
                pod.clone_from(&status.pod);
                index = 0;
            }
        }
        self.last_word(status)
    }

    /// Follows the output of one step until the step is over, and gives the status that says so.
    fn follow_step(&mut self, step: Step, mut status: Status) -> Result<Status, Exit> {
        let Some(pod) = pod_with(&status, step).cloned() else {
            say_gone(step, &status);
            return Ok(status);
        };
        terminal::say(Tone::Note, &format!("output of `{}`", step.name()));
        let mut output = Output::default();
        let mut resume = Resume::default();
        let mut tries = 0;
        loop {
            let was_over = is_over(&status, step);
            let since = resume.since();
            let lines = self.args.tail.filter(|_| since.is_none());
            let request = self.request(&pod, step, LogRange::Follow { since, lines });
            let mut taken_up = resume.stream();
            let streamed = self.stream(&request, &mut |piece| {
                taken_up.piece(piece, &mut |part| {
                    match part {
                        Part::Bytes(bytes) => output.take(bytes),
                        Part::Gap => say_gap(&mut output),
                    }
                    ControlFlow::Continue(())
                })
            });
            if self.is_stopped() {
                output.end();
                return Err(Exit::Unknown);
            }
            let has_ended = match &streamed {
                Ok(()) => true,
                Err(outcome) => matches!(**outcome, Outcome::Done(_)),
            };
            if !was_over {
                status = self.look()?;
                if !is_over(&status, step) {
                    self.clock.sleep(PAUSE);
                }
            }
            // A stream that was opened before may have ended for another reason than the step.
            if was_over && has_ended || is_another(&status, Some(&pod)) {
                break;
            }
            tries += u32::from(was_over);
            let is_last = tries >= MOST_TRIES || status.pod.is_none();
            match streamed.map_err(|outcome| *outcome) {
                Err(Outcome::Refused(refusal)) if is_last || is_forbidden(&refusal) => {
                    if !output.has_shown() {
                        refused(step, &refusal, &status)?;
                    }
                    break;
                }
                Err(Outcome::Unknown(unknown)) if is_last => {
                    let why = neutral::lines(&unknown.to_string());
                    let text =
                        format!("the rest of the output of `{}` is lost: {why}", step.name());
                    terminal::say(Tone::Warning, &text);
                    break;
                }
                Err(_) if was_over => self.clock.sleep(PAUSE),
                _ => {}
            }
            self.mend();
        }
        output.end();
        Ok(status)
    }

    /// What the Job says once the output is over: it takes a moment to say so.
    fn last_word(&mut self, mut status: Status) -> Result<Exit, Exit> {
        let patience = self.clock.boottime() + PATIENCE;
        while self.args.step.is_none() && is_under_way(&status) {
            if self.is_stopped() {
                return Err(Exit::Unknown);
            }
            if self.clock.boottime() > patience {
                return Err(Exit::Waited);
            }
            self.clock.sleep(PAUSE);
            status = self.look()?;
        }
        // Of a step that failed, the Job takes a moment to say so.
        let failed = |it: &crate::status::StepStatus| {
            self.args.step.is_some_and(|step| step_of(step) == it.step)
                && it.state == StepState::Failed
        };
        if is_under_way(&status) && status.steps.iter().any(failed) {
            return Ok(Exit::Failed);
        }
        Ok(Exit::of_status(&status, None))
    }

    /// Waits until a step has begun or will not begin any more.
    fn wait_for(&mut self, step: Step, mut status: Status) -> Result<Status, Exit> {
        while has_not_begun(&status, step) && is_under_way(&status) {
            if self.is_stopped() {
                return Err(Exit::Unknown);
            }
            self.clock.sleep(PAUSE);
            status = self.look()?;
        }
        Ok(status)
    }

    /// Where the experiment stands; while output is followed, outages are survived as a wait survives them.
    fn look(&mut self) -> Result<Status, Exit> {
        let (mut failures, mut outage) = (0, None);
        loop {
            let (connection, clock, target) = (&self.connection, &*self.clock, &self.target);
            let read = || crate::status::read(connection, clock, target, Duration::MAX);
            let error = match connection.until(clock, &|| self.is_stopped(), read) {
                Ok(status) => return Ok(status),
                Err(error) => error,
            };
            if self.is_stopped() {
                return Err(Exit::Unknown);
            }
            failures += 1;
            let now = self.clock.boottime();
            let since = *outage.get_or_insert(now);
            let was_seen = self.target.uid.is_some();
            let is_hopeful = match &error {
                ReadError::Refused(_) => was_seen,
                ReadError::Unknown(_) => was_seen || failures <= SURVIVED_FAILURES,
            };
            if !self.args.follow || !is_hopeful || now.saturating_sub(since) >= LONGEST_OUTAGE {
                terminal::say(Tone::Error, &neutral::lines(&error.to_string()));
                return Err(match error {
                    ReadError::Refused(_) => Exit::Refused,
                    ReadError::Unknown(_) => Exit::Unknown,
                });
            }
            if failures == 1 {
                let text = format!("cannot read the cluster: {error}; trying again");
                terminal::say(Tone::Warning, &neutral::lines(&text));
            }
            self.clock.sleep(PAUSE);
            self.mend();
        }
    }

    /// A connection in place of one whose kubectl has died.
    fn mend(&mut self) {
        if self.connection.has_ended()
            && let Ok(connection) = Connection::open(&self.options, &self.clock)
        {
            self.connection = connection;
        }
    }

    fn request(&self, pod: &PodStatus, step: Step, range: LogRange) -> Request {
        self.connection.requests().stream_log(&pod.name, step.name(), range, LONGEST_STREAM)
    }

    fn stream(
        &self,
        request: &Request,
        take: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + Send),
    ) -> Result<(), Box<Outcome>> {
        let watcher = self.connection.watcher();
        self.connection.until(&*self.clock, &|| self.is_stopped(), || watcher.log(request, take))
    }

    fn is_asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_stopped(&self) -> bool {
        self.is_asked_to_stop() || terminal::output_ended()
    }
}

fn refused(step: Step, refusal: &crate::cluster::Status, status: &Status) -> Result<(), Exit> {
    let why = neutral::lines(&refusal.message);
    let text = format!("`{}`: {why}", step.name());
    if is_forbidden(refusal) {
        terminal::say(Tone::Error, &text);
        return Err(Exit::Refused);
    }
    terminal::say(Tone::Warning, &text);
    say_gone(step, status);
    Ok(())
}

fn step_of(step: LogStep) -> Step {
    match step {
        LogStep::Stage => Step::Stage,
        LogStep::Run => Step::Run,
        LogStep::Publish => Step::Publish,
    }
}

fn is_forbidden(refusal: &crate::cluster::Status) -> bool {
    matches!(refusal.code, 401 | 403)
}

/// The pod, if the step has begun in it: of a pod without a node the API server answers 204 and nothing, which looks
/// like no answer of its own.
fn pod_with(status: &Status, step: Step) -> Option<&PodStatus> {
    status.pod.as_ref().filter(|_| !has_not_begun(status, step))
}

fn is_another(status: &Status, pod: Option<&PodStatus>) -> bool {
    match (&status.pod, pod) {
        (Some(now), Some(pod)) => now.uid != pod.uid,
        _ => false,
    }
}

/// Whether a step writes nothing any more.
fn is_over(status: &Status, step: Step) -> bool {
    let is_over = |it: &crate::status::StepStatus| {
        it.step == step && matches!(it.state, StepState::Succeeded | StepState::Failed)
    };
    !is_under_way(status) || status.steps.iter().any(is_over)
}

fn say_gap(output: &mut Output) {
    output.end();
    let text = "the connection broke, and the node does not have any more what followed; lines may be missing here";
    terminal::say(Tone::Warning, text);
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
