//! Creating: the Secret first, the Job only with the Secret verified; what is unclear is read.

use std::time::Duration;

use super::end::{TOO_OLD, passing};
use super::{Action, Phase, Protocol, Request, Terms, send};
use crate::submit::ending::{Conflict, Ending, Obstacle, SecretState};
use crate::submit::facts::{
    Doubt, Effect, JobFact, JobVerdict, Moment, Reading, Refusal, SecretFact, SecretVerdict,
};

/// Proof that our Secret was seen in the cluster, byte for byte. Only the protocol makes one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VerifiedSecret(());

impl Protocol {
    pub(super) fn create_secret(&mut self, now: &Moment, after: Duration) -> Action {
        if !self.is_permitted(now) {
            return self.observe_at_once(TOO_OLD);
        }
        self.phase = Phase::CreateSecret;
        Action::Send { after, requests: vec![Request::CreateSecret] }
    }

    pub(super) fn secret_answered(&mut self, effect: Effect<SecretFact>, now: &Moment) -> Action {
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

    pub(super) fn secret_settled(
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
                        self.look_last("creating the Secret", refusal)
                    }
                    Some(refusal) => self.observe_again(passing(&refusal), now),
                    None => self.observe_again(self.lost("the answer to creating the Secret"), now),
                }
            }
            Reading::Refused(refusal) => self.refused_read("reading the Secret", refusal, now),
            Reading::Unknown(doubt) => self.again(vec![Request::ReadSecret], doubt, now),
        }
    }

    /// A create whose answer was lost may still land, so a Secret that was not seen may come.
    pub(super) fn missing_secret(&self) -> SecretState {
        if self.secret_answer_lost { SecretState::Unknown } else { SecretState::Absent }
    }

    pub(super) fn doubt_secret(&mut self, doubt: &Doubt) {
        self.secret_answer_lost |= !doubt.certainly_not_sent;
        self.why_lost = Some(doubt.why.clone());
        self.secret = SecretState::Unknown;
    }

    pub(super) fn secret_conflict(&mut self, secret: &SecretFact) -> Option<Action> {
        let conflict = match &secret.verdict {
            SecretVerdict::Same => return None,
            SecretVerdict::Different(paths) => Conflict::ForeignSecret(None, paths.clone()),
            SecretVerdict::Terminating => Conflict::TerminatingSecret,
        };
        Some(self.end(Ending::Conflict(conflict)))
    }

    /// Called only where our Secret was just seen, byte for byte.
    pub(super) fn create_job(&mut self, now: &Moment, after: Duration) -> Action {
        if !self.is_permitted(now) {
            return self.observe_at_once(TOO_OLD);
        }
        self.phase = Phase::CreateJob;
        Action::Send { after, requests: vec![Request::CreateJob(VerifiedSecret(()))] }
    }

    pub(super) fn job_answered(&mut self, effect: Effect<JobFact>) -> Action {
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
                self.why_lost = Some(doubt.why);
                None
            }
        };
        self.phase = Phase::SettleJob(refusal);
        send(vec![Request::ReadJob])
    }

    pub(super) fn job_settled(
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
                None => self.observe_again(self.lost("the answer to creating the Job"), now),
            },
            // After "already exists" a Job stands, and whose it is only a read tells.
            Reading::Refused(unread)
                if self.job_answer_lost
                    || unread.is_too_many_requests()
                    || refusal.as_ref().is_some_and(Refusal::may_pass) =>
            {
                self.again(vec![Request::ReadJob], passing(&unread), now)
            }
            Reading::Refused(unread) => self.refused("reading the Job", unread),
            Reading::Unknown(doubt) => self.again(vec![Request::ReadJob], doubt, now),
        }
    }
}

pub(super) fn differences(verdict: JobVerdict) -> Vec<String> {
    match verdict {
        JobVerdict::Altered(paths) | JobVerdict::Foreign(paths) => paths,
        JobVerdict::Same | JobVerdict::Cancelled { .. } | JobVerdict::Terminating => Vec::new(),
    }
}
