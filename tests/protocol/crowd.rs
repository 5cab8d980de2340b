//! All interleavings of several submitters and a pruner over an abstract cluster, by depth-first search.
//!
//! The submitters are the real protocol; the cluster is a few fields, so that a state is small and each is
//! visited once. Requests of one action are served in order, each at any time. Time stands still but for the
//! retention, which passes as a whole. Requests that arrive later than a retention are bounded to one: a
//! prune leaves no Secret, so that a second Job would need a second one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harness::submission::Problem;
use harness::submit::Limits;
use harness::submit::ending::{Conclusion, Ending};
use harness::submit::facts::{
    Doubt, Effect, Fact, Finished, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact,
    Refusal, SecretFact, SecretVerdict,
};
use harness::submit::protocol::{Action, Protocol, Request, Terms};

use crate::clock::START;

const RETENTION: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Default)]
struct Cluster {
    job: Option<Job>,
    /// Who made the Secret of this signature, and its UID.
    secrets: BTreeMap<&'static str, (usize, u32)>,
    recorded: bool,
    uids: u32,
    /// UIDs of the Jobs whose pod could start.
    ran: BTreeSet<u32>,
    jobs_made: u32,
}

#[derive(Debug, Clone)]
struct Job {
    uid: u32,
    maker: usize,
    secret: &'static str,
    finished: bool,
}

#[derive(Debug, Clone)]
struct Submitter {
    signature: &'static str,
    protocol: Protocol,
    /// What is still to be sent of the action, last first.
    queue: Vec<Request>,
    facts: Vec<Fact>,
    sent: Duration,
    decided_at: Duration,
    end: Option<Conclusion>,
}

/// The broken variants that the search must find wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Sound,
    /// Reads never see the record.
    BlindToRecords,
    /// Reads allow a create for ever.
    EndlessPermission,
    /// The pruner deletes the Job and leaves the Secrets, and creates may arrive after the retention.
    SecretsLeft,
    /// The name depends on the signature, so nothing is locked.
    TwoNames,
}

#[derive(Debug, Clone)]
struct State {
    cluster: Cluster,
    submitters: Vec<Submitter>,
    /// Steps of the prune: 0 not begun, 1 recorded, 2 Secrets deleted, 3 done.
    prune: u8,
    time: Duration,
    /// Answers that may still be lost.
    losses: u8,
}

struct Search {
    variant: Variant,
    with_pruner: bool,
    losses: u8,
    seen: BTreeSet<String>,
    endings: BTreeSet<String>,
    violation: Option<String>,
}

struct Experiment(&'static str);

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

fn moment(boot: Duration) -> Moment {
    Moment { boot, local: START.parse().unwrap(), server: None }
}

fn refusal(code: u16, reason: &str) -> Refusal {
    Refusal { code, reason: reason.to_owned(), message: String::new(), retry_after: None }
}

fn taken<T>() -> Effect<T> {
    Effect::Refused(refusal(409, "AlreadyExists"))
}

impl Cluster {
    fn uid(&mut self) -> u32 {
        self.uids += 1;
        self.uids
    }

    fn job_fact(&self) -> Option<JobFact> {
        self.job.as_ref().map(|job| JobFact {
            uid: job.uid.to_string(),
            verdict: JobVerdict::Same,
            secret: Some(job.secret.to_owned()),
            mentions_our_secret: false,
            state: "active".to_owned(),
            finished: job.finished.then_some(Finished::Succeeded),
            drift: Vec::new(),
        })
    }

    fn secret_fact(&self, signature: &str) -> Option<SecretFact> {
        let (_, uid) = self.secrets.get(signature)?;
        Some(SecretFact { uid: uid.to_string(), verdict: SecretVerdict::Same })
    }

    /// A pod starts as soon as its Job and its Secret stand.
    fn start_pods(&mut self) {
        if let Some(job) = &self.job
            && !job.finished
            && self.secrets.contains_key(job.secret)
        {
            self.ran.insert(job.uid);
        }
    }

    fn serve(
        &mut self,
        who: usize,
        signature: &'static str,
        request: &Request,
        variant: Variant,
    ) -> Fact {
        let fact = match request {
            Request::ReadNamespace => {
                Fact::Namespace(Reading::Present(NamespaceFact { uid: "n".to_owned() }))
            }
            Request::ReadJob => Fact::Job(reading(self.job_fact())),
            Request::ReadSecret => Fact::Secret(reading(self.secret_fact(signature))),
            Request::ReadNamedSecret(name) => {
                Fact::NamedSecret(reading(self.secret_fact(name).map(|_| ())))
            }
            Request::ReadRecord => {
                let visible = self.recorded && variant != Variant::BlindToRecords;
                Fact::Record(reading(visible.then(|| RecordFact {
                    differences: Vec::new(),
                    outcome: "succeeded".to_owned(),
                    recorded_by: "pruner".to_owned(),
                    recorded_at: START.to_owned(),
                })))
            }
            Request::RehearseSecret => Fact::SecretRehearsal(match self.secret_fact(signature) {
                Some(_) => taken(),
                None => {
                    Effect::Done(SecretFact { uid: String::new(), verdict: SecretVerdict::Same })
                }
            }),
            Request::RehearseJob => Fact::JobRehearsal(match self.job_fact() {
                Some(_) => taken(),
                None => Effect::Done(rehearsed()),
            }),
            Request::CreateSecret => {
                if self.secrets.contains_key(signature) {
                    Fact::SecretCreate(taken())
                } else {
                    let uid = self.uid();
                    self.secrets.insert(signature, (who, uid));
                    Fact::SecretCreate(effect(self.secret_fact(signature)))
                }
            }
            Request::CreateJob(_) => {
                if self.job.is_some() && variant != Variant::TwoNames {
                    Fact::JobCreate(taken())
                } else {
                    let uid = self.uid();
                    self.job = Some(Job { uid, maker: who, secret: signature, finished: false });
                    self.jobs_made += 1;
                    Fact::JobCreate(effect(self.job_fact()))
                }
            }
            Request::DeleteSecret(uid) => {
                let is_it =
                    self.secrets.get(signature).is_some_and(|(_, one)| one.to_string() == *uid);
                if is_it {
                    self.secrets.remove(signature);
                    Fact::SecretDelete(Effect::Done(()))
                } else {
                    Fact::SecretDelete(Effect::Refused(refusal(409, "Conflict")))
                }
            }
        };
        self.start_pods();
        fact
    }
}

fn reading<T>(fact: Option<T>) -> Reading<T> {
    fact.map_or(Reading::Absent, Reading::Present)
}

fn effect<T>(fact: Option<T>) -> Effect<T> {
    Effect::Done(fact.unwrap())
}

fn rehearsed() -> JobFact {
    JobFact {
        uid: String::new(),
        verdict: JobVerdict::Same,
        secret: None,
        mentions_our_secret: true,
        state: "pending".to_owned(),
        finished: None,
        drift: Vec::new(),
    }
}

impl Submitter {
    fn new(signature: &'static str, limits: Limits) -> Self {
        let (protocol, action) = Protocol::start(limits, &moment(Duration::ZERO));
        let zero = Duration::ZERO;
        let mut new = Self {
            signature,
            protocol,
            queue: Vec::new(),
            facts: Vec::new(),
            sent: zero,
            decided_at: zero,
            end: None,
        };
        new.take(action, zero);
        new
    }

    fn take(&mut self, action: Action, time: Duration) {
        match action {
            Action::End(conclusion) => self.end = Some(*conclusion),
            Action::Send { mut requests, .. } => {
                requests.reverse();
                (self.queue, self.decided_at) = (requests, time);
            }
        }
    }

    /// Whether the next request is a create that was decided before the retention passed.
    fn is_very_late(&self, time: Duration) -> bool {
        let creates =
            matches!(self.queue.last(), Some(Request::CreateSecret | Request::CreateJob(_)));
        creates && self.end.is_none() && self.decided_at < time
    }

    fn hear(&mut self, fact: Fact, time: Duration) {
        self.facts.push(fact);
        if self.queue.is_empty() {
            let facts = std::mem::take(&mut self.facts);
            let sent = moment(self.sent);
            let action =
                self.protocol.next(facts, &sent, &moment(time), &Experiment(self.signature));
            self.take(action, time);
        }
    }
}

impl State {
    fn new(signatures: &[&'static str], limits: Limits, losses: u8) -> Self {
        let submitters = signatures.iter().map(|one| Submitter::new(one, limits)).collect();
        Self { cluster: Cluster::default(), submitters, prune: 0, time: Duration::ZERO, losses }
    }

    /// One submitter's next request is served; `lost` if nobody hears the answer.
    fn step(&self, who: usize, lost: bool, variant: Variant) -> Option<Self> {
        let mut next = self.clone();
        let submitter = &mut next.submitters[who];
        if submitter.end.is_some() {
            return None;
        }
        if submitter.facts.is_empty() {
            submitter.sent = next.time;
        }
        let request = submitter.queue.pop()?;
        let fact = next.cluster.serve(who, submitter.signature, &request, variant);
        let fact = if lost { lose(&request)? } else { fact };
        next.losses = next.losses.checked_sub(u8::from(lost))?;
        next.submitters[who].hear(fact, next.time);
        Some(next)
    }

    /// The pruner's next step: wait for the retention and record, delete all Secrets, delete the Job.
    fn prune(&self, variant: Variant) -> Option<Self> {
        let mut next = self.clone();
        match self.prune {
            0 => {
                next.cluster
                    .job
                    .as_mut()
                    .filter(|job| self.cluster.ran.contains(&job.uid))?
                    .finished = true;
                next.time += RETENTION;
                let late = next.submitters.iter().filter(|one| one.is_very_late(next.time)).count();
                if late > 1 {
                    return None;
                }
                next.cluster.recorded = true;
            }
            1 if variant == Variant::SecretsLeft => {}
            1 => next.cluster.secrets.clear(),
            2 => next.cluster.job = None,
            _ => return None,
        }
        next.prune += 1;
        Some(next)
    }
}

/// What is heard of a create whose answer is lost; other requests are not lost here.
fn lose(request: &Request) -> Option<Fact> {
    let doubt = Doubt { why: "cut".to_owned(), certainly_not_sent: false, retry_after: None };
    match request {
        Request::CreateSecret => Some(Fact::SecretCreate(Effect::Unknown(doubt))),
        Request::CreateJob(_) => Some(Fact::JobCreate(Effect::Unknown(doubt))),
        _ => None,
    }
}

impl Search {
    fn run(signatures: &[&'static str], variant: Variant, with_pruner: bool, losses: u8) -> Self {
        let permission = match variant {
            Variant::EndlessPermission => Duration::MAX,
            _ => Limits::default().permission,
        };
        let limits = Limits { permission, total: Duration::MAX, ..Limits::default() };
        let mut search = Self {
            variant,
            with_pruner,
            losses,
            seen: BTreeSet::new(),
            endings: BTreeSet::new(),
            violation: None,
        };
        let mut open = vec![State::new(signatures, limits, losses)];
        while let Some(state) = open.pop() {
            if search.violation.is_some() {
                break;
            }
            if search.seen.insert(format!("{state:?}")) {
                search.check(&state);
                open.extend(search.successors(&state));
            }
        }
        search
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for who in 0..state.submitters.len() {
            next.extend(state.step(who, false, self.variant));
            next.extend(state.step(who, true, self.variant));
        }
        if self.with_pruner {
            next.extend(state.prune(self.variant));
        }
        next
    }

    fn check(&mut self, state: &State) {
        let cluster = &state.cluster;
        let mut wrong = |what: &str| {
            self.violation.get_or_insert_with(|| format!("{what}\n{state:#?}"));
        };
        if cluster.ran.len() > 1 {
            wrong("the experiment ran twice");
        }
        if !self.with_pruner && cluster.jobs_made > 1 {
            wrong("two Jobs");
        }
        let mut creators = 0;
        for (who, submitter) in state.submitters.iter().enumerate() {
            match submitter.end.as_ref().map(|end| &end.ending) {
                Some(Ending::Created(_)) => creators += 1,
                Some(Ending::Refused(_) | Ending::Invalid(_) | Ending::Conflict(_)) => {
                    wrong("a no, where everybody means the same");
                }
                Some(Ending::Unknown { may_run: false, .. })
                    if cluster.job.as_ref().is_some_and(|job| job.maker == who) =>
                {
                    wrong("an unknown that hides its own Job");
                }
                _ => {}
            }
        }
        if creators > usize::try_from(cluster.jobs_made).unwrap() {
            wrong("more creators than Jobs");
        }
        if !self.with_pruner && state.submitters.iter().all(|one| one.end.is_some()) {
            let job = cluster.job.as_ref();
            if !job.is_some_and(|job| cluster.secrets.contains_key(job.secret)) {
                wrong("everybody is done, and there is no Job that can start");
            }
            if state.losses == self.losses && cluster.secrets.len() != 1 {
                wrong("everybody is done, and a Secret is left that no Job names");
            }
        }
        if state.submitters.iter().all(|one| one.end.is_some()) {
            let names = state.submitters.iter().map(|one| name(&one.end.as_ref().unwrap().ending));
            self.endings.insert(names.collect::<Vec<_>>().join(" "));
        }
    }
}

fn name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Created(_) => "created",
        Ending::AlreadySubmitted(_) => "there",
        Ending::AlreadyRecorded(_) => "recorded",
        Ending::Unknown { .. } => "unknown",
        _ => "other",
    }
}

fn sound(signatures: &[&'static str], with_pruner: bool, losses: u8) -> Search {
    let search = Search::run(signatures, Variant::Sound, with_pruner, losses);
    assert_eq!(search.violation, None);
    search
}

#[test]
fn two_with_the_same_signature_and_a_lost_answer() {
    let search = sound(&["a", "a"], false, 1);
    let expected = ["created there", "there created", "there there"];
    assert_eq!(search.endings, expected.map(str::to_owned).into());
    assert!(search.seen.len() > 300, "{} states", search.seen.len());
}

#[test]
fn two_with_different_signatures_and_a_lost_answer() {
    let search = sound(&["a", "b"], false, 1);
    assert!(search.endings.contains("created there") && search.endings.contains("there created"));
    assert!(search.seen.len() > 300, "{} states", search.seen.len());
}

#[test]
fn three_with_two_signatures() {
    let search = sound(&["a", "a", "b"], false, 0);
    assert!(search.seen.len() > 1_000, "{} states", search.seen.len());
}

#[test]
fn two_and_a_pruner() {
    for signatures in [["a", "a"], ["a", "b"]] {
        let search = sound(&signatures, true, 1);
        assert!(search.endings.contains("created recorded"), "{:?}", search.endings);
    }
}

#[test]
fn the_search_finds_what_is_broken() {
    for (variant, with_pruner) in [
        (Variant::BlindToRecords, true),
        (Variant::EndlessPermission, true),
        (Variant::SecretsLeft, true),
        (Variant::TwoNames, false),
    ] {
        let search = Search::run(&["a", "a"], variant, with_pruner, 1);
        let violation = search.violation.unwrap_or_else(|| panic!("{variant:?} is not found out"));
        assert!(violation.starts_with("the experiment ran twice"), "{variant:?}: {violation}");
    }
}
