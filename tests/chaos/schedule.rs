//! What happens to the submitters of one experiment, drawn from a seed.

use std::fmt;
use std::time::Duration;

use harness_test_cluster::fault::{Action, Answer};
use rustix::process::Signal;

use crate::kit::chance::Random;
use crate::kit::clock;
use crate::kit::steps::Step;

/// How long after its start a submitter may be hit; it takes about half a second when nothing happens.
const UNDER_WAY: Duration = Duration::from_millis(900);

/// All submitters of one experiment.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) submitters: Vec<Plan>,
}

/// One run of the command.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Which of the experiment's signatures it has.
    pub(crate) signature: usize,
    /// When it starts, from the start of the schedule.
    pub(crate) starts_after: Duration,
    pub(crate) misfortunes: Vec<Misfortune>,
}

/// What befalls a run.
#[derive(Clone)]
pub(crate) enum Misfortune {
    /// On the way to the API server or back.
    Network(Step, Action),
    /// A signal, so long after the start.
    Signal(Victim, Signal, Duration),
    /// Stopped in its tracks so long after the start, and for how long.
    Pause(Victim, Duration, Duration),
    /// No more descriptors than this.
    FewDescriptors(usize),
    /// No file may grow, as on a full disk.
    FullDisk,
    /// Its wall clock, so long after the start, and how far.
    ClockSetForward(Duration, Duration),
}

/// Without the bytes of made-up answers.
impl fmt::Debug for Misfortune {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.kind())?;
        match self {
            Self::Network(step, _) => write!(formatter, " at {step:?}"),
            Self::Signal(_, _, at) => write!(formatter, " after {at:?}"),
            Self::Pause(_, at, length) => write!(formatter, " after {at:?} for {length:?}"),
            Self::FewDescriptors(count) => write!(formatter, ": {count}"),
            Self::FullDisk => Ok(()),
            Self::ClockSetForward(at, ahead) => write!(formatter, " after {at:?} by {ahead:?}"),
        }
    }
}

/// Who is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Victim {
    Harness,
    Kubectl,
    Guard,
}

/// So many signatures an experiment has.
pub(crate) const SIGNATURES: usize = 3;

impl Schedule {
    /// The schedule of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let submitters = if random.one_in(30) { 16 } else { 1 + random.below(4) };
        let submitters = (0..submitters).map(|_| Plan::draw(&mut random)).collect();
        Self { seed, submitters }
    }
}

impl Plan {
    fn draw(random: &mut Random) -> Self {
        let signature = if random.one_in(2) { 0 } else { random.below(SIGNATURES) };
        let starts_after = random.within(Duration::from_millis(800));
        let count = random.pick(&[0, 1, 1, 1, 2, 2, 3]);
        let misfortunes = (0..count).map(|_| Misfortune::draw(random)).collect();
        Self { signature, starts_after, misfortunes }
    }
}

impl Plan {
    /// Whether nobody is left who would tidy up.
    pub(crate) fn ends_the_guard(&self) -> bool {
        let ends = |one: &Misfortune| matches!(one, Misfortune::Signal(Victim::Guard, ..));
        self.misfortunes.iter().any(ends)
    }

    /// Whether harness may be killed at any moment.
    pub(crate) fn kills_harness(&self) -> bool {
        let kills =
            |one: &Misfortune| matches!(one, Misfortune::Signal(Victim::Harness, Signal::KILL, _));
        self.misfortunes.iter().any(kills)
    }
}

impl Misfortune {
    fn draw(random: &mut Random) -> Self {
        match random.below(11) {
            0..=4 => Self::Network(random.pick(&Step::ALL), action(random)),
            5 | 6 => Self::Signal(victim(random), random.pick(&SIGNALS), random.within(UNDER_WAY)),
            7 => Self::Pause(
                victim(random),
                random.within(UNDER_WAY),
                random.within(Duration::from_secs(3)),
            ),
            8 => Self::FewDescriptors(3 + random.below(30)),
            9 => Self::ClockSetForward(random.within(UNDER_WAY), random.within(clock::YEAR)),
            _ => Self::FullDisk,
        }
    }

    /// Its kind, for the figures.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Network(_, action) => {
                let text = format!("{action:?}");
                let name = text.split(['(', ' ', '{']).next().unwrap_or_default();
                format!("network: {name}")
            }
            Self::Signal(victim, signal, _) => format!("{} to {victim:?}", signal_name(*signal)),
            Self::Pause(victim, ..) => format!("pause of {victim:?}"),
            Self::FewDescriptors(_) => "few descriptors".to_owned(),
            Self::FullDisk => "full disk".to_owned(),
            Self::ClockSetForward(..) => "clock set forward".to_owned(),
        }
    }
}

fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::KILL => "KILL",
        Signal::INT => "INT",
        Signal::TERM => "TERM",
        _ => "HUP",
    }
}

/// KILL most often: nobody can prepare for it.
const SIGNALS: [Signal; 6] =
    [Signal::KILL, Signal::KILL, Signal::KILL, Signal::INT, Signal::TERM, Signal::HUP];

fn victim(random: &mut Random) -> Victim {
    random.pick(&[Victim::Harness, Victim::Harness, Victim::Kubectl, Victim::Guard])
}

fn action(random: &mut Random) -> Action {
    let delay = |random: &mut Random| random.within(Duration::from_secs(4));
    match random.below(9) {
        0 | 1 => Action::LoseResponse,
        2 => Action::DropRequest,
        3 => Action::CutResponse(random.below(2000)),
        4 => Action::DelayRequest(delay(random)),
        5 => Action::DelayResponse(delay(random)),
        6 => Action::Replace(unavailable()),
        7 => Action::ReplaceResponse(unavailable()),
        _ => Action::ReplaceResponse(Answer::new(502, "text/html", "<h1>Bad Gateway</h1>")),
    }
}

/// What a priority level says that is full, also of requests that were done.
fn unavailable() -> Answer {
    let body = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too many requests","reason":"TooManyRequests","code":429}"#;
    Answer::new(429, "application/json", body).header("Retry-After", "1")
}
