//! `harness prediction dispatch status`: where experiments stand and why, now or until they are over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::args::{StatusArgs, StatusOutput};
use super::exit::Exit;
use super::input::{self, STANDARD_INPUT};
use super::progress::Spinner;
use super::terminal::{self, Tone};
use super::{connect, neutral, problems, profiles, signals, statuses};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{Access, ConnectOptions, Connection};
use crate::render::{self, identity};
use crate::status::{self, FollowEnd, Followed, ReadError, Session, Status, Target};
use crate::submission::Submission;

pub(super) fn run(args: &StatusArgs) -> Result<Exit> {
    let Some(targets) = targets(args)? else { return Ok(Exit::Invalid) };
    let reads_stdin = args.submissions.iter().any(|path| path.as_os_str() == STANDARD_INPUT);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let begun = clock.boottime();
    let waits = args.wait.is_some() || args.watch;
    let stop = if waits { Some(signals::stop_at_once()?) } else { None };
    let limit = args.wait.and_then(|wait| wait.0);
    let options = connect::options(&args.cluster, Access::Watch, !reads_stdin);
    let options = ConnectOptions {
        ready_timeout: limit.unwrap_or(options.ready_timeout).min(options.ready_timeout),
        stop: stop.clone(),
        ..options
    };
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => return Ok(connect::unreachable(&why)),
    };
    match stop {
        None => Ok(once(&connection, &*clock, &targets, args.output)),
        Some(stop) => {
            let waiting = Waiting { begun, limit, is_watching: args.watch, output: args.output };
            let exits = follow_to_the_end(&clock, &options, connection, targets, waiting, &stop);
            Ok(Exit::most_urgent(exits))
        }
    }
}

/// Those that are named, and those of the submissions; nothing when one of them is invalid.
fn targets(args: &StatusArgs) -> Result<Option<Vec<Target>>> {
    input::check_standard_input(args.submissions.iter())?;
    let mut targets = Vec::new();
    for name in &args.names {
        match Target::parse(name) {
            Ok(target) => targets.push(target),
            Err(allowed) => bail!("{}: {allowed}", crate::submission::excerpt::excerpt(name)),
        }
    }
    if args.submissions.is_empty() {
        return Ok(Some(targets));
    }
    let profiles = profiles::load(&args.profiles)?;
    let mut is_valid = true;
    for source in input::read_all(&args.submissions)? {
        let found = Submission::parse(&source.bytes).and_then(|submission| {
            let fitted = render::fit(&submission, &profiles)?;
            Ok(Target {
                name: identity::job_name(submission.result_identity()),
                uid: None,
                submission_digest: Some(identity::submission_digest(&fitted).to_hex()),
            })
        });
        match found {
            Ok(target) => targets.push(target),
            Err(problems) => {
                is_valid = false;
                for problem in &problems {
                    terminal::say(Tone::Error, &problems::for_people(&source.name, problem));
                }
            }
        }
    }
    Ok(Some(targets).filter(|_| is_valid))
}

fn once(
    connection: &Connection,
    clock: &dyn Clock,
    targets: &[Target],
    output: StatusOutput,
) -> Exit {
    if output == StatusOutput::Wide {
        terminal::data(&statuses::wide_head());
    }
    let exits =
        targets.iter().map(|target| match status::read(connection, clock, target, Duration::MAX) {
            Ok(status) => {
                print(&status, output);
                Exit::of_status(&status, target.submission_digest.as_deref())
            }
            Err(error) => {
                let why = neutral::lines(&error.to_string());
                terminal::say(Tone::Error, &format!("{}: {why}", target.name));
                match error {
                    ReadError::Refused(_) => Exit::Refused,
                    ReadError::Unknown(_) => Exit::Unknown,
                }
            }
        });
    Exit::most_urgent(exits.collect::<Vec<_>>())
}

/// How to wait.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// Since when, on the boot-time clock.
    pub(super) begun: Duration,
    /// For how long; nothing is for as long as it takes.
    pub(super) limit: Option<Duration>,
    /// Whether each change is data.
    pub(super) is_watching: bool,
    /// How to print.
    pub(super) output: StatusOutput,
}

/// Follows experiments to their end and gives an exit code for each.
pub(super) fn follow_to_the_end(
    clock: &Arc<dyn Clock>,
    options: &ConnectOptions,
    connection: Connection,
    targets: Vec<Target>,
    waiting: Waiting,
    stop: &Arc<AtomicBool>,
) -> Vec<Exit> {
    if targets.is_empty() {
        return Vec::new();
    }
    let spinner = Spinner::start();
    let is_one = targets.len() == 1;
    let changes_are_data =
        waiting.is_watching || matches!(waiting.output, StatusOutput::Json | StatusOutput::Yaml);
    let mut heard = |status: &Status, is_change: bool| {
        let line = format!("{}: {}", status.name, statuses::in_one_line(status));
        let glance = statuses::at_a_glance(status);
        spinner.say(if is_one { glance } else { format!("{glance} ({})", status.name) });
        if !is_change {
            return;
        }
        if changes_are_data {
            spinner.aside(|| print_change(status, &line, waiting.output));
        } else if spinner.is_hidden() {
            terminal::say(Tone::Note, &line);
        }
    };
    let mut trouble = |text: &str| {
        spinner.aside(|| terminal::say(Tone::Warning, &neutral::lines(text)));
    };
    let connect = |ready_within: Duration| {
        let stop = Some(Arc::clone(stop));
        let options = ConnectOptions { ready_timeout: ready_within, stop, ..options.clone() };
        Connection::open(&options, clock)
    };
    let is_stopped =
        || stop.load(Ordering::Relaxed) || (changes_are_data && terminal::output_ended());
    let session = Session {
        clock,
        connect: &connect,
        limit: waiting.limit,
        begun: waiting.begun,
        is_stopped: &is_stopped,
        heard: &mut heard,
        trouble: &mut trouble,
    };
    let followed = status::follow(session, connection, targets);
    drop(spinner);
    if waiting.output == StatusOutput::Wide {
        terminal::data(&statuses::wide_head());
    }
    for one in &followed {
        conclude(one, waiting.output);
    }
    followed.iter().map(Exit::of_followed).collect()
}

fn print_change(status: &Status, line: &str, output: StatusOutput) {
    match output {
        StatusOutput::Json | StatusOutput::Yaml => print(status, output),
        StatusOutput::Text | StatusOutput::Wide | StatusOutput::Name => terminal::data(line),
    }
}

/// The last word on one that was waited for.
fn conclude(followed: &Followed, output: StatusOutput) {
    let name = &followed.target.name;
    match &followed.end {
        FollowEnd::Over => {}
        FollowEnd::Waited if followed.status.is_none() => {
            let text =
                format!("{name}: waited long enough, and the cluster did not say where it stands");
            terminal::say(Tone::Error, &text);
        }
        FollowEnd::Stopped if terminal::output_ended() => {}
        FollowEnd::Waited => {
            let goes_on = format!("{name}: waited long enough; the experiment goes on");
            terminal::say(Tone::Note, &goes_on);
        }
        FollowEnd::Stopped => {
            terminal::say(Tone::Note, &format!("{name}: stopped waiting; the experiment goes on"));
        }
        FollowEnd::Refused(why) | FollowEnd::Lost(why) => {
            terminal::say(Tone::Error, &format!("{name}: {}", neutral::lines(why)));
        }
    }
    // For programs the last change was the last word.
    if let Some(status) = &followed.status
        && !matches!(output, StatusOutput::Json | StatusOutput::Yaml)
    {
        print(status, output);
    }
}

fn print(status: &Status, output: StatusOutput) {
    match output {
        StatusOutput::Text => terminal::data(&statuses::for_people(status)),
        StatusOutput::Wide => terminal::data(&statuses::wide(status)),
        StatusOutput::Name => terminal::data(&statuses::name(&status.name)),
        StatusOutput::Json => terminal::data(&statuses::json(status)),
        StatusOutput::Yaml => match statuses::yaml(status) {
            Ok(document) => terminal::data(&document),
            Err(error) => terminal::say(Tone::Error, &super::chain(&error)),
        },
    }
}
