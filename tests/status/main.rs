//! What `status` says: of recorded situations, of broken objects, and live against a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[cfg(test)]
mod hostile;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod live;
#[cfg(test)]
mod situations;
