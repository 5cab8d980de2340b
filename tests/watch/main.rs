//! `status --wait` and `--watch`, `submit --wait`, `logs` and `list` where it is hard: servers and kubectl that die, watches
//! that expire, objects that go, terminals and closed pipes; as the roles of `manifests/cluster` alone.
//!
//! There is no node here: pods are set by hand, and a stand-in for a kubelet has their output.
#![cfg(test)]

mod durations;
mod going;
#[allow(dead_code, reason = "a part of it is enough here")]
#[path = "../ledger/world.rs"]
mod hands;
#[path = "../kit/mod.rs"]
mod kit;
mod kubelet;
mod lists;
mod logs;
mod outages;
mod roles;
mod streams;
mod terminal;
mod waits;
