//! The command line as clap reads it: types only, nothing is done here. Doc comments are the help.

mod cluster;
mod evidence;
mod execute;
mod follow;
mod ledger;
mod pod;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

use crate::submission::{AttemptId, MissionId, Namespace, Sha256Digest};
pub use cluster::*;
pub use evidence::*;
pub use execute::*;
pub use follow::*;
pub use ledger::*;
pub use pod::*;
use values::{
    parse_attempt_id, parse_evaluator_version, parse_image, parse_mission_id, parse_namespace,
    parse_time, parse_wait,
};

/// Dispatch research experiments to Kubernetes, each at most once
#[derive(Debug, Parser)]
#[command(name = "harness", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a starter: a submission, its mission document and a profile that validate together
    Init(InitArgs),
    /// Work with predictions: experiments that a submission describes
    #[command(subcommand)]
    Prediction(PredictionCommand),
    /// Check what a result states
    #[command(subcommand)]
    Evidence(EvidenceCommand),
    /// List the resource profiles, or show one
    Profiles(ProfilesArgs),
    /// Explain a problem code, a receipt outcome, a category of a status or an exit code
    Explain(ExplainArgs),
    /// Print the JSON Schema of a file or of an output
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

/// The commands about predictions
#[derive(Debug, Subcommand)]
pub enum PredictionCommand {
    /// Check, review and submit
    #[command(subcommand)]
    Dispatch(DispatchCommand),
    /// In the pod: fetch the inputs, check them, and put them in place
    Stage(StageArgs),
    /// In the pod: start the runner, bound it, and report how it ended
    Run(RunArgs),
    /// In the pod: pack what the runner left, and create the result object
    Publish(Box<PublishArgs>),
    /// Without a cluster: fetch the inputs, start a command of this machine as the runner, and publish, each as in the pod
    Execute(Box<ExecuteArgs>),
}

/// The commands on the operator's side
#[derive(Debug, Subcommand)]
pub enum DispatchCommand {
    /// Check submissions and list every problem at once
    Validate(ValidateArgs),
    /// Show what would run, with signatures masked
    Render(RenderArgs),
    /// Submit, each exactly once, and print receipts
    Submit(SubmitArgs),
    /// Say where experiments stand and why; wait for their end or watch them
    Status(StatusArgs),
    /// List the experiments of a namespace: running, finished and pruned
    List(ListArgs),
    /// Print the output of an experiment's runner, or of another step
    Logs(LogsArgs),
    /// End an experiment and keep that it ran, so that nothing starts it again
    Cancel(EndArgs),
    /// Free the identity of an experiment that provably never ran
    Release(EndArgs),
    /// Replace Jobs that ended long ago by their records, and remove their Secrets
    Prune(PruneArgs),
}

/// Which submissions
#[derive(Debug, Args)]
pub struct SubmissionArgs {
    /// A submission, a directory of them (its regular *.json files), or `-` for standard input
    #[arg(short = 'f', long = "submission", visible_alias = "filename", value_name = "FILE", required = true, num_args = 1..)]
    pub submissions: Vec<PathBuf>,
}

/// Which profiles
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// A directory with the site's own profiles (*.yaml, *.yml); they add to the built-in ones or replace them
    #[arg(long = "profiles", value_name = "DIR", env = "HARNESS_PROFILES")]
    pub profiles: Option<PathBuf>,

    /// The harness image for profiles that name none: REGISTRY/REPOSITORY@sha256:DIGEST
    #[arg(long, value_name = "IMAGE", env = "HARNESS_IMAGE")]
    pub harness_image: Option<String>,
}

/// Check submissions
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Which submissions
    #[command(flatten)]
    pub submissions: SubmissionArgs,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// The time to check the life of signed URLs against (RFC 3339); the local clock by default
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub at: Option<Timestamp>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ValidateOutput::Text)]
    pub output: ValidateOutput,
}

/// How `validate` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ValidateOutput {
    /// For people
    Text,
    /// One JSON document for each submission
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// One SARIF 2.1.0 document for all submissions, for code scanning
    Sarif,
}

/// Show what would run
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A submission, or `-` for standard input
    #[arg(short = 'f', long = "submission", visible_alias = "filename", value_name = "FILE")]
    pub submission: PathBuf,
    /// The namespace that it would run in
    #[arg(short, long, value_parser = parse_namespace)]
    pub namespace: Namespace,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = RenderOutput::Yaml)]
    pub output: RenderOutput,
    /// Print the real Secret and Job, signed URLs and all
    #[arg(long)]
    pub reveal_secrets: bool,
}

/// How `render` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RenderOutput {
    /// For eyes
    Yaml,
    /// For programs
    Json,
}

/// Submit
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Which submissions
    #[command(flatten)]
    pub submissions: SubmissionArgs,
    /// Signed URLs for the submission; or a directory of such files, each named `ATTEMPT_ID.json`
    #[arg(long, value_name = "FILE")]
    pub signed: Option<PathBuf>,
    /// Inputs without a signature are public: let the pod fetch them as they are
    #[arg(long)]
    pub public_inputs: bool,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// Create nothing: check and render only (client), or let the API server rehearse it as well (server)
    #[arg(long, value_enum, default_value_t = DryRunMode::None, value_name = "MODE")]
    pub dry_run: DryRunMode,
    /// How many submissions at a time
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Then wait until they are over, for at most this long (`30s`, `10m`, `2h`); without a duration for as long as it takes
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = parse_wait)]
    pub wait: Option<Wait>,
    /// Exit with 7 if the same Job is already there and has failed
    #[arg(long)]
    pub fail_if_failed: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ReceiptOutput::Text)]
    pub output: ReceiptOutput,
}

/// Whether anything is created
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DryRunMode {
    /// Submit for real
    None,
    /// Check and render; the cluster is not asked
    Client,
    /// Let the API server rehearse it; nothing is stored
    Server,
}

/// How `submit` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReceiptOutput {
    /// For people
    Text,
    /// One JSON document for each receipt, one a line, as they come
    Json,
}

/// List or show profiles
#[derive(Debug, Args)]
pub struct ProfilesArgs {
    /// The profile to show; all are listed without it
    pub name: Option<String>,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ProfilesOutput::Text)]
    pub output: ProfilesOutput,
}

/// How `profiles` prints
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfilesOutput {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Explain a code
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A problem code, a receipt outcome, a category of a status or an exit code; all are listed without it
    pub code: Option<String>,
}

/// Write a starter
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Where to write; made if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// The name of this attempt; `attempt-` and the time by default
    #[arg(long, value_name = "NAME", value_parser = parse_attempt_id)]
    pub attempt_id: Option<AttemptId>,
    /// The image to run: REGISTRY/REPOSITORY@sha256:DIGEST
    #[arg(long, value_name = "IMAGE", value_parser = parse_image)]
    pub image: Option<String>,
    /// An existing mission document: it is hashed, and its mission id, evaluator version and budget are taken over
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mission_id", "evaluator_version", "max_seconds"])]
    pub mission: Option<PathBuf>,
    /// An existing data archive: it is hashed
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
    /// Where the objects lie, without a query
    #[arg(
        long,
        value_name = "https://HOST/PATH",
        default_value = "https://storage.example.org/experiments"
    )]
    pub bucket_url: String,
    /// The mission's name
    #[arg(long, value_name = "NAME", value_parser = parse_mission_id)]
    pub mission_id: Option<MissionId>,
    /// The evaluator's version: sha256:DIGEST
    #[arg(long, value_name = "DIGEST", value_parser = parse_evaluator_version)]
    pub evaluator_version: Option<Sha256Digest>,
    /// How long the search may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub max_seconds: Option<u32>,
    /// The harness image of the profile: REGISTRY/REPOSITORY@sha256:DIGEST
    #[arg(long, value_name = "IMAGE", env = "HARNESS_IMAGE", value_parser = parse_image)]
    pub harness_image: Option<String>,
}

/// Print a schema
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which
    #[arg(value_enum)]
    pub name: SchemaName,
}

/// What there are schemas of
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// The file that an operator writes
    Submission,
    /// The file with signatures that `submit --signed` takes
    Signed,
    /// A site's profile (YAML)
    Profile,
    /// One line of `submit -o json`
    Receipt,
    /// One line of `validate -o json`
    Validation,
    /// What is kept of a Job that was pruned
    Record,
    /// One line of `status -o json`
    Status,
    /// One line of `list -o json`
    Listing,
    /// One line of `cancel`, `release` or `prune` with `-o json`
    Ledger,
    /// What a result says about itself
    Evidence,
    /// What `evidence verify -o json` prints
    Verification,
    /// What `prediction execute -o json` prints
    Execution,
}

/// Print a completion script
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print a manual page
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command, word by word, such as `prediction dispatch submit`; harness itself without it
    pub command: Vec<String>,
}
