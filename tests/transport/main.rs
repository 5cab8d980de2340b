//! The transport against a scripted kubectl: every answer and every end has one of three outcomes,
//! and no process, socket or folder is left behind.
#![cfg(test)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "JSON written in place reads better without a reference before it"
)]

mod answers;
mod ends;
#[path = "../fake-kubectl/kit.rs"]
mod kit;
mod start;
