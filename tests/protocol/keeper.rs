//! `prune`, `release` and `cancel` in the search of `crowd`: the real protocol over the abstract cluster.

use std::time::Duration;

use harness::ledger::facts::{
    Doubt, Effect, Fact, Identity, JobFact, Moment, PodFact, Reading, RecordFact, RunFact,
    SecretFact,
};
use harness::ledger::protocol::{Action, Conclusion, Ending, Request};
use harness::ledger::{Command, Limits, Protocol};
use harness::render::compare::{Cancellation, JobState};
use harness::submit::record::Record;

use crate::clock::START;
use crate::crowd::{Cluster, Variant, moment, refusal};

/// What matters of a Job's life for those who end it.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    /// It waits for its queue.
    pub(crate) is_suspended: bool,
    /// It says that it was cancelled.
    pub(crate) is_cancelled: bool,
    /// Its pod has a node.
    pub(crate) is_bound: bool,
    /// Its pod is deleted.
    pub(crate) is_deleted: bool,
    /// Its pod is gone.
    pub(crate) has_lost_pod: bool,
}

impl Life {
    pub(crate) fn may_start(&self, has_nodes: bool) -> bool {
        !self.is_suspended && !self.has_lost_pod && (self.is_bound || !has_nodes)
    }
}

/// One run of a keeper.
#[derive(Debug, Clone)]
pub(crate) struct Keeper {
    command: Command,
    protocol: Protocol,
    queue: Vec<Request>,
    facts: Vec<Fact>,
    /// The Job that it decided about last.
    job: Option<u32>,
    pub(crate) end: Option<Conclusion>,
}

impl Keeper {
    pub(crate) fn new(command: Command) -> Self {
        // Time stands still here, and what is unclear is looked at again at once.
        let limits = Limits { tries: 4, total: Duration::MAX };
        let (protocol, action) = Protocol::start(command, limits, &moment(Duration::ZERO));
        let mut new =
            Self { command, protocol, queue: Vec::new(), facts: Vec::new(), job: None, end: None };
        new.take(action);
        new
    }

    fn take(&mut self, action: Action) {
        match action {
            Action::End(conclusion) => self.end = Some(*conclusion),
            Action::Send { mut requests, .. } => {
                requests.reverse();
                self.queue = requests;
            }
        }
    }

    /// Its next request is served; `lost` if nobody hears the answer.
    pub(crate) fn step(
        &mut self,
        cluster: &mut Cluster,
        lost: bool,
        variant: Variant,
        time: Duration,
    ) -> Option<()> {
        if self.end.is_some() {
            return None;
        }
        let request = self.queue.pop()?;
        let mut fact = cluster.keep(&request, self.job, variant);
        if let Fact::Job(Reading::Present(job)) = &fact {
            self.job = Some(job.uid.parse().unwrap());
        }
        if lost {
            let Fact::Effect(effect) = &mut fact else { return None };
            let doubt =
                Doubt { why: "cut".to_owned(), certainly_not_sent: false, retry_after: None };
            *effect = Effect::Unknown(doubt);
        }
        self.facts.push(fact);
        if self.queue.is_empty() {
            let now = Moment { server: Some(START.parse().unwrap()), ..moment(time) };
            let now =
                Moment { server: now.server.map(|start: jiff::Timestamp| start + time), ..now };
            let action = self.protocol.next(std::mem::take(&mut self.facts), &now);
            self.take(action);
        }
        cluster.start_pods();
        Some(())
    }

    /// How it ended, in a word.
    pub(crate) fn ended(&self) -> &'static str {
        match self.end.as_ref().map(|end| &end.ending) {
            Some(Ending::Pruned) => "pruned",
            Some(Ending::Released) => "released",
            Some(Ending::Cancelled) => "cancelled",
            Some(Ending::CancelRequested) => "requested",
            Some(Ending::AlreadyRecorded) => "recorded",
            Some(Ending::Missing) => "missing",
            Some(Ending::NotReleased(_) | Ending::Kept(_)) => "kept",
            Some(Ending::Unknown(_)) => "unknown",
            _ => "other",
        }
    }

    /// What it says at the end and is not so.
    pub(crate) fn is_untrue(&self, cluster: &Cluster) -> Option<&'static str> {
        let recorded = cluster.record.or(cluster.promised).is_some();
        match (&self.end.as_ref()?.ending, self.command) {
            (Ending::Pruned | Ending::AlreadyRecorded, _) if !recorded => {
                Some("pruned, and there is no record")
            }
            (Ending::Cancelled, Command::Cancel) if !recorded => {
                Some("cancelled while it was suspended, and there is no record")
            }
            (Ending::Released, _) if recorded => Some("released, and recorded"),
            _ => None,
        }
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

fn record_of(job_uid: u32) -> Record {
    Record {
        schema_version: "prediction_record.v1".to_owned(),
        job_name: "job".to_owned(),
        job_uid: job_uid.to_string(),
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

impl Cluster {
    fn for_keepers(&self) -> Option<JobFact> {
        let job = self.job.as_ref()?;
        let at = Some(START.parse().unwrap());
        let state = match (job.finished, job.life.is_suspended) {
            (true, _) if job.life.has_lost_pod => {
                JobState::Failed { at, reason: "BackoffLimitExceeded".to_owned() }
            }
            (true, _) => JobState::Succeeded { at },
            (false, true) => JobState::Queued,
            (false, false) => JobState::Running,
        };
        Some(JobFact {
            name: "job".to_owned(),
            uid: job.uid.to_string(),
            resource_version: format!("{}", u8::from(job.life.is_cancelled)),
            identity: Some(Identity { result: digest("a"), submission: digest("b") }),
            terminating: None,
            state,
            started_at: None,
            is_suspended: job.life.is_suspended,
            earlier_pods: None,
            counted: u64::from(job.finished),
            deadline: Some(1),
            cancelled: job
                .life
                .is_cancelled
                .then(|| Cancellation { at: START.parse().unwrap(), by: None }),
            secret: Some(job.secret.to_owned()),
        })
    }

    fn pods(&self) -> Vec<PodFact> {
        let standing = self
            .job
            .as_ref()
            .filter(|job| self.has_nodes && !job.life.has_lost_pod && !job.life.is_suspended);
        standing
            .map(|job| PodFact {
                name: "pod".to_owned(),
                uid: job.uid.to_string(),
                resource_version: u8::from(job.life.is_bound).to_string(),
                job_uid: Some(job.uid.to_string()),
                is_bound: job.life.is_bound,
                is_terminating: job.life.is_deleted,
                is_over: false,
                is_disrupted: false,
                run: if self.ran.contains(&job.uid) {
                    RunFact::MayHaveStarted
                } else {
                    RunFact::NotShown
                },
                deadline: Some(1),
                category: None,
                evidence_digest: None,
                image_ids: Vec::new(),
            })
            .into_iter()
            .collect()
    }

    fn keep(&mut self, request: &Request, about: Option<u32>, variant: Variant) -> Fact {
        match request {
            Request::ReadNamespace => Fact::Namespace(Reading::Present("n".to_owned())),
            Request::ReadJob => Fact::Job(reading(self.for_keepers())),
            Request::ReadRecord => {
                let kept = self
                    .record
                    .or(self.promised)
                    .map(|uid| RecordFact { record: Ok(record_of(uid)), is_immutable: true });
                Fact::Record(reading(kept))
            }
            Request::ReviewSelf => Fact::Who(Reading::Present("keeper".to_owned())),
            Request::ListPods => Fact::Pods(Reading::Present(self.pods())),
            Request::ListSecrets => {
                let named = self.job.as_ref().map(|job| job.secret);
                let shown = self.secrets.iter().filter(|(name, _)| {
                    variant != Variant::NamedSecretOnly || named == Some(**name)
                });
                let fact = |(name, (_, uid)): (&&str, &(usize, u32))| SecretFact {
                    name: (*name).to_owned(),
                    uid: uid.to_string(),
                    is_terminating: false,
                    created: None,
                };
                Fact::Secrets(Reading::Present(shown.map(fact).collect()))
            }
            Request::CreateRecord(record) => {
                let uid = record.job_uid.parse().unwrap();
                if self.record.is_some() {
                    return no(409);
                }
                if variant == Variant::RecordLast {
                    self.promised = Some(uid);
                } else {
                    self.record = Some(uid);
                }
                done()
            }
            Request::MarkJob { uid, .. } => match &mut self.job {
                Some(job) if job.uid.to_string() == *uid => {
                    job.life.is_cancelled = true;
                    done()
                }
                _ => no(404),
            },
            Request::LowerJob { .. } | Request::LowerPod { .. } => done(),
            Request::DeletePod { uid, resource_version, .. } => match &mut self.job {
                Some(job) if job.uid.to_string() == *uid && !job.life.has_lost_pod => {
                    let version = u8::from(job.life.is_bound).to_string();
                    if version != *resource_version && variant != Variant::PodWithoutVersion {
                        return no(409);
                    }
                    job.life.is_deleted = true;
                    done()
                }
                _ => no(404),
            },
            Request::DeleteSecret { name, uid } => {
                let Some((_, live)) = self.secrets.get(name.as_str()).copied() else {
                    return no(404);
                };
                if live.to_string() != *uid && variant != Variant::SecretByName {
                    return no(409);
                }
                if about.and_then(|job| self.gone.get(&job)).is_some_and(|then| live > *then) {
                    self.wrong = Some("a Secret of a later life was deleted");
                }
                self.secrets.remove(name.as_str());
                done()
            }
            Request::DeleteJob { uid, .. } => {
                let Some(job) = &self.job else { return no(404) };
                if job.uid.to_string() != *uid {
                    if variant != Variant::JobByName {
                        return no(409);
                    }
                    self.wrong = Some("a Job of a later life was deleted");
                }
                self.gone.insert(job.uid, self.uids);
                self.job = None;
                done()
            }
        }
    }

    /// The scheduler finds a node; a pod that is being deleted gets none.
    pub(crate) fn bind(&mut self) -> bool {
        let has_nodes = self.has_nodes;
        let waits = self.job.as_mut().filter(|job| {
            let life = &job.life;
            has_nodes && !job.finished && !life.is_suspended && !life.is_bound && !life.is_deleted
        });
        let Some(job) = waits else { return false };
        job.life.is_bound = true;
        self.start_pods();
        true
    }

    /// The queue lets the Job start.
    pub(crate) fn resume(&mut self) -> bool {
        let Some(job) = self.job.as_mut().filter(|job| job.life.is_suspended) else { return false };
        job.life.is_suspended = false;
        true
    }

    /// The controller counts the pod that was deleted, and the Job fails.
    pub(crate) fn account(&mut self) -> bool {
        let deleted = self.job.as_mut().filter(|job| job.life.is_deleted && !job.finished);
        let Some(job) = deleted else { return false };
        job.life.has_lost_pod = true;
        job.finished = true;
        true
    }

    /// A broken keeper's record is written once the Job is gone.
    pub(crate) fn keep_promise(&mut self) -> bool {
        if self.job.is_some() || self.promised.is_none() {
            return false;
        }
        self.record = self.promised.take();
        true
    }
}
