//! Before anything exists: the reads that everything rests on, and the rehearsal of both creates.

use std::time::Duration;

use super::create::differences;
use super::end::passing;
use super::{Action, Phase, Protocol, Request, Terms, observation, send};
use crate::submit::ending::{Conflict, Ending, Obstacle, SecretState};
use crate::submit::facts::{
    Effect, JobFact, JobVerdict, Moment, NamespaceFact, Reading, RecordFact, Refusal, SecretFact,
    SecretVerdict,
};

impl Protocol {
    pub(super) fn observed(
        &mut self,
        namespace: Reading<NamespaceFact>,
        job: Reading<JobFact>,
        secret: Reading<SecretFact>,
        sent: &Moment,
        now: &Moment,
        terms: &dyn Terms,
    ) -> Action {
        self.note_secret(&secret);
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
        self.permitted = Some(*sent);
        if let Some(job) = job {
            return self.present(job, secret, terms);
        }
        if let Some(action) = secret.as_ref().and_then(|secret| self.secret_conflict(secret)) {
            return action;
        }
        self.rehearse(secret.is_some(), Duration::ZERO)
    }

    /// What the latest read shows, whatever the reads beside it say: an earlier one may be outdated.
    fn note_secret(&mut self, reading: &Reading<SecretFact>) {
        let was_created = self.secret == SecretState::Created;
        match reading {
            Reading::Absent => self.secret = self.missing_secret(),
            // Who created it knows more than a read tells.
            _ if was_created => {}
            Reading::Present(_) => self.secret = SecretState::Present,
            Reading::Refused(_) | Reading::Unknown(_) => self.secret = SecretState::Unknown,
        }
    }

    pub(super) fn check_namespace(
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
                let earlier = self.namespace_uid.replace(uid.clone());
                if earlier.is_some_and(|earlier| earlier != uid) {
                    return Err(self.end(Ending::Refused(Obstacle::NamespaceReplaced)));
                }
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
    pub(super) fn rehearse(&mut self, secret_is_present: bool, after: Duration) -> Action {
        let mut requests = vec![Request::ReadRecord, Request::RehearseJob];
        if !secret_is_present {
            requests.push(Request::RehearseSecret);
        }
        self.phase = Phase::Rehearse { secret_is_present };
        Action::Send { after, requests }
    }

    pub(super) fn rehearsed(
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
    pub(super) fn judge_rehearsal<T>(
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
            Effect::Refused(refusal) => Err(self.look_last(request, refusal)),
            Effect::Unknown(doubt) => Err(self.observe_again(doubt, now)),
        }
    }

    /// Quota, admission and rights refuse before the name is looked at, so a no says nothing about the Job.
    pub(super) fn look_last(&mut self, request: &'static str, refusal: Refusal) -> Action {
        self.phase = Phase::LastLook(request, refusal);
        send(vec![Request::ReadJob])
    }

    pub(super) fn looked_last(
        &mut self,
        request: &'static str,
        refusal: Refusal,
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        match reading {
            // Somebody else's, or ours after all: judged from the first read on.
            Reading::Present(_) => self.observe_at_once("the Job that was there was gone again"),
            Reading::Absent | Reading::Refused(_) => self.refused(request, refusal),
            Reading::Unknown(doubt) => self.again(vec![Request::ReadJob], doubt, now),
        }
    }
}
