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

use std::time::Duration;

use jiff::SignedDuration;

use super::ending::{Conclusion, Conflict, Ending, Obstacle, Remark, SecretState};
use super::facts::{
    Doubt, Effect, Fact, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact, Refusal,
    SecretFact, SecretVerdict,
};
use crate::submission::Problem;

/// What bounds the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Proof that our Secret was seen in the cluster, byte for byte. Only the protocol makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSecret(());

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Observe,
    Rehearse { secret_is_present: bool },
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// Decides from the facts of the last action; `sent` is when its requests went out, `now` is after.
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
                self.secret = match effect {
                    Effect::Done(()) => SecretState::Removed,
                    Effect::Refused(_) => SecretState::Created,
                    Effect::Unknown(_) => SecretState::Unknown,
                };
                if self.secret != SecretState::Removed {
                    self.remark(Remark::SecretLeft);
                }
                self.end(*ending)
            }
            (phase, ..) => unreachable!("facts that were not asked for in {phase:?}"),
        }
    }

    fn observed(
        &mut self,
        namespace: Reading<NamespaceFact>,
        job: Reading<JobFact>,
        secret: Reading<SecretFact>,
        sent: &Moment,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Action {
        if let Err(action) = self.check_namespace(namespace, now, terms) {
            return action;
        }
        let job = match job {
            Reading::Unknown(doubt) => return self.again(observation(), doubt, now),
            Reading::Refused(refusal) => return self.refused_read("reading the Job", refusal, now),
            Reading::Present(job) => Some(job),
            Reading::Absent => None,
        };
        let secret = match secret {
            Reading::Unknown(doubt) => return self.again(observation(), doubt, now),
            Reading::Refused(refusal) => {
                return self.refused_read("reading the Secret", refusal, now);
            }
            Reading::Present(secret) => Some(secret),
            Reading::Absent => None,
        };
        self.permitted = Some(Moment { server: now.server.or(sent.server), ..*sent });
        match secret {
            None => self.secret = self.missing_secret(),
            Some(_) if self.secret == SecretState::Created => {}
            Some(_) => self.secret = SecretState::Present,
        }
        if let Some(job) = job {
            return self.present(job, secret, terms);
        }
        if let Some(action) = secret.as_ref().and_then(|secret| self.secret_conflict(secret)) {
            return action;
        }
        self.rehearse(secret.is_some(), Duration::ZERO)
    }

    fn check_namespace(
        &mut self,
        namespace: Reading<NamespaceFact>,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Result<(), Action> {
        match namespace {
            Reading::Unknown(doubt) => Err(self.again(observation(), doubt, now)),
            Reading::Refused(refusal) => {
                Err(self.refused_read("reading the namespace", refusal, now))
            }
            Reading::Absent => Err(self.end(Ending::Refused(Obstacle::NamespaceMissing))),
            Reading::Present(NamespaceFact { uid }) => {
                let meant = terms.namespace_uid();
                self.namespace_uid = Some(uid.clone());
                if meant.is_some_and(|meant| meant != uid) {
                    return Err(
                        self.end(Ending::Refused(Obstacle::NamespaceDiffers { found: uid }))
                    );
                }
                Ok(())
            }
        }
    }

    /// The record is asked for here, after the Job was seen to be absent.
    fn rehearse(&mut self, secret_is_present: bool, after: Duration) -> Action {
        let mut requests = vec![Request::ReadRecord, Request::RehearseJob];
        if !secret_is_present {
            requests.push(Request::RehearseSecret);
        }
        self.phase = Phase::Rehearse { secret_is_present };
        Action::Send { after, requests }
    }

    fn rehearsed(
        &mut self,
        secret_is_present: bool,
        record: Reading<RecordFact>,
        job: Effect<JobFact>,
        secret: Option<Effect<SecretFact>>,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Action {
        match record {
            Reading::Unknown(doubt) => return self.observe_again(doubt, now),
            Reading::Refused(refusal) => {
                return self.refused_read("reading the record", refusal, now);
            }
            Reading::Present(record) if record.differences.is_empty() => {
                return self.end(Ending::AlreadyRecorded(record));
            }
            Reading::Present(record) => {
                return self.end(Ending::Conflict(Conflict::ForeignRecord(record)));
            }
            Reading::Absent => {}
        }
        let obstacles = terms.obstacles(now);
        if !obstacles.is_empty() {
            return self.end(Ending::Invalid(obstacles));
        }
        let drift = match self.judge_rehearsal("a rehearsal of the Job", job, now) {
            Ok(None) => Vec::new(),
            Ok(Some(JobFact { verdict: JobVerdict::Same, drift, .. })) => drift,
            Ok(Some(JobFact { verdict, .. })) => {
                return self.end(Ending::Refused(Obstacle::WouldAlter(differences(verdict))));
            }
            Err(action) => return action,
        };
        if let Some(secret) = secret {
            match self.judge_rehearsal("a rehearsal of the Secret", secret, now) {
                Ok(Some(SecretFact { verdict: SecretVerdict::Different(paths), .. })) => {
                    return self.end(Ending::Refused(Obstacle::WouldAlter(paths)));
                }
                Ok(_) => {}
                Err(action) => return action,
            }
        }
        if terms.rehearse_only() {
            return self.end(Ending::WouldCreate { drift });
        }
        if secret_is_present {
            self.create_job(now, Duration::ZERO)
        } else {
            self.create_secret(now, Duration::ZERO)
        }
    }

    /// `None`: the server cannot rehearse (a webhook without dry-run support answers 400), which decides nothing.
    fn judge_rehearsal<T>(
        &mut self,
        request: &'static str,
        effect: Effect<T>,
        now: &Moment,
    ) -> Result<Option<T>, Action> {
        match effect {
            Effect::Done(fact) => Ok(Some(fact)),
            Effect::Refused(refusal) if refusal.code == 400 => Ok(None),
            Effect::Refused(refusal) if refusal.may_pass() => {
                Err(self.observe_again(passing(&refusal), now))
            }
            Effect::Refused(refusal) => Err(self.refused(request, refusal)),
            Effect::Unknown(doubt) => Err(self.observe_again(doubt, now)),
        }
    }

    fn create_secret(&mut self, now: &Moment, after: Duration) -> Action {
        if !self.is_permitted(now) {
            return self.observe(Duration::ZERO);
        }
        self.phase = Phase::CreateSecret;
        Action::Send { after, requests: vec![Request::CreateSecret] }
    }

    fn secret_answered(&mut self, effect: Effect<SecretFact>, now: &Moment) -> Action {
        let refusal = match effect {
            Effect::Done(SecretFact { uid, verdict }) => {
                self.created_secret = Some(uid);
                self.secret = SecretState::Created;
                return match verdict {
                    SecretVerdict::Same => self.create_job(now, Duration::ZERO),
                    SecretVerdict::Different(paths) => {
                        self.end(Ending::Refused(Obstacle::SecretAltered(paths)))
                    }
                    SecretVerdict::Terminating => {
                        self.end(Ending::Conflict(Conflict::TerminatingSecret))
                    }
                };
            }
            Effect::Refused(refusal) => Some(refusal),
            Effect::Unknown(doubt) => {
                self.doubt_secret(&doubt);
                None
            }
        };
        self.phase = Phase::SettleSecret(refusal);
        send(vec![Request::ReadSecret])
    }

    fn secret_settled(
        &mut self,
        refusal: Option<Refusal>,
        reading: Reading<SecretFact>,
        now: &Moment,
    ) -> Action {
        match reading {
            Reading::Present(secret) => {
                self.secret = SecretState::Present;
                match self.secret_conflict(&secret) {
                    Some(action) => action,
                    None => self.create_job(now, Duration::ZERO),
                }
            }
            Reading::Absent => {
                self.secret = self.missing_secret();
                match refusal {
                    Some(refusal) if !refusal.may_pass() => {
                        self.refused("creating the Secret", refusal)
                    }
                    Some(refusal) => self.observe_again(passing(&refusal), now),
                    None => self.observe_again(lost("the answer to creating the Secret"), now),
                }
            }
            Reading::Refused(refusal) => self.refused_read("reading the Secret", refusal, now),
            Reading::Unknown(doubt) => self.again(vec![Request::ReadSecret], doubt, now),
        }
    }

    /// A create whose answer was lost may still land, so a Secret that was not seen may come.
    fn missing_secret(&self) -> SecretState {
        if self.secret_answer_lost { SecretState::Unknown } else { SecretState::Absent }
    }

    fn doubt_secret(&mut self, doubt: &Doubt) {
        self.secret_answer_lost |= !doubt.certainly_not_sent;
        self.secret = SecretState::Unknown;
    }

    fn secret_conflict(&mut self, secret: &SecretFact) -> Option<Action> {
        let conflict = match &secret.verdict {
            SecretVerdict::Same => return None,
            SecretVerdict::Different(paths) => Conflict::ForeignSecret(None, paths.clone()),
            SecretVerdict::Terminating => Conflict::TerminatingSecret,
        };
        Some(self.end(Ending::Conflict(conflict)))
    }

    /// Called only where our Secret was just seen, byte for byte.
    fn create_job(&mut self, now: &Moment, after: Duration) -> Action {
        if !self.is_permitted(now) {
            return self.observe(Duration::ZERO);
        }
        self.phase = Phase::CreateJob;
        Action::Send { after, requests: vec![Request::CreateJob(VerifiedSecret(()))] }
    }

    fn job_answered(&mut self, effect: Effect<JobFact>) -> Action {
        let refusal = match effect {
            Effect::Done(job) => {
                return match job.verdict.clone() {
                    JobVerdict::Same => self.end(Ending::Created(job)),
                    verdict => self.end(Ending::CreatedAltered(job, differences(verdict))),
                };
            }
            Effect::Refused(refusal) => Some(refusal),
            Effect::Unknown(doubt) => {
                self.job_answer_lost |= !doubt.certainly_not_sent;
                None
            }
        };
        self.phase = Phase::SettleJob(refusal);
        send(vec![Request::ReadJob])
    }

    fn job_settled(
        &mut self,
        refusal: Option<Refusal>,
        reading: Reading<JobFact>,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Action {
        match reading {
            Reading::Present(job) => {
                // Our Secret was seen before this create went out.
                let secret = SecretFact { uid: String::new(), verdict: SecretVerdict::Same };
                self.present(job, Some(secret), terms)
            }
            Reading::Absent => match refusal {
                // Only a clean no is a no: a create that was lost earlier may still land.
                Some(refusal) if !refusal.may_pass() && !self.job_answer_lost => {
                    self.refused("creating the Job", refusal)
                }
                Some(refusal) => self.observe_again(passing(&refusal), now),
                None => self.observe_again(lost("the answer to creating the Job"), now),
            },
            Reading::Refused(refusal) if self.job_answer_lost || refusal.is_too_many_requests() => {
                self.again(vec![Request::ReadJob], passing(&refusal), now)
            }
            Reading::Refused(refusal) => self.refused("reading the Job", refusal),
            Reading::Unknown(doubt) => self.again(vec![Request::ReadJob], doubt, now),
        }
    }

    /// A Job stands under our name.
    fn present(&mut self, job: JobFact, secret: Option<SecretFact>, terms: &dyn Terms) -> Action {
        if self.job_answer_lost && !matches!(job.verdict, JobVerdict::Foreign(_)) {
            self.remark(Remark::AnswerLost);
        }
        let names_ours = job.secret.as_deref() == Some(terms.secret_name());
        let ending = match job.verdict.clone() {
            JobVerdict::Foreign(paths) => {
                Ending::Conflict(Conflict::ForeignJob(job.clone(), paths))
            }
            JobVerdict::Altered(paths) => {
                Ending::Conflict(Conflict::AlteredJob(job.clone(), paths))
            }
            JobVerdict::Terminating => Ending::Conflict(Conflict::TerminatingJob(job.clone())),
            JobVerdict::Cancelled { at, by } => Ending::Cancelled { job: job.clone(), at, by },
            JobVerdict::Same => Ending::AlreadySubmitted(job.clone()),
        };
        if !names_ours && let Some(uid) = self.created_secret.clone() {
            self.phase = Phase::RemoveSecret(Box::new(ending));
            return send(vec![Request::DeleteSecret(uid)]);
        }
        let may_still_start =
            job.verdict == JobVerdict::Same && job.finished.is_none() && !terms.rehearse_only();
        match (may_still_start, names_ours, job.secret.clone()) {
            (true, true, _) => match secret.map(|secret| secret.verdict) {
                Some(SecretVerdict::Same) => self.end(ending),
                Some(SecretVerdict::Different(paths)) => {
                    self.end(Ending::Conflict(Conflict::ForeignSecret(Some(job), paths)))
                }
                Some(SecretVerdict::Terminating) | None => {
                    self.phase = Phase::RepairRecord(Box::new(job));
                    send(vec![Request::ReadRecord])
                }
            },
            (true, false, Some(named)) => {
                self.phase = Phase::LookForNamedSecret(Box::new(job));
                send(vec![Request::ReadNamedSecret(named)])
            }
            _ => self.end(ending),
        }
    }

    /// A missing Secret is created again only while no record says that a prune is under way.
    fn repair_allowed(
        &mut self,
        job: Box<JobFact>,
        record: Reading<RecordFact>,
        now: &Moment,
    ) -> Action {
        match record {
            Reading::Absent if self.is_permitted(now) => {
                self.phase = Phase::RepairSecret(job);
                send(vec![Request::CreateSecret])
            }
            Reading::Absent => self.observe(Duration::ZERO),
            Reading::Present(_) => self.end(Ending::AlreadySubmitted(*job)),
            Reading::Refused(refusal) if refusal.is_too_many_requests() => {
                self.observe_again(passing(&refusal), now)
            }
            Reading::Refused(refusal) => {
                self.not_repaired(*job, refused_with("reading the record", &refusal))
            }
            Reading::Unknown(doubt) => self.observe_again(doubt, now),
        }
    }

    fn repaired(&mut self, job: JobFact, effect: Effect<SecretFact>) -> Action {
        let refusal = match effect {
            Effect::Done(SecretFact { verdict, .. }) => {
                self.secret = SecretState::Created;
                return self.repair_seen(job, verdict);
            }
            Effect::Refused(refusal) => Some(refusal),
            Effect::Unknown(doubt) => {
                self.doubt_secret(&doubt);
                None
            }
        };
        self.phase = Phase::SettleRepair(Box::new(job), refusal);
        send(vec![Request::ReadSecret])
    }

    fn repair_seen(&mut self, job: JobFact, verdict: SecretVerdict) -> Action {
        match verdict {
            SecretVerdict::Same => {
                self.remark(Remark::SecretRepaired);
                self.end(Ending::AlreadySubmitted(job))
            }
            SecretVerdict::Different(paths) => {
                self.end(Ending::Conflict(Conflict::ForeignSecret(Some(job), paths)))
            }
            SecretVerdict::Terminating => {
                self.not_repaired(job, "the old one is still being deleted".to_owned())
            }
        }
    }

    /// The Job stands all the same, so this is no refusal: it would say that there is none.
    fn not_repaired(&mut self, job: JobFact, why: String) -> Action {
        self.remark(Remark::SecretNotRepaired(why));
        self.end(Ending::AlreadySubmitted(job))
    }

    fn repair_settled(
        &mut self,
        job: JobFact,
        refusal: Option<Refusal>,
        reading: Reading<SecretFact>,
        now: &Moment,
    ) -> Action {
        match reading {
            Reading::Present(SecretFact { verdict, .. }) => {
                self.secret = SecretState::Present;
                self.repair_seen(job, verdict)
            }
            Reading::Absent => match refusal {
                Some(refusal) if !refusal.may_pass() => {
                    self.not_repaired(job, refused_with("creating it again", &refusal))
                }
                Some(refusal) => self.observe_again(passing(&refusal), now),
                None => self.observe_again(lost("the answer to creating the Secret"), now),
            },
            Reading::Refused(refusal) if refusal.is_too_many_requests() => {
                self.again(vec![Request::ReadSecret], passing(&refusal), now)
            }
            Reading::Refused(refusal) => {
                self.not_repaired(job, refused_with("reading it", &refusal))
            }
            Reading::Unknown(doubt) => self.again(vec![Request::ReadSecret], doubt, now),
        }
    }

    /// Whether the reads still allow a create, by the boot-time clock and by the server's.
    fn is_permitted(&self, now: &Moment) -> bool {
        let Some(permitted) = &self.permitted else { return false };
        let by_boot = now.boot.saturating_sub(permitted.boot) <= self.limits.permission;
        let limit = SignedDuration::try_from(self.limits.permission).unwrap_or(SignedDuration::MAX);
        let by_server = match (permitted.server, now.server) {
            (Some(then), Some(now)) => now.duration_since(then) <= limit,
            _ => true,
        };
        by_boot && by_server
    }

    fn observe(&mut self, after: Duration) -> Action {
        self.phase = Phase::Observe;
        Action::Send { after, requests: observation() }
    }

    /// Everything again from the first read, since time passed or something moved.
    fn observe_again(&mut self, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(delay) => self.observe(delay),
            None => self.give_up(doubt),
        }
    }

    /// The same requests again in the same phase, after a while and a bounded number of times.
    fn again(&mut self, requests: Vec<Request>, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(after) => Action::Send { after, requests },
            None => self.give_up(doubt),
        }
    }

    fn delay(&mut self, doubt: &Doubt, now: &Moment) -> Option<Duration> {
        let delay =
            doubt.retry_after.unwrap_or_else(|| Duration::from_millis(200 << self.tries.min(8)));
        let would_end = now.boot.saturating_sub(self.started).saturating_add(delay);
        self.tries += 1;
        (self.tries <= self.limits.tries && would_end <= self.limits.total).then_some(delay)
    }

    fn give_up(&mut self, doubt: Doubt) -> Action {
        let may_run = self.may_run();
        self.end(Ending::Unknown { doubt, may_run })
    }

    fn refused_read(&mut self, request: &'static str, refusal: Refusal, now: &Moment) -> Action {
        if refusal.is_too_many_requests() || self.job_answer_lost {
            return self.observe_again(passing(&refusal), now);
        }
        self.refused(request, refusal)
    }

    fn refused(&mut self, request: &'static str, refusal: Refusal) -> Action {
        self.end(Ending::Refused(Obstacle::Refusal { request, refusal }))
    }

    fn remark(&mut self, remark: Remark) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// The one way out. An ending that would say that there is no Job is an unknown once the answer to
    /// a create was lost: that create may still land.
    fn end(&mut self, ending: Ending) -> Action {
        let ending = match no_job_because(&ending) {
            Some(why) if self.job_answer_lost => {
                let why = format!("the answer to creating the Job was lost, and then {why}");
                let doubt = Doubt { why, certainly_not_sent: false, retry_after: None };
                Ending::Unknown { doubt, may_run: true }
            }
            _ => ending,
        };
        Action::End(Box::new(self.clone().conclude(ending)))
    }

    fn conclude(self, ending: Ending) -> Conclusion {
        Conclusion {
            ending,
            namespace_uid: self.namespace_uid,
            secret: self.secret,
            remarks: self.remarks,
        }
    }
}

fn observation() -> Vec<Request> {
    vec![Request::ReadNamespace, Request::ReadJob, Request::ReadSecret]
}

fn send(requests: Vec<Request>) -> Action {
    Action::Send { after: Duration::ZERO, requests }
}

fn differences(verdict: JobVerdict) -> Vec<String> {
    match verdict {
        JobVerdict::Altered(paths) | JobVerdict::Foreign(paths) => paths,
        JobVerdict::Same | JobVerdict::Cancelled { .. } | JobVerdict::Terminating => Vec::new(),
    }
}

/// For an ending that says that no Job stands: what was found instead.
fn no_job_because(ending: &Ending) -> Option<String> {
    let why = match ending {
        Ending::Refused(Obstacle::Refusal { request, refusal }) => refused_with(request, refusal),
        Ending::Refused(Obstacle::NamespaceMissing) => "the namespace was gone".to_owned(),
        Ending::Refused(Obstacle::NamespaceDiffers { .. }) => {
            "the namespace was another".to_owned()
        }
        Ending::Refused(Obstacle::WouldAlter(_)) => {
            "the cluster would have changed the Job or the Secret".to_owned()
        }
        Ending::Refused(Obstacle::SecretAltered(_))
        | Ending::Conflict(Conflict::ForeignSecret(None, _)) => {
            "the Secret was not as it was rendered".to_owned()
        }
        Ending::Conflict(Conflict::TerminatingSecret) => "the Secret was being deleted".to_owned(),
        Ending::Conflict(Conflict::ForeignRecord(_)) => {
            "the record of another experiment was there".to_owned()
        }
        Ending::Invalid(_) => "the signatures no longer lived long enough".to_owned(),
        Ending::WouldCreate { .. } => "only a rehearsal was wanted".to_owned(),
        Ending::Created(_)
        | Ending::CreatedAltered(..)
        | Ending::AlreadySubmitted(_)
        | Ending::AlreadyRecorded(_)
        | Ending::Cancelled { .. }
        | Ending::Conflict(
            Conflict::ForeignJob(..)
            | Conflict::AlteredJob(..)
            | Conflict::TerminatingJob(_)
            | Conflict::ForeignSecret(Some(_), _),
        )
        | Ending::Unknown { .. } => return None,
    };
    Some(why)
}

/// A refusal in words, such as "reading the Job was refused with 403 Forbidden: ...".
pub(super) fn refused_with(request: &str, refusal: &Refusal) -> String {
    let Refusal { code, reason, message, .. } = refusal;
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    format!("{request} was refused with {code}{reason}: {message}")
}

fn lost(what: &str) -> Doubt {
    Doubt { why: format!("{what} was lost"), certainly_not_sent: false, retry_after: None }
}

/// A refusal that may pass, as the doubt that remains if it does not.
fn passing(refusal: &Refusal) -> Doubt {
    Doubt {
        why: format!(
            "the API server keeps answering {} {}: {}",
            refusal.code, refusal.reason, refusal.message
        ),
        certainly_not_sent: false,
        retry_after: refusal.retry_after,
    }
}
