//! What a command says after an answer was lost, or somebody else came in between.

use super::*;
use crate::ledger::facts::{Earlier, Identity, RunFact, Suspension};
use crate::render::compare::JobState;

mod cancel;
mod record;
mod release;
mod unclear;

const HOUR: Duration = Duration::from_hours(1);

fn now() -> Moment {
    let server: Timestamp = "2030-01-02T03:04:05Z".parse().unwrap();
    Moment { boot: Duration::ZERO, local: server, server: Some(server) }
}

/// A protocol that is told facts, action by action.
struct Told {
    protocol: Protocol,
    action: Action,
}

impl Told {
    fn start(command: Command) -> Self {
        let (protocol, action) = Protocol::start(command, Limits::default(), &now());
        Self { protocol, action }
    }

    /// The facts of what is asked now.
    fn hears(mut self, facts: Vec<Fact>) -> Self {
        assert_eq!(self.asks().len(), facts.len(), "{:?}", self.action);
        self.action = self.protocol.next(facts, &now());
        self
    }

    fn asks(&self) -> &[Request] {
        match &self.action {
            Action::Send { requests, .. } => requests,
            Action::End(conclusion) => panic!("it has ended: {conclusion:?}"),
        }
    }

    fn end(self) -> Conclusion {
        match self.action {
            Action::End(conclusion) => *conclusion,
            Action::Send { requests, .. } => panic!("it asks for {requests:?}"),
        }
    }

    /// A `release` of a pending Job, up to the list of Secrets that follows the proof.
    fn releases() -> Self {
        Self::looks(job(), vec![pod()]).hears(vec![done()])
    }

    /// A `release` of a Job and its pods, up to what it makes of them.
    fn looks(job: JobFact, pods: Vec<PodFact>) -> Self {
        Self::start(Command::Release).sees(reads(job)).sees_beside(pods)
    }

    /// The namespace, and this under the Job's name.
    fn sees(self, job: Fact) -> Self {
        self.hears(vec![Fact::Namespace(Reading::Present("namespace".to_owned())), job])
    }

    /// No record, these pods, and who asks.
    fn sees_beside(self, pods: Vec<PodFact>) -> Self {
        self.hears(vec![
            Fact::Record(Reading::Absent),
            Fact::Pods(Reading::Present(pods)),
            Fact::Who(Reading::Present("somebody".to_owned())),
        ])
    }
}

fn job() -> JobFact {
    JobFact {
        name: "prediction-a".to_owned(),
        uid: "job".to_owned(),
        resource_version: "1".to_owned(),
        identity: Some(Identity { result: "a".repeat(64), submission: "b".repeat(64) }),
        terminating: None,
        state: JobState::Pending,
        started_at: None,
        suspension: Suspension::No,
        earlier_pods: None,
        counted: 0,
        deadline: Some(1800),
        cancelled: None,
        secret: Some("secret".to_owned()),
    }
}

fn pod() -> PodFact {
    PodFact {
        name: "pod".to_owned(),
        uid: "pod".to_owned(),
        resource_version: "1".to_owned(),
        job_uid: Some("job".to_owned()),
        is_bound: false,
        is_terminating: false,
        is_over: false,
        is_disrupted: false,
        run: RunFact::NotShown,
        deadline: Some(900),
        category: None,
        evidence_digest: None,
        image_ids: Vec::new(),
    }
}

fn reads(job: JobFact) -> Fact {
    Fact::Job(Reading::Present(job))
}

fn stands() -> Fact {
    reads(job())
}

fn absent() -> Fact {
    Fact::Job(Reading::Absent)
}

fn listed(names: &[&str]) -> Fact {
    let secret = |name: &&str| SecretFact {
        name: (*name).to_owned(),
        uid: format!("{name}-uid"),
        is_terminating: false,
        created: "2030-01-01T00:00:00Z".parse().ok(),
    };
    Fact::Secrets(Reading::Present(names.iter().map(secret).collect()))
}

/// A Job's state after it failed.
fn failed(at: Option<Timestamp>) -> JobState {
    JobState::Failed { at, reason: String::new() }
}

/// The server's no with this status.
fn no(code: u16) -> Refusal {
    Refusal { code, reason: "Reason".to_owned(), message: "no".to_owned(), retry_after: None }
}

fn done() -> Fact {
    Fact::Effect(Effect::Done(()))
}

/// What remains where a request may have arrived.
fn doubt() -> Doubt {
    Doubt { why: "cut".to_owned(), certainly_not_sent: false, retry_after: None }
}

fn lost() -> Fact {
    Fact::Effect(Effect::Unknown(doubt()))
}

fn unsent() -> Fact {
    Fact::Effect(Effect::Unknown(Doubt { certainly_not_sent: true, ..doubt() }))
}

fn sweep() -> Told {
    Told::start(Command::Sweep { older_than: HOUR })
        .hears(vec![listed(&["secret", "other"])])
        .hears(vec![absent()])
}

#[test]
fn a_sweep_whose_answer_was_lost_tells_of_the_secret_that_is_gone() {
    let end =
        sweep().hears(vec![lost(), lost()]).hears(vec![listed(&[])]).hears(vec![absent()]).end();
    assert_eq!(end.ending, Ending::Swept);
    assert_eq!(end.secrets, ["secret", "other"]);
}

#[test]
fn a_sweep_whose_answer_was_lost_notices_the_job_that_needs_the_secret() {
    let end =
        sweep().hears(vec![lost(), done()]).hears(vec![listed(&[])]).hears(vec![stands()]).end();
    assert_eq!(end.ending, Ending::Swept);
    assert!(end.remarks.iter().any(|remark| remark.contains("submit it again")), "{end:?}");
}

#[test]
fn a_sweep_whose_lost_delete_may_still_take_a_secret_that_is_needed_by_now_is_unknown() {
    let end = sweep()
        .hears(vec![lost(), done()])
        .hears(vec![listed(&["secret"])])
        .hears(vec![stands()])
        .end();
    let Ending::Unknown(doubt) = &end.ending else { panic!("{end:?}") };
    assert!(doubt.why.contains("secret was not answered"), "{}", doubt.why);
    assert_eq!((end.secrets, end.unclear), (vec!["other".to_owned()], vec!["secret".to_owned()]));
}

#[test]
fn a_delete_that_was_never_sent_is_no_removal() {
    let end =
        sweep().hears(vec![unsent(), done()]).hears(vec![listed(&[])]).hears(vec![absent()]).end();
    assert_eq!(end.secrets, ["other"]);
}

#[test]
fn a_release_ends_where_the_job_was_stopped_and_started_before_its_secrets_went() {
    let stopped = JobFact { earlier_pods: Some(Earlier::Suspended), ..job() };
    let end = Told::releases().hears(vec![listed(&["secret"])]).hears(vec![reads(stopped)]).end();
    assert!(matches!(end.ending, Ending::NotReleased(_)), "{end:?}");
    assert_eq!(end.secrets, [""; 0]);
}

/// Found by the simulator, seed 1828: a cancel changes the Job after its pod, which had no node, was deleted.
#[test]
fn what_a_release_removed_before_it_ended_is_told() {
    let stopped = || JobFact { earlier_pods: Some(Earlier::Suspended), ..job() };
    let detail = |conclusion: Conclusion| {
        let driven = crate::ledger::Driven { conclusion, warnings: Vec::new() };
        crate::ledger::LedgerReceipt::of("lab", "prediction-a", Command::Release, driven).detail
    };
    let gone =
        Told::releases().hears(vec![listed(&["secret"])]).hears(vec![reads(stopped())]).end();
    assert_eq!(gone.pod, Fate::Gone);
    assert!(detail(gone).ends_with("its pod, which had no node, is gone, and nothing else"));
    let unanswered = Told::looks(job(), vec![pod()])
        .hears(vec![lost()])
        .sees(reads(stopped()))
        .sees_beside(vec![])
        .end();
    assert_eq!(unanswered.pod, Fate::Unanswered);
    assert!(detail(unanswered).ends_with("was not answered and may still come"));
}

#[test]
fn a_release_ends_where_the_job_was_stopped_and_started_while_its_secrets_went() {
    let stopped = [
        JobFact { earlier_pods: Some(Earlier::Suspended), ..job() },
        JobFact { suspension: Suspension::Later, state: JobState::Queued, ..job() },
    ];
    for stopped in stopped {
        let end = Told::releases()
            .hears(vec![listed(&["secret"])])
            .hears(vec![stands()])
            .hears(vec![done()])
            .hears(vec![listed(&[])])
            .hears(vec![reads(stopped)])
            .end();
        assert!(matches!(end.ending, Ending::NotReleased(_)), "{end:?}");
        assert_eq!(end.secrets, ["secret"]);
    }
}

fn queued(suspension: Suspension) -> JobFact {
    JobFact { suspension, state: JobState::Queued, ..job() }
}

#[test]
fn what_a_queue_never_admitted_is_released_in_the_version_that_shows_it() {
    let waits = JobFact { resource_version: "7".to_owned(), ..queued(Suspension::SinceCreation) };
    let told = Told::looks(waits.clone(), Vec::new())
        .hears(vec![listed(&["secret"])])
        .hears(vec![reads(waits.clone())])
        .hears(vec![done()])
        .hears(vec![listed(&[])])
        .hears(vec![reads(waits)]);
    let [Request::DeleteJob { uid, resource_version, .. }] = told.asks() else {
        panic!("{:?}", told.action)
    };
    assert_eq!((uid.as_str(), resource_version.as_deref()), ("job", Some("7")));
}

#[test]
fn a_release_ends_where_the_queue_admits_meanwhile() {
    let before = Told::looks(queued(Suspension::Later), Vec::new()).end();
    assert!(matches!(before.ending, Ending::NotReleased(_)), "{before:?}");
    for admitted in [queued(Suspension::Later), job()] {
        let looked = || Told::looks(queued(Suspension::SinceCreation), Vec::new());
        let early =
            looked().hears(vec![listed(&["secret"])]).hears(vec![reads(admitted.clone())]).end();
        assert_eq!(early.secrets, [""; 0]);
        let late = looked().hears(vec![listed(&[])]).hears(vec![reads(admitted)]).end();
        for end in [early, late] {
            let Ending::NotReleased(why) = &end.ending else { panic!("{end:?}") };
            assert!(why.contains("its queue started it meanwhile"), "{why}");
        }
    }
}

#[test]
fn a_release_deletes_the_job_in_the_version_that_was_read_after_its_secrets_were_gone() {
    let later = JobFact { resource_version: "7".to_owned(), ..job() };
    let told = Told::releases().hears(vec![listed(&[])]).hears(vec![reads(later)]);
    let [Request::DeleteJob { uid, resource_version, .. }] = told.asks() else {
        panic!("{:?}", told.action)
    };
    assert_eq!((uid.as_str(), resource_version.as_deref()), ("job", Some("7")));
}

#[test]
fn a_release_that_a_prune_overtook_frees_nothing() {
    let record = RecordFact { record: Err("cannot be read".to_owned()), is_immutable: true };
    let gone = || {
        Told::releases()
            .hears(vec![listed(&[])])
            .hears(vec![stands()])
            .hears(vec![done()])
            .hears(vec![absent()])
    };
    let end = gone().hears(vec![Fact::Record(Reading::Present(record))]).end();
    assert!(matches!(end.ending, Ending::NotReleased(_)), "{end:?}");
    let end = gone().hears(vec![Fact::Record(Reading::Absent)]).end();
    assert_eq!(end.ending, Ending::Released);
}
