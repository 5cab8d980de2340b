//! `harness prediction stage` against a real store over TLS, with faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(clippy::disallowed_methods, reason = "tests start the program and wait")]

mod archives;
mod disk;
mod interrupted;
mod kit;
mod proxies;
mod transfers;
