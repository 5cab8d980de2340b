//! `cancel`, `release` and `prune` of one experiment: a pure function from what is known to what to do next.
//!
//! ```text
//! look -> mark -> lower the deadline ............................ cancel, of a Job that may run
//!      -> mark -> record -> read it back -+
//! look -> record -> read it back ---------+-> Secrets -> Job -> end     cancel, prune
//! look -> proof --------------------------+                             release
//! ```
//!
//! The rules, each of which stands at the place that keeps it:
//! * a Job is deleted only with a [`Licence`]: its record was read back, or it is proven that it never ran;
//! * Secrets go before the Job, so that a Job that lands late finds none and cannot run;
//! * a Secret is deleted only if it was listed while that very Job still stood, so that it is none of a later one;
//! * every delete names the UID, every patch the UID and the version that it was decided on; a Job that never ran is
//!   deleted in the version that still proves it, after its last Secret is gone;
//! * after every effect the server is read again, and what that shows decides: so a command that was stopped at any
//!   point, or runs twice at the same time, goes on from what is there.
//!
//! No I/O, no clock: `drive` does what an [`Action`] says and comes back with [`Fact`]s.

mod cancel;
mod end;
mod exchange;
mod prune;
mod record;
mod release;
mod remove;
mod sweep;

use std::time::Duration;

use jiff::Timestamp;

pub use self::exchange::{Action, Command, Conclusion, Ending, Fate, Limits, Request};
pub(in crate::ledger) use self::prune::keeps;
pub use self::record::Licence;
pub(in crate::ledger) use self::sweep::is_unneeded as unneeded;
use super::facts::{
    Doubt, Effect, Fact, JobFact, Moment, PodFact, Reading, RecordFact, Refusal, SecretFact,
};
use crate::submit::record::Record;

/// Where a protocol stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    /// The namespace and the Job are read.
    Look,
    /// There is no Job: is there a record?
    LookForRecord,
    /// Beside the Job: the record, its pods, who we are.
    LookBeside,
    /// The mark of a cancel is on its way.
    Mark,
    /// Deadlines are on their way.
    Lower,
    /// The record is on its way.
    Record(Box<Record>),
    /// The record is read back.
    ConfirmRecord(Box<Record>),
    /// The pod without a node is deleted.
    Prove,
    /// Which Secrets are there?
    ListSecrets(Licence),
    /// Does the very Job still stand?
    Reread(Licence, Vec<SecretFact>),
    /// Secrets are on their way out.
    RemoveSecrets(Licence, Vec<SecretFact>),
    /// No Secret is left: does the Job still prove that it never ran?
    LastLook(Licence),
    /// The Job is on its way out.
    RemoveJob(Licence),
    /// Is the Job gone?
    ConfirmGone(Licence),
    /// The Job is gone: has somebody recorded it meanwhile?
    ConfirmFree,
    /// A sweep lists the Secrets.
    SweepList,
    /// A sweep reads the Job.
    SweepLook(Vec<SecretFact>),
    /// A sweep removes Secrets.
    SweepRemove(Vec<SecretFact>),
}

/// The state of one experiment's protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Protocol {
    command: Command,
    limits: Limits,
    phase: Phase,
    tries: u32,
    started: Duration,
    namespace_uid: Option<String>,
    job: Option<JobFact>,
    pods: Vec<PodFact>,
    who: Option<String>,
    record: Option<Record>,
    /// The change that was sent last, and the clean no to it: it is not sent again if it still is needed.
    attempted: Option<&'static str>,
    refused: Option<Refusal>,
    secrets: Vec<String>,
    /// Deletes of Secrets that were not answered, until a list shows that the Secret is gone.
    unclear: Vec<Unclear>,
    /// What became of the pod whose deletion was to be the proof.
    pod: Fate,
    remarks: Vec<String>,
}

/// A Secret whose delete was sent and not answered: it may be gone, and may still go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Unclear {
    name: String,
    uid: String,
}

impl Protocol {
    /// Starts with the reads that everything rests on.
    pub fn start(command: Command, limits: Limits, now: &Moment) -> (Self, Action) {
        let mut protocol = Self {
            command,
            limits,
            phase: Phase::Look,
            tries: 0,
            started: now.boot,
            namespace_uid: None,
            job: None,
            pods: Vec::new(),
            who: None,
            record: None,
            attempted: None,
            refused: None,
            secrets: Vec::new(),
            unclear: Vec::new(),
            pod: Fate::Untouched,
            remarks: Vec::new(),
        };
        let action = match command {
            Command::Sweep { .. } => protocol.sweep_list(Duration::ZERO),
            Command::Cancel | Command::Release | Command::Prune { .. } => {
                protocol.look(Duration::ZERO)
            }
        };
        (protocol, action)
    }

    /// What is known when it is stopped from outside.
    pub fn stop(self, why: &str) -> Conclusion {
        let doubt = Doubt { why: why.to_owned(), certainly_not_sent: false, retry_after: None };
        self.conclude(Ending::Unknown(doubt))
    }

    /// Decides from the facts of the last action; `now` is after.
    pub fn next(&mut self, facts: Vec<Fact>, now: &Moment) -> Action {
        let mut all = facts.into_iter();
        let phase = self.phase.clone();
        match (phase, all.next(), all.next(), all.next()) {
            (Phase::Look, Some(Fact::Namespace(namespace)), Some(Fact::Job(job)), _) => {
                self.looked(namespace, job, now)
            }
            (Phase::LookForRecord, Some(Fact::Record(record)), ..) => {
                self.looked_for_record(record, now)
            }
            (
                Phase::LookBeside,
                Some(Fact::Record(record)),
                Some(Fact::Pods(pods)),
                Some(Fact::Who(who)),
            ) => self.looked_beside(record, pods, who, now),
            (Phase::Mark | Phase::Lower, first, second, third) => {
                let facts = [first, second, third].into_iter().flatten().chain(all);
                self.changed(effects(facts), now)
            }
            (Phase::Prove, Some(Fact::Effect(effect)), ..) => self.proof_answered(effect, now),
            (Phase::Record(record), Some(Fact::Effect(effect)), ..) => {
                self.record_answered(record, effect)
            }
            (Phase::ConfirmRecord(record), Some(Fact::Record(reading)), ..) => {
                self.record_read(record, reading, now)
            }
            (Phase::ListSecrets(licence), Some(Fact::Secrets(secrets)), ..) => {
                self.secrets_listed(licence, secrets, now)
            }
            (Phase::Reread(licence, secrets), Some(Fact::Job(job)), ..) => {
                self.reread(licence, &secrets, job, now)
            }
            (Phase::RemoveSecrets(licence, asked), first, second, third) => {
                let facts = [first, second, third].into_iter().flatten().chain(all);
                self.secrets_removed(licence, &asked, facts, now)
            }
            (Phase::LastLook(licence), Some(Fact::Job(job)), ..) => {
                self.looked_last(licence, job, now)
            }
            (Phase::ConfirmFree, Some(Fact::Record(record)), ..) => self.is_free(record, now),
            (Phase::RemoveJob(licence), Some(Fact::Effect(effect)), ..) => {
                self.job_answered(licence, effect)
            }
            (Phase::ConfirmGone(licence), Some(Fact::Job(job)), ..) => {
                self.confirmed(licence, job, now)
            }
            (Phase::SweepList, Some(Fact::Secrets(secrets)), ..) => self.sweep_listed(secrets, now),
            (Phase::SweepLook(secrets), Some(Fact::Job(job)), ..) => {
                self.sweep_looked(&secrets, job, now)
            }
            (Phase::SweepRemove(asked), first, second, third) => {
                let facts = [first, second, third].into_iter().flatten().chain(all);
                self.swept(&asked, facts, now)
            }
            (phase, ..) => unreachable!("facts that were not asked for in {phase:?}"),
        }
    }

    /// From the first read on.
    fn look(&mut self, after: Duration) -> Action {
        self.phase = Phase::Look;
        Action::Send { after, requests: vec![Request::ReadNamespace, Request::ReadJob] }
    }

    fn looked(
        &mut self,
        namespace: Reading<String>,
        job: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        let again = || vec![Request::ReadNamespace, Request::ReadJob];
        match self.read("reading the namespace", namespace, again, now) {
            Err(action) => return action,
            Ok(None) => return self.end(Ending::Missing),
            Ok(Some(uid)) => {
                let earlier = self.namespace_uid.replace(uid.clone());
                if earlier.is_some_and(|earlier| earlier != uid) {
                    return self.end(Ending::Conflict(
                        "the namespace was deleted and made anew meanwhile".to_owned(),
                    ));
                }
            }
        }
        let job = match self.read("reading the Job", job, again, now) {
            Err(action) => return action,
            Ok(job) => job,
        };
        // Another Job under the name is another life of the experiment: nothing that was seen holds for it.
        if let (Some(earlier), Some(job)) = (&self.job, &job)
            && earlier.uid != job.uid
        {
            self.pods.clear();
            self.record = None;
        }
        let Some(job) = job else {
            self.phase = Phase::LookForRecord;
            return send(vec![Request::ReadRecord]);
        };
        self.job = Some(job.clone());
        if job.identity.is_none() {
            return self.end(Ending::Conflict("the Job is no experiment of harness".to_owned()));
        }
        match self.command {
            Command::Cancel => self.cancel_looked(&job),
            Command::Release => self.release_looked(&job),
            Command::Prune { older_than } => self.prune_looked(&job, older_than, now),
            Command::Sweep { .. } => unreachable!("a sweep begins with a list"),
        }
    }

    /// The record is read after the Job was seen or seen to be absent, as `submit` does.
    fn look_beside(&mut self) -> Action {
        self.phase = Phase::LookBeside;
        send(beside())
    }

    fn looked_beside(
        &mut self,
        record: Reading<RecordFact>,
        pods: Reading<Vec<PodFact>>,
        who: Reading<String>,
        now: &Moment,
    ) -> Action {
        let record = match self.read("reading the record", record, beside, now) {
            Err(action) => return action,
            Ok(record) => record,
        };
        match self.read("listing the pods", pods, beside, now) {
            Err(action) => return action,
            Ok(pods) => self.pods = pods.unwrap_or_default(),
        }
        match self.read("asking who we are", who, beside, now) {
            Err(action) => return action,
            Ok(who) => self.who = Some(who.unwrap_or_else(|| "somebody".to_owned())),
        }
        let Some(job) = self.job.clone() else { return self.look(Duration::ZERO) };
        match self.command {
            Command::Cancel => self.cancel_beside(&job, record, now),
            Command::Release => self.release_beside(&job, record.as_ref()),
            Command::Prune { .. } => self.prune_beside(&job, record, now),
            Command::Sweep { .. } => unreachable!("a sweep looks at Secrets and the Job"),
        }
    }

    fn looked_for_record(&mut self, record: Reading<RecordFact>, now: &Moment) -> Action {
        let again = || vec![Request::ReadRecord];
        let record = match self.read("reading the record", record, again, now) {
            Err(action) => return action,
            Ok(None) => return self.end(Ending::Missing),
            Ok(Some(fact)) => fact.record,
        };
        match record {
            Err(problem) => self.end(Ending::Conflict(format!(
                "there is no Job, and the record in its place cannot be read: {problem}"
            ))),
            Ok(record) => {
                self.record = Some(record);
                let ending = match self.command {
                    Command::Release => Ending::NotReleased(
                        "its record says that it has ended, and a record is for ever".to_owned(),
                    ),
                    _ => Ending::AlreadyRecorded,
                };
                self.end(ending)
            }
        }
    }
}

fn beside() -> Vec<Request> {
    vec![Request::ReadRecord, Request::ListPods, Request::ReviewSelf]
}

/// The effects among the facts.
fn effects(facts: impl Iterator<Item = Fact>) -> Vec<Effect<()>> {
    facts
        .filter_map(|fact| match fact {
            Fact::Effect(effect) => Some(effect),
            _ => None,
        })
        .collect()
}

fn send(requests: Vec<Request>) -> Action {
    Action::Send { after: Duration::ZERO, requests }
}

/// Whether so much time has passed since `then`.
fn is_older(then: Timestamp, older_than: Duration, now: Timestamp) -> bool {
    let limit = jiff::SignedDuration::try_from(older_than).unwrap_or(jiff::SignedDuration::MAX);
    now.duration_since(then) >= limit
}

#[cfg(test)]
mod tests;
