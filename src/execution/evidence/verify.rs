//! Holds an archive against its own evidence, and the evidence against what else is known. Pure.

use crate::execution::archive::Found;
use crate::submission::excerpt::excerpt;
use crate::submission::{Sha256Digest, Submission};

use super::build::IMAGE;
use super::{Dependency, Statement};

/// How many differences are listed.
const MOST_FINDINGS: usize = 20;

/// Whether the archive holds what its evidence says: every file with its digest, none missing, none more.
pub fn against_archive(statement: &Statement, found: &Found) -> Vec<String> {
    let mut findings = Vec::new();
    let output = &statement.predicate.harness_run.output;
    if output.archived != found.output {
        findings.push(format!(
            "the evidence says archived: {}, the archive says {}",
            output.archived, found.output
        ));
    }
    if output.bytes != found.bytes {
        findings.push(format!(
            "the evidence says {} bytes, the archive holds {}",
            output.bytes, found.bytes
        ));
    }
    let mut stated = statement.subject.iter().peekable();
    let mut held = found.files.iter().peekable();
    while findings.len() < MOST_FINDINGS {
        match (stated.peek(), held.peek()) {
            (None, None) => break,
            (Some(subject), Some(file)) if subject.name == file.name => {
                if subject.digest.sha256 != file.digest.to_hex() {
                    findings.push(format!(
                        "`{}` hashes to {}, and the evidence says {}",
                        file.name,
                        file.digest,
                        excerpt(&subject.digest.sha256)
                    ));
                }
                stated.next();
                held.next();
            }
            (Some(subject), _) if !found.files.iter().any(|file| file.name == subject.name) => {
                findings.push(format!(
                    "{} is in the evidence and not in the archive",
                    excerpt(&subject.name)
                ));
                stated.next();
            }
            (_, Some(file)) => {
                findings.push(format!(
                    "`{}` is in the archive and not in the evidence, or not in its order",
                    file.name
                ));
                held.next();
            }
            (Some(_), None) => {
                findings.push("the evidence lists a file twice".to_owned());
                break;
            }
        }
    }
    findings
}

/// What a submission, with its profile, says that the evidence must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The submission digest.
    pub submission_digest: Sha256Digest,
    /// The result identity.
    pub result_identity: Sha256Digest,
    /// The digest of the profile's content.
    pub profile_digest: Sha256Digest,
}

/// Whether the evidence is of this submission: the digest over everything that decides, and each part of it by name.
pub fn against_submission(
    statement: &Statement,
    submission: &Submission,
    expected: &Expected,
) -> Vec<String> {
    let definition = &statement.predicate.build_definition;
    let parameters = &definition.external_parameters;
    let run = &statement.predicate.harness_run;
    let resume = submission.resume().map(|resume| resume.sha256.to_hex());
    // The submission digest says which image was asked for; a local run says that it ran none.
    let image = (!statement.is_local()).then(|| submission.image().digest().to_hex());
    let rows = [
        (
            "attempt_id",
            Some(parameters.attempt_id.clone()),
            Some(submission.attempt_id().to_string()),
        ),
        (
            "mission_id",
            Some(parameters.mission_id.clone()),
            Some(submission.mission_id().to_string()),
        ),
        (
            "evaluator_version",
            Some(parameters.evaluator_version.clone()),
            Some(format!("sha256:{}", submission.evaluator_version())),
        ),
        (
            "resource_profile",
            Some(parameters.resource_profile.clone()),
            Some(submission.resource_profile().to_string()),
        ),
        (
            "max_seconds",
            Some(parameters.max_seconds.to_string()),
            Some(submission.max_seconds().to_string()),
        ),
        (
            "profile digest",
            Some(definition.internal_parameters.profile_digest.clone()),
            Some(expected.profile_digest.to_hex()),
        ),
        ("image", dependency(statement, IMAGE), image),
        (
            "mission_sha256",
            dependency(statement, "mission"),
            Some(submission.mission().sha256.to_hex()),
        ),
        (
            "snapshot_sha256",
            dependency(statement, "snapshot"),
            Some(submission.snapshot().sha256.to_hex()),
        ),
        ("resume_sha256", dependency(statement, "resume"), resume),
        (
            "result identity",
            Some(run.result_identity.clone()),
            Some(expected.result_identity.to_hex()),
        ),
        (
            "submission digest",
            Some(run.submission_digest.clone()),
            Some(expected.submission_digest.to_hex()),
        ),
    ];
    differences(&rows, "the submission")
}

fn dependency(statement: &Statement, name: &str) -> Option<String> {
    let all = &statement.predicate.build_definition.resolved_dependencies;
    let found: Option<&Dependency> = all.iter().find(|dependency| dependency.name == name);
    found.map(|dependency| dependency.digest.sha256.clone())
}

/// What the cluster says of a Job: the Job itself, or the record that was kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its UID.
    pub job_uid: String,
    /// The result identity on it.
    pub result_identity: String,
    /// The submission digest on it.
    pub submission_digest: String,
    /// The digest of the evidence, where the cluster keeps it.
    pub evidence_digest: Option<String>,
    /// The digest of the whole result, where the cluster keeps it.
    pub result_digest: Option<String>,
}

/// Whether the evidence is of this Job.
pub fn against_cluster(
    statement: &Statement,
    result: Sha256Digest,
    evidence: Sha256Digest,
    known: &Known,
) -> Vec<String> {
    let run = &statement.predicate.harness_run;
    let mut rows = vec![
        ("Job UID", Some(run.pod.job_uid.clone()), Some(known.job_uid.clone())),
        (
            "invocation id",
            Some(statement.predicate.run_details.metadata.invocation_id.clone()),
            Some(known.job_uid.clone()),
        ),
        ("result identity", Some(run.result_identity.clone()), Some(known.result_identity.clone())),
        (
            "submission digest",
            Some(run.submission_digest.clone()),
            Some(known.submission_digest.clone()),
        ),
    ];
    if let Some(digest) = &known.evidence_digest {
        rows.push(("evidence digest", Some(evidence.to_hex()), Some(digest.clone())));
    }
    if let Some(digest) = &known.result_digest {
        rows.push(("result digest", Some(result.to_hex()), Some(digest.clone())));
    }
    differences(&rows, "the cluster")
}

type Row = (&'static str, Option<String>, Option<String>);

fn differences(rows: &[Row], other: &str) -> Vec<String> {
    let show = |value: &Option<String>| value.as_deref().map_or("none".to_owned(), excerpt);
    rows.iter()
        .filter(|(_, stated, expected)| stated != expected)
        .map(|(name, stated, expected)| {
            format!("{name}: the result says {}, {other} says {}", show(stated), show(expected))
        })
        .collect()
}
