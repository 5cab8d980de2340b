//! What `status` says: of recorded situations, of broken objects, and live against a real API server;
//! and what `evidence verify` says with the cluster's help.
#![cfg(test)]

mod by_hand;
mod control_plane;
mod hostile;
#[path = "../kit/mod.rs"]
mod kit;
mod live;
#[path = "../kit/made.rs"]
mod made;
mod situations;
mod verify;
