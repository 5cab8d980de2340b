//! Puts the evidence together. Pure.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    BUILD_TYPE, BUILDER_ID, BuildDefinition, Builder, BuilderVersion, Dependency, DigestSet,
    ExternalParameters, HarnessRun, InternalParameters, LOCAL_BUILD_TYPE, LOCAL_BUILDER_ID,
    Metadata, Output, PREDICATE_TYPE, Predicate, Resource, RunDetails, SCHEMA_VERSION,
    STATEMENT_TYPE, Statement,
};
use crate::execution::archive::{FileEntry, Oddity};
use crate::execution::{Category, Expectation, RunReport};
use crate::submission::digest::PREFIX;
use crate::submission::{PinnedImage, Sha256Digest};

/// The most oddities of one kind that are listed.
const MOST_ODDITIES: usize = 1000;

/// The name of the image among the dependencies.
pub(super) const IMAGE: &str = "image";

/// The pod, by the kubelet's word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// The UID of its Job.
    pub job_uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its node.
    pub node: String,
}

/// Where a run was made, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a pod, of the submission's image.
    Pod {
        /// The image.
        image: PinnedImage,
        /// The pod.
        pod: Pod,
    },
    /// By `harness prediction execute`: without a cluster, of a command of that machine.
    Local,
}

/// What is known before anything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What the inputs must be, which `stage` has checked.
    pub expectation: Expectation,
    /// The operator's name for the attempt.
    pub attempt_id: String,
    /// Where it runs.
    pub origin: Origin,
    /// The profile's name.
    pub profile: String,
    /// The digest of the profile's content.
    pub profile_digest: Sha256Digest,
    /// The result identity.
    pub result_identity: Sha256Digest,
    /// The submission digest.
    pub submission_digest: Sha256Digest,
}

impl Facts {
    /// The pod; every text is empty without one.
    pub fn pod(&self) -> Pod {
        match &self.origin {
            Origin::Pod { pod, .. } => pod.clone(),
            Origin::Local => Pod::default(),
        }
    }
}

/// What is known once it has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Where the result is created, without a query.
    pub result_object: String,
    /// What `run` said that it would start.
    pub command: Vec<String>,
    /// When the start was allowed.
    pub started_on: Timestamp,
    /// When the runner had ended, as far as is known.
    pub finished_on: String,
    /// How the run ended.
    pub outcome: Category,
    /// What `run` reported.
    pub report: Option<RunReport>,
    /// Whether the archive holds the output.
    pub archived: bool,
    /// Files in the order of the archive.
    pub files: Vec<FileEntry>,
    /// Bytes of all files.
    pub bytes: u64,
    /// What is not there.
    pub left_out: Vec<Oddity>,
    /// What changed under way.
    pub changed: Vec<Oddity>,
}

/// The evidence.
pub fn build(facts: &Facts, told: Told) -> Statement {
    let expectation = &facts.expectation;
    let pod = facts.pod();
    let (build_type, builder_id) = match facts.origin {
        Origin::Pod { .. } => (BUILD_TYPE, BUILDER_ID),
        Origin::Local => (LOCAL_BUILD_TYPE, LOCAL_BUILDER_ID),
    };
    let (left_out, left_out_more) = bounded(told.left_out);
    let (changed, changed_more) = bounded(told.changed);
    let subject = told
        .files
        .into_iter()
        .map(|file| Resource { name: file.name, digest: digest_set(file.digest) });
    Statement {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: subject.collect(),
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: Predicate {
            build_definition: BuildDefinition {
                build_type: build_type.to_owned(),
                external_parameters: ExternalParameters {
                    attempt_id: facts.attempt_id.clone(),
                    mission_id: expectation.mission_id.as_str().to_owned(),
                    evaluator_version: format!("{PREFIX}{}", expectation.evaluator_version),
                    resource_profile: facts.profile.clone(),
                    max_seconds: expectation.max_seconds,
                },
                internal_parameters: InternalParameters {
                    profile_digest: facts.profile_digest.to_hex(),
                },
                resolved_dependencies: dependencies(facts),
            },
            run_details: RunDetails {
                builder: Builder {
                    id: builder_id.to_owned(),
                    version: BuilderVersion { harness: env!("CARGO_PKG_VERSION").to_owned() },
                },
                metadata: Metadata {
                    invocation_id: pod.job_uid.clone(),
                    started_on: told.started_on.to_string(),
                    finished_on: told.finished_on,
                },
            },
            harness_run: HarnessRun {
                schema_version: SCHEMA_VERSION.to_owned(),
                submission_digest: facts.submission_digest.to_hex(),
                result_identity: facts.result_identity.to_hex(),
                result_object: told.result_object,
                pod,
                command: told.command,
                outcome: told.outcome,
                report: told.report,
                output: Output {
                    archived: told.archived,
                    bytes: told.bytes,
                    left_out,
                    left_out_more,
                    changed,
                    changed_more,
                },
            },
        },
    }
}

fn dependencies(facts: &Facts) -> Vec<Dependency> {
    let input = |name: &str, digest| Dependency {
        name: name.to_owned(),
        uri: None,
        digest: digest_set(digest),
    };
    let image = match &facts.origin {
        Origin::Pod { image, .. } => {
            Some(Dependency { uri: Some(format!("oci://{image}")), ..input(IMAGE, image.digest()) })
        }
        Origin::Local => None,
    };
    let mut all: Vec<Dependency> = image.into_iter().collect();
    all.push(input("mission", facts.expectation.mission_sha256));
    all.push(input("snapshot", facts.expectation.snapshot_sha256));
    all.extend(facts.expectation.resume_sha256.map(|digest| input("resume", digest)));
    all
}

fn digest_set(digest: Sha256Digest) -> DigestSet {
    DigestSet { sha256: digest.to_hex() }
}

fn bounded(mut oddities: Vec<Oddity>) -> (Vec<Oddity>, u64) {
    let more = oddities.len().saturating_sub(MOST_ODDITIES);
    oddities.truncate(MOST_ODDITIES);
    (oddities, more as u64)
}
