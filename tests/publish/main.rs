//! `harness prediction publish` as a process, with a stand-in for `run` and a real store behind TLS, and what
//! `harness evidence verify` says of what it published.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start processes, know the time, and panic when they cannot go on"
)]

mod control;
mod disk;
mod interrupted;
mod kit;
#[path = "../kit/made.rs"]
mod made;
mod output;
mod store;
mod verify;
