//! What tests of the harness binary share: made-up submissions, runs of the binary, and places to submit to.
//!
//! Included by each test target with `#[cfg(test)] #[path = "../kit/mod.rs"] mod kit;`.

#![allow(dead_code, unused_imports, reason = "each test target uses its own part")]

pub(crate) mod canary;
pub(crate) mod chance;
pub(crate) mod clock;
mod ended;
mod manifests;
mod place;
mod policies;
pub(crate) mod process;
mod queue;
mod run;
mod sample;
pub(crate) mod situation;
pub(crate) mod steps;

pub(crate) use ended::{end, set_status};
pub(crate) use manifests::{MANIFESTS, rules};
pub(crate) use place::{Place, find};
pub(crate) use queue::{QUEUE, QUEUE_GROUP};
pub(crate) use run::{Harness, Run, command};
pub(crate) use sample::{HARNESS_IMAGE, Sample, random_hex};

/// How long anything may take that has to come: machines are slow and busy with other tests.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_mins(3);

/// Checks all cases at once: most of their time is spent waiting.
///
/// Panics when one of them did; the message of each stands above.
#[track_caller]
pub(crate) fn in_parallel<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let check = &check;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}
