//! How to go on after what is unclear, and how to end.

use std::time::Duration;

use super::{Action, Conclusion, Ending, Protocol, Request};
use crate::ledger::facts::{Doubt, Effect, JobFact, Moment, Reading, Refusal};

impl Protocol {
    /// What a read showed; where it showed nothing, what to do about that.
    pub(super) fn read<T>(
        &mut self,
        what: &'static str,
        reading: Reading<T>,
        again: impl Fn() -> Vec<Request>,
        now: &Moment,
    ) -> Result<Option<T>, Action> {
        match reading {
            Reading::Present(fact) => Ok(Some(fact)),
            Reading::Absent => Ok(None),
            Reading::Refused(refusal) if refusal.is_too_many_requests() => {
                Err(self.again(again(), passing(&refusal), now))
            }
            Reading::Refused(refusal) => Err(self.end(Ending::Refused { request: what, refusal })),
            Reading::Unknown(doubt) => Err(self.again(again(), doubt, now)),
        }
    }

    /// A Job that was read alone.
    pub(super) fn read_job(
        &mut self,
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Result<Option<JobFact>, Action> {
        self.read("reading the Job", reading, || vec![Request::ReadJob], now)
    }

    /// The same requests again in the same phase, after a while and a bounded number of times.
    pub(super) fn again(&mut self, requests: Vec<Request>, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(after) => Action::Send { after, requests },
            None => self.end(Ending::Unknown(doubt)),
        }
    }

    /// From the first read on, after a while and a bounded number of times.
    pub(super) fn look_again(&mut self, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(after) => self.look(after),
            None => self.end(Ending::Unknown(doubt)),
        }
    }

    pub(super) fn delay(&mut self, doubt: &Doubt, now: &Moment) -> Option<Duration> {
        let delay =
            doubt.retry_after.unwrap_or_else(|| Duration::from_millis(200 << self.tries.min(8)));
        let would_end = now.boot.saturating_sub(self.started).saturating_add(delay);
        self.tries += 1;
        (self.tries <= self.limits.tries && would_end <= self.limits.total).then_some(delay)
    }

    /// After changes were sent: the server is read again, whatever they were answered. A clean no is remembered, and
    /// is the end if the same change turns out to be needed still.
    pub(super) fn changed(&mut self, effects: Vec<Effect<()>>, now: &Moment) -> Action {
        match self.worst(effects) {
            None => self.look(Duration::ZERO),
            Some(doubt) => self.look_again(doubt, now),
        }
    }

    /// What remains unclear after these effects; a clean no is kept for [`Self::attempt`].
    pub(super) fn worst(&mut self, effects: Vec<Effect<()>>) -> Option<Doubt> {
        let mut worst = None;
        for effect in effects {
            match effect {
                Effect::Done(()) => {}
                Effect::Unknown(doubt) => worst = Some(doubt),
                // Gone, or changed since it was read: the next look tells.
                Effect::Refused(refusal) if refusal.may_pass() || refusal.code == 404 => {
                    worst.get_or_insert_with(|| passing(&refusal));
                }
                Effect::Refused(refusal) => {
                    worst.get_or_insert_with(|| passing(&refusal));
                    self.refused = Some(refusal);
                }
            }
        }
        worst
    }

    /// Sends a change, unless the server has already said no to the same one.
    pub(super) fn attempt(&mut self, what: &'static str, requests: Vec<Request>) -> Action {
        match self.refused.take() {
            Some(refusal) if self.attempted == Some(what) => {
                self.end(Ending::Refused { request: what, refusal })
            }
            _ => {
                self.attempted = Some(what);
                super::send(requests)
            }
        }
    }

    pub(super) fn remark(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    pub(super) fn end(&mut self, ending: Ending) -> Action {
        Action::End(Box::new(self.clone().conclude(ending)))
    }

    pub(super) fn conclude(self, ending: Ending) -> Conclusion {
        Conclusion {
            ending,
            namespace_uid: self.namespace_uid,
            job: self.job,
            record: self.record,
            secrets: self.secrets,
            unclear: self.unclear.into_iter().map(|one| one.name).collect(),
            pod: self.pod,
            remarks: self.remarks,
        }
    }

    /// The Job is being deleted, and something must let it go first.
    pub(super) fn leaving(finalizers: &[String]) -> Ending {
        let waits = match finalizers {
            [] => "it should be gone in a moment".to_owned(),
            names => format!("it waits for the finalizers {}", names.join(", ")),
        };
        Ending::Incomplete(format!("the Job is being deleted; {waits}"))
    }
}

/// A refusal that may pass, as the doubt that remains if it does not.
pub(super) fn passing(refusal: &Refusal) -> Doubt {
    let Refusal { code, reason, message, retry_after } = refusal;
    Doubt {
        why: format!("the API server keeps answering {code} {reason}: {message}"),
        certainly_not_sent: false,
        retry_after: *retry_after,
    }
}

/// Nothing is clear but that it is not done.
pub(super) fn unclear(why: impl Into<String>) -> Doubt {
    Doubt { why: why.into(), certainly_not_sent: false, retry_after: None }
}
