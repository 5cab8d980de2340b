//! Ends what stands in the ledger: `cancel`, `release` and `prune`.
//!
//! `protocol` decides and is pure; `observe` turns answers into the facts it decides on; `evidence` says what a Job
//! and its pods prove; `drive` sends and waits; `survey` finds what there is to prune; `receipt` says what came of it.
//! It knows `submit` for the record and for the shapes of facts, and changes nothing that `submit` reads.

pub mod drive;
pub mod evidence;
pub mod facts;
pub mod observe;
pub mod outcome;
pub mod protocol;
pub mod receipt;
pub mod survey;

pub use drive::{Driven, drive};
pub use protocol::{Command, Limits, Protocol};
pub use receipt::{LedgerOutcome, LedgerReceipt};
