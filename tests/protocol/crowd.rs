//! All interleavings of several submitters and keepers (`prune`, `release`, `cancel`) over an abstract cluster, by
//! depth-first search.
//!
//! Both are the real protocols; the cluster is a few fields, so that a state is small and each is visited once. Requests of one action are served in order, each at any time. Time stands still but for the
//! retention, which passes as a whole. Requests that arrive later than a retention are bounded to one: a
//! prune leaves no Secret, so that a second Job would need a second one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harness::ledger;
use harness::submission::Problem;
use harness::submit::Limits;
use harness::submit::ending::{Conclusion, Ending};
use harness::submit::facts::{
    Doubt, Effect, Fact, Finished, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact,
    Refusal, SecretFact, SecretVerdict,
};
use harness::submit::protocol::{Action, Protocol, Request, Terms};

use crate::clock::START;
use crate::keeper::{Keeper, Life};

pub(crate) const RETENTION: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct Cluster {
    pub(crate) job: Option<Job>,
    /// Who made the Secret of this signature, and its UID.
    pub(crate) secrets: BTreeMap<&'static str, (usize, u32)>,
    /// The UID of the Job that the record is of.
    pub(crate) record: Option<u32>,
    /// A record that a broken keeper has not written yet, though it says so.
    pub(crate) promised: Option<u32>,
    pub(crate) uids: u32,
    /// UIDs of the Jobs whose pod could start.
    pub(crate) ran: BTreeSet<u32>,
    pub(crate) jobs_made: u32,
    /// The UIDs of the Jobs that keepers deleted, and how many UIDs there were then.
    pub(crate) gone: BTreeMap<u32, u32>,
    /// What a keeper must never do, and did.
    pub(crate) wrong: Option<&'static str>,
    /// Whether pods wait for a node; otherwise they start as soon as they can.
    pub(crate) has_nodes: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) uid: u32,
    pub(crate) maker: usize,
    pub(crate) secret: &'static str,
    pub(crate) finished: bool,
    pub(crate) life: Life,
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
pub(crate) enum Variant {
    Sound,
    /// Reads never see the record.
    BlindToRecords,
    /// Reads allow a create for ever.
    EndlessPermission,
    /// The keeper sees the one Secret that the Job names, and creates may arrive after the retention.
    NamedSecretOnly,
    /// The record is written after the Job is gone.
    RecordLast,
    /// A Secret is deleted by its name, whichever it is by now.
    SecretByName,
    /// The Job is deleted by its name, whichever it is by now.
    JobByName,
    /// The pod is deleted without the version that was seen.
    PodWithoutVersion,
    /// The name depends on the signature, so nothing is locked.
    TwoNames,
}

#[derive(Debug, Clone)]
struct State {
    cluster: Cluster,
    submitters: Vec<Submitter>,
    keepers: Vec<Keeper>,
    time: Duration,
    /// Answers that may still be lost.
    losses: u8,
}

struct Search {
    variant: Variant,
    setting: Setting,
    losses: u8,
    seen: BTreeSet<String>,
    endings: BTreeSet<String>,
    violation: Option<String>,
}

/// What stands at the beginning, and who keeps the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// Nothing and nobody.
    Submitters,
    /// Once a Job has run, it ends, the retention passes, and so many pruners come.
    Pruners(usize),
    /// A Job whose pod waits for a node, and so many releases of it.
    Releases(usize),
    /// A suspended Job, a queue that may start it, and a cancel.
    Cancel,
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

pub(crate) fn moment(boot: Duration) -> Moment {
    Moment { boot, local: START.parse().unwrap(), server: None }
}

pub(crate) fn refusal(code: u16, reason: &str) -> Refusal {
    Refusal { code, reason: reason.to_owned(), message: String::new(), retry_after: None }
}

fn taken<T>() -> Effect<T> {
    Effect::Refused(refusal(409, "AlreadyExists"))
}

impl Cluster {
    pub(crate) fn uid(&mut self) -> u32 {
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

    /// A pod starts as soon as its Job and its Secret stand, and it has a node where pods wait for one.
    pub(crate) fn start_pods(&mut self) {
        if let Some(job) = &self.job
            && !job.finished
            && job.life.may_start(self.has_nodes)
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
                let visible = self.record.is_some() && variant != Variant::BlindToRecords;
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
                    self.job = Some(Job {
                        uid,
                        maker: who,
                        secret: signature,
                        finished: false,
                        life: Life::default(),
                    });
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
    fn new(signatures: &[&'static str], limits: Limits, setting: Setting, losses: u8) -> Self {
        let submitters = signatures.iter().map(|one| Submitter::new(one, limits)).collect();
        let mut cluster = Cluster::default();
        let mut keepers = Vec::new();
        if let Setting::Releases(_) | Setting::Cancel = setting {
            let (secret, uid) = (cluster.uid(), cluster.uid());
            cluster.secrets.insert(signatures[0], (usize::MAX, secret));
            let life = Life { is_suspended: setting == Setting::Cancel, ..Life::default() };
            let (maker, secret) = (usize::MAX, signatures[0]);
            cluster.job = Some(Job { uid, maker, secret, finished: false, life });
            cluster.jobs_made = 1;
            cluster.has_nodes = true;
        }
        match setting {
            Setting::Submitters | Setting::Pruners(_) => {}
            Setting::Releases(count) => {
                keepers = (0..count).map(|_| Keeper::new(ledger::Command::Release)).collect();
            }
            Setting::Cancel => keepers.push(Keeper::new(ledger::Command::Cancel)),
        }
        Self { cluster, submitters, keepers, time: Duration::ZERO, losses }
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

    /// One keeper's next request is served; `lost` if nobody hears the answer.
    fn keep(&self, which: usize, lost: bool, variant: Variant) -> Option<Self> {
        let mut next = self.clone();
        next.losses = next.losses.checked_sub(u8::from(lost))?;
        let time = next.time;
        next.keepers[which].step(&mut next.cluster, lost, variant, time)?;
        Some(next)
    }

    /// The Job that has run ends, the retention passes, and the pruners come.
    fn retire(&self, pruners: usize) -> Option<Self> {
        if !self.keepers.is_empty() {
            return None;
        }
        let mut next = self.clone();
        let job = next.cluster.job.as_mut().filter(|job| self.cluster.ran.contains(&job.uid))?;
        job.finished = true;
        next.time += RETENTION;
        let late = next.submitters.iter().filter(|one| one.is_very_late(next.time)).count();
        if late > 1 {
            return None;
        }
        let prune = ledger::Command::Prune { older_than: RETENTION };
        next.keepers = (0..pruners).map(|_| Keeper::new(prune)).collect();
        Some(next)
    }

    /// What the cluster does by itself: a scheduler, a queue, the Job's controller, a broken keeper's late record.
    fn nature(&self) -> Vec<Self> {
        let changes = [Cluster::bind, Cluster::resume, Cluster::account, Cluster::keep_promise];
        let apply = |change: fn(&mut Cluster) -> bool| {
            let mut next = self.clone();
            change(&mut next.cluster).then_some(next)
        };
        changes.into_iter().filter_map(apply).collect()
    }

    fn is_over(&self) -> bool {
        self.submitters.iter().all(|one| one.end.is_some())
            && self.keepers.iter().all(|one| one.end.is_some())
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
    fn run(signatures: &[&'static str], variant: Variant, setting: Setting, losses: u8) -> Self {
        let permission = match variant {
            Variant::EndlessPermission => Duration::MAX,
            _ => Limits::default().permission,
        };
        let limits = Limits { permission, total: Duration::MAX, ..Limits::default() };
        let mut search = Self {
            variant,
            setting,
            losses,
            seen: BTreeSet::new(),
            endings: BTreeSet::new(),
            violation: None,
        };
        let mut open = vec![State::new(signatures, limits, setting, losses)];
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
        for which in 0..state.keepers.len() {
            next.extend(state.keep(which, false, self.variant));
            next.extend(state.keep(which, true, self.variant));
        }
        if let Setting::Pruners(pruners) = self.setting {
            next.extend(state.retire(pruners));
        }
        next.extend(state.nature());
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
        if let Some(what) = cluster.wrong {
            wrong(what);
        }
        let alone = self.setting == Setting::Submitters;
        if matches!(self.setting, Setting::Submitters | Setting::Cancel) && cluster.jobs_made > 1 {
            wrong("two Jobs");
        }
        let mut creators = 0;
        for (who, submitter) in state.submitters.iter().enumerate() {
            match submitter.end.as_ref().map(|end| &end.ending) {
                Some(Ending::Created(_)) => creators += 1,
                Some(Ending::Refused(_) | Ending::Invalid(_) | Ending::Conflict(_)) if alone => {
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
        if alone && state.is_over() {
            let job = cluster.job.as_ref();
            if !job.is_some_and(|job| cluster.secrets.contains_key(job.secret)) {
                wrong("everybody is done, and there is no Job that can start");
            }
            if state.losses == self.losses && cluster.secrets.len() != 1 {
                wrong("everybody is done, and a Secret is left that no Job names");
            }
        }
        if state.is_over() {
            for keeper in &state.keepers {
                if let Some(what) = keeper.is_untrue(cluster) {
                    wrong(what);
                }
            }
            let names = state.submitters.iter().map(|one| name(&one.end.as_ref().unwrap().ending));
            let names = names.chain(state.keepers.iter().map(Keeper::ended));
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

fn sound(signatures: &[&'static str], setting: Setting, losses: u8) -> Search {
    let search = Search::run(signatures, Variant::Sound, setting, losses);
    assert_eq!(search.violation, None);
    search
}

#[test]
fn two_with_the_same_signature_and_a_lost_answer() {
    let search = sound(&["a", "a"], Setting::Submitters, 1);
    let expected = ["created there", "there created", "there there"];
    assert_eq!(search.endings, expected.map(str::to_owned).into());
    assert!(search.seen.len() > 300, "{} states", search.seen.len());
}

#[test]
fn two_with_different_signatures_and_a_lost_answer() {
    let search = sound(&["a", "b"], Setting::Submitters, 1);
    assert!(search.endings.contains("created there") && search.endings.contains("there created"));
    assert!(search.seen.len() > 300, "{} states", search.seen.len());
}

#[test]
fn three_with_two_signatures() {
    let search = sound(&["a", "a", "b"], Setting::Submitters, 0);
    assert!(search.seen.len() > 1_000, "{} states", search.seen.len());
}

#[test]
fn two_and_a_pruner() {
    for (signatures, losses) in [(["a", "a"], 1), (["a", "b"], 0)] {
        let search = sound(&signatures, Setting::Pruners(1), losses);
        let ended = |end: &str| search.endings.contains(end);
        assert!(ended("created recorded pruned"), "{:?}", search.endings);
    }
}

#[test]
fn one_and_two_pruners() {
    let search = sound(&["a"], Setting::Pruners(2), 1);
    assert!(search.endings.contains("created pruned pruned"), "{:?}", search.endings);
    assert!(search.endings.contains("created pruned recorded"), "{:?}", search.endings);
}

#[test]
fn one_and_two_releases() {
    for signatures in [["a"], ["b"]] {
        let search = sound(&signatures, Setting::Releases(2), 0);
        assert!(search.endings.contains("created released missing"), "{:?}", search.endings);
        assert!(search.endings.contains("there kept kept"), "{:?}", search.endings);
    }
}

#[test]
fn two_and_a_release_and_a_lost_answer() {
    let search = sound(&["a", "a"], Setting::Releases(1), 1);
    assert!(search.endings.contains("created there released"), "{:?}", search.endings);
}

#[test]
fn two_and_a_cancel_of_what_a_queue_may_start() {
    let search = sound(&["a", "a"], Setting::Cancel, 1);
    assert!(search.endings.contains("recorded recorded cancelled"), "{:?}", search.endings);
}

#[test]
fn the_search_finds_what_is_broken() {
    use Setting::{Pruners, Releases, Submitters};
    let twice = "the experiment ran twice";
    for (variant, signatures, setting, found) in [
        (Variant::BlindToRecords, vec!["a", "a"], Pruners(1), twice),
        (Variant::EndlessPermission, vec!["a", "a"], Pruners(1), twice),
        (Variant::NamedSecretOnly, vec!["a", "b"], Pruners(1), twice),
        (Variant::RecordLast, vec!["a", "a"], Pruners(1), twice),
        (Variant::SecretByName, vec!["a"], Releases(2), "a Secret of a later life was deleted"),
        (Variant::JobByName, vec!["a"], Releases(2), "a Job of a later life was deleted"),
        (Variant::PodWithoutVersion, vec!["a"], Releases(1), twice),
        (Variant::TwoNames, vec!["a", "a"], Submitters, twice),
    ] {
        let search = Search::run(&signatures, variant, setting, 1);
        let violation = search.violation.unwrap_or_else(|| panic!("{variant:?} is not found out"));
        assert!(violation.starts_with(found), "{variant:?}: {violation}");
    }
}
