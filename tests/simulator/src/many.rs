//! Many schedules, on all processors.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::figures::Figures;
use crate::lies::Lie;
use crate::play::play;

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// What was counted.
    pub figures: Figures,
    /// What must not be and was, by seed.
    pub bad: BTreeMap<u64, Vec<String>>,
    /// How long it took.
    pub took: Duration,
}

/// Plays so many schedules from this seed on; with a lie, until one is found out.
#[expect(
    clippy::disallowed_methods,
    reason = "it measures itself, and no decision depends on that"
)]
pub fn many(from: u64, count: u64, lie: Option<Lie>) -> Found {
    let begun = Instant::now();
    let next = AtomicU64::new(from);
    let sum = Mutex::new((Figures::default(), BTreeMap::new()));
    let end = from.saturating_add(count);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let enough = lie.is_some() && !sum.lock().expect("nobody panics with it").1.is_empty();
            if seed >= end || enough {
                return;
            }
            let played = play(seed, lie);
            let mut sum = sum.lock().expect("nobody panics with it");
            sum.0.add(played.figures);
            if !played.problems.is_empty() {
                sum.1.insert(seed, played.problems);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (figures, bad) = sum.into_inner().expect("nobody panics with it");
    Found { figures, bad, took: begun.elapsed() }
}
