//! `prune --secrets-only`, and what `prune` does about Secrets without a finished Job: signed URLs that nothing needs
//! any more go, and nothing else.

use std::time::Duration;

use super::end::unclear;
use super::prune::keeps;
use super::remove::{at_once, deletes};
use super::{Action, Command, Ending, Phase, Protocol, Request, effects, is_older, send};
use crate::ledger::facts::{Fact, JobFact, Moment, Reading, SecretFact};

impl Protocol {
    pub(super) fn sweep_list(&mut self, after: Duration) -> Action {
        self.phase = Phase::SweepList;
        Action::Send { after, requests: vec![Request::ListSecrets] }
    }

    /// The Job is read after the Secrets were listed, so that none of them is younger than what the Job shows.
    pub(super) fn sweep_listed(
        &mut self,
        reading: Reading<Vec<SecretFact>>,
        now: &Moment,
    ) -> Action {
        let again = || vec![Request::ListSecrets];
        let secrets = match self.read("listing the Secrets", reading, again, now) {
            Err(action) => return action,
            Ok(secrets) => secrets.unwrap_or_default(),
        };
        self.settle_unclear(&secrets);
        self.phase = Phase::SweepLook(secrets);
        send(vec![Request::ReadJob])
    }

    pub(super) fn sweep_looked(
        &mut self,
        secrets: &[SecretFact],
        reading: Reading<JobFact>,
        now: &Moment,
    ) -> Action {
        let job = match self.read_job(reading, now) {
            Err(action) => return action,
            Ok(job) => job,
        };
        self.job.clone_from(&job);
        let (Command::Sweep { older_than }, Some(server)) = (self.command, now.server) else {
            return self.end(Ending::Unknown(unclear("the API server does not tell the time")));
        };
        if job.as_ref().is_some_and(|job| job.identity.is_none()) {
            return self.end(Ending::Conflict("the Job is no experiment of harness".to_owned()));
        }
        self.notice_a_loss(job.as_ref());
        let unneeded = |secret: &&SecretFact| is_unneeded(secret, job.as_ref(), older_than, server);
        let (leaving, standing): (Vec<_>, Vec<_>) =
            secrets.iter().filter(unneeded).partition(|secret| secret.is_terminating);
        if let (true, Some(first)) = (standing.is_empty(), leaving.first()) {
            let why =
                format!("the Secret {} is being deleted and waits for its finalizers", first.name);
            return match self.delay(&unclear(""), now) {
                Some(after) => self.sweep_list(after),
                None => self.end(Ending::Incomplete(why)),
            };
        }
        if standing.is_empty() {
            return self.nothing_unneeded();
        }
        let asked = at_once(standing);
        let requests = deletes(&asked);
        self.phase = Phase::SweepRemove(asked);
        self.attempt("deleting a Secret", requests)
    }

    fn nothing_unneeded(&mut self) -> Action {
        if let Some(one) = self.unclear.first() {
            let why = format!(
                "the removal of the Secret {} was not answered and may still come, though its Job needs it by now",
                one.name
            );
            return self.end(Ending::Unknown(unclear(why)));
        }
        self.end(if self.secrets.is_empty() {
            Ending::Kept("it has no Secret that nothing needs".to_owned())
        } else {
            Ending::Swept
        })
    }

    pub(super) fn swept(
        &mut self,
        asked: &[SecretFact],
        facts: impl Iterator<Item = Fact>,
        now: &Moment,
    ) -> Action {
        match self.count_removed(asked, effects(facts)) {
            None => self.sweep_list(Duration::ZERO),
            Some(doubt) => match self.delay(&doubt, now) {
                Some(after) => self.sweep_list(after),
                None => self.end(Ending::Unknown(doubt)),
            },
        }
    }

    /// A submission that found the old Secret may have made its Job in between; submitting again mends it.
    fn notice_a_loss(&mut self, job: Option<&JobFact>) {
        let needs = |job: &JobFact| {
            !job.state.is_terminal()
                && job.secret.as_ref().is_some_and(|named| self.secrets.contains(named))
        };
        if job.is_some_and(needs) {
            self.remark(
                "the experiment was submitted meanwhile with a Secret that was removed as unused; submit it again, \
                 which creates the Secret anew",
            );
        }
    }
}

/// Whether nothing needs the Secret: its Job ended long ago, or names another, or there is none; and it is old.
pub(in crate::ledger) fn is_unneeded(
    secret: &SecretFact,
    job: Option<&JobFact>,
    older_than: Duration,
    now: jiff::Timestamp,
) -> bool {
    let is_old = secret.created.is_some_and(|created| is_older(created, older_than, now));
    match job {
        Some(job) if job.state.is_terminal() => keeps(job, older_than, now).is_none(),
        Some(job) => is_old && job.secret.as_ref().is_some_and(|named| *named != secret.name),
        None => is_old,
    }
}
