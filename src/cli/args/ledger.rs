//! The arguments of `cancel`, `release` and `prune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{parse_job_name, parse_retention};
use super::{ClusterArgs, ReceiptOutput};

/// Which experiment
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("experiment").required(true).args(["name", "submission"]))]
pub struct ExperimentArgs {
    /// The Job's name: `prediction-` and 32 hexadecimal digits
    #[arg(value_name = "NAME", value_parser = parse_job_name)]
    pub name: Option<String>,
    /// The submission that it came from, or `-` for standard input; it needs no signatures
    #[arg(short = 'f', long = "submission", value_name = "FILE")]
    pub submission: Option<PathBuf>,
}

/// End or free one experiment
#[derive(Debug, Args)]
pub struct EndArgs {
    /// Which experiment
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Do not ask; required where nobody can be asked
    #[arg(short, long)]
    pub yes: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ReceiptOutput::Text)]
    pub output: ReceiptOutput,
}

/// Prune
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// How long a Job must have been finished by the server's clock, such as 12h or 30d; at least 1h
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = parse_retention)]
    pub older_than: Duration,
    /// Remove only Secrets that nothing needs any more; Jobs stay
    #[arg(long)]
    pub secrets_only: bool,
    /// Change nothing: say what would go
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask; required where nobody can be asked
    #[arg(short, long)]
    pub yes: bool,
    /// How many experiments at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub jobs: u16,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ReceiptOutput::Text)]
    pub output: ReceiptOutput,
}
