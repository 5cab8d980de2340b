//! Whoever runs a command: the requests of its action, which are served in any order, and the facts that come back.

use std::time::Duration;

use harness::submit::facts::{Moment, Refusal};
use jiff::Timestamp;

use crate::cluster::{Age, Run};
use crate::keeper::Keeper;
use crate::submitter::Submitter;

/// When everything begins.
pub const START: &str = "2026-06-01T00:00:00Z";

/// The least retention, by which time passes.
pub const RETENTION: Duration = Duration::from_hours(1);

/// The moment after so many retentions, by all clocks.
pub fn moment(age: Age) -> Moment {
    let boot = RETENTION * u32::from(age);
    let now = start() + boot;
    Moment { boot, local: now, server: Some(now) }
}

/// The beginning.
pub fn start() -> Timestamp {
    START.parse().expect("a point in time")
}

/// A no with this code.
pub fn refusal(code: u16, reason: &str) -> Refusal {
    Refusal { code, reason: reason.to_owned(), message: String::new(), retry_after: None }
}

/// One request that is still to be served.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Open<R> {
    /// Which of the action's requests.
    pub slot: usize,
    /// The request.
    pub request: R,
    /// It is sent again without a read, as only a broken protocol does.
    pub is_blind: bool,
}

/// The requests of one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Batch<R, F> {
    /// What is still to be served.
    pub open: Vec<Open<R>>,
    /// What is known, in the order of the requests.
    pub facts: Vec<Option<F>>,
    /// When they were decided.
    pub decided: Age,
}

impl<R, F> Batch<R, F> {
    /// Of these requests; `at_once` answers what always has the same answer.
    pub fn new(requests: Vec<R>, decided: Age, at_once: impl Fn(&R) -> Option<F>) -> Self {
        let facts: Vec<Option<F>> = requests.iter().map(at_once).collect();
        let open = requests
            .into_iter()
            .enumerate()
            .filter(|(slot, _)| facts[*slot].is_none())
            .map(|(slot, request)| Open { slot, request, is_blind: false })
            .collect();
        Self { open, facts, decided }
    }

    /// The request of this place is answered; all facts once it was the last.
    pub fn hear(&mut self, place: usize, fact: F) -> Option<Vec<F>> {
        let open = self.open.remove(place);
        self.facts[open.slot] = Some(fact);
        if !self.open.is_empty() {
            return None;
        }
        Some(std::mem::take(&mut self.facts).into_iter().flatten().collect())
    }
}

/// Somebody who runs a command.
#[expect(
    clippy::large_enum_variant,
    reason = "there are a handful of them, and most states hold a keeper"
)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// `submit`.
    Submitter(Submitter),
    /// `cancel`, `release`, `prune` or its sweep of Secrets.
    Keeper(Keeper),
    /// Somebody who has printed a receipt, of whom nothing else matters any more.
    Over(Run, &'static str),
}

/// What one request would do, whoever sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// It changes something.
    pub is_effect: bool,
    /// It creates a Secret or a Job.
    pub is_create: bool,
    /// It was decided so many retentions ago.
    pub decided: Age,
    /// It is repeated blindly.
    pub is_blind: bool,
}

impl Actor {
    /// Which process this is.
    pub fn run(&self) -> Run {
        match self {
            Self::Submitter(one) => one.run,
            Self::Keeper(one) => one.run,
            Self::Over(run, _) => *run,
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Submitter(one) => one.end.is_some(),
            Self::Keeper(one) => one.end.is_some(),
            Self::Over(..) => true,
        }
    }

    /// Its open requests.
    pub fn kinds(&self) -> Vec<Kind> {
        match self {
            Self::Submitter(one) => one.kinds(),
            Self::Keeper(one) => one.kinds(),
            Self::Over(..) => Vec::new(),
        }
    }

    /// How it ended, in a word.
    pub fn ended(&self) -> &'static str {
        match self {
            Self::Submitter(one) => one.ended(),
            Self::Keeper(one) => one.ended(),
            Self::Over(_, ended) => ended,
        }
    }
}
