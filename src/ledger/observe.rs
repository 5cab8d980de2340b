//! Judges answers: from what the API server said to the facts that the protocols decide on. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::facts::{
    Doubt, Earlier, Fact, Identity, JobFact, PodFact, Reading, RecordFact, RunFact, SecretFact,
    Suspension,
};
use super::protocol::Request;
use crate::cluster::pages::continuation;
use crate::cluster::{Outcome, Resource};
use crate::execution::{Category, Reason, Step};
use crate::render::compare;
use crate::render::names::{MANAGED_BY, RESULT_IDENTITY, SUBMISSION_DIGEST};
use crate::submission::Sha256Digest;
use crate::submit::observe::{doubt, effect, reading, refusal};
use crate::submit::record;

/// Judges the answer to one request of a protocol about the Job `name`.
pub fn judge(request: &Request, outcome: Outcome, namespace: &str, name: &str) -> Fact {
    match request {
        Request::ReadNamespace => {
            Fact::Namespace(reading(outcome, Resource::Namespaces, namespace, |live| {
                text(compare::uid(live))
            }))
        }
        Request::ReadJob => Fact::Job(reading(outcome, Resource::Jobs, name, job)),
        Request::ReadRecord => Fact::Record(reading(outcome, Resource::ConfigMaps, name, recorded)),
        Request::ReviewSelf => Fact::Who(review(outcome)),
        Request::ListPods => Fact::Pods(list(outcome, Resource::Pods, |items, more| {
            // A Job of ours has one pod at a time; more than a page of them is not understood.
            (!more).then(|| items.iter().map(pod).collect())
        })),
        Request::ListSecrets => Fact::Secrets(list(outcome, Resource::Secrets, |items, _| {
            Some(items.iter().map(secret).collect())
        })),
        Request::MarkJob { .. }
        | Request::LowerJob { .. }
        | Request::LowerPod { .. }
        | Request::DeletePod { .. }
        | Request::CreateRecord(_)
        | Request::DeleteSecret { .. }
        | Request::DeleteJob { .. } => Fact::Effect(effect(outcome, |_| ())),
    }
}

fn list<T>(
    outcome: Outcome,
    resource: Resource,
    judge: impl FnOnce(&[Value], bool) -> Option<T>,
) -> Reading<T> {
    match outcome {
        Outcome::Done(answer) => {
            let items = answer.body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            match judge(items, continuation(&answer.body).is_some()) {
                Some(fact) => Reading::Present(fact),
                None => Reading::Unknown(Doubt {
                    why: format!("more {} than expected", resource.plural()),
                    certainly_not_sent: false,
                    retry_after: None,
                }),
            }
        }
        Outcome::Refused(status) => Reading::Refused(refusal(status)),
        Outcome::Unknown(unknown) => Reading::Unknown(doubt(&unknown)),
    }
}

fn review(outcome: Outcome) -> Reading<String> {
    match outcome {
        Outcome::Done(answer) => match answer.body["status"]["userInfo"]["username"].as_str() {
            Some(name) if !name.is_empty() => Reading::Present(name.to_owned()),
            _ => Reading::Absent,
        },
        Outcome::Refused(status) => Reading::Refused(refusal(status)),
        Outcome::Unknown(unknown) => Reading::Unknown(doubt(&unknown)),
    }
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

fn metadata<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object["metadata"][field].as_str()
}

/// A live Job.
pub fn job(live: &Value) -> JobFact {
    let status = &live["status"];
    let count = |field: &str| status[field].as_u64().unwrap_or_default();
    let terminating = compare::is_terminating(live).then(|| {
        let finalizers = live["metadata"]["finalizers"].as_array().into_iter().flatten();
        finalizers.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    });
    JobFact {
        name: text(metadata(live, "name")),
        uid: text(compare::uid(live)),
        resource_version: text(metadata(live, "resourceVersion")),
        identity: identity(live),
        terminating,
        state: compare::job_state(live),
        started_at: status["startTime"].as_str().map(str::to_owned),
        suspension: suspension(live),
        earlier_pods: earlier_pods(live),
        counted: count("failed").saturating_add(count("succeeded")),
        deadline: live["spec"]["activeDeadlineSeconds"].as_i64(),
        cancelled: compare::cancelled(live),
        secret: compare::named_secret(live),
    }
}

/// The identities of a Job that harness made: the name, the label and the annotation must agree.
fn identity(live: &Value) -> Option<Identity> {
    let metadata = live.get("metadata")?;
    let label = |key: &str| metadata.get("labels")?.get(key)?.as_str();
    let digest = |key: &str| {
        let text = metadata.get("annotations")?.get(key)?.as_str()?;
        Sha256Digest::parse(text).ok().map(Sha256Digest::to_hex)
    };
    let result = digest(RESULT_IDENTITY)?;
    let short = label(RESULT_IDENTITY)?;
    let is_ours = label(MANAGED_BY) == Some("harness")
        && short.len() == 32
        && result.starts_with(short)
        && metadata.get("name")?.as_str()? == format!("prediction-{short}");
    is_ours.then_some(Identity { result, submission: digest(SUBMISSION_DIGEST)? })
}

fn earlier_pods(live: &Value) -> Option<Earlier> {
    if live["spec"]["podFailurePolicy"].is_object() {
        return Some(Earlier::Restarted);
    }
    may_have_been_stopped(live).then_some(Earlier::Suspended)
}

/// The server counts every change of a specification as a generation, and a Job is started by such a change:
/// <https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job>.
fn suspension(live: &Value) -> Suspension {
    match (&live["spec"]["suspend"], &live["metadata"]["generation"]) {
        (Value::Bool(true), generation) if *generation == 1 => Suspension::SinceCreation,
        (Value::Bool(true), _) => Suspension::Later,
        _ => Suspension::No,
    }
}

/// Whether a pod of this Job may have come and gone without a trace: that of a Job which is suspended is deleted and not
/// counted.
///
/// A Job that was suspended from its beginning is started by one change of its specification, which then is of
/// generation 2; each further stop and start changes it again. One that is suspended and of a later generation than the
/// first may have been started before.
pub fn may_have_been_stopped(live: &Value) -> bool {
    let conditions = live["status"]["conditions"].as_array();
    let was_suspended =
        conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Suspended"));
    let generation = live["metadata"]["generation"].as_u64().unwrap_or(u64::MAX);
    let latest = if live["spec"]["suspend"] == true { 1 } else { 2 };
    was_suspended && generation > latest
}

/// A live pod.
pub fn pod(live: &Value) -> PodFact {
    let status = &live["status"];
    let owners = live["metadata"]["ownerReferences"].as_array();
    let job_uid = owners
        .and_then(|owners| owners.iter().find(|one| one["controller"] == true))
        .filter(|owner| owner["kind"] == "Job")
        .and_then(|owner| owner["uid"].as_str());
    let disrupted = status["conditions"].as_array().is_some_and(|conditions| {
        conditions.iter().any(|one| {
            one["type"] == "DisruptionTarget"
                && one["status"] == "True"
                && one["reason"] != "TerminationByKubelet"
        })
    });
    let publish = reason(live, Step::Publish);
    let stage = reason(live, Step::Stage);
    PodFact {
        name: text(metadata(live, "name")),
        uid: text(compare::uid(live)),
        resource_version: text(metadata(live, "resourceVersion")),
        job_uid: job_uid.map(str::to_owned),
        is_bound: live["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty()),
        is_terminating: compare::is_terminating(live),
        is_over: matches!(status["phase"].as_str(), Some("Failed" | "Succeeded")),
        is_disrupted: disrupted,
        run: run(live),
        deadline: live["spec"]["activeDeadlineSeconds"].as_i64(),
        category: category(live, Step::Publish, publish.as_ref()).or_else(|| {
            category(live, Step::Stage, stage.as_ref()).filter(|one| *one != Category::Succeeded)
        }),
        evidence_digest: publish.and_then(|reason| reason.evidence_digest().map(str::to_owned)),
        image_ids: image_ids(live),
    }
}

/// The status of a step's container.
fn container(pod: &Value, step: Step) -> Option<&Value> {
    let all = if step == Step::Stage { "initContainerStatuses" } else { "containerStatuses" };
    pod["status"][all].as_array()?.iter().find(|one| one["name"] == step.name())
}

fn reason(pod: &Value, step: Step) -> Option<Reason> {
    let message = container(pod, step)?["state"]["terminated"]["message"].as_str()?;
    Reason::parse(message).filter(|reason| reason.step == step)
}

/// What a step says of its end, or what its exit code does where the message is lost.
fn category(pod: &Value, step: Step, reason: Option<&Reason>) -> Option<Category> {
    let by_code = || {
        let terminated = &container(pod, step)?["state"]["terminated"];
        Category::of_exit_code(terminated["exitCode"].as_i64()?)
    };
    reason.map(|reason| reason.category).or_else(by_code)
}

/// Only a container that waits, has no ID, no earlier state and no restart is one that never started: the kubelet
/// also writes an end without an ID, for a container that it has lost.
fn run(pod: &Value) -> RunFact {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let mut runs = statuses.into_iter().flatten().filter(|one| one["name"] == Step::Run.name());
    let Some(run) = runs.next() else { return RunFact::NotShown };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let waits = run["state"]["waiting"].is_object()
        && run["state"]["running"].is_null()
        && run["state"]["terminated"].is_null();
    let never = waits
        && is_empty(&run["containerID"])
        && is_empty(&run["lastState"])
        && run["restartCount"].as_u64().unwrap_or_default() == 0
        && run["started"] != true
        // Two of one name are not understood.
        && runs.next().is_none();
    if never { RunFact::NeverStarted } else { RunFact::MayHaveStarted }
}

fn image_ids(pod: &Value) -> Vec<String> {
    let all = ["initContainerStatuses", "containerStatuses"];
    let statuses =
        all.iter().filter_map(|kind| pod["status"][*kind].as_array()).flat_map(|all| all.iter());
    let ids: BTreeSet<&str> = statuses
        .filter_map(|one| one["imageID"].as_str())
        .filter(|id| !id.is_empty() && id.len() <= 512)
        .collect();
    ids.into_iter().map(str::to_owned).collect()
}

/// A live Secret; its content is left where it is.
pub fn secret(live: &Value) -> SecretFact {
    let created: Option<Timestamp> =
        metadata(live, "creationTimestamp").and_then(|time| time.parse().ok());
    SecretFact {
        name: text(metadata(live, "name")),
        uid: text(compare::uid(live)),
        is_terminating: compare::is_terminating(live),
        created,
    }
}

fn recorded(live: &Value) -> RecordFact {
    RecordFact { record: record::read(live), is_immutable: live["immutable"] == true }
}

#[cfg(test)]
mod tests;
