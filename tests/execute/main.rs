//! `harness prediction execute` as a process, against a real store behind TLS, with real runners: from a submission to
//! what `harness evidence verify` says of the result.
//!
//! What is about other users' reach runs as an ordinary user, which only root can arrange; such a test fails elsewhere.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start processes, know the time, and panic when they cannot go on"
)]

mod ends;
mod kit;
mod refused;
mod secret;
mod stopped;
mod whole;
