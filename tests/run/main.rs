//! `harness prediction run` as a process, with real runners, and a stand-in for `publish` at the other end of its socket.
//!
//! What is about the container (first process, another user, no capabilities) runs in a process-number namespace of its
//! own, which needs root; such a test fails where it cannot run.
#![cfg(test)]

mod contract;
mod documented;
mod ends;
mod hostile;
mod kit;
mod limits;
mod output;
mod refused;
