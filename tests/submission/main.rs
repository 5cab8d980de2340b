//! What the form takes and what it refuses: each problem with its code, its place and nothing secret.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod canaries;
mod cases;
mod coverage;
mod documents;
mod fields;
mod form;
mod objects;
mod properties;
mod signed;
