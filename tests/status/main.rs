//! What `status` says: of recorded situations, of broken objects, and live against a real API server;
//! and what `evidence verify` says with the cluster's help.

#[cfg(test)]
mod hostile;
#[cfg(test)]
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(test)]
mod live;
#[cfg(test)]
#[path = "../kit/made.rs"]
mod made;
#[cfg(test)]
mod situations;
#[cfg(test)]
mod verify;
