//! The arguments of the steps in the pod, as the Job passes them.

use std::path::PathBuf;

use clap::Args;

use super::values::{parse_bytes, parse_digest, parse_evaluator_version, parse_mission_id};
use crate::submission::{MissionId, Sha256Digest};

/// Fetch and check the inputs; the Job passes everything
#[derive(Debug, Args)]
pub struct StageArgs {
    /// The mission that the mission document must name
    #[arg(long, value_name = "ID", value_parser = parse_mission_id)]
    pub mission_id: MissionId,
    /// The evaluator that it must be for: sha256:DIGITS
    #[arg(long, value_name = "DIGEST", value_parser = parse_evaluator_version)]
    pub evaluator_version: Sha256Digest,
    /// The search budget that it must have
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub max_seconds: u32,
    /// The digest of the mission document
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub mission_sha256: Sha256Digest,
    /// The digest of the snapshot, as it is fetched
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub snapshot_sha256: Sha256Digest,
    /// The digest of the resume, as it is fetched
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    pub resume_sha256: Option<Sha256Digest>,
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
