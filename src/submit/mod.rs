//! Submits a bundle exactly once.
//!
//! `protocol` decides and is pure; `observe` turns answers into the facts it decides on; `drive` sends
//! and waits, as `api` does it; `receipt` says what came of it; `batch` does many at once.

pub mod api;
pub mod batch;
pub mod drive;
pub mod ending;
pub mod facts;
pub mod observe;
pub mod plan;
pub mod protocol;
pub mod receipt;
pub mod record;

pub use api::Api;
pub use drive::{Driven, drive};
pub use plan::{Intent, Plan};
pub use protocol::Limits;
pub use receipt::{Receipt, ReceiptOutcome};
