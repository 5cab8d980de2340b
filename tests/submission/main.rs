//! What the form takes and what it refuses: each problem with its code, its place and nothing secret.

mod canaries;
mod cases;
mod coverage;
mod documents;
mod fields;
mod form;
mod objects;
mod properties;
mod signed;
