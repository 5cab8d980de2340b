//! The real control plane under fire: seeded random schedules of submitters that are killed, paused and starved, whose
//! clocks are wrong and whose answers are lost, late or cut, while the API server and etcd are killed and paused.
//!
//! Afterwards each submitter's command is run again until it converges, and a checker compares the receipts with what
//! the API server holds and with its audit log, which also knows what was there in between. `HARNESS_CHAOS_SCHEDULES` and
//! `HARNESS_CHAOS_SEED` choose how many schedules and the first of them; `scripts/chaos` runs thousands. A schedule is
//! the same for the same seed; how it interleaves with the cluster is not.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "schedules are made of waits, are chosen by the environment, and end with figures"
)]

mod audit;
mod batch;
mod check;
#[path = "../kit/mod.rs"]
mod kit;
mod schedule;
mod schedules;
mod storm;
mod submitter;
