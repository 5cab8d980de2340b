//! How long to go on, and how to end: permission, patience, and the one way out.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Action, Phase, Protocol, Request, observation};
use crate::submit::ending::{Conclusion, Conflict, Ending, Obstacle, Remark};
use crate::submit::facts::{Doubt, Moment, Refusal};

/// Why a create does not go out though the reads allowed it.
pub(super) const TOO_OLD: &str = "what was read was too old each time it allowed a create: answers take minutes, or the \
clocks of the API servers differ by minutes";

impl Protocol {
    /// Whether the reads still allow a create, by the boot-time clock and by the server's.
    pub(super) fn is_permitted(&self, now: &Moment) -> bool {
        let Some(permitted) = &self.permitted else { return false };
        let by_boot = now.boot.saturating_sub(permitted.boot) <= self.limits.permission;
        let limit = SignedDuration::try_from(self.limits.permission).unwrap_or(SignedDuration::MAX);
        let by_server = match (permitted.server, now.server) {
            (Some(then), Some(now)) => now.duration_since(then) <= limit,
            _ => true,
        };
        by_boot && by_server
    }

    pub(super) fn observe(&mut self, after: Duration) -> Action {
        self.phase = Phase::Observe;
        Action::Send { after, requests: observation() }
    }

    /// Everything again from the first read without a wait, a bounded number of times: where the clocks of
    /// two API servers differ by more than the limit, what one reads is always too old for the other.
    pub(super) fn observe_at_once(&mut self, why: &str) -> Action {
        self.tries += 1;
        if self.tries <= self.limits.tries {
            return self.observe(Duration::ZERO);
        }
        let doubt = Doubt { why: why.to_owned(), certainly_not_sent: false, retry_after: None };
        self.give_up(doubt)
    }

    /// Everything again from the first read, since time passed or something moved.
    pub(super) fn observe_again(&mut self, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(delay) => self.observe(delay),
            None => self.give_up(doubt),
        }
    }

    /// The same requests again in the same phase, after a while and a bounded number of times.
    pub(super) fn again(&mut self, requests: Vec<Request>, doubt: Doubt, now: &Moment) -> Action {
        match self.delay(&doubt, now) {
            Some(after) => Action::Send { after, requests },
            None => self.give_up(doubt),
        }
    }

    pub(super) fn delay(&mut self, doubt: &Doubt, now: &Moment) -> Option<Duration> {
        let delay =
            doubt.retry_after.unwrap_or_else(|| Duration::from_millis(200 << self.tries.min(8)));
        let would_end = now.boot.saturating_sub(self.started).saturating_add(delay);
        self.tries += 1;
        (self.tries <= self.limits.tries && would_end <= self.limits.total).then_some(delay)
    }

    pub(super) fn give_up(&mut self, doubt: Doubt) -> Action {
        let may_run = self.may_run();
        self.end(Ending::Unknown { doubt, may_run })
    }

    pub(super) fn refused_read(
        &mut self,
        request: &'static str,
        refusal: Refusal,
        now: &Moment,
    ) -> Action {
        if refusal.is_too_many_requests() || self.job_answer_lost {
            return self.observe_again(passing(&refusal), now);
        }
        self.refused(request, refusal)
    }

    pub(super) fn refused(&mut self, request: &'static str, refusal: Refusal) -> Action {
        self.end(Ending::Refused(Obstacle::Refusal { request, refusal }))
    }

    /// An answer was lost, and why.
    pub(super) fn lost(&self, what: &str) -> Doubt {
        let why = match &self.why_lost {
            Some(why) => format!("{what} was lost: {why}"),
            None => format!("{what} was lost"),
        };
        Doubt { why, certainly_not_sent: false, retry_after: None }
    }

    pub(super) fn remark(&mut self, remark: Remark) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// The one way out. An ending that would say that there is no Job is an unknown once the answer to
    /// a create was lost: that create may still land.
    pub(super) fn end(&mut self, ending: Ending) -> Action {
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

    pub(super) fn conclude(self, ending: Ending) -> Conclusion {
        Conclusion {
            ending,
            namespace_uid: self.namespace_uid,
            secret: self.secret,
            remarks: self.remarks,
        }
    }
}

/// For an ending that says that no Job stands: what was found instead.
pub(super) fn no_job_because(ending: &Ending) -> Option<String> {
    let why = match ending {
        Ending::Refused(Obstacle::Refusal { request, refusal }) => refused_with(request, refusal),
        Ending::Refused(Obstacle::NamespaceMissing) => "the namespace was gone".to_owned(),
        Ending::Refused(Obstacle::NamespaceDiffers { .. }) => {
            "the namespace was another".to_owned()
        }
        Ending::Refused(Obstacle::NamespaceReplaced) => "the namespace was made anew".to_owned(),
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
pub(in crate::submit) fn refused_with(request: &str, refusal: &Refusal) -> String {
    let Refusal { code, reason, message, .. } = refusal;
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    format!("{request} was refused with {code}{reason}: {message}")
}

/// A refusal that may pass, as the doubt that remains if it does not.
pub(super) fn passing(refusal: &Refusal) -> Doubt {
    Doubt {
        why: format!(
            "the API server keeps answering {} {}: {}",
            refusal.code, refusal.reason, refusal.message
        ),
        certainly_not_sent: false,
        retry_after: refusal.retry_after,
    }
}
