//! The exactly-once protocol: a pure function from what is known to what to do next.
//!
//! ```text
//! observe -> rehearse -> create Secret -> create Job -> end
//!    |                        |               |
//!    +-- Job present? --------+--- unclear? read the name, then decide again
//! ```
//!
//! The rules, each of which stands at the place that keeps it:
//! * the record is read after the Job, never before it (a prune records first and deletes then);
//! * a Job is created only with a [`VerifiedSecret`] at hand;
//! * a create goes out only within [`Limits::permission`] of the reads that allow it;
//! * what is unknown is read, never reported as failure and never repeated blindly;
//! * nothing is deleted but a Secret that this very process saw itself create.
//!
//! No I/O, no clock: `drive` does what an [`Action`] says and comes back with [`Fact`]s.

mod before;
mod create;
mod end;
mod present;

use std::time::Duration;

pub use create::VerifiedSecret;
pub(in crate::submit) use end::refused_with;

use super::ending::{Conclusion, Ending, Remark, SecretState};
use super::facts::{Doubt, Effect, Fact, JobFact, Moment, Reading, Refusal};
use crate::submission::Problem;

/// What bounds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How long reads allow a create; design: five minutes, far below the least retention of a prune.
    pub permission: Duration,
    /// How many unclear answers are followed by another try.
    pub tries: u32,
    /// How long one submission may take in all.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { permission: Duration::from_mins(5), tries: 6, total: Duration::from_mins(3) }
    }
}

/// What one submission brings to the protocol.
pub trait Terms {
    /// The namespace that is meant, if the submission says so.
    fn namespace_uid(&self) -> Option<&str>;
    /// The name of the Secret that we render.
    fn secret_name(&self) -> &str;
    /// What keeps it from being created at this time: dead or missing signatures.
    fn obstacles(&self, now: &Moment) -> Vec<Problem>;
    /// Whether to stop after the rehearsal.
    fn rehearse_only(&self) -> bool;
}

/// Something to send. Several of one action are sent side by side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Read the namespace.
    ReadNamespace,
    /// Read the Job by name.
    ReadJob,
    /// Read our Secret by name.
    ReadSecret,
    /// Read the Secret that the Job names.
    ReadNamedSecret(String),
    /// Read the record by name.
    ReadRecord,
    /// Create the Secret with `dryRun=All`.
    RehearseSecret,
    /// Create the Job with `dryRun=All`.
    RehearseJob,
    /// Create the Secret.
    CreateSecret,
    /// Create the Job, which a verified Secret allows.
    CreateJob(VerifiedSecret),
    /// Delete the Secret of this UID, which this process created.
    DeleteSecret(String),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Wait, then send these side by side and come back with their facts in the same order.
    Send {
        /// How long to wait first.
        after: Duration,
        /// What to send.
        requests: Vec<Request>,
    },
    /// It is decided.
    End(Box<Conclusion>),
}

/// Where the protocol stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    Observe,
    /// Somebody said no before the name was looked at: is there a Job after all?
    LastLook(&'static str, Refusal),
    Rehearse {
        secret_is_present: bool,
    },
    CreateSecret,
    SettleSecret(Option<Refusal>),
    CreateJob,
    SettleJob(Option<Refusal>),
    RepairRecord(Box<JobFact>),
    RepairSecret(Box<JobFact>),
    SettleRepair(Box<JobFact>, Option<Refusal>),
    LookForNamedSecret(Box<JobFact>),
    RemoveSecret(Box<Ending>),
}

/// The protocol's state for one submission.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Protocol {
    limits: Limits,
    phase: Phase,
    tries: u32,
    started: Duration,
    permitted: Option<Moment>,
    namespace_uid: Option<String>,
    secret: SecretState,
    created_secret: Option<String>,
    secret_answer_lost: bool,
    job_answer_lost: bool,
    /// Why the latest answer to a create was lost; for the sentence alone.
    why_lost: Option<String>,
    remarks: Vec<Remark>,
}

impl Protocol {
    /// Starts with the reads that everything rests on.
    pub fn start(limits: Limits, now: &Moment) -> (Self, Action) {
        let protocol = Self {
            limits,
            phase: Phase::Observe,
            tries: 0,
            started: now.boot,
            permitted: None,
            namespace_uid: None,
            secret: SecretState::Unknown,
            created_secret: None,
            secret_answer_lost: false,
            job_answer_lost: false,
            why_lost: None,
            remarks: Vec::new(),
        };
        (protocol, send(observation()))
    }

    /// Whether a create of the Job was sent whose answer never came.
    pub fn may_run(&self) -> bool {
        self.job_answer_lost
    }

    /// What the protocol knows when it is stopped from outside.
    pub fn stop(self, why: &str) -> Conclusion {
        let doubt = Doubt { why: why.to_owned(), certainly_not_sent: false, retry_after: None };
        let may_run = self.may_run();
        self.conclude(Ending::Unknown { doubt, may_run })
    }

    /// Decides from the facts of the last action; `sent` is when its requests went out, by the server's clock
    /// the earliest `Date` among their answers; `now` is after.
    pub fn next(
        &mut self,
        facts: Vec<Fact>,
        sent: &Moment,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Action {
        let mut facts = facts.into_iter();
        let phase = self.phase.clone();
        match (phase, facts.next(), facts.next(), facts.next()) {
            (
                Phase::Observe,
                Some(Fact::Namespace(namespace)),
                Some(Fact::Job(job)),
                Some(Fact::Secret(secret)),
            ) => self.observed(namespace, job, secret, sent, now, terms),
            (
                Phase::Rehearse { secret_is_present },
                Some(Fact::Record(record)),
                Some(Fact::JobRehearsal(job)),
                secret,
            ) => {
                let secret = match secret {
                    Some(Fact::SecretRehearsal(secret)) => Some(secret),
                    _ => None,
                };
                self.rehearsed(secret_is_present, record, job, secret, now, terms)
            }
            (Phase::LastLook(request, refusal), Some(Fact::Job(reading)), ..) => {
                self.looked_last(request, refusal, reading, now)
            }
            (Phase::CreateSecret, Some(Fact::SecretCreate(effect)), ..) => {
                self.secret_answered(effect, now)
            }
            (Phase::SettleSecret(refusal), Some(Fact::Secret(reading)), ..) => {
                self.secret_settled(refusal, reading, now)
            }
            (Phase::CreateJob, Some(Fact::JobCreate(effect)), ..) => self.job_answered(effect),
            (Phase::SettleJob(refusal), Some(Fact::Job(reading)), ..) => {
                self.job_settled(refusal, reading, now, terms)
            }
            (Phase::RepairRecord(job), Some(Fact::Record(record)), ..) => {
                self.repair_allowed(job, record, now)
            }
            (Phase::RepairSecret(job), Some(Fact::SecretCreate(effect)), ..) => {
                self.repaired(*job, effect)
            }
            (Phase::SettleRepair(job, refusal), Some(Fact::Secret(reading)), ..) => {
                self.repair_settled(*job, refusal, reading, now)
            }
            (Phase::LookForNamedSecret(job), Some(Fact::NamedSecret(reading)), ..) => {
                if reading == Reading::Absent
                    && let Some(name) = job.secret.clone()
                {
                    self.remark(Remark::NamedSecretMissing(name));
                }
                self.end(Ending::AlreadySubmitted(*job))
            }
            (Phase::RemoveSecret(ending), Some(Fact::SecretDelete(effect)), ..) => {
                let was_removed = effect == Effect::Done(());
                self.secret = match effect {
                    // An earlier create of it that was lost may still land.
                    Effect::Done(()) if self.secret_answer_lost => SecretState::Unknown,
                    Effect::Done(()) => SecretState::Removed,
                    Effect::Refused(_) => SecretState::Created,
                    Effect::Unknown(_) => SecretState::Unknown,
                };
                if !was_removed {
                    self.remark(Remark::SecretLeft);
                }
                self.end(*ending)
            }
            (phase, ..) => unreachable!("facts that were not asked for in {phase:?}"),
        }
    }
}

fn observation() -> Vec<Request> {
    vec![Request::ReadNamespace, Request::ReadJob, Request::ReadSecret]
}

fn send(requests: Vec<Request>) -> Action {
    Action::Send { after: Duration::ZERO, requests }
}
