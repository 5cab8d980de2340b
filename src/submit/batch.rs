//! Many submissions over one connection, a bounded number at a time, one receipt each.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::drive::{Api, drive};
use super::plan::{Intent, Plan};
use super::protocol::Limits;
use super::receipt::{Receipt, Turn};
use crate::clock::Clock;
use crate::render::Fitted;
use crate::submission::{Code, Fault, Namespace, Problem, Submission};

/// Two submissions of one call publish the same object.
pub static SAME_RESULT_TWICE: Code = Code {
    name: "same-result-twice",
    summary: "two submissions of one call have the same result object",
    explanation: "A result object is created once, so of two submissions with the same one at most one can ever run. Which of them was \
meant cannot be guessed, so all of them are refused. Give each its own result object.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&SAME_RESULT_TWICE];

/// A submission that can go on its way, and the file that it came from.
///
/// It is rendered when its turn comes and dropped after it, so that a call of thousands needs little memory.
#[derive(Debug)]
pub struct Item<'a> {
    source: String,
    fitted: Fitted<'a>,
    namespace: &'a Namespace,
    intent: Intent,
}

impl<'a> Item<'a> {
    /// Takes a submission from the file `source`, `-` for standard input; the one thing that can still be missing
    /// is the harness image.
    pub fn new(
        source: String,
        fitted: Fitted<'a>,
        namespace: &'a Namespace,
        intent: Intent,
    ) -> Result<Self, Vec<Problem>> {
        fitted.harness_image().map_err(|problem| vec![problem])?;
        Ok(Self { source, fitted, namespace, intent })
    }

    /// The file, `-` for standard input.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The submission.
    pub fn submission(&self) -> &'a Submission {
        self.fitted.submission
    }

    /// Renders it.
    pub fn plan(&self) -> Plan<'a> {
        Plan::new(self.fitted, self.namespace, self.intent)
            .expect("the harness image was found before")
    }
}

/// Refuses the items whose result identity occurs more than once; by index.
pub fn same_result_twice(items: &[Item<'_>]) -> BTreeMap<usize, Problem> {
    let mut by_identity: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        by_identity.entry(item.submission().result_identity()).or_default().push(index);
    }
    let mut problems = BTreeMap::new();
    for twins in by_identity.into_values().filter(|twins| twins.len() > 1) {
        let names: Vec<String> = twins.iter().map(|index| items[*index].source.clone()).collect();
        for (place, index) in twins.into_iter().enumerate() {
            problems.insert(index, same_result_problem(&names, place));
        }
    }
    problems
}

/// The problem of the file at `place` among `files`, which all have the same result object.
pub fn same_result_problem(files: &[String], place: usize) -> Problem {
    let others: Vec<&str> = files
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != place)
        .take(3)
        .map(|(_, file)| file.as_str())
        .collect();
    Fault::new(
        &SAME_RESULT_TWICE,
        format!("the same result object as in {}", others.join(", ")),
        "one submission for each result object",
        "give each its own result object",
    )
    .at("/result_put_url", None)
}

/// Submits every item, at most `jobs` at a time; the receipts are in the order of the items.
///
/// `stop` ends the call early: what has begun is settled as far as one more answer allows, the rest is
/// not started. `done` hears of each receipt as it comes.
pub fn submit_all(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    items: &[Item<'_>],
    jobs: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(&Receipt) + Sync),
) -> Vec<Receipt> {
    let next = AtomicUsize::new(0);
    let receipts = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((index, item)) = take(&next, items) {
            let receipt = submit_one(api, clock, limits, item, stop);
            done(&receipt);
            receipts
                .lock()
                .expect("no worker panics while it holds the lock")
                .insert(index, receipt);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    receipts.into_inner().expect("all workers have ended").into_values().collect()
}

fn take<'a, 'b>(next: &AtomicUsize, items: &'a [Item<'b>]) -> Option<(usize, &'a Item<'b>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}

fn submit_one(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    item: &Item<'_>,
    stop: &AtomicBool,
) -> Receipt {
    let started = clock.now();
    let boot = clock.boottime();
    let turn = |milliseconds| Turn {
        source: item.source.clone(),
        namespace: item.namespace.to_string(),
        started,
        milliseconds,
    };
    let plan = item.plan();
    if stop.load(Ordering::Relaxed) {
        return Receipt::not_started(turn(0), &plan);
    }
    let driven = drive(api, clock, limits, &plan, stop);
    let took = clock.boottime().saturating_sub(boot).as_millis();
    Receipt::of(turn(u64::try_from(took).unwrap_or(u64::MAX)), &plan, driven)
}
