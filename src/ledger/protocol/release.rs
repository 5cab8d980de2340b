//! `release`: the identity of an experiment that provably never ran is free again. Without the proof nothing changes.

use std::time::Duration;

use super::end::passing;
use super::{Action, Ending, Fate, Licence, Phase, Protocol, Request};
use crate::ledger::evidence;
use crate::ledger::facts::{Effect, JobFact, Moment, RecordFact};
use crate::render::compare::JobState;

impl Protocol {
    pub(super) fn release_looked(&mut self, job: &JobFact) -> Action {
        if let Some(finalizers) = &job.terminating {
            return self.end(Self::leaving(finalizers));
        }
        match job.state {
            JobState::Succeeded { .. } => {
                self.end(Ending::NotReleased("it ran and succeeded".to_owned()))
            }
            JobState::Failed { .. } | JobState::Queued | JobState::Pending | JobState::Running => {
                self.look_beside()
            }
        }
    }

    pub(super) fn release_beside(&mut self, job: &JobFact, record: Option<&RecordFact>) -> Action {
        if record.is_some() {
            return self.end(Ending::NotReleased(
                "there is a record of it, and a record is for ever".to_owned(),
            ));
        }
        let proven = match job.state {
            JobState::Failed { .. } => {
                evidence::failed_without_run(job, &self.pods).map(|()| Licence::never_ran())
            }
            JobState::Queued => {
                evidence::never_admitted(job, &self.pods).map(|()| Licence::never_admitted())
            }
            _ => return self.release_pending(job),
        };
        match proven {
            Ok(licence) => self.list_secrets(licence, Duration::ZERO),
            Err(why) => self.end(Ending::NotReleased(why)),
        }
    }

    fn release_pending(&mut self, job: &JobFact) -> Action {
        match evidence::pending_without_node(job, &self.pods) {
            Err(why) => self.end(Ending::NotReleased(why)),
            Ok(pod) if evidence::unbound_for_good(pod) => {
                self.list_secrets(Licence::never_ran(), Duration::ZERO)
            }
            Ok(pod) => {
                let request = Request::DeletePod {
                    name: pod.name.clone(),
                    uid: pod.uid.clone(),
                    resource_version: pod.resource_version.clone(),
                };
                self.phase = Phase::Prove;
                self.attempt("deleting the pod that has no node", vec![request])
            }
        }
    }

    /// The delete went through with the version that was seen without a node: no node ever had it.
    pub(super) fn proof_answered(&mut self, effect: Effect<()>, now: &Moment) -> Action {
        match effect {
            Effect::Done(()) => {
                self.pod = Fate::Gone;
                self.list_secrets(Licence::never_ran(), Duration::ZERO)
            }
            Effect::Unknown(doubt) => {
                if !doubt.certainly_not_sent && self.pod == Fate::Untouched {
                    self.pod = Fate::Unanswered;
                }
                self.look_again(doubt, now)
            }
            Effect::Refused(refusal) if refusal.may_pass() || refusal.code == 404 => {
                self.look_again(passing(&refusal), now)
            }
            Effect::Refused(refusal) => {
                self.end(Ending::Refused { request: "deleting the pod that has no node", refusal })
            }
        }
    }
}
