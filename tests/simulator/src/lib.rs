//! Random schedules against the shipping code: its drivers, its judgement of answers, its receipts.
//!
//! A schedule is a seed. [`schedule`] draws from it who runs which command and what may befall them, [`play`] lets it
//! happen: every command runs in a thread of its own, one at a time ([`stage`]), against a [`server`] that is a few
//! maps, beside [`controllers`] that live on, with [`faults`] on every request. [`checks`] has the properties and
//! [`lies`] the broken variants that they must notice. The same seed is the same schedule, on every machine.
//!
//! A real API server answers every read that harness makes from what is committed (reads without `resourceVersion` are
//! quorum reads: <https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list>), so no read is stale here;
//! only a list's further pages are of the time of its first.

#[path = "../../kit/chance.rs"]
pub mod chance;
pub mod checks;
pub mod clock;
pub mod controllers;
pub mod experiments;
pub mod faults;
pub mod figures;
pub mod lies;
pub mod many;
pub mod play;
pub mod process;
#[path = "../../kit/refusals.rs"]
pub mod refusals;
pub mod schedule;
pub mod server;
pub mod stage;
