//! The transport against a scripted kubectl: every answer and every end has one of three outcomes,
//! and no process, socket or folder is left behind.
#![expect(
    clippy::needless_pass_by_value,
    reason = "JSON written in place reads better without a reference before it"
)]

#[cfg(test)]
mod answers;
#[cfg(test)]
mod ends;
#[cfg(test)]
#[path = "../fake-kubectl/kit.rs"]
mod kit;
#[cfg(test)]
mod start;
