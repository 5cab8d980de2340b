//! The pod under fire: every process of an experiment, its node and its store killed at every step.
//!
//! The rows of [`table`] say who dies when and how the experiment must end; [`moment`] brings a real submission there,
//! [`victim`] kills, [`judge`] looks at what is left. A target of its own, with a node of its own that nobody else counts on.
#![cfg(test)]

#[path = "../kit/mod.rs"]
mod common;
mod judge;
#[path = "../node/kit.rs"]
#[allow(dead_code, reason = "each test target uses its own part")]
mod kit;
mod moment;
mod table;
#[path = "../node/trial.rs"]
#[allow(dead_code, reason = "each test target uses its own part")]
mod trial;
mod victim;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use self::common::chance::Random;
use self::table::{Row, of_the_node, of_the_pod};

/// How many experiments there are at once: as many as fit a node with two processors.
const AT_ONCE: usize = 6;

/// The variable with the seed of another run.
const SEED: &str = "HARNESS_FIRE_SEED";
const USUAL_SEED: u64 = 0x6669_7265;

#[test]
fn every_process_of_the_pod_at_every_step() {
    fire(of_the_pod());
}

#[test]
fn every_part_of_the_node_and_the_store_at_every_step() {
    fire(of_the_node());
}

/// Runs all rows in an order that the seed says, and names those that went wrong.
fn fire(mut rows: Vec<Row>) {
    /// What kills the node's parts in one test would be an unforeseen blow in another.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seed = seed();
    let mut random = Random::new(seed);
    random.shuffle(&mut rows);
    let rows: VecDeque<(Row, Random)> =
        rows.into_iter().map(|row| (row, Random::new(random.number()))).collect();
    let rows = Mutex::new(rows);
    let wrong = Mutex::new(Vec::new());
    // The threads begin in the node's network.
    trial::store();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((row, random)) = rows.lock().unwrap().pop_front() else { return };
                    if catch_unwind(AssertUnwindSafe(|| judge::run(&row, random))).is_err() {
                        wrong.lock().unwrap().push(row.name());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{SEED}={seed} (messages above): {wrong:#?}");
}

/// The seed in `HARNESS_FIRE_SEED`, else always the same.
#[expect(clippy::disallowed_methods, reason = "a failed run is had again by its seed")]
fn seed() -> u64 {
    let said = std::env::var(SEED).ok();
    said.map_or(USUAL_SEED, |said| said.parse().expect("HARNESS_FIRE_SEED is a number"))
}
