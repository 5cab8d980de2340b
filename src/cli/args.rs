//! The command line as clap reads it: types only, nothing is done here. Doc comments are the help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

use crate::submission::{AttemptId, Fault, MissionId, Namespace, PinnedImage, Sha256Digest};

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
    /// List the resource profiles, or show one
    Profiles(ProfilesArgs),
    /// Explain a problem code, a receipt outcome or an exit code
    Explain(ExplainArgs),
    /// Print the JSON Schema of a file or of an output
    Schema(SchemaArgs),
}

/// The commands about predictions
#[derive(Debug, Subcommand)]
pub enum PredictionCommand {
    /// Check, review and submit
    #[command(subcommand)]
    Dispatch(DispatchCommand),
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
    /// End an experiment and keep that it ran, so that nothing starts it again
    Cancel(CancelArgs),
    /// Free the identity of an experiment that provably never ran
    Release(ReleaseArgs),
    /// Replace Jobs that ended long ago by their records, and remove their Secrets
    Prune(PruneArgs),
}

/// Which submissions
#[derive(Debug, Args)]
pub struct SubmissionArgs {
    /// A submission, a directory of them (its regular *.json files), or `-` for standard input
    #[arg(short = 'f', long = "submission", value_name = "FILE", required = true, num_args = 1..)]
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
}

/// Show what would run
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A submission, or `-` for standard input
    #[arg(short = 'f', long = "submission", value_name = "FILE")]
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

/// Which cluster, and as whom
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("cluster").required(true).args(["context", "in_cluster"]))]
pub struct ClusterArgs {
    /// The context of the kubeconfig; the current context is never followed
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Use the service account of the pod that this runs in
    #[arg(long)]
    pub in_cluster: bool,
    /// The namespace
    #[arg(short, long, value_parser = parse_namespace)]
    pub namespace: Namespace,
    /// The kubeconfig; KUBECONFIG or ~/.kube/config by default
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Act as this user
    #[arg(long = "as", value_name = "USER")]
    pub impersonate_user: Option<String>,
    /// Act as a member of this group; may be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate_user")]
    pub impersonate_groups: Vec<String>,
    /// The kubectl to use; looked up in PATH by default
    #[arg(long, value_name = "PATH", env = "HARNESS_KUBECTL", default_value = "kubectl")]
    pub kubectl: PathBuf,
    /// How long one request may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = parse_seconds)]
    pub request_timeout: Duration,
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
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
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

/// End an experiment
#[derive(Debug, Args)]
pub struct CancelArgs {
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

/// Free an identity
#[derive(Debug, Args)]
pub struct ReleaseArgs {
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
    /// A problem code, a receipt outcome or an exit code; all are listed without it
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
    /// One line of `cancel`, `release` or `prune` with `-o json`
    Ledger,
}

fn parse_attempt_id(text: &str) -> Result<AttemptId, String> {
    AttemptId::parse(text).map_err(|fault| in_words(&fault))
}

fn parse_mission_id(text: &str) -> Result<MissionId, String> {
    MissionId::parse(text).map_err(|fault| in_words(&fault))
}

fn parse_evaluator_version(text: &str) -> Result<Sha256Digest, String> {
    Sha256Digest::parse_prefixed(text).map_err(|fault| in_words(&fault))
}

/// Checks an image and keeps its spelling.
fn parse_image(text: &str) -> Result<String, String> {
    PinnedImage::parse(text).map(|_| text.to_owned()).map_err(|fault| in_words(&fault))
}

fn parse_namespace(text: &str) -> Result<Namespace, String> {
    Namespace::parse(text).map_err(|fault| in_words(&fault))
}

fn parse_job_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("job/").unwrap_or(text);
    let digits = name.strip_prefix("prediction-").unwrap_or_default();
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() == 32 && digits.bytes().all(is_digit) {
        Ok(name.to_owned())
    } else {
        Err("allowed: `prediction-` and 32 hexadecimal digits, as the receipt names the Job"
            .to_owned())
    }
}

/// Whole minutes, hours, days or weeks, one unit.
fn parse_retention(text: &str) -> Result<Duration, String> {
    let wrong = || "allowed: a whole number and m, h, d or w, at least 1h, such as 7d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return Err(wrong()),
    };
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number);
    let number: u64 = number.and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    let retention = number.checked_mul(minutes * 60).map(Duration::from_secs).ok_or_else(wrong)?;
    if retention < crate::ledger::survey::LEAST_RETENTION || number > 1_000_000 {
        return Err(wrong());
    }
    Ok(retention)
}

fn in_words(fault: &Fault) -> String {
    format!("found {}; allowed: {}", fault.found, fault.allowed)
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    crate::submission::parse_time(text).map_err(|fault| in_words(&fault))
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..=600) => Ok(Duration::from_secs(seconds)),
        _ => Err("allowed: whole seconds from 1 to 600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_at_least_an_hour() {
        for (text, hours) in [("1h", 1), ("60m", 1), ("7d", 168), ("2w", 336), ("0001h", 1)] {
            assert_eq!(parse_retention(text), Ok(Duration::from_hours(hours)), "{text}");
        }
        for wrong in [
            "",
            "h",
            "7",
            "-1d",
            "+7d",
            "59m",
            "0d",
            "1.5h",
            "7 d",
            "7D",
            "1h1m",
            "99999999999999999999d",
            "ä",
        ] {
            assert!(parse_retention(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_job_is_named_as_receipts_name_it() {
        let name = format!("prediction-{}", "0a".repeat(16));
        assert_eq!(parse_job_name(&name), Ok(name.clone()));
        assert_eq!(parse_job_name(&format!("job/{name}")), Ok(name.clone()));
        for wrong in
            ["", "prediction-", "../x", &name[1..], &name.to_uppercase(), &format!("{name}0")]
        {
            assert!(parse_job_name(wrong).is_err(), "{wrong}");
        }
    }
}
