//! The evidence: what a run says about itself, published inside of its result. Pure; the form is frozen.
//!
//! It is an in-toto Statement (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>) whose predicate
//! is SLSA provenance (<https://slsa.dev/spec/v1.0/provenance>), so that tools that know those can read it. What they
//! have no place for is one extension field, `harness_run`. It states; `verify.rs` says what of it holds.

mod build;
pub mod verify;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::archive::Oddity;
use super::{Category, RunReport};

pub use build::{Facts, Origin, Pod, Told, build};

/// The version of our part of the form.
pub const SCHEMA_VERSION: &str = "prediction_evidence.v1";

/// The type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The type of the predicate.
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// What kind of work it was; a name, under which nothing needs to be found.
pub const BUILD_TYPE: &str = "https://research.harness/prediction/v1";

/// Who did it; a name, too.
pub const BUILDER_ID: &str = "https://research.harness/publish/v1";

/// What kind of work it was where `harness prediction execute` did it: a command of somebody's machine, and not the image.
pub const LOCAL_BUILD_TYPE: &str = "https://research.harness/local-prediction/v1";

/// Who did it then.
pub const LOCAL_BUILDER_ID: &str = "https://research.harness/execute/v1";

/// A digest by its algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DigestSet {
    /// SHA-256, 64 hexadecimal digits.
    pub sha256: String,
}

/// Some bytes and their name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// For a subject: the path below the archive's `output/`, `%XX` for bytes that do not print. For a dependency: `image`,
    /// `mission`, `snapshot` or `resume`.
    pub name: String,
    /// What its bytes hash to.
    pub digest: DigestSet,
}

/// The whole evidence. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// `https://in-toto.io/Statement/v1`.
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// Every file of the output, in the order of the archive.
    pub subject: Vec<Resource>,
    /// `https://slsa.dev/provenance/v1`.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What made the files.
    pub predicate: Predicate,
}

/// What made the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// What was asked for.
    #[serde(rename = "buildDefinition")]
    pub build_definition: BuildDefinition,
    /// Which run it was.
    #[serde(rename = "runDetails")]
    pub run_details: RunDetails,
    /// What SLSA has no place for.
    pub harness_run: HarnessRun,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BuildDefinition {
    /// `https://research.harness/prediction/v1`, or `https://research.harness/local-prediction/v1` where
    /// `harness prediction execute` started a command of its machine and neither pod nor image.
    pub build_type: String,
    /// What the operator chose.
    pub external_parameters: ExternalParameters,
    /// What the site chose.
    pub internal_parameters: InternalParameters,
    /// The image, unless it was not run, and the inputs, by digest.
    pub resolved_dependencies: Vec<Dependency>,
}

/// What the operator chose, named as in the submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalParameters {
    /// The operator's name for the attempt.
    pub attempt_id: String,
    /// The mission's name.
    pub mission_id: String,
    /// `sha256:` and 64 digits.
    pub evaluator_version: String,
    /// The profile's name.
    pub resource_profile: String,
    /// The budget in seconds.
    pub max_seconds: u32,
}

/// What the site chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InternalParameters {
    /// The digest of the profile's content, 64 digits.
    pub profile_digest: String,
}

/// The image or an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    /// `image`, `mission`, `snapshot` or `resume`.
    pub name: String,
    /// The image's reference after `oci://`; inputs have none, since where they lay decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its digest.
    pub digest: DigestSet,
}

/// Which run it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunDetails {
    /// Who did it.
    pub builder: Builder,
    /// Which one, and when.
    pub metadata: Metadata,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Builder {
    /// `https://research.harness/publish/v1`, or `https://research.harness/execute/v1` without a cluster.
    pub id: String,
    /// Versions of what did it.
    pub version: BuilderVersion,
}

/// Versions of what did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BuilderVersion {
    /// harness's version.
    pub harness: String,
}

/// Which run it was, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// The UID of the Job; empty without a cluster.
    pub invocation_id: String,
    /// When the start was allowed, RFC 3339.
    pub started_on: String,
    /// When the runner had ended, RFC 3339.
    pub finished_on: String,
}

/// What SLSA has no place for. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HarnessRun {
    /// `prediction_evidence.v1`.
    pub schema_version: String,
    /// The submission digest, 64 digits: everything that decided what ran.
    pub submission_digest: String,
    /// The result identity, 64 digits.
    pub result_identity: String,
    /// Where the result was created, without a query.
    pub result_object: String,
    /// The pod; every text is empty without a cluster.
    pub pod: Pod,
    /// What was started, as `run` said it.
    pub command: Vec<String>,
    /// How the run ended.
    pub outcome: Category,
    /// How the runner ended; null when `run` did not report in time.
    pub report: Option<RunReport>,
    /// What is in the archive.
    pub output: Output,
}

/// What is in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Whether it is there; it is not when it was too large or could not be packed.
    pub archived: bool,
    /// Bytes of all files that are there.
    pub bytes: u64,
    /// What lay in the folder and is not there, at most 1000 of it.
    pub left_out: Vec<Oddity>,
    /// How many more were left out.
    pub left_out_more: u64,
    /// What changed while it was read, at most 1000 of it.
    pub changed: Vec<Oddity>,
    /// How many more changed.
    pub changed_more: u64,
}

impl Statement {
    /// The bytes of `evidence.json`: compact JSON in fixed order, and a line feed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("texts and numbers always serialise");
        bytes.push(b'\n');
        bytes
    }

    /// Reads evidence; only the very bytes that [`Self::to_bytes`] gives are evidence.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let statement: Self = serde_json::from_slice(bytes).map_err(|error| {
            format!("it is not of the form, at line {} column {}", error.line(), error.column())
        })?;
        let run = &statement.predicate.harness_run;
        let (build_type, builder_id) = if statement.is_local() {
            (LOCAL_BUILD_TYPE, LOCAL_BUILDER_ID)
        } else {
            (BUILD_TYPE, BUILDER_ID)
        };
        for (name, found, expected) in [
            ("_type", &statement.statement_type, STATEMENT_TYPE),
            ("predicateType", &statement.predicate_type, PREDICATE_TYPE),
            ("schema_version", &run.schema_version, SCHEMA_VERSION),
            ("buildType", &statement.predicate.build_definition.build_type, build_type),
            ("builder.id", &statement.predicate.run_details.builder.id, builder_id),
        ] {
            if found != expected {
                return Err(format!("`{name}` is not `{expected}`"));
            }
        }
        if statement.is_local() && statement.names_a_cluster() {
            return Err("it says that it was made without a cluster, and names one".to_owned());
        }
        if statement.to_bytes() != bytes {
            return Err("it is spelt in another way than harness does".to_owned());
        }
        Ok(statement)
    }

    /// Whether it says that `harness prediction execute` made it, without a cluster and without the image.
    pub fn is_local(&self) -> bool {
        self.predicate.build_definition.build_type == LOCAL_BUILD_TYPE
    }

    /// Whether it names a Job, a pod or the image that ran in it.
    fn names_a_cluster(&self) -> bool {
        let predicate = &self.predicate;
        let dependencies = &predicate.build_definition.resolved_dependencies;
        predicate.harness_run.pod != Pod::default()
            || !predicate.run_details.metadata.invocation_id.is_empty()
            || dependencies.iter().any(|dependency| dependency.name == build::IMAGE)
    }
}
