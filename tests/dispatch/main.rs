//! The binary against a real API server: every way of submitting ends with one Job or a true reason why not.
//!
//! One control plane serves all tests, each of which has a namespace of its own and counts its objects.
#![cfg(test)]

mod batch;
mod between;
mod connection;
mod finished;
mod fresh;
#[path = "../kit/mod.rs"]
mod kit;
mod late;
mod lost;
mod namespaces;
mod race;
mod refused;
mod role;
mod signatures;
mod taken;
