//! The binary against a real API server: every way of submitting ends with one Job or a true reason why not.
//!
//! One control plane serves all tests, each of which has a namespace of its own and counts its objects.

#[cfg(test)]
mod batch;
#[cfg(test)]
mod between;
#[cfg(test)]
mod connection;
#[cfg(test)]
mod finished;
#[cfg(test)]
mod fresh;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod late;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod race;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod role;
#[cfg(test)]
mod signatures;
#[cfg(test)]
mod taken;
