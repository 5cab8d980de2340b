//! One process: a command of harness as it ships, from its drivers to its receipts.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use harness::cluster::{Outcome, Request, Requests};
use harness::ledger::survey::{LEAST_RETENTION, Wish, carry_out, survey};
use harness::ledger::{self, Command, LedgerReceipt};
use harness::submit::batch::submit_all;
use harness::submit::{Api, Limits};
use jiff::SignedDuration;

use crate::checks;
use crate::clock::ProcessClock;
use crate::experiments::NAMESPACE;
use crate::lies::Lie;
use crate::play::Shared;
use crate::schedule::Work;
use crate::server::{Who, is_create};
use crate::stage::{Ask, Killed};

/// Runs the command to its end or to its kill.
pub fn run(shared: &Shared, who: Who, work: &Work, skew_minutes: i64, stop: &AtomicBool) {
    let skew = SignedDuration::from_mins(skew_minutes);
    let clock = ProcessClock { stage: Arc::clone(&shared.stage), process: who, skew };
    let requests = Requests::new(NAMESPACE, Duration::from_secs(30));
    let api = Wire { shared, who, requests };
    let end = catch_unwind(AssertUnwindSafe(|| command(shared, &api, &clock, work, stop)));
    if let Err(payload) = end
        && !is_kill(&*payload)
    {
        shared.problem(format!("process {who} panicked"));
    }
    shared.stage.leave(who);
}

fn is_kill(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Killed>()
}

fn command(shared: &Shared, api: &Wire<'_>, clock: &ProcessClock, work: &Work, stop: &AtomicBool) {
    let who = api.who;
    let limits = ledger::Limits::default();
    let one = |command: Command, experiment: usize| {
        let name = shared.experiments.job_name(experiment);
        let driven = ledger::drive(api, clock, limits, command, &name, stop);
        checks::ledger(shared, who, &LedgerReceipt::of(NAMESPACE, &name, command, driven));
    };
    match work {
        Work::Submit(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|(experiment, signature)| shared.experiments.item(*experiment, *signature))
                .collect();
            submit_all(api, clock, Limits::default(), &items, 1, stop, &|receipt| {
                checks::receipt(shared, who, receipt);
            });
        }
        Work::Cancel(experiment) => one(Command::Cancel, *experiment),
        Work::Release(experiment) => one(Command::Release, *experiment),
        Work::Prune { secrets_only } => {
            let wish =
                Wish { older_than: LEAST_RETENTION, secrets_only: *secrets_only, dry_run: false };
            match survey(api, clock, wish) {
                Ok(found) => {
                    carry_out(api, clock, limits, &found.tasks, false, 1, stop, &|receipt| {
                        checks::ledger(shared, who, receipt);
                    });
                }
                Err(_) => shared.count(|figures| figures.outcome("prune: no survey")),
            }
        }
    }
}

/// A process's connection.
struct Wire<'a> {
    shared: &'a Shared,
    who: Who,
    requests: Requests,
}

impl Wire<'_> {
    fn ask(&self, requests: Vec<Request>) -> Vec<Outcome> {
        self.shared.stage.ask(self.who, Ask::Send(requests))
    }

    /// A create whose answer was lost is sent again, as only a broken process does.
    fn insist(&self, request: &Request, mut outcome: Outcome) -> Outcome {
        while matches!(outcome, Outcome::Unknown(_)) && is_create(request) {
            outcome = self.send(request);
        }
        outcome
    }
}

impl Api for Wire<'_> {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn send(&self, request: &Request) -> Outcome {
        self.ask(vec![request.clone()]).pop().expect("one answer for one request")
    }

    /// All at once, so that the director can answer them in any order.
    fn send_side_by_side(&self, requests: &[Request]) -> Vec<Outcome> {
        let outcomes = self.ask(requests.to_vec());
        if self.shared.lie != Some(Lie::BlindRetry) {
            return outcomes;
        }
        let pairs = requests.iter().zip(outcomes);
        pairs.map(|(request, outcome)| self.insist(request, outcome)).collect()
    }
}
