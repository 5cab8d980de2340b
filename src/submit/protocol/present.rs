//! A Job stands under our name: what it is to us, and whether its Secret is there.

use super::end::{TOO_OLD, passing, refused_with};
use super::{Action, Phase, Protocol, Request, Terms, send};
use crate::submit::ending::{Conflict, Ending, Remark, SecretState};
use crate::submit::facts::{
    Effect, JobFact, JobVerdict, Moment, Reading, RecordFact, Refusal, SecretFact, SecretVerdict,
};

impl Protocol {
    /// A Job stands under our name.
    pub(super) fn present(
        &mut self,
        job: JobFact,
        secret: Option<SecretFact>,
        terms: &dyn Terms,
    ) -> Action {
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
        // A hand may have made the Job name two Secrets; one that is perhaps in use is left to `prune`.
        if !names_ours
            && !job.mentions_our_secret
            && let Some(uid) = self.created_secret.clone()
        {
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
    pub(super) fn repair_allowed(
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
            Reading::Absent => self.observe_at_once(TOO_OLD),
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

    pub(super) fn repaired(&mut self, job: JobFact, effect: Effect<SecretFact>) -> Action {
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

    pub(super) fn repair_seen(&mut self, job: JobFact, verdict: SecretVerdict) -> Action {
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
    pub(super) fn not_repaired(&mut self, job: JobFact, why: String) -> Action {
        self.remark(Remark::SecretNotRepaired(why));
        self.end(Ending::AlreadySubmitted(job))
    }

    pub(super) fn repair_settled(
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
                None => self.observe_again(self.lost("the answer to creating the Secret"), now),
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
}
