//! Hundreds of schedules, side by side, in a storm.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use harness_test_cluster::{ControlPlane, until};
use serde_json::Value;

use crate::audit::Audit;
use crate::check::{Facts, complaints};
use crate::kit::PATIENCE;
use crate::kit::{Harness, Run, Sample, find};
use crate::schedule::{Plan, SIGNATURES, Schedule};
use crate::storm;
use crate::submitter;

/// Schedules at a time: most of their time is spent waiting.
const WORKERS: usize = 6;
/// How often a command is run again before it counts as stranded; outages last seconds.
const TRIES: usize = 40;
const FIRST_SEED: u64 = 1;
const SCHEDULES: u64 = 300;

/// A control plane of its own that writes an audit log.
struct Field {
    cluster: ControlPlane,
    audit: Audit,
}

fn field() -> &'static Field {
    static FIELD: OnceLock<Field> = OnceLock::new();
    FIELD.get_or_init(|| {
        // Lives as long as the process; what is in it goes with the temporary folder of the control plane.
        let folder = tempfile::Builder::new().prefix("chaos").tempdir().unwrap().keep();
        let (audit, options) = Audit::new(&folder);
        Field { cluster: ControlPlane::start(&options).unwrap(), audit }
    })
}

#[test]
fn every_schedule_ends_with_one_job_and_true_receipts() {
    let number = |name: &str, usual: u64| match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => usual,
    };
    let first = number("HARNESS_CHAOS_SEED", FIRST_SEED);
    let count = number("HARNESS_CHAOS_SCHEDULES", SCHEDULES);
    let field = field();
    let cluster = &field.cluster;
    let (next, is_over) = (AtomicU64::new(first), AtomicBool::new(false));
    let figures = Mutex::new(Figures::default());
    let mut blows = storm::Blows::new();
    thread::scope(|scope| {
        let storm = scope.spawn(|| storm::rage(cluster, first, &is_over));
        let work = || {
            let namespace = namespace(cluster);
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + count {
                    return;
                }
                let one = experience(field, &namespace, &Schedule::draw(seed));
                figures.lock().unwrap().add(one);
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        blows = storm.join().unwrap();
        assert!(ended.iter().all(Result::is_ok), "a worker panicked");
    });
    let figures = figures.into_inner().unwrap();
    println!("{count} schedules from seed {first}: {:?}, {blows:?}", figures.counted);
    assert!(figures.wrong.is_empty(), "{}", figures.wrong.join("\n\n"));
    assert!(blows.values().sum::<usize>() > 0, "no storm came up");
}

/// What came of the schedules.
#[derive(Debug, Default)]
struct Figures {
    counted: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Figures {
    fn add(&mut self, other: Self) {
        for (name, count) in other.counted {
            *self.counted.entry(name).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }

    fn count_many(&mut self, what: &str, count: usize) {
        *self.counted.entry(what.to_owned()).or_default() += count;
    }
}

/// Runs one schedule, lets it converge, and checks it.
fn experience(field: &'static Field, namespace: &str, schedule: &Schedule) -> Figures {
    let mut figures = Figures::default();
    let samples = signatures(schedule.seed);
    let mut runs = Vec::new();
    thread::scope(|scope| {
        let start = |plan: &Plan| {
            let (sample, plan) = (samples[plan.signature].clone(), plan.clone());
            scope.spawn(move || submitter::run(&field.cluster, namespace, &sample, &plan))
        };
        let started: Vec<_> = schedule.submitters.iter().map(start).collect();
        for (one, plan) in started.into_iter().zip(&schedule.submitters) {
            let (run, left) = one.join().unwrap();
            if !left.is_empty() && !plan.ends_the_guard() {
                figures.wrong.push(format!("left behind: {left:?}: {run}"));
            }
            figures.add(described(plan, &run));
            runs.push(run);
        }
    });
    let used: BTreeSet<usize> = schedule.submitters.iter().map(|plan| plan.signature).collect();
    for sample in used.into_iter().map(|signature| &samples[signature]) {
        let before = runs.len();
        if !converge(field, namespace, sample, &mut runs) {
            figures.wrong.push(format!("stranded: {}", runs.last().unwrap()));
        }
        figures.count_many("runs until it converged", runs.len() - before);
    }
    figures.wrong.extend(compared(field, namespace, &samples, &runs));
    if !figures.wrong.is_empty() {
        let all = std::mem::take(&mut figures.wrong).join("\n");
        figures.wrong.push(format!("{schedule:#?}\n{all}"));
    }
    figures
}

/// The spellings of one experiment, all signed.
fn signatures(seed: u64) -> Vec<Sample> {
    let first = Sample::new(&format!("attempt-{seed}"));
    let mut all = vec![first];
    while all.len() < SIGNATURES {
        all.push(all[0].signed_again());
    }
    all
}

fn described(plan: &Plan, run: &Run) -> Figures {
    let mut figures = Figures::default();
    figures.count_many("submitters", 1);
    for misfortune in &plan.misfortunes {
        figures.count_many(&misfortune.kind(), 1);
    }
    let outcome =
        serde_json::from_str(&run.stdout).map(|receipt: Value| receipt["outcome"].clone());
    let outcome = outcome.ok().and_then(|outcome| Some(outcome.as_str()?.to_owned()));
    figures.count_many(&format!("ended: {}", outcome.as_deref().unwrap_or("without a receipt")), 1);
    figures
}

/// Runs the command again, as whoever sees *unknown* does, until it is done.
fn converge(field: &Field, namespace: &str, sample: &Sample, runs: &mut Vec<Run>) -> bool {
    let cluster = &field.cluster;
    for _ in 0..TRIES {
        let run = Harness::new(cluster.kubeconfig(), cluster.kubectl(), namespace).submit(sample);
        let is_done = run.code == Some(0);
        runs.push(run);
        if is_done {
            return true;
        }
        thread::sleep(Duration::from_millis(500));
    }
    false
}

/// What the checker says.
fn compared(field: &Field, namespace: &str, samples: &[Sample], runs: &[Run]) -> Vec<String> {
    let cluster = &field.cluster;
    let harness = Harness::new(cluster.kubeconfig(), cluster.kubectl(), namespace);
    let (_, job) = harness.render(&samples[0]);
    let identity = find(&job, "/metadata/labels/research.harness~1result-identity");
    let list = |collection: &str| {
        let selector =
            format!("research.harness%2Fresult-identity%3D{}", identity.as_str().unwrap());
        items(cluster, &format!("{collection}?labelSelector={selector}"))
    };
    let jobs = list(&format!("/apis/batch/v1/namespaces/{namespace}/jobs"));
    let secrets = list(&format!("/api/v1/namespaces/{namespace}/secrets"));
    let name = |secret: &Value| find(secret, "/metadata/name").as_str().unwrap().to_owned();
    let secrets: Vec<String> = secrets.iter().map(name).collect();
    let history = field.audit.history(namespace);
    complaints(&Facts { runs, samples, jobs: &jobs, secrets: &secrets, history: &history })
}

/// A list, once the API server can give it again.
fn items(cluster: &ControlPlane, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let read = until(PATIENCE, || match cluster.admin("GET", path, None) {
        Ok((200, list)) => {
            list["items"].as_array().unwrap().clone_into(&mut items);
            true
        }
        _ => false,
    });
    assert!(read, "the API server does not come back");
    items
}

/// A namespace for many experiments.
fn namespace(cluster: &ControlPlane) -> String {
    let mut made = None;
    let is_made = until(PATIENCE, || {
        made = cluster.namespace("chaos").ok();
        made.is_some()
    });
    assert!(is_made, "no namespace can be made");
    made.unwrap().name
}
