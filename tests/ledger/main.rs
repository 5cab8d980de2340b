//! `cancel`, `release` and `prune` against a real API server: interrupted anywhere, raced by `submit`, and as the roles
//! of `manifests/cluster` alone.
//!
//! There is no node here, so pods are set by hand as a scheduler and a kubelet would.
#![cfg(test)]

mod cancel;
mod in_cluster;
mod interrupted;
#[path = "../kit/mod.rs"]
mod kit;
mod prune;
mod race;
mod release;
mod sweep;
mod world;
