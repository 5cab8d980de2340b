//! Reads one experiment: the Job, its pods and events, or the record in the Job's place. It decides nothing.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::derive::{Situation, derive};
use super::report::{Basis, Phase, Status};
use crate::clock::Clock;
use crate::cluster::{self, Outcome, Request, Resource, Unknown};
use crate::render::names::{QUEUE_LABEL, RESULT_IDENTITY};
use crate::submit::Api;

/// The most pods read of one Job; more than two are rare.
const MOST_PODS: u32 = 50;

/// The most events read of one object.
const MOST_EVENTS: u32 = 100;

/// The most pods that are gone and whose events are read.
const MOST_EARLIER_PODS: usize = 5;

/// Kueue's label on a `Workload`: the UID of the Job that it is about.
const JOB_UID_LABEL: &str = "kueue.x-k8s.io/job-uid";

/// What every Job's name begins with.
pub const NAME_PREFIX: &str = "prediction-";

/// The experiment that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Job's name.
    pub name: String,
    /// The UID of the Job, where it has to be this one.
    pub uid: Option<String>,
    /// The digest of the submission that is asked about, 64 digits.
    pub submission_digest: Option<String>,
}

/// Why nothing can be said.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadError {
    /// The API server said no.
    Refused(Box<cluster::Status>),
    /// No answer can be relied on.
    Unknown(Box<Unknown>),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(status) => status.fmt(formatter),
            Self::Unknown(unknown) => unknown.fmt(formatter),
        }
    }
}

impl Target {
    /// Checks a name as a person gives it: with or without `job/` before it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = ["job.batch/", "jobs/", "job/"]
            .iter()
            .find_map(|kind| text.strip_prefix(kind))
            .unwrap_or(text);
        let digits = name.strip_prefix(NAME_PREFIX).unwrap_or_default();
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if digits.len() == 32 && digits.bytes().all(is_digit) {
            return Ok(Self { name: name.to_owned(), uid: None, submission_digest: None });
        }
        Err(format!(
            "allowed: the Job's name, `{NAME_PREFIX}` and 32 hexadecimal digits, as the receipt and `list` show it"
        ))
    }

    /// The value of the label `research.harness/result-identity`.
    pub fn identity(&self) -> &str {
        self.name.strip_prefix(NAME_PREFIX).unwrap_or(&self.name)
    }
}

/// Reads one experiment and says where it stands; each request may take as long as `limit`.
pub fn read(
    api: &dyn Api,
    clock: &dyn Clock,
    target: &Target,
    limit: Duration,
) -> Result<Status, ReadError> {
    let reader = Reader { api, limit };
    let mut situation = reader.objects(target, clock.now())?;
    let first = derive(&situation);
    let is_queued = situation.job.as_ref().is_some_and(names_queue);
    if !is_queued && !wants_events(&first) {
        return Ok(first);
    }
    let uids = first.job_uid.iter().chain(first.pod.as_ref().map(|pod| &pod.uid));
    for uid in uids.filter(|uid| is_uid(uid)) {
        situation.events.extend(reader.events(uid));
    }
    if let Some(uid) = first.job_uid.as_deref().filter(|uid| is_queued && is_uid(uid)) {
        situation.workload = reader.workload(uid);
        for pod in earlier_pods(&situation) {
            situation.events.extend(reader.events_of_pod(&pod));
        }
    }
    Ok(derive(&situation))
}

fn names_queue(job: &Value) -> bool {
    job.pointer("/metadata/labels").and_then(|labels| labels.get(QUEUE_LABEL)).is_some()
}

/// The pods that the Job's controller says to have made and that are not there any more, the newest first.
///
/// A queue that takes a Job back has its pod deleted, which the Job does not count; this is all that is left.
fn earlier_pods(situation: &Situation) -> Vec<String> {
    let made = situation.events.iter().rev().filter_map(|event| {
        let name = event["message"].as_str()?.strip_prefix("Created pod: ")?;
        (event["reason"] == "SuccessfulCreate" && is_pod_of(name, &situation.name)).then_some(name)
    });
    let is_gone = |name: &&str| {
        let mut pods = situation.pods.iter().flatten();
        !pods.any(|pod| pod["metadata"]["name"] == **name)
    };
    made.filter(is_gone).take(MOST_EARLIER_PODS).map(str::to_owned).collect()
}

/// Whether this is the name of the Job and a suffix as the server makes one: it becomes a part of a request.
fn is_pod_of(name: &str, job: &str) -> bool {
    let suffix = name.strip_prefix(job).and_then(|rest| rest.strip_prefix('-'));
    suffix.is_some_and(|suffix| {
        !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Events are hints, and two more requests: only where the objects alone do not say enough.
fn wants_events(status: &Status) -> bool {
    match status.phase {
        Phase::Queued | Phase::Pending | Phase::Unknown => true,
        Phase::Staging => status.diagnosis.basis != Basis::StepMessage,
        Phase::Failed => !matches!(status.diagnosis.basis, Basis::StepMessage | Basis::Record),
        _ => false,
    }
}

fn is_uid(uid: &str) -> bool {
    !uid.is_empty() && uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

struct Reader<'a> {
    api: &'a dyn Api,
    limit: Duration,
}

impl Reader<'_> {
    fn objects(&self, target: &Target, local: Timestamp) -> Result<Situation, ReadError> {
        let requests = self.api.requests();
        let label = format!("{RESULT_IDENTITY}={}", target.identity());
        let of_pods = requests.list(Resource::Pods, &label, MOST_PODS, None);
        let (job, pods) = std::thread::scope(|scope| {
            let pods = scope.spawn(|| self.send(of_pods));
            let job = self.send(requests.read_job(&target.name));
            (job, pods.join().expect("sending does not panic"))
        });
        let (job, now) = match job {
            Outcome::Done(answer) => (Some(answer.body), answer.date),
            Outcome::Refused(status) if status.is_absence_of(Resource::Jobs, &target.name) => {
                (None, status.date)
            }
            Outcome::Refused(status) => return Err(ReadError::Refused(Box::new(status))),
            Outcome::Unknown(unknown) => return Err(ReadError::Unknown(Box::new(unknown))),
        };
        let pods = match pods {
            Outcome::Done(answer) => Some(answer.into_items()),
            Outcome::Refused(_) => None,
            // A Job that is over is believed without its pods, but an answer that is late may come yet.
            Outcome::Unknown(unknown) => return Err(ReadError::Unknown(Box::new(unknown))),
        };
        // The record is written before the Job goes, so it is read after the Job was not found.
        let record = if job.is_none() { self.record(&target.name)? } else { None };
        Ok(Situation {
            name: target.name.clone(),
            namespace: requests.namespace().to_owned(),
            job,
            pods,
            events: Vec::new(),
            workload: None,
            record,
            now: now.unwrap_or(local),
            awaited_uid: target.uid.clone(),
            submission_digest: target.submission_digest.clone(),
        })
    }

    fn record(&self, name: &str) -> Result<Option<Value>, ReadError> {
        match self.send(self.api.requests().read_config_map(name)) {
            Outcome::Done(answer) => Ok(Some(answer.body)),
            Outcome::Refused(status) if status.is_absence_of(Resource::ConfigMaps, name) => {
                Ok(None)
            }
            Outcome::Refused(status) => Err(ReadError::Refused(Box::new(status))),
            Outcome::Unknown(unknown) => Err(ReadError::Unknown(Box::new(unknown))),
        }
    }

    fn events(&self, uid: &str) -> Vec<Value> {
        self.hints(self.api.requests().list_events(uid, MOST_EVENTS))
    }

    fn events_of_pod(&self, name: &str) -> Vec<Value> {
        self.hints(self.api.requests().list_events_of_pod(name, MOST_EVENTS))
    }

    /// Kueue's view of a Job. Where there is no Kueue, or an older one, or it may not be read, less is said.
    fn workload(&self, job_uid: &str) -> Option<Value> {
        let label = format!("{JOB_UID_LABEL}={job_uid}");
        self.hints(self.api.requests().list(Resource::Workloads, &label, 1, None)).pop()
    }

    /// Events and what a queue says are hints: without them less is said.
    fn hints(&self, request: Request) -> Vec<Value> {
        match self.send(request) {
            Outcome::Done(answer) => answer.into_items(),
            Outcome::Refused(_) | Outcome::Unknown(_) => Vec::new(),
        }
    }

    fn send(&self, mut request: Request) -> Outcome {
        request.timeout = request.timeout.min(self.limit);
        self.api.send(&request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_of_the_job_are_looked_for() {
        let job = format!("prediction-{}", "0a".repeat(16));
        assert!(is_pod_of(&format!("{job}-x2b4z"), &job));
        for wrong in ["", "-", "-a,involvedObject.name=b", "-a/b", "x2b4z"] {
            assert!(!is_pod_of(&format!("{job}{wrong}"), &job), "{wrong}");
        }
        assert!(!is_pod_of("other-x2b4z", &job));
    }

    #[test]
    fn names_are_checked() {
        let name = format!("prediction-{}", "0a".repeat(16));
        for given in [name.clone(), format!("job/{name}"), format!("job.batch/{name}")] {
            assert_eq!(Target::parse(&given).unwrap().name, name);
        }
        for wrong in ["", "prediction-", "attempt-1", "prediction-0A", &format!("{name}0"), "../x"]
        {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
