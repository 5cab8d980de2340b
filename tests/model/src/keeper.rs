//! `cancel`, `release` and `prune`: the shipped protocol, and what the cluster answers it.

use std::time::Duration;

use harness::ledger::facts::{
    Doubt, Earlier, Effect, Fact, Identity, JobFact, PodFact, Reading, RecordFact, RunFact,
    SecretFact, Suspension,
};
use harness::ledger::protocol::{Action, Conclusion, Ending, Fate, Request};
use harness::ledger::{Command, Limits, Protocol};
use harness::render::compare::{Cancellation, JobState};
use harness::submit::record::Record;

use crate::actor::{Batch, Kind, Open, RETENTION, START, moment, refusal, start};
use crate::cluster::{Age, Cluster, Run};
use crate::life::Job;
use crate::variant::Variant;

/// One process that ends experiments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Keeper {
    /// Which process.
    pub run: Run,
    /// What it does.
    pub command: Task,
    protocol: Protocol,
    /// Its open requests.
    pub batch: Batch<Request, Fact>,
    /// The Job that it decided about last.
    pub about: Option<u8>,
    /// How it ended.
    pub end: Option<Conclusion>,
}

/// What a keeper does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// `cancel`.
    Cancel,
    /// `release`.
    Release,
    /// `prune`.
    Prune,
    /// What `prune` does about Secrets alone.
    Sweep,
}

impl Task {
    fn command(self) -> Command {
        match self {
            Self::Cancel => Command::Cancel,
            Self::Release => Command::Release,
            Self::Prune => Command::Prune { older_than: RETENTION },
            Self::Sweep => Command::Sweep { older_than: RETENTION },
        }
    }

    /// The first retention at which it has anything to do.
    pub fn begins(self) -> Age {
        match self {
            Self::Cancel | Self::Release => 0,
            Self::Prune | Self::Sweep => 1,
        }
    }
}

/// What always has the same answer is answered at once.
fn at_once(request: &Request) -> Option<Fact> {
    match request {
        Request::ReadNamespace => Some(Fact::Namespace(Reading::Present("n".to_owned()))),
        Request::ReviewSelf => Some(Fact::Who(Reading::Present("keeper".to_owned()))),
        _ => None,
    }
}

impl Keeper {
    /// A process that begins.
    pub fn new(run: Run, command: Task, now: Age, tries: u32) -> Self {
        let limits = Limits { tries, total: Duration::MAX };
        let (protocol, action) = Protocol::start(command.command(), limits, &moment(now));
        let batch = Batch::new(Vec::new(), now, at_once);
        let mut new = Self { run, command, protocol, batch, about: None, end: None };
        new.take(action, now);
        new
    }

    fn take(&mut self, action: Action, now: Age) {
        match action {
            Action::End(conclusion) => self.end = Some(*conclusion),
            Action::Send { requests, .. } => self.batch = Batch::new(requests, now, at_once),
        }
    }

    /// Its open requests.
    pub fn kinds(&self) -> Vec<Kind> {
        let kind = |open: &Open<Request>| Kind {
            is_effect: is_effect(&open.request),
            is_create: false,
            decided: self.batch.decided,
            is_blind: false,
        };
        self.batch.open.iter().map(kind).collect()
    }

    /// The server answers the request of this place.
    pub fn served(&mut self, place: usize, cluster: &mut Cluster, variant: Variant) {
        let now = cluster.age;
        let fact = self.answer(place, cluster, variant);
        if let (Fact::Job(Reading::Present(job)), true) = (&fact, self.command != Task::Sweep) {
            self.about = job.uid.parse().ok();
        }
        self.hear(place, fact, now);
    }

    /// What the server answers to the request of this place.
    pub fn answer(&self, place: usize, cluster: &mut Cluster, variant: Variant) -> Fact {
        serve(cluster, self.run, self.about, &self.batch.open[place].request, variant)
    }

    /// Nobody knows how the request of this place ended.
    pub fn lost(&mut self, place: usize, now: Age, variant: Variant) {
        let doubt = Doubt { why: "cut".to_owned(), certainly_not_sent: false, retry_after: None };
        let fact = match self.batch.open[place].request {
            Request::ReadNamespace => Fact::Namespace(Reading::Unknown(doubt)),
            Request::ReadJob => Fact::Job(Reading::Unknown(doubt)),
            Request::ReadRecord => Fact::Record(Reading::Unknown(doubt)),
            Request::ReviewSelf => Fact::Who(Reading::Unknown(doubt)),
            Request::ListPods => Fact::Pods(Reading::Unknown(doubt)),
            Request::ListSecrets => Fact::Secrets(Reading::Unknown(doubt)),
            Request::DeleteSecret { .. } if variant == Variant::LostDeleteTakenForNo => no(409),
            _ => Fact::Effect(Effect::Unknown(doubt)),
        };
        self.hear(place, fact, now);
    }

    /// The server says no to the request of this place.
    pub fn refused(&mut self, place: usize, now: Age) {
        self.hear(place, no(403), now);
    }

    fn hear(&mut self, place: usize, fact: Fact, now: Age) {
        if let Some(facts) = self.batch.hear(place, fact) {
            let action = self.protocol.next(facts, &moment(now));
            self.take(action, now);
        }
    }

    /// How it ended, in a word.
    pub fn ended(&self) -> &'static str {
        match self.end.as_ref().map(|end| &end.ending) {
            None => "under way",
            Some(Ending::Pruned) => "pruned",
            Some(Ending::Released) => "released",
            Some(Ending::Cancelled) => "cancelled",
            Some(Ending::CancelRequested) => "requested",
            Some(Ending::AlreadyFinished) => "finished",
            Some(Ending::AlreadyRecorded) => "recorded",
            Some(Ending::Swept) => "swept",
            Some(Ending::Missing) => "missing",
            Some(Ending::NotReleased(_) | Ending::Kept(_)) => "kept",
            Some(Ending::Unknown(_)) => "unknown",
            Some(Ending::Refused { .. }) => "refused",
            Some(Ending::Conflict(_)) => "conflict",
            Some(Ending::Incomplete(_)) => "incomplete",
        }
    }

    /// What its receipt says and is not so.
    pub fn is_untrue(&self, cluster: &Cluster) -> Option<&'static str> {
        let end = self.end.as_ref()?;
        let recorded = cluster.record.or(cluster.promised).is_some();
        let number: Option<u8> = end.job.as_ref().and_then(|job| job.uid.parse().ok());
        let stands = cluster.job.as_ref().is_some_and(|job| Some(job.number) == number);
        let ran = number.is_some_and(|number| cluster.ran.contains(&number));
        let removed = cluster.removers.contains(&self.run);
        let is_silent = end.secrets.is_empty()
            && end.unclear.is_empty()
            && end.pod == Fate::Untouched
            && end.record.is_none();
        match &end.ending {
            Ending::Kept(_) | Ending::NotReleased(_) | Ending::Conflict(_)
                if removed && is_silent =>
            {
                Some("a receipt says that nothing was removed, and a Secret or a pod was")
            }
            Ending::Pruned | Ending::AlreadyRecorded if !recorded => {
                Some("a receipt says that a record stands, and there is none")
            }
            Ending::Pruned | Ending::Released if stands => {
                Some("a receipt says that the Job is gone, and it stands")
            }
            Ending::Released if recorded => {
                Some("a receipt says that the identity is free, and a record stands")
            }
            Ending::Released if ran => Some("a receipt says that it never ran, and it did"),
            Ending::CancelRequested
                if cluster.job.as_ref().is_some_and(|job| stands && !job.is_cancelled) =>
            {
                Some("a receipt says that the Job is marked, and it is not")
            }
            Ending::Cancelled if !recorded && !stands && cluster.taken == 0 => {
                Some("a receipt says `cancelled`, and there is neither Job nor record")
            }
            _ => None,
        }
    }
}

/// Whether the request changes something.
pub fn is_effect(request: &Request) -> bool {
    match request {
        Request::ReadNamespace
        | Request::ReadJob
        | Request::ReadRecord
        | Request::ReviewSelf
        | Request::ListPods
        | Request::ListSecrets => false,
        Request::MarkJob { .. }
        | Request::LowerJob { .. }
        | Request::LowerPod { .. }
        | Request::DeletePod { .. }
        | Request::CreateRecord(_)
        | Request::DeleteSecret { .. }
        | Request::DeleteJob { .. } => true,
    }
}

/// Whether the change, which names UIDs, can still change anything.
pub fn may_still_matter(cluster: &Cluster, request: &Request) -> bool {
    let stands = |uid: &str| cluster.job.as_ref().is_some_and(|job| job.number.to_string() == *uid);
    let has_pod = |uid: &str| cluster.job.as_ref().is_some_and(|job| pod_uid(job) == *uid);
    match request {
        Request::MarkJob { uid, .. }
        | Request::LowerJob { uid, .. }
        | Request::DeleteJob { uid, .. } => stands(uid),
        Request::LowerPod { uid, .. } | Request::DeletePod { uid, .. } => has_pod(uid),
        Request::CreateRecord(_) => cluster.record.is_none(),
        Request::DeleteSecret { name, uid } => {
            cluster.secrets.get(name.as_str()).is_some_and(|one| one.uid.to_string() == *uid)
        }
        _ => false,
    }
}

fn no(code: u16) -> Fact {
    Fact::Effect(Effect::Refused(refusal(code, "Conflict")))
}

fn done() -> Fact {
    Fact::Effect(Effect::Done(()))
}

fn reading<T>(fact: Option<T>) -> Reading<T> {
    fact.map_or(Reading::Absent, Reading::Present)
}

fn digest(letter: &str) -> String {
    letter.repeat(64)
}

/// The server serves a request of a keeper that decided about the Job `about`.
pub fn serve(
    cluster: &mut Cluster,
    run: Run,
    about: Option<u8>,
    request: &Request,
    variant: Variant,
) -> Fact {
    match request {
        Request::ReadNamespace | Request::ReviewSelf => Fact::Namespace(Reading::Absent),
        Request::ReadJob => Fact::Job(reading(cluster.job.as_ref().map(|job| fact(job, variant)))),
        Request::ReadRecord => {
            let kept = cluster.record.or(cluster.promised);
            let fact = |number| RecordFact { record: Ok(record(number)), is_immutable: true };
            Fact::Record(reading(kept.map(fact)))
        }
        Request::ListPods => Fact::Pods(Reading::Present(pods(cluster))),
        Request::ListSecrets => Fact::Secrets(Reading::Present(secrets(cluster, variant))),
        Request::CreateRecord(record) => create_record(cluster, record, variant),
        Request::MarkJob { uid, resource_version, lower, .. } => {
            patch(cluster, uid, resource_version, |job| {
                job.is_cancelled = true;
                job.is_lowered |= *lower;
            })
        }
        Request::LowerJob { uid, resource_version } => {
            patch(cluster, uid, resource_version, |job| job.is_lowered = true)
        }
        Request::LowerPod { uid, resource_version, .. } => match pod_of(cluster, uid) {
            Some(job) if job.pod_version() == *resource_version => {
                job.is_lowered = true;
                done()
            }
            Some(_) => no(409),
            None => no(404),
        },
        Request::DeletePod { uid, resource_version, .. } => match pod_of(cluster, uid) {
            Some(job) => {
                let is_it = job.pod_version() == *resource_version;
                if !is_it && variant != Variant::PodWithoutVersion {
                    return no(409);
                }
                job.is_deleted = true;
                cluster.removers.insert(run);
                done()
            }
            None => no(404),
        },
        Request::DeleteSecret { name, uid } => {
            delete_secret(cluster, run, about, name, uid, variant)
        }
        Request::DeleteJob { uid, resource_version, .. } => {
            delete_job(cluster, uid, resource_version.as_deref(), variant)
        }
    }
}

fn patch(cluster: &mut Cluster, uid: &str, version: &str, change: impl FnOnce(&mut Job)) -> Fact {
    match &mut cluster.job {
        Some(job) if job.number.to_string() != *uid => no(422),
        Some(job) if job.version() != *version => no(409),
        Some(job) => {
            change(job);
            done()
        }
        None => no(404),
    }
}

fn pod_of<'a>(cluster: &'a mut Cluster, uid: &str) -> Option<&'a mut Job> {
    cluster.job.as_mut().filter(|job| job.has_pod() && pod_uid(job) == *uid)
}

/// A Job that was stopped and started again has another pod.
fn pod_uid(job: &Job) -> String {
    format!("{}-{}", job.number, job.starts)
}

fn create_record(cluster: &mut Cluster, record: &Record, variant: Variant) -> Fact {
    let number = record.job_uid.parse().ok();
    if cluster.record.is_some() {
        return no(409);
    }
    if variant == Variant::RecordLast {
        cluster.promised = number;
    } else {
        cluster.record = number;
    }
    done()
}

fn delete_secret(
    cluster: &mut Cluster,
    run: Run,
    about: Option<u8>,
    name: &str,
    uid: &str,
    variant: Variant,
) -> Fact {
    let Some(live) = cluster.secrets.get(name).cloned() else { return no(404) };
    if live.uid.to_string() != *uid && variant != Variant::SecretByName {
        return no(409);
    }
    if about.is_some_and(|job| cluster.is_later(&live, job)) {
        cluster.never("a Secret of a later life was deleted");
    }
    cluster.secrets.remove(name);
    cluster.removers.insert(run);
    done()
}

fn delete_job(cluster: &mut Cluster, uid: &str, version: Option<&str>, variant: Variant) -> Fact {
    let Some(job) = cluster.job.clone() else { return no(404) };
    let number = job.number;
    if number.to_string() != *uid {
        if variant != Variant::JobByName {
            return no(409);
        }
        cluster.never("a Job of a later life was deleted");
    }
    let is_other = version.is_some_and(|version| version != job.version());
    if is_other && variant != Variant::JobWithoutVersion {
        return no(409);
    }
    let kept = cluster.record.or(cluster.promised);
    if cluster.ran.contains(&number) && kept != Some(number) {
        cluster.never("a Job that had run was deleted without its record");
    }
    cluster.remove_job();
    done()
}

fn record(number: u8) -> Record {
    Record {
        schema_version: "prediction_record.v1".to_owned(),
        job_name: "job".to_owned(),
        job_uid: number.to_string(),
        namespace_uid: "n".to_owned(),
        result_identity: digest("a"),
        submission_digest: digest("b"),
        outcome: "succeeded".to_owned(),
        started_at: None,
        finished_at: None,
        evidence_digest: None,
        image_ids: Vec::new(),
        recorded_by: "another".to_owned(),
        recorded_at: START.to_owned(),
    }
}

fn fact(job: &Job, variant: Variant) -> JobFact {
    let at = job.finished.map(|age| start() + RETENTION * u32::from(age));
    let state = match (job.finished, job.is_suspended) {
        (Some(_), _) if job.has_lost_pod || job.is_lowered => {
            JobState::Failed { at, reason: "BackoffLimitExceeded".to_owned() }
        }
        (Some(_), _) => JobState::Succeeded { at },
        (None, true) => JobState::Queued,
        (None, false) => JobState::Running,
    };
    let was_stopped = job.starts > 1 || (job.starts == 1 && job.is_suspended);
    JobFact {
        name: "job".to_owned(),
        uid: job.number.to_string(),
        resource_version: job.version(),
        identity: Some(Identity { result: digest("a"), submission: digest("b") }),
        terminating: None,
        state,
        started_at: None,
        suspension: match (job.is_suspended, job.starts) {
            (false, _) => Suspension::No,
            (true, starts) if starts == 0 || variant == Variant::AdmissionForgotten => {
                Suspension::SinceCreation
            }
            (true, _) => Suspension::Later,
        },
        earlier_pods: (was_stopped && variant != Variant::SuspensionForgotten)
            .then_some(Earlier::Suspended),
        counted: u64::from(job.finished.is_some()),
        deadline: Some(if job.is_lowered { 1 } else { 1800 }),
        cancelled: job.is_cancelled.then(|| Cancellation { at: start(), by: None }),
        secret: Some(job.secret.to_owned()),
    }
}

fn pods(cluster: &Cluster) -> Vec<PodFact> {
    let standing = cluster.job.as_ref().filter(|job| job.has_pod());
    let fact = |job: &Job| PodFact {
        name: "pod".to_owned(),
        uid: pod_uid(job),
        resource_version: job.pod_version(),
        job_uid: Some(job.number.to_string()),
        is_bound: job.is_bound || !cluster.waits_for_nodes,
        is_terminating: job.is_deleted,
        is_over: job.finished.is_some(),
        is_disrupted: false,
        run: match (job.has_run, job.is_bound && job.finished.is_some()) {
            (true, _) => RunFact::MayHaveStarted,
            (false, true) => RunFact::NeverStarted,
            (false, false) => RunFact::NotShown,
        },
        deadline: Some(if job.is_lowered { 1 } else { 900 }),
        category: None,
        evidence_digest: None,
        image_ids: Vec::new(),
    };
    standing.map(fact).into_iter().collect()
}

fn secrets(cluster: &Cluster, variant: Variant) -> Vec<SecretFact> {
    let named = cluster.job.as_ref().map(|job| job.secret);
    let shown = cluster
        .secrets
        .iter()
        .filter(|(name, _)| variant != Variant::NamedSecretOnly || named == Some(**name));
    shown
        .map(|(name, secret)| SecretFact {
            name: (*name).to_owned(),
            uid: secret.uid.to_string(),
            is_terminating: false,
            created: Some(start() + RETENTION * u32::from(secret.created)),
        })
        .collect()
}
