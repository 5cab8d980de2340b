//! Judges answers: from what the API server said to the facts that the protocol decides on. Pure.

use serde_json::Value;

use super::facts::{
    Doubt, DriftFact, Effect, Fact, Finished, JobFact, JobVerdict, NamespaceFact, Reading,
    RecordFact, Refusal, SecretFact, SecretVerdict,
};
use super::protocol::Request;
use super::record;
use crate::cluster::{Outcome, Resource, Status, Unknown};
use crate::render::Bundle;
use crate::render::compare::{self, Drift, JobState, Verdict};

/// Judges the answer to one request of the protocol.
pub fn judge(request: &Request, outcome: Outcome, bundle: &Bundle) -> Fact {
    let names = bundle.names();
    match request {
        Request::ReadNamespace => {
            Fact::Namespace(reading(outcome, Resource::Namespaces, &names.namespace, namespace))
        }
        Request::ReadJob => {
            Fact::Job(reading(outcome, Resource::Jobs, &names.job, |live| job(bundle, live)))
        }
        Request::ReadSecret => {
            Fact::Secret(reading(outcome, Resource::Secrets, &names.secret, |live| {
                secret(bundle, live)
            }))
        }
        Request::ReadNamedSecret(name) => {
            Fact::NamedSecret(reading(outcome, Resource::Secrets, name, |_| ()))
        }
        Request::ReadRecord => {
            Fact::Record(reading(outcome, Resource::ConfigMaps, &names.job, |live| {
                recorded(bundle, live)
            }))
        }
        Request::RehearseSecret => {
            Fact::SecretRehearsal(effect(outcome, |live| secret(bundle, live)))
        }
        Request::RehearseJob => Fact::JobRehearsal(effect(outcome, |live| job(bundle, live))),
        Request::CreateSecret => Fact::SecretCreate(effect(outcome, |live| secret(bundle, live))),
        Request::CreateJob(_) => Fact::JobCreate(effect(outcome, |live| job(bundle, live))),
        Request::DeleteSecret(_) => Fact::SecretDelete(effect(outcome, |_| ())),
    }
}

/// The answer to a read of `name`: only the API server's own word proves that it is absent.
pub(crate) fn reading<T>(
    outcome: Outcome,
    resource: Resource,
    name: &str,
    judge: impl FnOnce(&Value) -> T,
) -> Reading<T> {
    match outcome {
        Outcome::Done(answer) => Reading::Present(judge(&answer.body)),
        Outcome::Refused(status) if status.is_absence_of(resource, name) => Reading::Absent,
        Outcome::Refused(status) => Reading::Refused(refusal(status)),
        Outcome::Unknown(unknown) => Reading::Unknown(doubt(&unknown)),
    }
}

/// The answer to a change.
pub(crate) fn effect<T>(outcome: Outcome, judge: impl FnOnce(&Value) -> T) -> Effect<T> {
    match outcome {
        Outcome::Done(answer) => Effect::Done(judge(&answer.body)),
        Outcome::Refused(status) => Effect::Refused(refusal(status)),
        Outcome::Unknown(unknown) => Effect::Unknown(doubt(&unknown)),
    }
}

/// The server's no as a fact.
pub(crate) fn refusal(status: Status) -> Refusal {
    Refusal {
        code: status.code,
        reason: status.reason,
        message: status.message,
        retry_after: status.retry_after,
    }
}

/// What is unknown as a fact.
pub(crate) fn doubt(unknown: &Unknown) -> Doubt {
    Doubt {
        why: unknown.to_string(),
        certainly_not_sent: unknown.certainly_not_sent(),
        retry_after: unknown.retry_after,
    }
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

fn namespace(live: &Value) -> NamespaceFact {
    NamespaceFact { uid: text(compare::uid(live)) }
}

fn job(bundle: &Bundle, live: &Value) -> JobFact {
    let (verdict, drift) = if compare::is_terminating(live) {
        (JobVerdict::Terminating, Vec::new())
    } else {
        match compare::compare_job(bundle.job(), live) {
            Verdict::Same { drift } => {
                (cancelled(live).unwrap_or(JobVerdict::Same), drifted(drift))
            }
            Verdict::Altered { differences, drift } => {
                (JobVerdict::Altered(paths(differences)), drifted(drift))
            }
            Verdict::Foreign { differences } => {
                (JobVerdict::Foreign(paths(differences)), Vec::new())
            }
        }
    };
    let state = compare::job_state(live);
    let finished = match state {
        JobState::Succeeded { .. } => Some(Finished::Succeeded),
        JobState::Failed { .. } => Some(Finished::Failed),
        JobState::Queued | JobState::Pending | JobState::Running => None,
    };
    JobFact {
        uid: text(compare::uid(live)),
        verdict,
        secret: compare::named_secret(live),
        mentions_our_secret: compare::mentions(live, &bundle.names().secret),
        state: state.name().to_owned(),
        finished,
        drift,
    }
}

fn cancelled(live: &Value) -> Option<JobVerdict> {
    compare::cancelled(live).map(|cancelled| JobVerdict::Cancelled {
        at: cancelled.at.to_string(),
        by: cancelled.by.unwrap_or_else(|| "somebody".to_owned()),
    })
}

fn secret(bundle: &Bundle, live: &Value) -> SecretFact {
    let verdict = if compare::is_terminating(live) {
        SecretVerdict::Terminating
    } else {
        match compare::compare_secret(bundle.secret(), live) {
            Verdict::Same { .. } => SecretVerdict::Same,
            Verdict::Altered { differences, .. } | Verdict::Foreign { differences } => {
                SecretVerdict::Different(paths(differences))
            }
        }
    };
    SecretFact { uid: text(compare::uid(live)), verdict }
}

fn paths(paths: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    paths.into_iter().map(|path| path.to_string()).collect()
}

fn drifted(drift: Vec<Drift>) -> Vec<DriftFact> {
    drift
        .into_iter()
        .map(|drift| DriftFact { path: drift.path.to_string(), kind: drift.kind.name() })
        .collect()
}

fn recorded(bundle: &Bundle, live: &Value) -> RecordFact {
    let names = bundle.names();
    match record::read(live) {
        Err(problem) => RecordFact {
            differences: vec![problem],
            outcome: String::new(),
            recorded_by: String::new(),
            recorded_at: String::new(),
        },
        Ok(record) => {
            let pairs = [
                ("result_identity", record.result_identity == names.result_identity.to_hex()),
                ("submission_digest", record.submission_digest == names.submission_digest.to_hex()),
            ];
            RecordFact {
                differences: pairs
                    .into_iter()
                    .filter(|(_, same)| !same)
                    .map(|(field, _)| format!("data.{}: {field}", record::KEY))
                    .collect(),
                outcome: record.outcome,
                recorded_by: record.recorded_by,
                recorded_at: record.recorded_at,
            }
        }
    }
}
