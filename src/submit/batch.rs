//! Many submissions over one connection, a bounded number at a time, one receipt each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::api::Api;
use super::drive::drive;
use super::plan::{Intent, Plan};
use super::protocol::Limits;
use super::receipt::{Receipt, Turn};
use crate::clock::Clock;
use crate::render::Fitted;
use crate::submission::{Code, Fault, Namespace, Problem, Sha256Digest, Submission};

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

/// Finds the files that publish the same object: the problem of each, by its index.
///
/// `files` are the names of the files and their result identities, none where a file could not be read.
pub fn same_result_twice<'a>(
    files: impl IntoIterator<Item = (&'a str, Option<Sha256Digest>)>,
) -> BTreeMap<usize, Problem> {
    let mut by_identity: BTreeMap<Sha256Digest, Vec<(usize, &str)>> = BTreeMap::new();
    for (index, (file, identity)) in files.into_iter().enumerate() {
        if let Some(identity) = identity {
            by_identity.entry(identity).or_default().push((index, file));
        }
    }
    let mut problems = BTreeMap::new();
    for twins in by_identity.into_values().filter(|twins| twins.len() > 1) {
        for (index, _) in &twins {
            problems.insert(*index, same_result_problem(&twins, *index));
        }
    }
    problems
}

/// The problem of the file `index` among `twins`, which all have the same result object.
fn same_result_problem(twins: &[(usize, &str)], index: usize) -> Problem {
    let others: Vec<&str> =
        twins.iter().filter(|(other, _)| *other != index).take(3).map(|(_, file)| *file).collect();
    Fault::new(
        &SAME_RESULT_TWICE,
        format!("the same result object as in {}", others.join(", ")),
        "one submission for each result object",
        "give each its own result object",
    )
    .at("/result_put_url", None)
}

/// Submits every item, at most `jobs` at a time. `done` hears of each receipt as it comes; none is kept, so that a
/// call of thousands needs little memory.
///
/// `stop` ends the call early: what has begun is settled as far as one more answer allows, the rest is
/// not started.
pub fn submit_all(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    items: &[Item<'_>],
    jobs: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(&Receipt) + Sync),
) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            done(&submit_one(api, clock, limits, item, stop));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
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
