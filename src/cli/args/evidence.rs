//! The arguments of `evidence verify`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OptionalClusterArgs, ProfileArgs, ReceiptOutput};

/// Check a result
#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// Check a published result: against its own evidence, and against its submission and its Job where they are named
    Verify(Box<VerifyArgs>),
}

/// Check a result
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The result, as it was fetched from the store
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// The submission that it must be of, or `-` for standard input; it needs no signatures
    #[arg(short = 'f', long = "submission", value_name = "FILE")]
    pub submission: Option<PathBuf>,
    /// The cluster whose Job, or whose record of it, must have made it
    #[command(flatten)]
    pub cluster: OptionalClusterArgs,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ReceiptOutput::Text)]
    pub output: ReceiptOutput,
}
