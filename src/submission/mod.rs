//! The operator's submission: strict JSON in, a value that is valid by construction out.
//!
//! Everything here is pure. A newtype's `parse` says what is wrong with one value ([`Fault`]); the
//! submission adds where the value stands and collects all of them ([`Problem`]).

pub mod digest;
pub mod excerpt;
pub mod image;
pub mod name;
pub mod object;
pub mod presign;
pub mod problem;
pub mod strict;

pub use digest::Sha256Digest;
pub use problem::{Code, Fault, Problem};
