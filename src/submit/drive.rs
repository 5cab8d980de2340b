//! Carries out what the protocol decides: sends, waits, comes back with facts. It decides nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::ending::Conclusion;
use super::facts::Moment;
use super::observe;
use super::plan::Plan;
use super::protocol::{Action, Limits, Protocol, Request};
use crate::clock::Clock;
use crate::cluster::{self, DryRun, Outcome, Preconditions, Requests};

/// Whoever sends requests: the cluster, or what stands for it.
pub trait Api: Sync {
    /// Makes requests of the one namespace.
    fn requests(&self) -> &Requests;
    /// Sends one request, once.
    fn send(&self, request: &cluster::Request) -> Outcome;
}

impl Api for cluster::Connection {
    fn requests(&self) -> &Requests {
        self.requests()
    }

    fn send(&self, request: &cluster::Request) -> Outcome {
        self.send(request)
    }
}

/// What one submission ended with, and what else came to light.
#[derive(Debug)]
pub struct Driven {
    /// The end.
    pub conclusion: Conclusion,
    /// The server's warnings, in order, each once; text that is not ours.
    pub warnings: Vec<String>,
    /// The server's clock minus the local one, in seconds, by the first answer.
    pub clock_skew: Option<i64>,
}

/// The longest uninterruptible nap.
const NAP: Duration = Duration::from_millis(50);

/// Drives one plan to its end, or to a stop from outside.
pub fn drive(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    plan: &Plan<'_>,
    stop: &AtomicBool,
) -> Driven {
    let mut driver =
        Driver { api, clock, plan, server: None, warnings: Vec::new(), clock_skew: None };
    let (mut protocol, mut action) = Protocol::start(limits, &driver.moment());
    let conclusion = loop {
        let (after, requests) = match action {
            Action::End(conclusion) => break *conclusion,
            Action::Send { after, requests } => (after, requests),
        };
        if !driver.wait(after, stop) {
            break protocol.stop("stopped before it was decided");
        }
        let mut sent = driver.moment();
        let outcomes = driver.send(&requests);
        // A machine may be paused between two requests of one action, and the boot-time clock with it.
        sent.server = outcomes.iter().filter_map(date).min().or(sent.server);
        let facts = requests
            .iter()
            .zip(outcomes)
            .map(|(request, outcome)| observe::judge(request, outcome, plan.bundle()))
            .collect();
        action = protocol.next(facts, &sent, &driver.moment(), plan);
    };
    Driven { conclusion, warnings: driver.warnings, clock_skew: driver.clock_skew }
}

struct Driver<'a> {
    api: &'a dyn Api,
    clock: &'a dyn Clock,
    plan: &'a Plan<'a>,
    server: Option<Timestamp>,
    warnings: Vec<String>,
    clock_skew: Option<i64>,
}

impl Driver<'_> {
    fn moment(&self) -> Moment {
        Moment { boot: self.clock.boottime(), local: self.clock.now(), server: self.server }
    }

    /// Waits unless stopped; says whether to go on.
    fn wait(&self, after: Duration, stop: &AtomicBool) -> bool {
        let end = self.clock.boottime().saturating_add(after);
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let left = end.saturating_sub(self.clock.boottime());
            if left.is_zero() {
                return true;
            }
            self.clock.sleep(left.min(NAP));
        }
    }

    /// Sends the requests side by side; the answers come back in the order of the requests.
    fn send(&mut self, requests: &[Request]) -> Vec<Outcome> {
        let prepared: Vec<cluster::Request> =
            requests.iter().map(|request| self.prepare(request)).collect();
        let api = self.api;
        let outcomes: Vec<Outcome> = match prepared.split_first() {
            None => Vec::new(),
            Some((first, others)) => std::thread::scope(|scope| {
                let others: Vec<_> =
                    others.iter().map(|request| scope.spawn(|| api.send(request))).collect();
                let first = api.send(first);
                let others =
                    others.into_iter().map(|other| other.join().expect("sending does not panic"));
                std::iter::once(first).chain(others).collect()
            }),
        };
        for outcome in &outcomes {
            self.note(outcome);
        }
        outcomes
    }

    fn prepare(&self, request: &Request) -> cluster::Request {
        let requests = self.api.requests();
        let bundle = self.plan.bundle();
        let names = bundle.names();
        let secret =
            |dry_run| requests.create_secret(&names.secret, json(bundle.secret()), dry_run);
        let job = |dry_run| requests.create_job(&names.job, json(bundle.job()), dry_run);
        match request {
            Request::ReadNamespace => requests.read_namespace(),
            Request::ReadJob => requests.read_job(&names.job),
            Request::ReadSecret => requests.read_secret(&names.secret),
            Request::ReadNamedSecret(name) => requests.read_secret(name),
            Request::ReadRecord => requests.read_config_map(&names.job),
            Request::RehearseSecret => secret(DryRun::Yes),
            Request::RehearseJob => job(DryRun::Yes),
            Request::CreateSecret => secret(DryRun::No),
            Request::CreateJob(_) => job(DryRun::No),
            Request::DeleteSecret(uid) => {
                let preconditions = Preconditions { uid: uid.clone(), resource_version: None };
                requests.delete_secret(&names.secret, &preconditions)
            }
        }
    }

    fn note(&mut self, outcome: &Outcome) {
        let warnings: &[String] = match outcome {
            Outcome::Done(answer) => &answer.warnings,
            Outcome::Refused(status) => &status.warnings,
            Outcome::Unknown(_) => &[],
        };
        if let Some(date) = date(outcome) {
            self.server = Some(date);
            let skew = || date.as_second() - self.clock.now().as_second();
            self.clock_skew.get_or_insert_with(skew);
        }
        for warning in warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }
}

/// The server's clock when it answered.
fn date(outcome: &Outcome) -> Option<Timestamp> {
    match outcome {
        Outcome::Done(answer) => answer.date,
        Outcome::Refused(status) => status.date,
        Outcome::Unknown(unknown) => unknown.date,
    }
}

fn json(object: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec(object).expect("a JSON value serialises")
}
