//! What `evidence verify` says of a result: its stable form, and the wording for people. Pure.

use serde::Serialize;

use super::neutral;
use crate::execution::evidence::Statement;
use crate::status::{Category, Status};
use crate::submission::Sha256Digest;

/// The version of the JSON form.
pub(super) const SCHEMA_VERSION: &str = "prediction_verification.v1";

/// What `verify -o json` prints. Field order is frozen.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Verdict<'a> {
    /// `prediction_verification.v1`.
    pub(super) schema_version: &'static str,
    /// The file.
    pub(super) result: String,
    /// Whether everything that was asked for could be looked at, and holds.
    pub(super) holds: bool,
    /// Whether it was held against a submission.
    pub(super) compared_with_submission: bool,
    /// What the cluster says; null when none was asked.
    pub(super) cluster: Option<&'a Asked>,
    /// SHA-256 of the whole file; null when it is no result.
    pub(super) result_digest: Option<String>,
    /// SHA-256 of the evidence in it; null when it is no result.
    pub(super) evidence_digest: Option<String>,
    /// What does not hold.
    pub(super) findings: &'a [String],
    /// What the result states; null when it cannot be read.
    pub(super) evidence: Option<&'a Statement>,
}

/// What stands in the cluster under the name that this result's Job must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Witness {
    /// A Job.
    Job,
    /// The record of a Job that was pruned.
    Record,
    /// Something that harness did not make, or a record that cannot be read.
    Other,
    /// Neither Job nor record.
    Nothing,
    /// The cluster did not allow to read it.
    Refused,
    /// The cluster gave no answer that can be relied on.
    Unknown,
}

/// What the cluster says. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Asked {
    /// The namespace.
    pub(super) namespace: String,
    /// The name of the Job, by the evidence.
    pub(super) job_name: String,
    /// What was found.
    pub(super) witness: Witness,
    /// Why there is no Job and no record to compare with; null where there is one.
    pub(super) detail: Option<String>,
    /// The UID of the Job.
    pub(super) job_uid: Option<String>,
    /// The digest of the published evidence, where the cluster still keeps it.
    pub(super) evidence_digest: Option<String>,
    /// The digest of the published result, where the cluster still keeps it.
    pub(super) result_digest: Option<String>,
}

impl Asked {
    /// Without an answer.
    pub(super) fn without(namespace: &str, name: &str, witness: Witness, why: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            job_name: name.to_owned(),
            witness,
            detail: Some(why.to_owned()),
            job_uid: None,
            evidence_digest: None,
            result_digest: None,
        }
    }

    /// What a status shows.
    pub(super) fn of(status: &Status) -> Self {
        let category = status.diagnosis.category;
        let witness = match (category, status.is_recorded, &status.job_uid) {
            (Category::ABSENT, ..) => Witness::Nothing,
            (Category::FOREIGN, ..) | (_, false, None) => Witness::Other,
            (_, true, _) => Witness::Record,
            (_, false, Some(_)) => Witness::Job,
        };
        let has_word = matches!(witness, Witness::Job | Witness::Record);
        Self {
            namespace: status.namespace.clone(),
            job_name: status.name.clone(),
            witness,
            detail: Some(status.diagnosis.sentence.clone()).filter(|_| !has_word),
            job_uid: status.job_uid.clone(),
            evidence_digest: status.evidence_digest.clone(),
            result_digest: status.result_digest.clone(),
        }
    }

    /// In words, what holds when nothing was found to differ.
    fn scope(&self) -> String {
        let who = match self.witness {
            Witness::Record => "the record of its Job",
            _ => "its Job",
        };
        let place = &self.namespace;
        if self.evidence_digest.is_some() {
            format!("vouched for by {who} in {place}, digest by digest")
        } else {
            format!("in agreement with {who} in {place}, which does not keep the evidence's digest")
        }
    }
}

/// What people read when everything holds.
pub(super) fn summary(
    result: &str,
    statement: &Statement,
    (digest, evidence): (Sha256Digest, Sha256Digest),
    compared_with_submission: bool,
    asked: Option<&Asked>,
) -> String {
    let run = &statement.predicate.harness_run;
    let parameters = &statement.predicate.build_definition.external_parameters;
    let mut scope = vec!["consistent in itself".to_owned()];
    if compared_with_submission {
        scope.push("of this submission".to_owned());
    }
    scope.extend(asked.map(Asked::scope));
    let advice = match asked {
        None if statement.is_local() => {
            "\nIt says that the image was not run and no cluster was there; nobody but its maker vouches for that or for the rest."
        }
        None => {
            "\nWho made it is stated only: with `--context` and `-n` the cluster is asked as well."
        }
        Some(asked) if asked.evidence_digest.is_none() => {
            "\nWho knows the Job's UID can state as much: the digest was in the message of its pod, which is gone."
        }
        Some(_) => "",
    };
    let job = if statement.is_local() {
        format!("none; made by `harness prediction execute` with the command {:?}", run.command)
    } else {
        run.pod.job_uid.clone()
    };
    neutral::lines(&format!(
        "{result}: {}\n\
         attempt     {}\n\
         mission     {}\n\
         outcome     {}\n\
         files       {} in {} bytes\n\
         job         {job}\n\
         submission  {}\n\
         result      {digest}\n\
         evidence    {evidence}{advice}",
        scope.join("; "),
        parameters.attempt_id,
        parameters.mission_id,
        run.outcome.name(),
        statement.subject.len(),
        run.output.bytes,
        run.submission_digest,
    ))
}
