//! The one HTTP client for object stores: signed URLs in, typed outcomes out.
//!
//! Nothing is decoded, repeated or followed behind the caller's back: the bytes of an answer are the store's, a
//! request is sent once, and of redirects only a few are followed, on the same host. No message, `Debug` form or error
//! ever holds a query, which is where signatures are.

mod address;
pub mod answer;
mod client;
mod outcome;
mod trouble;
mod trust;

pub use address::Address;
pub use client::{Range, Settings, Store};
pub use outcome::{Download, Existence, Opened, Put, Refusal, Trouble};
pub use trust::SetupError;
