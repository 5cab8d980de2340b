//! `harness schema NAME`: the JSON Schema (2020-12) of a file that harness reads or of an output that it writes.
//!
//! The schemas are for editors and for programs that read receipts; what decides is the parser. They are
//! generated from types by the tests below and embedded as they are committed.

use super::args::{SchemaArgs, SchemaName};
use super::exit::Exit;
use super::terminal;
use crate::profile;

pub(super) fn run(args: &SchemaArgs) -> Exit {
    terminal::data(text(args.name));
    Exit::Done
}

fn text(name: SchemaName) -> &'static str {
    match name {
        SchemaName::Submission => include_str!("../../schemas/submission.json"),
        SchemaName::Signed => include_str!("../../schemas/signed.json"),
        SchemaName::Profile => profile::SCHEMA,
        SchemaName::Receipt => include_str!("../../schemas/receipt.json"),
        SchemaName::Validation => include_str!("../../schemas/validation.json"),
        SchemaName::Record => include_str!("../../schemas/record.json"),
        SchemaName::Status => include_str!("../../schemas/status.json"),
        SchemaName::Listing => include_str!("../../schemas/listing.json"),
        SchemaName::Ledger => include_str!("../../schemas/ledger.json"),
        SchemaName::Evidence => include_str!("../../schemas/evidence.json"),
        SchemaName::Verification => include_str!("../../schemas/verification.json"),
        SchemaName::Execution => include_str!("../../schemas/execution.json"),
    }
}

#[cfg(test)]
mod tests;
