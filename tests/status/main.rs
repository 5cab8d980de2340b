//! What `status` says: of recorded situations, of broken objects, and live against a real API server.

#[cfg(test)]
mod hostile;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod live;
#[cfg(test)]
mod situations;
