//! The arguments of `execute`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ProfileArgs;

/// Execute without a cluster
#[derive(Debug, Args)]
pub struct ExecuteArgs {
    /// A submission, or `-` for standard input, which keeps its signed URLs out of the runner's reach
    #[arg(short = 'f', long = "submission", visible_alias = "filename", value_name = "FILE")]
    pub submission: PathBuf,
    /// Signed URLs for the submission, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub signed: Option<PathBuf>,
    /// Inputs without a signature are public: fetch them as they are
    #[arg(long)]
    pub public_inputs: bool,
    /// Which profiles; their allowances and sizes hold, their processors and memory do not
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// A new or empty folder to work in, which stays; by default a temporary one, which stays only if something in it is not published
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// A variable of this environment that the runner gets, beside PATH, LANG, LANGUAGE, LC_* and TZ; may be repeated
    #[arg(long = "env", value_name = "NAME")]
    pub variables: Vec<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ExecuteOutput::Text)]
    pub output: ExecuteOutput,
    /// What to start as the runner: the image is not run here; files by their absolute paths
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How `execute` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExecuteOutput {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// The result object alone, without a query; nothing when nothing was published
    Name,
}
