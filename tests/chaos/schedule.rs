//! What happens to the submitters of one experiment, drawn from a seed.

use std::fmt;
use std::time::Duration;

use harness_test_cluster::fault::{Action, Answer};
use rustix::process::Signal;

use crate::draw::Draw;
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
        }
    }
}

/// Who is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let mut draw = Draw::new(seed);
        let submitters = if draw.one_in(30) { 16 } else { 1 + draw.below(4) };
        let submitters = (0..submitters).map(|_| Plan::draw(&mut draw)).collect();
        Self { seed, submitters }
    }
}

impl Plan {
    fn draw(draw: &mut Draw) -> Self {
        let signature = if draw.one_in(2) { 0 } else { draw.below(SIGNATURES) };
        let starts_after = draw.within(Duration::from_millis(800));
        let count = *draw.pick(&[0, 1, 1, 1, 2, 2, 3]);
        let misfortunes = (0..count).map(|_| Misfortune::draw(draw)).collect();
        Self { signature, starts_after, misfortunes }
    }
}

impl Plan {
    /// Whether nobody is left who would tidy up.
    pub(crate) fn ends_the_guard(&self) -> bool {
        let ends = |one: &Misfortune| matches!(one, Misfortune::Signal(Victim::Guard, ..));
        self.misfortunes.iter().any(ends)
    }
}

impl Misfortune {
    fn draw(draw: &mut Draw) -> Self {
        match draw.below(10) {
            0..=4 => Self::Network(*draw.pick(&Step::ALL), action(draw)),
            5 | 6 => Self::Signal(victim(draw), *draw.pick(&SIGNALS), draw.within(UNDER_WAY)),
            7 => Self::Pause(
                victim(draw),
                draw.within(UNDER_WAY),
                draw.within(Duration::from_secs(3)),
            ),
            8 => Self::FewDescriptors(3 + draw.below(30)),
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

fn victim(draw: &mut Draw) -> Victim {
    *draw.pick(&[Victim::Harness, Victim::Harness, Victim::Kubectl, Victim::Guard])
}

fn action(draw: &mut Draw) -> Action {
    let delay = |draw: &mut Draw| draw.within(Duration::from_secs(4));
    match draw.below(9) {
        0 | 1 => Action::LoseResponse,
        2 => Action::DropRequest,
        3 => Action::CutResponse(draw.below(2000)),
        4 => Action::DelayRequest(delay(draw)),
        5 => Action::DelayResponse(delay(draw)),
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
