//! What tests of the harness binary share: made-up submissions, runs of the binary, and places to submit to.
//!
//! Included by each test target with `#[cfg(test)] #[path = "../kit/mod.rs"] mod kit;`.

#![allow(dead_code, unused_imports, reason = "each test target uses its own part")]

mod place;
mod run;
mod sample;

pub(crate) use place::{Place, find};
pub(crate) use run::{Harness, Run, command};
pub(crate) use sample::{HARNESS_IMAGE, Sample, random_hex};
