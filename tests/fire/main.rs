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
mod seed;
mod table;
#[path = "../node/trial.rs"]
#[allow(dead_code, reason = "each test target uses its own part")]
mod trial;
mod victim;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use self::seed::Seed;
use self::table::{Row, of_the_pod};

/// How many experiments there are at once: as many as fit a node with two processors.
const AT_ONCE: usize = 6;

#[test]
fn every_process_of_the_pod_at_every_step() {
    fire(of_the_pod());
}

/// Runs all rows in an order that the seed says, and names those that went wrong.
fn fire(mut rows: Vec<Row>) {
    /// What kills the node's parts in one test would be an unforeseen blow in another.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut seed = Seed::of_this_run();
    seed.shuffle(&mut rows);
    let rows: VecDeque<(Row, Seed)> = rows.into_iter().map(|row| (row, seed.branch())).collect();
    let rows = Mutex::new(rows);
    let wrong = Mutex::new(Vec::new());
    // The threads begin in the node's network.
    trial::store();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((row, seed)) = rows.lock().unwrap().pop_front() else { return };
                    if catch_unwind(AssertUnwindSafe(|| judge::run(&row, seed))).is_err() {
                        wrong.lock().unwrap().push(row.name());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} (messages above): {wrong:#?}", seed.shown());
}
