//! `cancel`, `release` and `prune` against a real API server: interrupted anywhere, raced by `submit`, and as the roles
//! of `manifests/cluster` alone.
//!
//! There is no node here, so pods are set by hand as a scheduler and a kubelet would.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod in_cluster;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod race;
#[cfg(test)]
mod release;
#[cfg(test)]
mod sweep;
#[cfg(test)]
mod world;
