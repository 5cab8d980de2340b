//! harness dispatches research experiments to Kubernetes, each at most once.
//!
//! The whole tool is one pipeline, and every step consumes the type of the one before:
//!
//! ```text
//! bytes --parse--> Submission --render--> Bundle --submit--> Receipt
//!                  (submission)  (render)          (submit, through cluster)
//! ```
//!
//! `submission`, `profile`, `render` and the deciding half of `submit` do no I/O, read no clock and no
//! environment: same input, same bytes. `execution` is what the same binary does inside the pod. Imports point one way, `cli -> submit -> cluster -> render ->
//! submission`, and `tests/architecture.rs` holds them to it. `docs/architecture.md` is the map.

pub mod cli;
pub mod clock;
pub mod cluster;
pub mod execution;
pub mod profile;
pub mod render;
pub mod status;
pub mod submission;
pub mod submit;
