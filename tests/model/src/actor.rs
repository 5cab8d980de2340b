//! Whoever runs a command: the requests of its action, which are served in any order, and the facts that come back.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use harness::submit::facts::{Moment, Refusal};
use harness::{ledger, submit};
use jiff::Timestamp;

use crate::alike::fingerprint;
use crate::cluster::{Age, Cluster, Run};
use crate::keeper::Keeper;
use crate::submitter::Submitter;
use crate::variant::Variant;

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
    static PARSED: LazyLock<Timestamp> = LazyLock::new(|| START.parse().expect("a point in time"));
    *PARSED
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
    Over(Word),
}

/// How somebody ended, for people to read. States that differ in nothing else are one.
#[derive(Debug, Clone, Copy)]
pub struct Word(pub &'static str);

impl PartialEq for Word {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Word {}

impl Hash for Word {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// An actor that many states hold as it is. It is hashed once, since it is the largest part of each of them.
#[derive(Debug, Clone)]
pub struct Shared {
    actor: Arc<Actor>,
    hash: u64,
}

impl Shared {
    /// The actor as one that can be shared.
    pub fn new(actor: Actor) -> Self {
        let hash = fingerprint(&actor);
        Self { actor: Arc::new(actor), hash }
    }

    /// The hash of the actor.
    pub fn hash_of_it(&self) -> u64 {
        self.hash
    }

    /// The actor goes on; states that share it keep it as it was.
    pub fn change(&mut self, change: impl FnOnce(&mut Actor)) {
        let mut actor = Actor::clone(&self.actor);
        change(&mut actor);
        *self = Self::new(actor);
    }
}

impl Deref for Shared {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.actor
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.actor == other.actor
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What a read is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// A submitter, and whether a broken one saw a record too early.
    Submit(submit::facts::Fact, Option<bool>),
    /// A keeper.
    Keep(ledger::facts::Fact),
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
    /// Which process this is, while it is one.
    pub fn run(&self) -> Option<Run> {
        match self {
            Self::Submitter(one) => Some(one.run),
            Self::Keeper(one) => Some(one.run),
            Self::Over(_) => None,
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Submitter(one) => one.end.is_some(),
            Self::Keeper(one) => one.end.is_some(),
            Self::Over(_) => true,
        }
    }

    /// Its open requests.
    pub fn kinds(&self) -> Vec<Kind> {
        match self {
            Self::Submitter(one) => one.kinds(),
            Self::Keeper(one) => one.kinds(),
            Self::Over(_) => Vec::new(),
        }
    }

    /// For how many reads it waits, where it waits for nothing else.
    pub fn open_reads(&self) -> usize {
        let kinds = self.kinds();
        if kinds.iter().any(|kind| kind.is_effect) { 0 } else { kinds.len() }
    }

    /// The server answers the requests of these places, one after the other.
    pub fn served(&mut self, places: &[usize], cluster: &mut Cluster, variant: Variant) {
        for place in places {
            match self {
                Self::Submitter(one) => one.served(*place, cluster, variant),
                Self::Keeper(one) => one.served(*place, cluster, variant),
                Self::Over(_) => {}
            }
        }
    }

    /// What its open read of this place would be told by such a cluster.
    pub fn answer(&self, place: usize, cluster: &Cluster, variant: Variant) -> Option<Answer> {
        let mut cluster = cluster.clone();
        match self {
            Self::Submitter(one) => {
                let mut one = one.clone();
                Some(Answer::Submit(one.answer(place, &mut cluster, variant), one.record_first()))
            }
            Self::Keeper(one) => Some(Answer::Keep(one.answer(place, &mut cluster, variant))),
            Self::Over(_) => None,
        }
    }

    /// How it ended, in a word.
    pub fn ended(&self) -> &'static str {
        match self {
            Self::Submitter(one) => one.ended(),
            Self::Keeper(one) => one.ended(),
            Self::Over(Word(ended)) => ended,
        }
    }
}
