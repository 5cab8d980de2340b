//! The submit protocol, told facts action by action.

use std::time::Duration;

use harness::submission::Problem;
use harness::submit::Limits;
use harness::submit::ending::Conclusion;
use harness::submit::facts::{
    Doubt, Effect, Fact, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact, Refusal,
    SecretFact, SecretVerdict,
};
use harness::submit::protocol::{Action, Protocol, Request, Terms};

/// Terms that nothing stands against, in one namespace or in any.
#[derive(Default)]
struct Anything {
    namespace_uid: Option<&'static str>,
    rehearse_only: bool,
}

impl Terms for Anything {
    fn namespace_uid(&self) -> Option<&str> {
        self.namespace_uid
    }

    fn secret_name(&self) -> &'static str {
        "secret"
    }

    fn obstacles(&self, _: &Moment) -> Vec<Problem> {
        Vec::new()
    }

    fn rehearse_only(&self) -> bool {
        self.rehearse_only
    }
}

/// A protocol and what it does next.
pub(crate) struct Told {
    protocol: Protocol,
    action: Action,
    terms: Anything,
}

impl Told {
    pub(crate) fn start() -> Self {
        Self::start_in(None)
    }

    /// Only in the namespace of this UID.
    pub(crate) fn start_in(namespace_uid: Option<&'static str>) -> Self {
        Self::start_with(Anything { namespace_uid, ..Anything::default() })
    }

    /// A rehearsal, and nothing else.
    pub(crate) fn rehearses() -> Self {
        Self::start_with(Anything { rehearse_only: true, ..Anything::default() })
    }

    fn start_with(terms: Anything) -> Self {
        let (protocol, action) = Protocol::start(Limits::default(), &now());
        Self { protocol, action, terms }
    }

    /// The facts of what is asked now.
    pub(crate) fn hears(self, facts: Vec<Fact>) -> Self {
        self.hears_at(facts, &now())
    }

    /// The same, sent and answered at this moment.
    pub(crate) fn hears_at(mut self, facts: Vec<Fact>, moment: &Moment) -> Self {
        assert_eq!(self.asks().len(), facts.len(), "{:?}", self.action);
        self.action = self.protocol.next(facts, moment, moment, &self.terms);
        self
    }

    /// Up to the create of the Secret, in a namespace that holds nothing.
    pub(crate) fn may_create(self) -> Self {
        self.hears(looks("n", Reading::Absent, Reading::Absent)).hears(rehearsal())
    }

    /// Whether everything is read once more, from the first read on.
    pub(crate) fn looks_anew(&self) -> bool {
        matches!(self.asks(), [Request::ReadNamespace, Request::ReadJob, Request::ReadSecret])
    }

    pub(crate) fn asks(&self) -> &[Request] {
        match &self.action {
            Action::Send { requests, .. } => requests,
            Action::End(conclusion) => panic!("it has ended: {conclusion:?}"),
        }
    }

    /// How long it waits first.
    pub(crate) fn waits(&self) -> Duration {
        match &self.action {
            Action::Send { after, .. } => *after,
            Action::End(conclusion) => panic!("it has ended: {conclusion:?}"),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.action, Action::End(_))
    }

    pub(crate) fn end(self) -> Conclusion {
        match self.action {
            Action::End(conclusion) => *conclusion,
            Action::Send { requests, .. } => panic!("it asks for {requests:?}"),
        }
    }
}

/// Where every test begins.
pub(crate) fn now() -> Moment {
    let local = "2026-12-01T08:00:00Z".parse().unwrap();
    Moment { boot: Duration::ZERO, local, server: None }
}

/// The first reads.
pub(crate) fn looks(
    namespace: &str,
    job: Reading<JobFact>,
    secret: Reading<SecretFact>,
) -> Vec<Fact> {
    let namespace = NamespaceFact { uid: namespace.to_owned() };
    vec![Fact::Namespace(Reading::Present(namespace)), Fact::Job(job), Fact::Secret(secret)]
}

/// A rehearsal of both, which goes well, beside no record.
pub(crate) fn rehearsal() -> Vec<Fact> {
    vec![
        Fact::Record(Reading::Absent),
        Fact::JobRehearsal(Effect::Done(job(JobVerdict::Same))),
        Fact::SecretRehearsal(Effect::Done(secret())),
    ]
}

/// The record of a pruned experiment, which differs from ours there.
pub(crate) fn record(differences: Vec<String>) -> RecordFact {
    RecordFact {
        differences,
        outcome: "succeeded".to_owned(),
        recorded_by: "a pruner".to_owned(),
        recorded_at: "2026-06-01T00:00:00Z".to_owned(),
    }
}

pub(crate) fn job(verdict: JobVerdict) -> JobFact {
    JobFact {
        uid: "job".to_owned(),
        verdict,
        secret: None,
        mentions_our_secret: false,
        state: "pending".to_owned(),
        finished: None,
        drift: Vec::new(),
    }
}

pub(crate) fn secret() -> SecretFact {
    SecretFact { uid: "secret".to_owned(), verdict: SecretVerdict::Same }
}

/// The Secret as it was found, which is not as it was rendered.
pub(crate) fn secret_that_is(verdict: SecretVerdict) -> SecretFact {
    SecretFact { verdict, ..secret() }
}

/// Where something differs.
pub(crate) fn paths() -> Vec<String> {
    vec!["data".to_owned()]
}

/// A no that says no more tomorrow.
pub(crate) fn forbidden() -> Refusal {
    no(403, "Forbidden")
}

/// A no for now.
pub(crate) fn too_many() -> Refusal {
    no(429, "TooManyRequests")
}

/// An answer that never came.
pub(crate) fn doubt(certainly_not_sent: bool) -> Doubt {
    Doubt { why: "late".to_owned(), certainly_not_sent, retry_after: None }
}

/// Our Job, which names our Secret.
pub(crate) fn ours() -> JobFact {
    let secret = Some("secret".to_owned());
    JobFact { secret, mentions_our_secret: true, ..job(JobVerdict::Same) }
}

/// A no of the server.
pub(crate) fn no(code: u16, reason: &str) -> Refusal {
    let (reason, message) = (reason.to_owned(), "no".to_owned());
    Refusal { code, reason, message, retry_after: None }
}
