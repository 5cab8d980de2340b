//! The record, before anything goes: created, read back, compared.

use std::time::Duration;

use super::end::unclear;
use super::{Action, Ending, Phase, Protocol, Request, send};
use crate::ledger::evidence;
use crate::ledger::facts::{Effect, JobFact, Moment, Reading, RecordFact, Suspension};
use crate::render::compare::JobState;
use crate::submit::record::{Record, SCHEMA_VERSION};

/// What allows a Job to be deleted: only the protocol makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Licence(Ground);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ground {
    Recorded,
    NeverRan,
    NeverAdmitted,
}

impl Licence {
    /// For a Job whose `run` provably never started.
    pub(super) fn never_ran() -> Self {
        Self(Ground::NeverRan)
    }

    /// For a Job that is suspended and never was anything else.
    pub(super) fn never_admitted() -> Self {
        Self(Ground::NeverAdmitted)
    }

    /// Why what this rests on does not hold any more.
    pub(super) fn lapsed(self, job: &JobFact) -> Option<String> {
        match (self.0, job.suspension) {
            (Ground::Recorded, _) | (Ground::NeverAdmitted, Suspension::SinceCreation) => None,
            (Ground::NeverRan, Suspension::No) => evidence::traceable(job).err(),
            (Ground::NeverRan, _) => Some(
                "it was suspended meanwhile and may start at any moment".to_owned(),
            ),
            (Ground::NeverAdmitted, _) => Some(
                "its queue started it meanwhile; where its Secret is gone already, it cannot run until it is submitted \
                 again".to_owned(),
            ),
        }
    }

    /// Whether a record keeps the identity refused.
    pub(super) fn is_recorded(self) -> bool {
        self.0 == Ground::Recorded
    }
}

impl Protocol {
    pub(super) fn start_record(&mut self, job: &JobFact, outcome: &str, now: &Moment) -> Action {
        let known = (now.server, &job.identity, &self.namespace_uid, &self.who);
        let (Some(at), Some(identity), Some(namespace_uid), Some(who)) = known else {
            return self.end(Ending::Unknown(unclear("the API server does not tell the time")));
        };
        let own: Vec<_> = evidence::own(job, &self.pods).collect();
        let mut image_ids: Vec<String> =
            own.iter().flat_map(|pod| pod.image_ids.iter().cloned()).collect();
        image_ids.sort();
        image_ids.dedup();
        let finished_at = match &job.state {
            JobState::Succeeded { at } | JobState::Failed { at, .. } => *at,
            JobState::Queued | JobState::Pending | JobState::Running => None,
        };
        let record = Record {
            schema_version: SCHEMA_VERSION.to_owned(),
            job_name: job.name.clone(),
            job_uid: job.uid.clone(),
            namespace_uid: namespace_uid.clone(),
            result_identity: identity.result.clone(),
            submission_digest: identity.submission.clone(),
            outcome: outcome.to_owned(),
            started_at: job.started_at.clone(),
            finished_at: finished_at.map(|at| at.to_string()),
            evidence_digest: own.iter().find_map(|pod| pod.evidence_digest.clone()),
            image_ids,
            recorded_by: who.clone(),
            recorded_at: at.to_string(),
        };
        self.create_record(Box::new(record), Duration::ZERO)
    }

    fn create_record(&mut self, record: Box<Record>, after: Duration) -> Action {
        self.phase = Phase::Record(record.clone());
        Action::Send { after, requests: vec![Request::CreateRecord(record)] }
    }

    pub(super) fn record_answered(&mut self, record: Box<Record>, effect: Effect<()>) -> Action {
        self.refused = None;
        // Whatever was answered, the server is read: somebody else may have recorded it first.
        let _ = self.worst(vec![effect]);
        self.phase = Phase::ConfirmRecord(record);
        send(vec![Request::ReadRecord])
    }

    pub(super) fn record_read(
        &mut self,
        ours: Box<Record>,
        reading: Reading<RecordFact>,
        now: &Moment,
    ) -> Action {
        let again = || vec![Request::ReadRecord];
        let found = match self.read("reading the record", reading, again, now) {
            Err(action) => return action,
            Ok(found) => found,
        };
        let Some(job) = self.job.clone() else { return self.look(Duration::ZERO) };
        match (found, self.refused.take()) {
            (Some(record), _) => self.go_on_from(&job, &record, Some(&ours)),
            (None, Some(refusal)) => {
                self.end(Ending::Refused { request: "creating the record", refusal })
            }
            (None, None) => {
                let doubt = unclear("the record was created and is not there");
                match self.delay(&doubt, now) {
                    Some(after) => self.create_record(ours, after),
                    None => self.end(Ending::Unknown(doubt)),
                }
            }
        }
    }

    /// Whether this is the record of this very Job, and cannot be changed.
    pub(super) fn licence(
        &mut self,
        job: &JobFact,
        found: &RecordFact,
        ours: Option<&Record>,
    ) -> Result<Licence, String> {
        let record = found
            .record
            .clone()
            .map_err(|problem| format!("the record beside the Job cannot be read: {problem}"))?;
        if !found.is_immutable {
            return Err(
                "the record beside the Job is not immutable, so it proves nothing".to_owned()
            );
        }
        let identity = job.identity.as_ref();
        let pairs = [
            ("job_name", record.job_name == job.name),
            ("job_uid", record.job_uid == job.uid),
            ("namespace_uid", self.namespace_uid.as_ref() == Some(&record.namespace_uid)),
            ("result_identity", identity.is_some_and(|one| one.result == record.result_identity)),
            (
                "submission_digest",
                identity.is_some_and(|one| one.submission == record.submission_digest),
            ),
        ];
        let differing: Vec<&str> =
            pairs.iter().filter(|(_, same)| !same).map(|(field, _)| *field).collect();
        if !differing.is_empty() {
            return Err(format!(
                "the record beside the Job is that of another Job: {} differ",
                differing.join(", ")
            ));
        }
        let is_ours = |ours: &Record| {
            ours.recorded_at == record.recorded_at && ours.recorded_by == record.recorded_by
        };
        if ours.is_some_and(|ours| is_ours(ours) && *ours != record) {
            return Err("the record was changed on its way".to_owned());
        }
        self.record = Some(record);
        Ok(Licence(Ground::Recorded))
    }
}
