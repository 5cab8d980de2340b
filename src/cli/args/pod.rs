//! The arguments of the steps in the pod, as the Job passes them.

use std::path::PathBuf;

use clap::Args;

use super::values::{
    parse_attempt_id, parse_bytes, parse_digest, parse_evaluator_version, parse_mission_id,
    parse_pinned_image,
};
use crate::execution::Expectation;
use crate::submission::{AttemptId, MissionId, PinnedImage, Sha256Digest};

/// Fetch and check the inputs; the Job passes everything
#[derive(Debug, Args)]
pub struct StageArgs {
    /// What the inputs must be
    #[command(flatten)]
    pub expectation: ExpectationArgs,
    /// The pod's deadline, from its start
    #[arg(long, value_name = "SECONDS")]
    pub pod_deadline: u64,
    /// How long staging may take
    #[arg(long, value_name = "SECONDS")]
    pub staging: u64,
    /// What publication needs after the search
    #[arg(long, value_name = "SECONDS")]
    pub publication: u64,
    /// The size of the inputs folder, such as 5Gi: archives and unpacked files lie there side by side
    #[arg(long, value_name = "QUANTITY", value_parser = parse_bytes)]
    pub inputs_size: u64,
    /// The folder that holds all volumes
    #[arg(long, value_name = "DIR", default_value = crate::execution::places::ROOT)]
    pub root: PathBuf,
    /// Where to leave the reason of the end
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log")]
    pub termination_log: PathBuf,
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
