//! `cancel`: the run ends, and that it ran stays.
//!
//! Who and when stand on the Job before anything else changes. A pod on a node is ended by its own deadline, which
//! keeps it and its logs; a Job without one by the Job's. A suspended Job, for which deadlines do nothing, is replaced
//! by its record.

use std::time::Duration;

use super::end::unclear;
use super::{Action, Ending, Phase, Protocol, Request};
use crate::ledger::evidence::own;
use crate::ledger::facts::{Earlier, JobFact, Moment, RecordFact};

/// The shortest deadline that the API server takes.
const SHORTEST: i64 = 1;

impl Protocol {
    pub(super) fn cancel_looked(&mut self, job: &JobFact) -> Action {
        if job.state.is_terminal() && job.terminating.is_none() {
            let was_cancelled = job.cancelled.is_some();
            return self.end(if was_cancelled {
                Ending::Cancelled
            } else {
                Ending::AlreadyFinished
            });
        }
        self.look_beside()
    }

    pub(super) fn cancel_beside(
        &mut self,
        job: &JobFact,
        record: Option<RecordFact>,
        now: &Moment,
    ) -> Action {
        if let Some(record) = record {
            // A cancel of a suspended Job was interrupted after its record.
            return self.go_on_from(job, &record, None);
        }
        if let Some(finalizers) = &job.terminating {
            return self.end(Self::leaving(finalizers));
        }
        if job.cancelled.is_none() {
            return self.mark(job, now);
        }
        if job.is_suspended() {
            return self.start_record(job, "cancelled", now);
        }
        let lowering = self.lowering(job);
        if lowering.is_empty() {
            return self.end(Ending::CancelRequested);
        }
        self.phase = Phase::Lower;
        self.attempt("lowering the deadline", lowering)
    }

    fn mark(&mut self, job: &JobFact, now: &Moment) -> Action {
        let (Some(at), Some(by)) = (now.server, self.who.clone()) else {
            return self.end(Ending::Unknown(unclear("the API server does not tell the time")));
        };
        self.phase = Phase::Mark;
        let request = Request::MarkJob {
            uid: job.uid.clone(),
            resource_version: job.resource_version.clone(),
            at: at.to_string(),
            by,
            lower: job.is_suspended(),
        };
        self.attempt("marking the Job as cancelled", vec![request])
    }

    /// The deadlines that are still to be lowered.
    fn lowering(&self, job: &JobFact) -> Vec<Request> {
        let own: Vec<_> = own(job, &self.pods).collect();
        let running = own.iter().filter(|pod| pod.is_bound && !pod.is_over);
        let mut requests: Vec<Request> = running
            .clone()
            .filter(|pod| !pod.is_terminating && is_longer(pod.deadline))
            .map(|pod| Request::LowerPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                resource_version: pod.resource_version.clone(),
            })
            .collect();
        // A pod that is over ends its Job by itself, perhaps with success; only a restart would follow it.
        let may_get_a_pod = own.is_empty()
            || own.iter().any(|pod| !pod.is_bound)
            || job.earlier_pods == Some(Earlier::Restarted);
        if running.count() == 0 && may_get_a_pod && is_longer(job.deadline) {
            requests.push(Request::LowerJob {
                uid: job.uid.clone(),
                resource_version: job.resource_version.clone(),
            });
        }
        requests
    }

    /// A record was found beside the Job, or made: on with it if it is this Job's.
    pub(super) fn go_on_from(
        &mut self,
        job: &JobFact,
        record: &RecordFact,
        ours: Option<&crate::submit::record::Record>,
    ) -> Action {
        match self.licence(job, record, ours) {
            Ok(licence) => self.list_secrets(licence, Duration::ZERO),
            Err(conflict) => self.end(Ending::Conflict(conflict)),
        }
    }
}

fn is_longer(deadline: Option<i64>) -> bool {
    deadline.is_none_or(|seconds| seconds > SHORTEST)
}
