//! What a seed means: who runs which command, and how much may befall them.

use crate::chance::Random;
use crate::experiments::{EXPERIMENTS, SIGNATURES};

/// One command of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// `submit` of these experiments, each with a signature, in one call.
    Submit(Vec<(usize, usize)>),
    /// `cancel`.
    Cancel(usize),
    /// `release`.
    Release(usize),
    /// `prune` of the namespace; of Secrets alone or not.
    Prune {
        /// Of Secrets alone.
        secrets_only: bool,
    },
}

/// How much may befall a schedule, each of a thousand turns or in all.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// Requests that something befalls.
    pub faults: usize,
    /// Turns of the cluster's own.
    pub nature: usize,
    /// Processes that are killed and begun again, in all.
    pub kills: usize,
    /// Processes that are asked to stop, in all.
    pub stops: usize,
    /// Processes that stand still while the others go on, in all.
    pub rests: usize,
    /// Objects that a hand deletes, or stops and starts, in all.
    pub hands: usize,
    /// Times that everything stands still for minutes or hours, in all.
    pub pauses: usize,
    /// Creates that may arrive more than a retention after they were sent, in all.
    pub very_late: usize,
}

/// A schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Its seed.
    pub seed: u64,
    /// Who does what, in the order in which they begin.
    pub works: Vec<Work>,
    /// What may befall them.
    pub weather: Weather,
    /// Whether a queue starts Jobs.
    pub has_queue: bool,
    /// How many Jobs the quota allows.
    pub most_jobs: Option<usize>,
    /// How wrong each process's clock is, in minutes.
    pub skews: Vec<i64>,
}

impl Schedule {
    /// The schedule of a seed.
    pub fn of(seed: u64, random: &mut Random) -> Self {
        let mut works = Vec::new();
        for _ in 0..2 + random.below(3) {
            let count = if random.permille(200) { EXPERIMENTS } else { 1 };
            // Most of them mean the same experiment, so that they meet.
            let first = usize::from(random.permille(150));
            let one = |index| (first + index) % EXPERIMENTS;
            works.push(Work::Submit(
                (0..count).map(|index| (one(index), random.below(SIGNATURES.len()))).collect(),
            ));
        }
        for _ in 0..random.below(4) {
            let work = match random.below(8) {
                0 => Work::Cancel(0),
                1 | 2 => Work::Release(0),
                3 => Work::Prune { secrets_only: true },
                _ => Work::Prune { secrets_only: false },
            };
            let place = 1 + random.below(works.len());
            // Two of the same kind at the same time, as when a person helps the nightly one.
            if random.permille(200) {
                works.insert(place, work.clone());
            }
            works.insert(place, work);
        }
        if random.permille(500) {
            works.push(Work::Submit(vec![(0, random.below(SIGNATURES.len()))]));
        }
        let skews = works.iter().map(|_| random.pick(&[0, 0, 0, 7, -7, 600, -600])).collect();
        let weather = Weather {
            faults: random.pick(&[0, 30, 80, 200]),
            nature: random.pick(&[100, 300, 600]),
            kills: random.below(3),
            stops: random.below(2),
            rests: random.below(4),
            hands: usize::from(random.permille(300)),
            pauses: random.below(5),
            very_late: usize::from(random.permille(300)),
        };
        Self {
            seed,
            works,
            weather,
            has_queue: random.permille(250),
            most_jobs: random.permille(100).then_some(1),
            skews,
        }
    }
}
