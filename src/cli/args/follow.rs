//! The arguments of `status`, `list` and `logs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::values::{parse_phase, parse_since, parse_wait};
use super::{ClusterArgs, ProfileArgs};

/// How long to wait; nothing means for as long as it takes
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait(pub Option<Duration>);

/// Where experiments stand
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["names", "submissions"]))]
pub struct StatusArgs {
    /// The Job's name, as the receipt shows it; may be repeated
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The submission, a directory of them (its regular *.json files), or `-` for standard input
    #[arg(short = 'f', long = "submission", value_name = "FILE", num_args = 1..)]
    pub submissions: Vec<PathBuf>,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// Wait until they are over, for at most this long (`30s`, `10m`, `2h`); without a duration for as long as it takes
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = parse_wait)]
    pub wait: Option<Wait>,
    /// Print each change until they are over
    #[arg(long)]
    pub watch: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = StatusOutput::Text)]
    pub output: StatusOutput,
}

/// How `status` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusOutput {
    /// For people
    Text,
    /// One line for each
    Wide,
    /// The names alone, as kubectl takes them
    Name,
    /// One JSON document for each, one a line; while waiting one for each change
    Json,
    /// One YAML document for each
    Yaml,
}

/// List experiments
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Only those in this phase; may be repeated
    #[arg(long, value_name = "PHASE", value_parser = parse_phase)]
    pub phase: Vec<crate::status::Phase>,
    /// Only those of this mission
    #[arg(long, value_name = "NAME")]
    pub mission: Option<String>,
    /// Only those created since: a time (RFC 3339) or so long ago (`30m`, `2h`, `7d`)
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub since: Option<Since>,
    /// Only those whose image holds this text
    #[arg(long, value_name = "TEXT")]
    pub image: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ListOutput::Text)]
    pub output: ListOutput,
}

/// From when on
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A moment
    Time(Timestamp),
    /// So long before now
    Ago(Duration),
}

/// How `list` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListOutput {
    /// For people
    Text,
    /// With mission, image and digest
    Wide,
    /// The names alone, as kubectl takes them
    Name,
    /// One JSON document for each, one a line
    Json,
    /// For spreadsheets (RFC 4180)
    Csv,
}

/// Print output
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The Job's name, as the receipt shows it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The step whose output is meant; `run`, which is the runner's, by default
    #[arg(long, value_enum)]
    pub step: Option<LogStep>,
    /// Follow the output until the experiment is over; without `--step` that of all steps in turn
    #[arg(short, long)]
    pub follow: bool,
    /// How many lines from the end; 10000 by default, and with `--follow` all that there are
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tail: Option<u32>,
}

/// A step of the pod
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogStep {
    /// Fetching and checking the inputs
    Stage,
    /// The submission's own code
    Run,
    /// Publishing the result
    Publish,
}
