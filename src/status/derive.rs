//! From what the API server holds to where an experiment stands: one pure function.
//!
//! The Job's conditions alone decide whether it is over. Why it is as it is comes from what is most trustworthy
//! among what is left, see [`Basis`].

use jiff::Timestamp;
use serde_json::Value;

use super::category::Category;
use super::proof::{self, Proof};
use super::report::{
    Basis, Diagnosis, Identity, Phase, PodStatus, RunStarted, SCHEMA_VERSION, Status, Times,
};
use super::seen::{Seen, diagnosis, second_start};
use super::view::{Event, Job, Pod, Workload};
use super::words::{after, duration, quoted, seconds_between};
use super::{failure, pending, steps};
use crate::render::names;
use crate::submit::record::{self, Record};

/// Events looked at, the newest; there are rarely more than a dozen.
const MOST_EVENTS: usize = 200;

/// A clock that is so many seconds behind the cluster's own times deserves a remark.
const LARGE_SKEW: i64 = 60;

/// What was read of one experiment, as the API server holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    /// The Job's name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The Job, or nothing of this name.
    pub job: Option<Value>,
    /// The pods with its labels; nothing where they may not be read.
    pub pods: Option<Vec<Value>>,
    /// The events about the Job and its pods, those that are gone included.
    pub events: Vec<Value>,
    /// What Kueue says of the Job, where it does.
    pub workload: Option<Value>,
    /// The record, a `ConfigMap` of the Job's name.
    pub record: Option<Value>,
    /// The server's clock, or the local one where it does not say.
    pub now: Timestamp,
    /// The UID of the Job that is waited for.
    pub awaited_uid: Option<String>,
    /// The digest of the submission that is asked about, 64 digits.
    pub submission_digest: Option<String>,
}

/// Says where an experiment stands and why.
pub fn derive(situation: &Situation) -> Status {
    let Some(object) = &situation.job else {
        return without_job(situation);
    };
    let job = Job::read(object);
    if let Some(awaited) = situation.awaited_uid.as_deref().filter(|uid| *uid != job.uid) {
        let sentence = format!("the Job {awaited} is gone, and {} has its name", quoted(&job.uid));
        let replaced = diagnosis(Category::REPLACED, sentence, Basis::Job);
        return Status { job_uid: Some(job.uid), ..bare(situation, Phase::Unknown, replaced) };
    }
    if job.labels.get(names::MANAGED_BY).map(String::as_str) != Some("harness") {
        let sentence = "the Job of this name does not carry the label that harness gives";
        let foreign = diagnosis(Category::FOREIGN, sentence, Basis::Job);
        return Status { job_uid: Some(job.uid), ..bare(situation, Phase::Unknown, foreign) };
    }
    let mut pods: Vec<Pod> = situation.pods.iter().flatten().map(Pod::read).collect();
    pods.retain(|pod| pod.owner.is_empty() || pod.owner == job.uid);
    pods.sort_by(|one, other| (other.created, &other.name).cmp(&(one.created, &one.name)));
    let mut events: Vec<Event> =
        situation.events.iter().rev().take(MOST_EVENTS).map(Event::read).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.last));
    let workload = situation.workload.as_ref().map(Workload::read);
    let seen = Seen {
        job: &job,
        pods: &pods,
        pods_are_known: situation.pods.is_some(),
        events: &events,
        workload: workload.as_ref(),
    };
    let (phase, diagnosis) = verdict(&seen);
    let proof =
        proof::of(object, situation.pods.as_deref(), seen.starts() > 0, phase, diagnosis.category);
    present(situation, &seen, phase, proof.offer(diagnosis), proof)
}

/// Where a Job and its pods stand, without events.
pub(super) fn brief(job: &Job, mut pods: Vec<Pod>, pods_are_known: bool) -> (Phase, Diagnosis) {
    pods.retain(|pod| pod.owner.is_empty() || pod.owner == job.uid);
    pods.sort_by(|one, other| (other.created, &other.name).cmp(&(one.created, &one.name)));
    verdict(&Seen { job, pods: &pods, pods_are_known, events: &[], workload: None })
}

fn verdict(seen: &Seen<'_>) -> (Phase, Diagnosis) {
    let job = seen.job;
    if job.condition("Complete").is_some() {
        let sentence = "the runner succeeded and its result is published";
        return (Phase::Succeeded, diagnosis(Category::SUCCEEDED, sentence, Basis::Job));
    }
    if job.condition("Failed").is_some() {
        return match cancelled(job) {
            Some(by) => {
                let sentence = format!("it was cancelled {by}");
                (Phase::Cancelled, diagnosis(Category::CANCELLED, sentence, Basis::Job))
            }
            None => (Phase::Failed, failure::diagnose(seen)),
        };
    }
    let (phase, found) = pending::diagnose(seen);
    if let Some(by) = cancelled(job) {
        let sentence = format!("it was asked to end {by}, and is not over yet");
        return (phase, diagnosis(Category::CANCEL_REQUESTED, sentence, Basis::Job));
    }
    if job.is_being_deleted {
        let sentence = "somebody deleted the Job, and something still holds it";
        return (phase, diagnosis(Category::BEING_DELETED, sentence, Basis::Job));
    }
    (phase, found)
}

/// ` by WHOM at WHEN` of a Job that harness cancelled.
fn cancelled(job: &Job) -> Option<String> {
    let at = job.annotations.get(names::CANCELLED_AT)?;
    let by = job.annotations.get(names::CANCELLED_BY).map_or("somebody", String::as_str);
    Some(format!("by {} at {}", quoted(by), quoted(at)))
}

fn present(
    situation: &Situation,
    seen: &Seen<'_>,
    phase: Phase,
    diagnosis: Diagnosis,
    proof: Proof,
) -> Status {
    let job = seen.job;
    let now = situation.now;
    let is_over = phase.is_over();
    let ended = [job.condition("Complete"), job.condition("Failed")]
        .into_iter()
        .flatten()
        .find_map(|condition| condition.since)
        .or(job.completed);
    let left = |from: Option<Timestamp>, seconds: Option<i64>| {
        Some(seconds_between(now, after(from?, seconds?)?)).filter(|_| !is_over)
    };
    let pod = seen.pod();
    let reason = pod.and_then(failure::publish_reason);
    let evidence_digest = reason.as_ref().and_then(|it| it.evidence_digest().map(str::to_owned));
    let result_digest = reason.as_ref().and_then(|it| it.result_digest().map(str::to_owned));
    let digests = reason.map(|reason| reason.digests).unwrap_or_default();
    Status {
        job_uid: Some(job.uid.clone()),
        remarks: remarks(situation, seen, phase, diagnosis.category),
        steps: steps::of(job, pod, now, is_over),
        pod: pod.map(|pod| PodStatus {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            node: Some(pod.node.clone()).filter(|node| !node.is_empty()),
            image_ids: image_ids(pod),
        }),
        pods: seen.pods.len(),
        run_started: proof.run_started,
        times: Times {
            created_at: job.created.map(|time| time.to_string()),
            started_at: job.started.map(|time| time.to_string()),
            finished_at: ended.filter(|_| is_over).map(|time| time.to_string()),
            age_seconds: job.created.map(|time| seconds_between(time, now)),
            job_left_seconds: left(job.started.filter(|_| !job.is_suspended), job.deadline),
            pod_left_seconds: pod.and_then(|pod| left(pod.started, pod.deadline)),
        },
        identity: identity(job),
        evidence_digest,
        result_digest,
        digests,
        ..bare(situation, phase, diagnosis)
    }
}

fn image_ids(pod: &Pod) -> Vec<String> {
    let mut ids: Vec<String> =
        pod.containers.iter().map(|it| it.image_id.clone()).filter(|id| !id.is_empty()).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn identity(job: &Job) -> Identity {
    let of = |name: &str| job.annotations.get(name).cloned();
    Identity {
        attempt_id: of(names::ATTEMPT_ID),
        mission_id: of(names::MISSION_ID),
        profile: of(names::PROFILE),
        image: job.images.get("run").cloned(),
        result_identity: of(names::RESULT_IDENTITY),
        submission_digest: of(names::SUBMISSION_DIGEST),
        secret_digest: of(names::SECRET_DIGEST),
        result_object: of(names::RESULT_OBJECT),
    }
}

/// What a count of restarts means in a pod that restarts nothing.
///
/// With `restartPolicy: Never` the kubelet counts one where the runtime did not know a running container for a moment
/// (`convertToAPIContainerStatuses` in `pkg/kubelet/kubelet_pods.go`), and a real one where the runtime was killed after it
/// had started a container and before it said so. The step finds its own traces then.
fn restarted(pod: &Pod) -> Option<String> {
    pod.containers.iter().find(|container| container.restarts > 0)?;
    Some(match second_start(pod) {
        Some(step) => format!(
            "the node started `{}` a second time, which found that and did nothing",
            step.name()
        ),
        None => "the node lost sight of a container for a while and counts that as a restart; nothing was started again".to_owned(),
    })
}

/// A pull that outlasts the pod's deadline: a kubelet looks at no deadline and at no deletion before the pull has ended
/// (up to Kubernetes 1.37: <https://github.com/kubernetes/kubernetes/issues/113606>), and then starts the container first.
fn pulled_too_long(seen: &Seen<'_>, now: Timestamp) -> Option<String> {
    let pod = seen.pod()?;
    let over = seconds_between(after(pod.started?, pod.deadline?)?, now);
    (over > 0).then(|| {
        format!(
            "the pod's deadline passed {} ago; its node sees that once it has done with pulling, and a step that it still \
             starts finds its time over",
            duration(over)
        )
    })
}

fn remarks(
    situation: &Situation,
    seen: &Seen<'_>,
    phase: Phase,
    category: Category,
) -> Vec<String> {
    let job = seen.job;
    let mut remarks = Vec::new();
    let (runs, evictions) = (seen.starts(), seen.evictions());
    if runs > 1 {
        remarks.push(format!("the code was started in {runs} pods of this Job"));
    } else if evictions > 0 && seen.earlier_starts() == 0 {
        let times = if evictions == 1 { "once".to_owned() } else { format!("{evictions} times") };
        remarks.push(format!(
            "the queue took it back {times} after it had admitted it; its code may have been started each time"
        ));
    } else if seen.pods.len() > 1 {
        remarks.push(format!("this Job has had {} pods; the newest is shown", seen.pods.len()));
    }
    remarks.extend(seen.pods.iter().find_map(restarted));
    if category == Category::PULLING {
        remarks.extend(pulled_too_long(seen, situation.now));
    }
    if !seen.pods_are_known {
        remarks.push("its pods may not be read; this is what the Job alone says".to_owned());
    }
    if phase == Phase::Succeeded
        && let Some(by) = cancelled(job)
    {
        remarks.push(format!("it was cancelled {by}, and ended well before that took effect"));
    }
    if phase.is_over() && job.is_being_deleted {
        remarks.push("the Job is being deleted".to_owned());
    }
    remarks.extend(other_submission(situation, job.annotations.get(names::SUBMISSION_DIGEST)));
    let ahead = job.created.map_or(0, |time| seconds_between(situation.now, time));
    if ahead > LARGE_SKEW {
        remarks.push(format!(
            "the Job was created {ahead} s in the future of this clock; one of the two clocks is wrong"
        ));
    }
    remarks
}

/// Whether the submission that is asked about is the one that stands under its name.
fn other_submission(situation: &Situation, found: Option<&String>) -> Option<String> {
    let asked = situation.submission_digest.as_ref()?;
    (found != Some(asked)).then(|| {
        "this is another submission with the same result object; yours was never submitted here"
            .to_owned()
    })
}

impl Status {
    /// Whether what stands under the name is another submission than the one with this digest.
    pub fn is_of_another_submission(&self, digest: &str) -> bool {
        self.phase != Phase::Absent && self.identity.submission_digest.as_deref() != Some(digest)
    }
}

fn without_job(situation: &Situation) -> Status {
    match &situation.record {
        Some(object) => match record::read(object) {
            Ok(record) => recorded(situation, record),
            Err(why) => {
                let sentence = format!("a record stands under this name and cannot be read: {why}");
                bare(
                    situation,
                    Phase::Unknown,
                    diagnosis(Category::UNKNOWN, sentence, Basis::Record),
                )
            }
        },
        None if situation.awaited_uid.is_some() => {
            let sentence = "the Job was deleted while it was waited for, and left no record";
            bare(situation, Phase::Absent, diagnosis(Category::DELETED, sentence, Basis::Nothing))
        }
        None => {
            let sentence = format!(
                "the namespace {} has no Job and no record of this name",
                situation.namespace
            );
            bare(situation, Phase::Absent, diagnosis(Category::ABSENT, sentence, Basis::Nothing))
        }
    }
}

fn recorded(situation: &Situation, record: Record) -> Status {
    let phase = match record.outcome.as_str() {
        "succeeded" => Phase::Succeeded,
        "cancelled" => Phase::Cancelled,
        _ => Phase::Failed,
    };
    let sentence = format!(
        "it ended as `{}` and was recorded by {} at {}",
        quoted(&record.outcome),
        quoted(&record.recorded_by),
        quoted(&record.recorded_at)
    );
    let mut status = bare(situation, phase, diagnosis(Category::RECORDED, sentence, Basis::Record));
    if situation.awaited_uid.as_ref().is_some_and(|uid| *uid != record.job_uid) {
        status.remarks.push("the record is of another Job than the one waited for".to_owned());
    }
    status.remarks.extend(other_submission(situation, Some(&record.submission_digest)));
    status.is_recorded = true;
    status.job_uid = Some(record.job_uid);
    status.times.started_at = record.started_at;
    status.times.finished_at = record.finished_at;
    status.identity.result_identity = Some(record.result_identity);
    status.identity.submission_digest = Some(record.submission_digest);
    status.evidence_digest = record.evidence_digest;
    status
}

fn bare(situation: &Situation, phase: Phase, diagnosis: Diagnosis) -> Status {
    Status {
        schema_version: SCHEMA_VERSION,
        name: situation.name.clone(),
        namespace: situation.namespace.clone(),
        job_uid: None,
        phase,
        diagnosis,
        remarks: Vec::new(),
        steps: Vec::new(),
        pod: None,
        pods: 0,
        run_started: RunStarted::Unknown,
        times: Times::default(),
        identity: Identity::default(),
        evidence_digest: None,
        result_digest: None,
        digests: std::collections::BTreeMap::new(),
        is_recorded: false,
    }
}
