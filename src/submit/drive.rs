//! Carries out what the protocol decides: sends, waits, comes back with facts. It decides nothing.

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;

use super::api::{Api, wait};
use super::ending::Conclusion;
use super::facts::Moment;
use super::observe;
use super::plan::Plan;
use super::protocol::{Action, Limits, Protocol, Request};
use crate::clock::Clock;
use crate::cluster::{self, DryRun, Outcome, Preconditions};

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
        if !wait(clock, after, stop) {
            break protocol.stop("stopped before it was decided");
        }
        let mut sent = driver.moment();
        let outcomes = driver.send(&requests);
        // A machine may be paused between two requests of one action, and the boot-time clock with it.
        sent.server = outcomes.iter().filter_map(Outcome::date).min().or(sent.server);
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

    /// Sends the requests side by side; the answers come back in the order of the requests.
    fn send(&mut self, requests: &[Request]) -> Vec<Outcome> {
        let prepared: Vec<cluster::Request> =
            requests.iter().map(|request| self.prepare(request)).collect();
        let outcomes = self.api.send_side_by_side(&prepared);
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
        if let Some(date) = outcome.date() {
            self.server = Some(date);
            let skew = || date.as_second() - self.clock.now().as_second();
            self.clock_skew.get_or_insert_with(skew);
        }
        for warning in outcome.warnings() {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }
}

fn json(object: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec(object).expect("a JSON value serialises")
}
