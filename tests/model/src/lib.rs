//! The protocols of `submit`, `cancel`, `release` and `prune`, driven through every interleaving by a model checker.
//!
//! What decides here is what ships: [`harness::submit::protocol`] and [`harness::ledger::protocol`] as they are. Around
//! them stands a [cluster] of a few fields, and everything that may befall requests, processes and objects, each so
//! often as a [setting] says. [`check`](mod@check) has the properties, [variant] the ways to break the
//! protocol that each property must notice.
//!
//! What is left out, and why that is sound: a read of the namespace and of who we are always answers the same, so it is
//! answered at once; time stands still but for whole retentions, since nothing in between is decided by it; and of the
//! moments of a read only those are told apart between which its answer changes ([reads]).

pub mod actor;
pub mod alike;
pub mod check;
pub mod cluster;
pub mod converge;
pub mod keeper;
pub mod life;
pub mod reads;
pub mod setting;
pub mod submitter;
pub mod variant;
pub mod world;
