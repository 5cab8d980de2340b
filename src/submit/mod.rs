//! Submits a bundle exactly once.
//!
//! `protocol` decides and is pure; `observe` turns answers into the facts it decides on; `drive` sends
//! and waits; `receipt` says what came of it; `batch` does many at once.

pub mod batch;
pub mod drive;
pub mod ending;
pub mod facts;
pub mod observe;
pub mod plan;
pub mod protocol;
pub mod receipt;
pub mod record;

pub use drive::{Api, Driven, drive};
pub use plan::{Intent, Plan};
pub use protocol::Limits;
pub use receipt::{Receipt, ReceiptOutcome};
