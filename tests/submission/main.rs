//! What the form takes and what it refuses: each problem with its code, its place and nothing secret.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "tables of cases are long and flat"
)]
#![expect(clippy::manual_let_else, reason = "both sides of an outcome stand beside each other")]

mod canaries;
mod cases;
mod coverage;
mod documents;
mod fields;
mod form;
mod objects;
mod properties;
mod signed;
