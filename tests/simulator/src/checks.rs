//! The properties: receipts when they are printed, history whenever it has grown, convergence when all is calm.

use std::collections::BTreeSet;

use harness::cluster::{Request, Resource};
use harness::ledger::{LedgerOutcome, LedgerReceipt};
use harness::render::compare;
use harness::submit::{Receipt, ReceiptOutcome};

use crate::play::{Shared, Window};
use crate::server::{CLUSTER, Event, HAND, Server, What, Who, is_create, name_of, resource_of};

/// What is known about one process when it prints a receipt.
struct Witness<'a> {
    server: &'a Server,
    who: Who,
    /// What a receipt tells was true at some time since what it rests on was sent.
    window: Window,
    /// Its creates that may still arrive.
    floating: Vec<Request>,
}

impl Witness<'_> {
    fn is_made_by_us(&self, event: &Event) -> bool {
        event.who == self.who && event.what == What::Created
    }

    /// Whether this process made an object of this name, still there or not, or may yet.
    fn made_or_may(&self, resource: Resource, name: &str) -> bool {
        let is_it = |event: &&Event| event.resource == resource && event.name == name;
        self.server.history.iter().filter(is_it).any(|event| self.is_made_by_us(event))
            || self.floats(resource, name)
    }

    fn floats(&self, resource: Resource, name: &str) -> bool {
        self.floating.iter().any(|one| resource_of(one) == resource && name_of(one) == name)
    }

    /// Since when something of this kind may have changed unseen.
    fn since(&self, resource: Resource) -> usize {
        match resource {
            Resource::Jobs => self.window.job,
            Resource::Secrets => self.window.secret,
            _ => self.window.action,
        }
    }

    /// Whether an object with this UID stood at some time since it was last asked for.
    fn stood(&self, resource: Resource, uid: &str) -> bool {
        let about = || self.server.history.iter().enumerate().filter(|(_, event)| event.uid == uid);
        let made = about().any(|(_, event)| event.what == What::Created);
        let gone = about().find(|(_, event)| is_deletion(event)).map(|(index, _)| index);
        made && gone.is_none_or(|index| index >= self.since(resource))
    }

    /// Whether an object of this name stood at some time since it was last asked for.
    fn stood_by_name(&self, resource: Resource, name: &str) -> bool {
        let of_it =
            self.server.history.iter().filter(|one| one.resource == resource && one.name == name);
        let uids: BTreeSet<&str> = of_it.map(|event| event.uid.as_str()).collect();
        uids.into_iter().any(|uid| self.stood(resource, uid))
    }

    /// Whether no object of this name stood at some time since it was last asked for.
    fn lacked(&self, resource: Resource, name: &str) -> bool {
        let of_it = || {
            self.server
                .history
                .iter()
                .enumerate()
                .filter(|(_, one)| one.resource == resource && one.name == name)
        };
        let since = self.since(resource);
        let at_first = of_it().rfind(|(index, event)| {
            *index < since && (event.what == What::Created || is_deletion(event))
        });
        let lacked_at_first = at_first.is_none_or(|(_, event)| is_deletion(event));
        lacked_at_first || of_it().any(|(index, event)| index >= since && is_deletion(event))
    }

    /// Whether this process has changed anything.
    fn has_changed(&self, name: &str) -> bool {
        let short = name.strip_prefix("prediction-").unwrap_or(name);
        self.server.history.iter().any(|event| event.who == self.who && event.name.contains(short))
    }

    fn has_deleted(&self, name: &str) -> bool {
        let short = name.strip_prefix("prediction-").unwrap_or(name);
        let is_ours = |event: &&Event| event.who == self.who && event.name.contains(short);
        self.server.history.iter().filter(is_ours).any(is_deletion)
    }
}

fn is_deletion(event: &Event) -> bool {
    matches!(event.what, What::Deleted { .. })
}

fn witness<T>(shared: &Shared, who: Who, look: impl FnOnce(&Witness<'_>) -> T) -> T {
    let window = shared.windows.lock().expect("nobody panics with it").get(&who).copied();
    let floating = shared.floating.lock().expect("nobody panics with it");
    let own = floating.iter().filter(|one| one.who == who && is_create(&one.request));
    let floating = own.map(|one| one.request.clone()).collect();
    let server = shared.server();
    look(&Witness { server: &server, who, window: window.unwrap_or_default(), floating })
}

/// A receipt of `submit` is printed.
pub fn receipt(shared: &Shared, who: Who, receipt: &Receipt) {
    shared.count(|figures| figures.outcome(format!("submit: {}", receipt.outcome.name())));
    shared.say(format!("process {who} prints {}: {}", receipt.outcome.name(), receipt.detail));
    for what in witness(shared, who, |witness| untrue(witness, receipt)) {
        shared.problem(format!("false receipt of process {who}: {what}"));
    }
}

fn untrue(witness: &Witness<'_>, receipt: &Receipt) -> Vec<&'static str> {
    let (Some(job), Some(secret)) = (&receipt.job, &receipt.secret) else {
        return vec!["neither Job nor Secret is named"];
    };
    let mut wrong = Vec::new();
    let mut is = |claim: bool, what: &'static str| {
        if !claim {
            wrong.push(what);
        }
    };
    let uid = job.uid.as_deref().unwrap_or_default();
    let denies =
        receipt.detail.contains("no Job") || receipt.detail.contains("nothing was created");
    let made_job = witness.made_or_may(Resource::Jobs, &job.name);
    let made_secret = witness.made_or_may(Resource::Secrets, &secret.name);
    is(!denies || !made_job, "it says that no Job was created, and its own stands or may come");
    is(
        !receipt.detail.contains("nothing was created") || !made_secret,
        "it says that nothing was created, and its Secret was",
    );
    match receipt.outcome {
        ReceiptOutcome::Created | ReceiptOutcome::CreatedAltered => {
            let ours = |event: &Event| event.uid == uid && witness.is_made_by_us(event);
            is(witness.server.history.iter().any(ours), "it did not create that Job");
        }
        ReceiptOutcome::AlreadySubmitted | ReceiptOutcome::Cancelled => {
            is(witness.stood(Resource::Jobs, uid), "that Job was not there");
        }
        ReceiptOutcome::AlreadyRecorded => {
            is(witness.server.record_of(&job.name).is_some(), "there is no record");
        }
        ReceiptOutcome::Conflict => is(false, "a conflict, where all mean the same"),
        ReceiptOutcome::Refused | ReceiptOutcome::Invalid | ReceiptOutcome::WouldCreate => {
            is(!made_job, "it hides its own Job");
        }
        ReceiptOutcome::NotStarted | ReceiptOutcome::Unknown => {}
    }
    match secret.state {
        "created" => is(made_secret, "it did not create that Secret"),
        "present" => {
            is(
                witness.stood_by_name(Resource::Secrets, &secret.name) || !denies,
                "that Secret was not there",
            );
        }
        "absent" | "removed" => {
            let stands = witness.server.get(Resource::Secrets, &secret.name);
            let own = stands.is_some_and(|stored| stored.maker == witness.who);
            is(!own, "it says that there is no Secret, and its own stands");
            is(
                !witness.floats(Resource::Secrets, &secret.name),
                "it says that there is no Secret, and its own may come",
            );
        }
        _ => {}
    }
    wrong
}

/// A receipt of `cancel`, `release` or `prune` is printed.
pub fn ledger(shared: &Shared, who: Who, receipt: &LedgerReceipt) {
    let outcome = format!("{}: {}", receipt.command, receipt.outcome.name());
    shared.say(format!("process {who} prints {outcome}: {}", receipt.detail));
    shared.count(|figures| figures.outcome(outcome));
    for what in witness(shared, who, |witness| untrue_of_ledger(witness, receipt)) {
        shared.problem(format!("false receipt of process {who}: {what}"));
    }
}

fn untrue_of_ledger(witness: &Witness<'_>, receipt: &LedgerReceipt) -> Vec<&'static str> {
    let name = receipt.job.name.as_str();
    let server = witness.server;
    let live = server.get(Resource::Jobs, name);
    let stands = live.is_some_and(|live| Some(live.uid()) == receipt.job.uid.as_deref());
    let recorded = server.record_of(name).is_some();
    let ran = receipt.job.uid.as_deref().is_some_and(|uid| server.ran(name).contains(uid));
    let taken = server.history.iter().any(|event| event.who == HAND && event.name == name);
    let mut wrong = Vec::new();
    let mut is = |claim: bool, what: &'static str| {
        if !claim {
            wrong.push(what);
        }
    };
    match receipt.outcome {
        LedgerOutcome::Pruned | LedgerOutcome::AlreadyRecorded => {
            is(
                recorded || (taken && receipt.outcome == LedgerOutcome::Pruned),
                "there is no record",
            );
            is(!stands || receipt.outcome == LedgerOutcome::AlreadyRecorded, "the Job stands");
        }
        LedgerOutcome::Released => {
            is(!stands, "the Job stands");
            is(!ran, "it ran");
            is(
                witness.lacked(Resource::ConfigMaps, name),
                "a record stands, so the identity is not free",
            );
        }
        LedgerOutcome::CancelRequested => {
            let marked = live.is_some_and(|live| compare::cancelled(&live.body).is_some());
            is(!stands || marked, "the Job is not marked");
        }
        LedgerOutcome::Cancelled => {
            is(stands || recorded || taken, "there is neither Job nor record");
        }
        LedgerOutcome::Missing => {
            is(witness.lacked(Resource::Jobs, name), "there is a Job");
            is(witness.lacked(Resource::ConfigMaps, name), "there is a record");
        }
        // A Job that came after a prune stands beside the record of an earlier one; only a person can say what it is.
        LedgerOutcome::Conflict => {
            is(is_beside_another(server, name), "a conflict, where all mean the same");
        }
        _ => {}
    }
    if receipt.detail.contains("nothing was removed") {
        is(!witness.has_deleted(name), "it says that nothing was removed, and something was");
    }
    if receipt.detail.contains("nothing was changed") {
        is(!witness.has_changed(name), "it says that nothing was changed, and something was");
    }
    let gone = |secret: &String| {
        let of_it = |event: &&Event| event.resource == Resource::Secrets && event.name == *secret;
        server.history.iter().filter(of_it).any(is_deletion)
    };
    is(receipt.secrets.iter().all(gone), "it names a Secret as removed that was not");
    wrong
}

/// Whether a Job stands beside the record of another one, which a create that arrives after a prune leads to.
fn is_beside_another(server: &Server, name: &str) -> bool {
    let recorded = server.record_of(name);
    let live = server.get(Resource::Jobs, name);
    live.is_some_and(|live| recorded.is_some_and(|recorded| recorded != live.uid()))
}

/// What must hold whatever happened.
pub fn history(shared: &Shared, names: &[String]) {
    let server = shared.server();
    let mut found = Vec::new();
    for name in names {
        let ran = server.ran(name);
        let taken_after_run = |event: &&Event| {
            event.who == HAND && is_deletion(event) && ran.contains(event.uid.as_str())
        };
        let taken = server.history.iter().filter(taken_after_run).count();
        if ran.len() > 1 + taken {
            found.push(format!("{} Jobs of {name} ran", ran.len()));
        }
    }
    for event in &server.history {
        found.extend(misdeed(&server, event).map(|what| {
            format!("process {}: {what}: {} {}", event.who, event.resource.kind(), event.name)
        }));
    }
    drop(server);
    for what in found {
        shared.problem(what);
    }
}

/// What was done and had no right to be.
fn misdeed(server: &Server, event: &Event) -> Option<&'static str> {
    let What::Deleted { maker, was_recorded, was_bound } = &event.what else { return None };
    if event.who == HAND || event.who == CLUSTER {
        return None;
    }
    let is_submit =
        !server.history.iter().any(|one| one.who == event.who && one.resource == Resource::Pods)
            && server.history.iter().any(|one| {
                one.who == event.who
                    && one.what == What::Created
                    && matches!(one.resource, Resource::Secrets | Resource::Jobs)
            });
    match event.resource {
        Resource::Secrets if is_submit && *maker != event.who => {
            Some("a submit deleted what it had not created")
        }
        Resource::Jobs if is_submit => Some("a submit deleted a Job"),
        Resource::Jobs if server.ran(&event.name).contains(event.uid.as_str()) && !was_recorded => {
            Some("a Job that ran was deleted without its record")
        }
        Resource::Pods if *was_bound => Some("a pod with a node was deleted"),
        Resource::ConfigMaps => Some("a record was deleted"),
        _ => None,
    }
}

/// After the same commands were run again, undisturbed: the Job stands and can start, or its end is recorded.
pub fn converged(shared: &Shared, name: &str) {
    let server = shared.server();
    let job = server.get(Resource::Jobs, name);
    let recorded = server.record_of(name).is_some();
    let problem = match job {
        None if recorded => None,
        None => Some("there is neither Job nor record"),
        Some(job) if recorded || compare::job_state(&job.body).is_terminal() => None,
        Some(job) => {
            let named = compare::named_secret(&job.body).unwrap_or_default();
            let cancelled = compare::cancelled(&job.body).is_some();
            let can_start = cancelled || server.get(Resource::Secrets, &named).is_some();
            (!can_start).then_some("the Job's Secret is missing, and its pod cannot start")
        }
    };
    drop(server);
    if let Some(problem) = problem {
        shared.problem(format!("stranded: {name}: {problem}"));
    }
}

/// A day later and after a prune: nothing but the record is left of what has ended.
pub fn pruned(shared: &Shared, name: &str) {
    let server = shared.server();
    let short = name.strip_prefix("prediction-").unwrap_or(name);
    let unfinished = server
        .get(Resource::Jobs, name)
        .is_some_and(|job| !compare::job_state(&job.body).is_terminal());
    let left: Vec<String> = server
        .objects
        .iter()
        .filter(|((kind, other), _)| *kind == Resource::Secrets && other.contains(short))
        .map(|((_, other), _)| other.clone())
        .collect();
    let beside_another = is_beside_another(&server, name);
    let stands = server.get(Resource::Jobs, name).is_some();
    let recorded = server.record_of(name).is_some();
    drop(server);
    if beside_another {
        return;
    }
    if unfinished && !recorded {
        shared.problem(format!("stranded: {name} has not ended after a day"));
    } else if (stands && !unfinished) || (!stands && !recorded) {
        shared.problem(format!("stranded: {name} is not pruned"));
    } else if !left.is_empty() {
        shared.problem(format!("stranded: Secrets are left: {left:?}"));
    }
}
