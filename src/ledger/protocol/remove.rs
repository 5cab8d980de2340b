//! The way out of an experiment, with a licence: all its Secrets, then its Job.

use std::time::Duration;

use super::end::unclear;
use super::{Action, Command, Ending, Licence, Phase, Protocol, Request, Unclear, effects, send};
use crate::ledger::facts::{Effect, Fact, JobFact, Moment, Reading, RecordFact, SecretFact};

/// So many Secrets are deleted side by side.
const SIDE_BY_SIDE: usize = 8;

impl Protocol {
    pub(super) fn list_secrets(&mut self, licence: Licence, after: Duration) -> Action {
        self.phase = Phase::ListSecrets(licence);
        Action::Send { after, requests: vec![Request::ListSecrets] }
    }

    pub(super) fn secrets_listed(
        &mut self,
        licence: Licence,
        reading: Reading<Vec<SecretFact>>,
        now: &Moment,
    ) -> Action {
        let again = || vec![Request::ListSecrets];
        let secrets = match self.read("listing the Secrets", reading, again, now) {
            Err(action) => return action,
            Ok(secrets) => secrets.unwrap_or_default(),
        };
        self.settle_unclear(&secrets);
        let Some(job) = &self.job else { return self.look(Duration::ZERO) };
        if secrets.is_empty() && licence.is_recorded() {
            let uid = job.uid.clone();
            return self.remove_job(Request::DeleteJob { uid, resource_version: None, licence });
        }
        if secrets.is_empty() {
            self.phase = Phase::LastLook(licence);
            return send(vec![Request::ReadJob]);
        }
        self.phase = Phase::Reread(licence, secrets);
        send(vec![Request::ReadJob])
    }

    /// Only while the very Job still stands are the Secrets that were listed before its own.
    pub(super) fn reread(
        &mut self,
        licence: Licence,
        secrets: &[SecretFact],
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        let job = match self.read_job(reading, now) {
            Err(action) => return action,
            Ok(job) => job,
        };
        if let Some(action) = self.overtaken(job.as_ref()) {
            return action;
        }
        if let Some(why) = job.as_ref().and_then(|job| licence.lapsed(job)) {
            return self.end(Ending::NotReleased(why));
        }
        let (leaving, standing): (Vec<_>, Vec<_>) =
            secrets.iter().partition(|secret| secret.is_terminating);
        if standing.is_empty() {
            let names: Vec<&str> = leaving.iter().map(|secret| secret.name.as_str()).collect();
            let why = format!(
                "the Secret {} is being deleted and waits for its finalizers; its Job stands until it is gone",
                names.join(", ")
            );
            return match self.delay(&unclear(""), now) {
                Some(after) => self.list_secrets(licence, after),
                None => self.end(Ending::Incomplete(why)),
            };
        }
        let asked = at_once(standing);
        let requests = deletes(&asked);
        self.phase = Phase::RemoveSecrets(licence, asked);
        self.attempt("deleting a Secret", requests)
    }

    pub(super) fn secrets_removed(
        &mut self,
        licence: Licence,
        asked: &[SecretFact],
        facts: impl Iterator<Item = Fact>,
        now: &Moment,
    ) -> Action {
        match self.count_removed(asked, effects(facts)) {
            None => self.list_secrets(licence, Duration::ZERO),
            Some(doubt) => match self.delay(&doubt, now) {
                Some(after) => self.list_secrets(licence, after),
                None => self.end(Ending::Unknown(doubt)),
            },
        }
    }

    /// Notes what was answered to the deletes of these Secrets; what remains unclear after it.
    pub(super) fn count_removed(
        &mut self,
        asked: &[SecretFact],
        effects: Vec<Effect<()>>,
    ) -> Option<crate::ledger::facts::Doubt> {
        for (secret, effect) in asked.iter().zip(&effects) {
            match effect {
                Effect::Done(()) => self.note_removed(&secret.name),
                Effect::Unknown(doubt) if !doubt.certainly_not_sent => {
                    let (name, uid) = (secret.name.clone(), secret.uid.clone());
                    let unclear = Unclear { name, uid };
                    if !self.unclear.contains(&unclear) {
                        self.unclear.push(unclear);
                    }
                }
                Effect::Unknown(_) | Effect::Refused(_) => {}
            }
        }
        // One that is gone is as it should be.
        let gone = |effect: &Effect<()>| matches!(effect, Effect::Refused(no) if no.code == 404);
        self.worst(effects.into_iter().filter(|effect| !gone(effect)).collect())
    }

    fn note_removed(&mut self, name: &str) {
        if !self.secrets.iter().any(|one| one == name) {
            self.secrets.push(name.to_owned());
        }
    }

    /// What was asked to go without an answer, and is not listed any more, is gone.
    pub(super) fn settle_unclear(&mut self, listed: &[SecretFact]) {
        let stands = |one: &Unclear| listed.iter().any(|secret| secret.uid == one.uid);
        let (standing, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.unclear).into_iter().partition(stands);
        self.unclear = standing;
        for one in gone {
            self.note_removed(&one.name);
        }
    }

    /// A queue that stops and starts the Job gives it another pod, which may have run by now. Without a Secret none
    /// can start any more, so the Job as it is read here is the proof, and it goes in no other version.
    pub(super) fn looked_last(
        &mut self,
        licence: Licence,
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        let job = match self.read_job(reading, now) {
            Err(action) => return action,
            Ok(job) => job,
        };
        if let Some(action) = self.overtaken(job.as_ref()) {
            return action;
        }
        let Some(job) = job else { return self.look(Duration::ZERO) };
        if let Some(why) = licence.lapsed(&job) {
            return self.end(Ending::NotReleased(why));
        }
        let (uid, version) = (job.uid, Some(job.resource_version));
        self.remove_job(Request::DeleteJob { uid, resource_version: version, licence })
    }

    fn remove_job(&mut self, request: Request) -> Action {
        if let Request::DeleteJob { licence, .. } = &request {
            self.phase = Phase::RemoveJob(*licence);
        }
        self.attempt("deleting the Job", vec![request])
    }

    pub(super) fn job_answered(&mut self, licence: Licence, effect: Effect<()>) -> Action {
        // Whatever was answered, the server is read.
        let _ = self.worst(vec![effect]);
        self.phase = Phase::ConfirmGone(licence);
        send(vec![Request::ReadJob])
    }

    pub(super) fn confirmed(
        &mut self,
        licence: Licence,
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        let again = || vec![Request::ReadJob];
        let found = match self.read("reading the Job", reading, again, now) {
            Err(action) => return action,
            Ok(found) => found,
        };
        let Some(job) = self.job.clone() else { return self.look(Duration::ZERO) };
        match found {
            None => self.done(),
            Some(found) if found.uid != job.uid => {
                self.remark(if licence.is_recorded() {
                    "another Job of the same name has come since: it finds no Secret and cannot run, and the record \
                     keeps it from getting one"
                } else {
                    "the experiment was submitted again meanwhile"
                });
                self.done()
            }
            Some(found) => self.still_there(licence, found, now),
        }
    }

    fn still_there(&mut self, licence: Licence, found: JobFact, now: &Moment) -> Action {
        if let Some(finalizers) = found.terminating.clone() {
            self.job = Some(found);
            return match self.delay(&unclear(""), now) {
                Some(after) => Action::Send { after, requests: vec![Request::ReadJob] },
                None => self.end(Self::leaving(&finalizers)),
            };
        }
        // A Secret may have come since; the list is made again before the Job is tried again.
        let doubt = unclear("the Job was deleted and still stands");
        match self.delay(&doubt, now) {
            Some(after) => self.list_secrets(licence, after),
            None => self.end(Ending::Unknown(doubt)),
        }
    }

    /// Somebody else has removed the Job, or another stands there by now: its Secrets are not ours to touch.
    fn overtaken(&mut self, found: Option<&JobFact>) -> Option<Action> {
        let is_it = matches!((found, &self.job), (Some(found), Some(job)) if found.uid == job.uid);
        if is_it {
            return None;
        }
        self.remark("somebody else removed the Job meanwhile");
        Some(self.done())
    }

    fn done(&mut self) -> Action {
        match self.command {
            Command::Cancel => self.end(Ending::Cancelled),
            Command::Release => {
                self.phase = Phase::ConfirmFree;
                send(vec![Request::ReadRecord])
            }
            Command::Prune { .. } => self.end(Ending::Pruned),
            Command::Sweep { .. } => self.end(Ending::Swept),
        }
    }

    /// A prune at the same time may have recorded the Job, and then its identity is not free.
    pub(super) fn is_free(&mut self, reading: Reading<RecordFact>, now: &Moment) -> Action {
        let again = || vec![Request::ReadRecord];
        match self.read("reading the record", reading, again, now) {
            Err(action) => action,
            Ok(None) => self.end(Ending::Released),
            Ok(Some(found)) => {
                self.record = found.record.ok();
                self.end(Ending::NotReleased(
                    "it was recorded meanwhile, and a record is for ever".to_owned(),
                ))
            }
        }
    }
}

/// So many of these Secrets as are deleted side by side.
pub(super) fn at_once(standing: Vec<&SecretFact>) -> Vec<SecretFact> {
    standing.into_iter().take(SIDE_BY_SIDE).cloned().collect()
}

/// The requests that delete these Secrets.
pub(super) fn deletes(asked: &[SecretFact]) -> Vec<Request> {
    let request = |secret: &SecretFact| {
        let (name, uid) = (secret.name.clone(), secret.uid.clone());
        Request::DeleteSecret { name, uid }
    };
    asked.iter().map(request).collect()
}
