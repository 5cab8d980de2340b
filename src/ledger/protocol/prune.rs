//! `prune`: a Job that ended long ago by the server's clock makes place for its record.

use std::time::Duration;

use jiff::Timestamp;

use super::end::unclear;
use super::{Action, Ending, Protocol, is_older};
use crate::ledger::evidence;
use crate::ledger::facts::{JobFact, Moment, RecordFact};
use crate::render::compare::JobState;

/// When the Job ended, by the server's clock.
pub(in crate::ledger) fn ended(job: &JobFact) -> Option<Timestamp> {
    match &job.state {
        JobState::Succeeded { at } | JobState::Failed { at, .. } => *at,
        JobState::Queued | JobState::Pending | JobState::Running => None,
    }
}

/// Why a Job is not to be pruned yet, if so.
pub(in crate::ledger) fn keeps(
    job: &JobFact,
    older_than: Duration,
    now: Timestamp,
) -> Option<&'static str> {
    match ended(job) {
        _ if !job.state.is_terminal() => Some("it has not ended"),
        None => Some("it does not say when it ended"),
        Some(at) if !is_older(at, older_than, now) => Some("it ended too recently"),
        Some(_) => None,
    }
}

impl Protocol {
    pub(super) fn prune_looked(
        &mut self,
        job: &JobFact,
        older_than: Duration,
        now: &Moment,
    ) -> Action {
        // The local clock may be anything; the retention protects creates that are on their way.
        let Some(server) = now.server else {
            return self.end(Ending::Unknown(unclear("the API server does not tell the time")));
        };
        match keeps(job, older_than, server) {
            Some(why) => self.end(Ending::Kept(why.to_owned())),
            None => self.look_beside(),
        }
    }

    pub(super) fn prune_beside(
        &mut self,
        job: &JobFact,
        record: Option<RecordFact>,
        now: &Moment,
    ) -> Action {
        if let Some(record) = record {
            return self.go_on_from(job, &record, None);
        }
        match evidence::outcome(job, &self.pods) {
            Some(outcome) => self.start_record(job, outcome, now),
            None => self.end(Ending::Kept("it has not ended".to_owned())),
        }
    }
}
