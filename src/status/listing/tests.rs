//! Lists of a server that pages as it likes, forgets where it was, and knows no order.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::clock::SystemClock;
use crate::cluster::{Answer, Outcome, Request, Requests, Status};
use crate::render::names::RESULT_IDENTITY;

/// Serves its objects as they stand.
struct Server {
    requests: Requests,
    jobs: Vec<Value>,
    pods: Vec<Value>,
    /// Objects of a page.
    size: usize,
    /// The numbers of the requests at which it forgets where it was.
    forgets: BTreeSet<usize>,
    seen: Mutex<usize>,
}

impl Api for Server {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn send(&self, request: &Request) -> Outcome {
        let mut seen = self.seen.lock().unwrap();
        *seen += 1;
        let of = |wanted: &str| request.query.iter().find(|(key, _)| *key == wanted);
        let start: usize = of("continue").map_or(0, |(_, token)| token.parse().unwrap());
        if start > 0 && self.forgets.contains(&*seen) {
            return Outcome::Refused(Status { code: 410, ..Status::default() });
        }
        let objects = match request.path.rsplit('/').next() {
            Some("jobs") => &self.jobs[..],
            Some("pods") => &self.pods[..],
            _ => &[],
        };
        let end = objects.len().min(start + self.size);
        let next = if end < objects.len() { end.to_string() } else { String::new() };
        let body = json!({"metadata": {"continue": next}, "items": objects[start..end]});
        Outcome::Done(Answer { status: 200, body, date: None, warnings: Vec::new() })
    }
}

fn name(job: u8) -> String {
    format!("prediction-{job:032x}")
}

fn a_job(number: u8) -> Value {
    let labels = json!({ RESULT_IDENTITY: format!("{number:032x}") });
    json!({
        "metadata": {"name": name(number), "uid": format!("job-{number}"), "labels": labels},
        "status": {"active": 1},
    })
}

/// A pod that has not started; a Job that counts one and shows none is unknown.
fn a_pod(job: u8, number: u8) -> Value {
    let owner = json!({"controller": true, "uid": format!("job-{job}")});
    let pod = format!("{}-{number:05}", name(job));
    json!({
        "metadata": {"name": pod, "uid": pod, "ownerReferences": [owner]},
        "status": {"phase": "Pending"},
    })
}

fn rows(jobs: Vec<Value>, pods: Vec<Value>, size: usize, forgets: BTreeSet<usize>) -> Vec<Row> {
    let requests = Requests::new("lab", Duration::from_secs(10));
    let server = Server { requests, jobs, pods, size, forgets, seen: Mutex::new(0) };
    list(&server, &SystemClock, &Filter::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the pages, and wherever it is begun anew: every Job once, with its pods, and in any order too.
    #[test]
    fn every_job_is_told_with_its_pods(
        jobs in prop::collection::btree_map(any::<u8>(), 0_u8..3, 0..20),
        strangers in prop::collection::btree_set(any::<u8>(), 0..5),
        size in 1_usize..6,
        forgets in prop::collection::btree_set(1_usize..40, 0..4),
        turn in 0_usize..40,
        is_ordered in any::<bool>(),
    ) {
        let mut pods: Vec<Value> = jobs.iter().flat_map(|(job, count)| (0..*count).map(|number| a_pod(*job, number))).collect();
        pods.extend(strangers.iter().filter(|job| !jobs.contains_key(job)).map(|job| a_pod(*job, 0)));
        let mut objects: Vec<Value> = jobs.keys().map(|job| a_job(*job)).collect();
        let by_name = |one: &Value| one["metadata"]["name"].as_str().unwrap().to_owned();
        pods.sort_by_key(by_name);
        if !is_ordered {
            for list in [&mut objects, &mut pods] {
                let turn = turn.checked_rem(list.len()).unwrap_or(0);
                list.rotate_left(turn);
            }
        }
        let told: BTreeMap<String, Phase> =
            rows(objects, pods, size, forgets).into_iter().map(|row| (row.name, row.phase)).collect();
        let expected: BTreeMap<String, Phase> = jobs.iter().map(|(job, pods)| {
            (name(*job), if *pods > 0 { Phase::Pending } else { Phase::Unknown })
        }).collect();
        prop_assert_eq!(told, expected);
    }
}
