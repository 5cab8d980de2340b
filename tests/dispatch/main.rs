//! The binary against a real API server: every way of submitting ends with one Job or a true reason why not.
//!
//! One control plane serves all tests, each of which has a namespace of its own and counts its objects.

#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;

#[cfg(test)]
mod fresh;
