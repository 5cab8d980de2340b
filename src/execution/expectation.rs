//! What the pod is told to expect of its inputs: the submission's side of every comparison. Pure.

use crate::submission::{MissionId, Sha256Digest, Submission};

/// What the fetched inputs must be, from the Job's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The mission's name.
    pub mission_id: MissionId,
    /// The evaluator that the mission must be for.
    pub evaluator_version: Sha256Digest,
    /// The budget in seconds, 1 to 86400.
    pub max_seconds: u32,
    /// The digest of the mission document.
    pub mission_sha256: Sha256Digest,
    /// The digest of the snapshot, as it is fetched.
    pub snapshot_sha256: Sha256Digest,
    /// The digest of the resume, as it is fetched.
    pub resume_sha256: Option<Sha256Digest>,
}

impl Expectation {
    /// What this submission says.
    pub fn of(submission: &Submission) -> Self {
        Self {
            mission_id: submission.mission_id().clone(),
            evaluator_version: submission.evaluator_version(),
            max_seconds: submission.max_seconds(),
            mission_sha256: submission.mission().sha256,
            snapshot_sha256: submission.snapshot().sha256,
            resume_sha256: submission.resume().map(|resume| resume.sha256),
        }
    }
}
