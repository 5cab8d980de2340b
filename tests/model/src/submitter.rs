//! `submit`: the shipped protocol, and what the cluster answers it.

use std::time::Duration;

use harness::submission::Problem;
use harness::submit::Limits;
use harness::submit::ending::{Conclusion, Conflict, Ending, SecretState};
use harness::submit::facts::{
    Doubt, Effect, Fact, Finished, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact,
    SecretFact, SecretVerdict,
};
use harness::submit::protocol::{Action, Protocol, Request, Terms};

use crate::actor::{Batch, Kind, START, moment, refusal};
use crate::cluster::{Age, Cluster, Run, Signature};
use crate::variant::Variant;

/// One process that submits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Submitter {
    /// Which process.
    pub run: Run,
    /// Its signature.
    pub signature: Signature,
    protocol: Protocol,
    /// Its open requests.
    pub batch: Batch<Request, Fact>,
    sent: Age,
    /// Whether a record was there when a broken protocol looked too early.
    record_first: Option<bool>,
    /// How it ended.
    pub end: Option<Conclusion>,
}

struct Experiment(Signature);

impl Terms for Experiment {
    fn namespace_uid(&self) -> Option<&str> {
        None
    }

    fn secret_name(&self) -> &str {
        self.0
    }

    fn obstacles(&self, _: &Moment) -> Vec<Problem> {
        Vec::new()
    }

    fn rehearse_only(&self) -> bool {
        false
    }
}

/// What always has the same answer is answered at once.
fn at_once(request: &Request) -> Option<Fact> {
    let uid = || NamespaceFact { uid: "n".to_owned() };
    matches!(request, Request::ReadNamespace).then(|| Fact::Namespace(Reading::Present(uid())))
}

impl Submitter {
    /// A process that begins.
    pub fn new(run: Run, signature: Signature, now: Age, tries: u32, variant: Variant) -> Self {
        let permission = match variant {
            Variant::EndlessPermission => Duration::MAX,
            _ => Limits::default().permission,
        };
        let limits = Limits { permission, tries, total: Duration::MAX };
        let (protocol, action) = Protocol::start(limits, &moment(now));
        let batch = Batch::new(Vec::new(), now, at_once);
        let mut new =
            Self { run, signature, protocol, batch, sent: now, record_first: None, end: None };
        new.take(action, now);
        new
    }

    fn take(&mut self, action: Action, now: Age) {
        match action {
            Action::End(conclusion) => self.end = Some(*conclusion),
            Action::Send { requests, .. } => {
                if requests.contains(&Request::ReadJob) {
                    self.record_first = None;
                }
                self.batch = Batch::new(requests, now, at_once);
                self.sent = now;
            }
        }
    }

    /// Its open requests.
    pub fn kinds(&self) -> Vec<Kind> {
        let kind = |open: &crate::actor::Open<Request>| Kind {
            is_effect: is_effect(&open.request),
            is_create: is_create(&open.request),
            decided: self.batch.decided,
            is_blind: open.is_blind,
        };
        self.batch.open.iter().map(kind).collect()
    }

    /// The server answers the request of this place.
    pub fn served(&mut self, place: usize, cluster: &mut Cluster, variant: Variant) {
        let now = cluster.age;
        let fact = self.answer(place, cluster, variant);
        self.hear(place, fact, now);
    }

    /// Whether a broken one saw a record too early.
    pub fn record_first(&self) -> Option<bool> {
        self.record_first
    }

    /// What the server answers to the request of this place.
    pub fn answer(&mut self, place: usize, cluster: &mut Cluster, variant: Variant) -> Fact {
        let request = self.batch.open[place].request.clone();
        let observes = matches!(request, Request::ReadSecret | Request::ReadJob);
        if variant == Variant::RecordFirst && observes {
            self.record_first.get_or_insert(cluster.record.is_some());
        }
        let mut fact = serve(cluster, self.run, self.signature, &request, variant);
        if let (Fact::Record(_), Some(seen), Variant::RecordFirst) =
            (&fact, self.record_first, variant)
        {
            fact = Fact::Record(reading(seen.then(recorded)));
        }
        fact
    }

    /// Nobody knows how the request of this place ended.
    pub fn lost(&mut self, place: usize, now: Age, variant: Variant) {
        if variant == Variant::BlindRetry && is_create(&self.batch.open[place].request) {
            self.batch.open[place].is_blind = true;
            return;
        }
        let fact = told(&self.batch.open[place].request, variant);
        self.hear(place, fact, now);
    }

    /// The server says no to the request of this place.
    pub fn refused(&mut self, place: usize, now: Age) {
        let no = refusal(403, "Forbidden");
        let fact = match self.batch.open[place].request {
            Request::CreateSecret => Fact::SecretCreate(Effect::Refused(no)),
            Request::CreateJob(_) => Fact::JobCreate(Effect::Refused(no)),
            _ => Fact::SecretDelete(Effect::Refused(no)),
        };
        self.hear(place, fact, now);
    }

    fn hear(&mut self, place: usize, fact: Fact, now: Age) {
        if let Some(facts) = self.batch.hear(place, fact) {
            let terms = Experiment(self.signature);
            let action = self.protocol.next(facts, &moment(self.sent), &moment(now), &terms);
            self.take(action, now);
        }
    }

    /// How it ended, in a word.
    pub fn ended(&self) -> &'static str {
        match self.end.as_ref().map(|end| &end.ending) {
            None => "under way",
            Some(Ending::Created(_)) => "created",
            Some(Ending::AlreadySubmitted(_)) => "there",
            Some(Ending::AlreadyRecorded(_)) => "recorded",
            Some(Ending::Cancelled { .. }) => "cancelled",
            Some(Ending::Unknown { .. }) => "unknown",
            Some(Ending::Refused(_)) => "refused",
            Some(Ending::Conflict(_)) => "conflict",
            Some(_) => "other",
        }
    }

    /// What its receipt says and is not so; `may_come` if a create of its Job is still on its way.
    pub fn is_untrue(
        &self,
        cluster: &Cluster,
        may_come: bool,
        secret_may_come: bool,
    ) -> Option<&'static str> {
        let end = self.end.as_ref()?;
        let maker = |job: &JobFact| {
            let number: usize = job.uid.parse().ok()?;
            cluster.makers.get(number.checked_sub(1)?)
        };
        let made = may_come || cluster.makers.contains(&self.run);
        let hides = made.then_some("a receipt hides the Job that its own run made or may make");
        let wrong = match &end.ending {
            Ending::Created(job) | Ending::CreatedAltered(job, _) => (maker(job)
                != Some(&self.run))
            .then_some("a receipt says `created` of a Job that its run did not make"),
            Ending::AlreadySubmitted(job)
            | Ending::Cancelled { job, .. }
            | Ending::Conflict(
                Conflict::ForeignJob(job, _)
                | Conflict::AlteredJob(job, _)
                | Conflict::TerminatingJob(job)
                | Conflict::ForeignSecret(Some(job), _),
            ) => maker(job).is_none().then_some("a receipt tells of a Job that never was"),
            Ending::AlreadyRecorded(_) => {
                cluster.record.is_none().then_some("a receipt tells of a record that is not there")
            }
            Ending::Unknown { may_run: true, .. } => None,
            Ending::Unknown { may_run: false, .. }
            | Ending::Refused(_)
            | Ending::Invalid(_)
            | Ending::Conflict(_)
            | Ending::WouldCreate { .. } => hides,
        };
        let own = cluster.secrets.get(self.signature).is_some_and(|one| one.maker == self.run);
        wrong.or(match end.secret {
            SecretState::Absent | SecretState::Removed if own || secret_may_come => {
                Some("a receipt says that there is no Secret, and its run's stands or may come")
            }
            _ => None,
        })
    }
}

/// Whether the request changes something.
pub fn is_effect(request: &Request) -> bool {
    is_create(request) || matches!(request, Request::DeleteSecret(_))
}

/// Whether the request creates something.
pub fn is_create(request: &Request) -> bool {
    matches!(request, Request::CreateSecret | Request::CreateJob(_))
}

/// What is heard of a request whose answer is lost.
fn told(request: &Request, variant: Variant) -> Fact {
    let certainly_not_sent = variant == Variant::LossForgotten;
    let doubt = Doubt { why: "cut".to_owned(), certainly_not_sent, retry_after: None };
    match request {
        Request::CreateSecret => Fact::SecretCreate(Effect::Unknown(doubt)),
        Request::CreateJob(_) if variant == Variant::LossTakenForNo => {
            Fact::JobCreate(Effect::Refused(refusal(422, "Invalid")))
        }
        Request::CreateJob(_) => Fact::JobCreate(Effect::Unknown(doubt)),
        Request::DeleteSecret(_) => Fact::SecretDelete(Effect::Unknown(doubt)),
        Request::RehearseSecret => Fact::SecretRehearsal(Effect::Unknown(doubt)),
        Request::RehearseJob => Fact::JobRehearsal(Effect::Unknown(doubt)),
        Request::ReadNamespace => Fact::Namespace(Reading::Unknown(doubt)),
        Request::ReadJob => Fact::Job(Reading::Unknown(doubt)),
        Request::ReadSecret => Fact::Secret(Reading::Unknown(doubt)),
        Request::ReadNamedSecret(_) => Fact::NamedSecret(Reading::Unknown(doubt)),
        Request::ReadRecord => Fact::Record(Reading::Unknown(doubt)),
    }
}

/// The server serves a request of `submit`.
pub fn serve(
    cluster: &mut Cluster,
    run: Run,
    signature: Signature,
    request: &Request,
    variant: Variant,
) -> Fact {
    let secret = |cluster: &Cluster, name: &str| {
        cluster
            .secrets
            .get(name)
            .map(|secret| SecretFact { uid: secret.uid.to_string(), verdict: SecretVerdict::Same })
    };
    match request {
        Request::ReadNamespace => Fact::Namespace(Reading::Absent),
        Request::ReadJob => Fact::Job(reading(job(cluster))),
        Request::ReadSecret => Fact::Secret(reading(secret(cluster, signature))),
        Request::ReadNamedSecret(name) => {
            Fact::NamedSecret(reading(secret(cluster, name).map(|_| ())))
        }
        Request::ReadRecord => Fact::Record(reading(cluster.record.map(|_| recorded()))),
        Request::RehearseSecret => Fact::SecretRehearsal(match secret(cluster, signature) {
            Some(_) => taken(),
            None => Effect::Done(SecretFact { uid: String::new(), verdict: SecretVerdict::Same }),
        }),
        Request::RehearseJob => Fact::JobRehearsal(match job(cluster) {
            Some(_) => taken(),
            None => Effect::Done(rehearsed()),
        }),
        Request::CreateSecret => {
            let done = cluster.create_secret(signature, run);
            Fact::SecretCreate(created(done, secret(cluster, signature)))
        }
        Request::CreateJob(_) => {
            let done = cluster.create_job(signature, run, variant != Variant::TwoNames);
            Fact::JobCreate(created(done, job(cluster)))
        }
        Request::DeleteSecret(uid) => {
            Fact::SecretDelete(delete(cluster, run, signature, uid, variant))
        }
    }
}

fn delete(
    cluster: &mut Cluster,
    run: Run,
    signature: Signature,
    uid: &str,
    variant: Variant,
) -> Effect<()> {
    let Some(live) = cluster.secrets.get(signature) else {
        return Effect::Refused(refusal(404, "NotFound"));
    };
    if live.uid.to_string() != *uid && variant != Variant::SecretByName {
        return Effect::Refused(refusal(409, "Conflict"));
    }
    if live.maker != run {
        cluster.never("a submit deleted a Secret that it had not created");
    }
    cluster.secrets.remove(signature);
    Effect::Done(())
}

fn job(cluster: &Cluster) -> Option<JobFact> {
    let job = cluster.job.as_ref()?;
    let by = || JobVerdict::Cancelled { at: START.to_owned(), by: "somebody".to_owned() };
    Some(JobFact {
        uid: job.number.to_string(),
        verdict: if job.is_cancelled { by() } else { JobVerdict::Same },
        secret: Some(job.secret.to_owned()),
        mentions_our_secret: false,
        state: String::new(),
        finished: job.finished.map(|_| Finished::Succeeded),
        drift: Vec::new(),
    })
}

fn recorded() -> RecordFact {
    RecordFact {
        differences: Vec::new(),
        outcome: String::new(),
        recorded_by: String::new(),
        recorded_at: String::new(),
    }
}

fn rehearsed() -> JobFact {
    JobFact {
        uid: String::new(),
        verdict: JobVerdict::Same,
        secret: None,
        mentions_our_secret: true,
        state: String::new(),
        finished: None,
        drift: Vec::new(),
    }
}

fn taken<T>() -> Effect<T> {
    Effect::Refused(refusal(409, "AlreadyExists"))
}

fn created<T>(done: bool, fact: Option<T>) -> Effect<T> {
    match fact {
        Some(fact) if done => Effect::Done(fact),
        _ => taken(),
    }
}

fn reading<T>(fact: Option<T>) -> Reading<T> {
    fact.map_or(Reading::Absent, Reading::Present)
}
