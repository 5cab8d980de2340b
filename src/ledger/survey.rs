//! `prune` of a whole namespace: finds what there is to do, page by page, and does it, a bounded number at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::drive::drive;
use super::facts::{JobFact, SecretFact};
use super::observe;
use super::protocol::{Command, Limits, keeps, unneeded};
use super::receipt::LedgerReceipt;
use crate::clock::Clock;
use crate::cluster::Resource;
use crate::cluster::pages::{Pages, Turn};
use crate::render::names::{MANAGED_BY, RESULT_IDENTITY};
use crate::submit::Api;

/// Never less: far longer than any `submit` lives.
pub const LEAST_RETENTION: Duration = Duration::from_hours(1);

/// So many times a page is asked for, and a list that expired begun again.
const TRIES: u32 = 5;

/// What a prune is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// How long a Job must have been finished, at least [`LEAST_RETENTION`].
    pub older_than: Duration,
    /// Only Secrets go, no Job.
    pub secrets_only: bool,
    /// Nothing goes.
    pub dry_run: bool,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The Job's name.
    pub name: String,
    /// What to do about it.
    pub command: Command,
    /// Names of the Secrets that the survey saw and that would go.
    pub secrets: Vec<String>,
}

/// What a survey found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// What there is to do, in the order of the names.
    pub tasks: Vec<Task>,
    /// How many experiments have a Job.
    pub jobs: usize,
}

/// Lists Jobs and Secrets, and says what of them is to go by the server's clock.
pub fn survey(api: &dyn Api, clock: &dyn Clock, wish: Wish) -> Result<Survey, String> {
    let mut dates = Dates::default();
    // Secrets first: one of a Job that comes in between is then not seen as one without a Job.
    let mut secrets: BTreeMap<String, Vec<SecretFact>> = BTreeMap::new();
    list(api, clock, Resource::Secrets, &mut dates, &mut |live| {
        if let Some(short) = live["metadata"]["labels"][RESULT_IDENTITY].as_str() {
            secrets.entry(format!("prediction-{short}")).or_default().push(observe::secret(live));
        }
    })?;
    let mut jobs: BTreeMap<String, JobFact> = BTreeMap::new();
    list(api, clock, Resource::Jobs, &mut dates, &mut |live| {
        let job = observe::job(live);
        if job.identity.is_some() {
            jobs.insert(job.name.clone(), job);
        }
    })?;
    let now = dates.earliest.ok_or("the API server does not tell the time (no `Date` header)")?;
    Ok(Survey { tasks: tasks(&secrets, &jobs, wish, now), jobs: jobs.len() })
}

/// What there is to do about these. Pure.
fn tasks(
    secrets: &BTreeMap<String, Vec<SecretFact>>,
    jobs: &BTreeMap<String, JobFact>,
    wish: Wish,
    now: Timestamp,
) -> Vec<Task> {
    let older_than = wish.older_than.max(LEAST_RETENTION);
    let names: BTreeSet<&String> = secrets.keys().chain(jobs.keys()).collect();
    let mut tasks = Vec::new();
    for name in names {
        let job = jobs.get(name);
        let own = secrets.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_due = job.is_some_and(|job| keeps(job, older_than, now).is_none());
        let going = own.iter().filter(|secret| unneeded(secret, job, older_than, now));
        let secrets: Vec<String> = going.map(|secret| secret.name.clone()).collect();
        let command = if is_due && !wish.secrets_only {
            Command::Prune { older_than }
        } else if secrets.is_empty() {
            continue;
        } else {
            Command::Sweep { older_than }
        };
        tasks.push(Task { name: name.clone(), command, secrets });
    }
    tasks
}

#[derive(Default)]
struct Dates {
    earliest: Option<Timestamp>,
}

/// Hands every object of one kind that harness made to `take`, page by page.
fn list(
    api: &dyn Api,
    clock: &dyn Clock,
    resource: Resource,
    dates: &mut Dates,
    take: &mut dyn FnMut(&Value),
) -> Result<(), String> {
    let selector = format!("{MANAGED_BY}=harness,{RESULT_IDENTITY}");
    let mut pages = Pages::new(resource, &selector);
    let mut failures = 0;
    while let Some(request) = pages.request(api.requests()) {
        let outcome = api.send(&request);
        if let Some(date) = outcome.date() {
            dates.earliest = Some(dates.earliest.map_or(date, |earliest| earliest.min(date)));
        }
        let (why, wait) = match pages.hear(outcome) {
            Turn::Page { items, .. } => {
                items.iter().for_each(&mut *take);
                continue;
            }
            Turn::Halved => continue,
            // What was taken stays right: facts are looked at again before anything goes.
            Turn::Forgotten(status) => (status.to_string(), None),
            Turn::Refused(status) if status.code == 429 => (status.to_string(), status.retry_after),
            Turn::Refused(status) => {
                return Err(format!("listing {}: {status}", resource.plural()));
            }
            Turn::Unknown(unknown) => (unknown.to_string(), unknown.retry_after),
        };
        failures += 1;
        if failures >= TRIES {
            return Err(format!("listing {}: {why}", resource.plural()));
        }
        clock.sleep(wait.unwrap_or(Duration::from_millis(200 << failures)));
    }
    Ok(())
}

/// Does every task, at most `jobs` at a time; `done` hears of each receipt as it comes.
#[expect(clippy::too_many_arguments, reason = "it is the one place that everything meets")]
pub fn carry_out(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    tasks: &[Task],
    dry_run: bool,
    jobs: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(&LedgerReceipt) + Sync),
) -> Vec<LedgerReceipt> {
    let next = AtomicUsize::new(0);
    let receipts = Mutex::new(BTreeMap::new());
    let namespace = api.requests().namespace();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else { return };
            let receipt = if dry_run {
                LedgerReceipt::would(namespace, task)
            } else if stop.load(Ordering::Relaxed) {
                LedgerReceipt::not_started(namespace, task)
            } else {
                let driven = drive(api, clock, limits, task.command, &task.name, stop);
                LedgerReceipt::of(namespace, &task.name, task.command, driven)
            };
            done(&receipt);
            receipts
                .lock()
                .expect("no worker panics while it holds the lock")
                .insert(index, receipt);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(tasks.len()) {
            scope.spawn(work);
        }
        work();
    });
    receipts.into_inner().expect("all workers have ended").into_values().collect()
}

#[cfg(test)]
mod tests;
