//! The command line as clap reads it: types only, nothing is done here. Doc comments are the help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

use crate::execution::Expectation;
use crate::profile::Quantity;
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
    /// Check what a result states
    #[command(subcommand)]
    Evidence(EvidenceCommand),
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
    /// In the pod: start the runner, bound it, and report how it ended
    #[command(hide = true)]
    Run(RunArgs),
    /// In the pod: pack what the runner left, and create the result object
    #[command(hide = true)]
    Publish(Box<PublishArgs>),
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

/// Start the runner; the Job passes everything
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The runner's budget
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub max_seconds: u32,
    /// The pod's deadline, from its start
    #[arg(long, value_name = "SECONDS")]
    pub pod_deadline: u64,
    /// What publication needs of it
    #[arg(long, value_name = "SECONDS")]
    pub publication: u64,
    /// The size of the output folder, such as 10Gi
    #[arg(long, value_name = "QUANTITY", value_parser = parse_bytes)]
    pub output_size: u64,
    /// The size of the scratch folder, such as 20Gi
    #[arg(long, value_name = "QUANTITY", value_parser = parse_bytes)]
    pub scratch_size: u64,
    /// The folder that holds all volumes
    #[arg(long, value_name = "DIR", default_value = crate::execution::places::ROOT)]
    pub root: PathBuf,
    /// Where to leave the reason of the end
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log")]
    pub termination_log: PathBuf,
    /// What to start; without it, what the image says in `HARNESS_RUNNER`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What the inputs must be; the Job passes everything
#[derive(Debug, Args)]
pub struct ExpectationArgs {
    /// The mission's name
    #[arg(long, value_name = "NAME", value_parser = parse_mission_id)]
    pub mission_id: MissionId,
    /// The evaluator's version: sha256:DIGEST
    #[arg(long, value_name = "DIGEST", value_parser = parse_evaluator_version)]
    pub evaluator_version: Sha256Digest,
    /// The runner's budget
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub max_seconds: u32,
    /// The digest of the mission document
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub mission_sha256: Sha256Digest,
    /// The digest of the snapshot
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub snapshot_sha256: Sha256Digest,
    /// The digest of the resume
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub resume_sha256: Option<Sha256Digest>,
}

impl ExpectationArgs {
    /// The same for the library.
    pub fn expectation(&self) -> Expectation {
        Expectation {
            mission_id: self.mission_id.clone(),
            evaluator_version: self.evaluator_version,
            max_seconds: self.max_seconds,
            mission_sha256: self.mission_sha256,
            snapshot_sha256: self.snapshot_sha256,
            resume_sha256: self.resume_sha256,
        }
    }
}

/// Publish; the Job passes everything
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// What the inputs were
    #[command(flatten)]
    pub expectation: ExpectationArgs,
    /// The name of the attempt
    #[arg(long, value_name = "NAME", value_parser = parse_attempt_id)]
    pub attempt_id: AttemptId,
    /// The image that runs
    #[arg(long, value_name = "IMAGE", value_parser = parse_pinned_image)]
    pub image: PinnedImage,
    /// The profile's name
    #[arg(long, value_name = "NAME")]
    pub profile: String,
    /// The digest of the profile's content
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub profile_digest: Sha256Digest,
    /// The result identity
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub result_identity: Sha256Digest,
    /// The submission digest
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub submission_digest: Sha256Digest,
    /// The pod's deadline, from its start
    #[arg(long, value_name = "SECONDS")]
    pub pod_deadline: u64,
    /// What publication needs of it
    #[arg(long, value_name = "SECONDS")]
    pub publication: u64,
    /// The size of the output folder, such as 10Gi
    #[arg(long, value_name = "QUANTITY", value_parser = parse_bytes)]
    pub output_size: u64,
    /// The folder that holds all volumes
    #[arg(long, value_name = "DIR", default_value = crate::execution::places::ROOT)]
    pub root: PathBuf,
    /// Where to leave the reason of the end
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log")]
    pub termination_log: PathBuf,
}

/// Check a result
#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// Check a published result: against its own evidence, and against its submission and its Job where they are named
    Verify(VerifyArgs),
}

/// Check a result
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The result, as it was fetched from the store
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// The submission that it must be of
    #[arg(short = 'f', long = "submission", value_name = "FILE")]
    pub submission: Option<PathBuf>,
    /// Which profiles
    #[command(flatten)]
    pub profiles: ProfileArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = ReceiptOutput::Text)]
    pub output: ReceiptOutput,
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
    /// What a result says about itself
    Evidence,
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

fn parse_pinned_image(text: &str) -> Result<PinnedImage, String> {
    PinnedImage::parse(text).map_err(|fault| in_words(&fault))
}

fn parse_digest(text: &str) -> Result<Sha256Digest, String> {
    Sha256Digest::parse(text).map_err(|fault| in_words(&fault))
}

/// A quantity of bytes, as the Job passes it.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let quantity = Quantity::parse(text).map_err(|fault| in_words(&fault))?;
    quantity.whole().ok_or_else(|| "allowed: a whole number of bytes".to_owned())
}

fn parse_namespace(text: &str) -> Result<Namespace, String> {
    Namespace::parse(text).map_err(|fault| in_words(&fault))
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
