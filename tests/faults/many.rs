//! Many submissions in one call that is stopped, and an API server that goes away in the middle of them.

use std::collections::BTreeMap;

use harness_test_cluster::{ControlPlane, Options, until};
use rustix::process::Signal;
use serde_json::Value;

use crate::kit::PATIENCE;
use crate::kit::process::{Started, assert_empty};
use crate::kit::{Harness, Place, Run, Sample};

fn write_samples(harness: &Harness, count: usize) -> Vec<Sample> {
    let samples: Vec<Sample> =
        (0..count).map(|index| Sample::new(&format!("attempt-{index}"))).collect();
    for sample in &samples {
        sample.write(&harness.inputs());
    }
    samples
}

fn counted(run: &Run) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for receipt in run.receipts() {
        *counted.entry(receipt["outcome"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counted
}

#[test]
fn two_hundred_that_are_stopped_in_the_middle_and_submitted_again() {
    const COUNT: usize = 200;
    let place = Place::new("many");
    let harness = place.harness();
    let samples = write_samples(&harness, COUNT);
    let started = Started::submit(&harness, &[harness.inputs()]);
    let family = started.family();
    let some = || place.cluster.count_jobs(&place.namespace.name) >= 5;
    assert!(until(PATIENCE, some), "nothing is created");
    started.signal(Signal::INT);
    let run = started.end();
    family.assert_gone();
    assert_empty(&harness.temporary());
    let outcomes = counted(&run);
    let created = outcomes.get("created").copied().unwrap_or_default();
    assert_eq!(run.receipts().len(), COUNT, "{outcomes:?}");
    assert_eq!(run.code, Some(6), "{outcomes:?}");
    assert!(created < COUNT && outcomes["not_started"] > 0, "{outcomes:?}");
    assert_eq!(place.cluster.count_jobs(&place.namespace.name), created, "{outcomes:?}");

    let again = harness.submit_files(&[harness.inputs()]);
    assert_eq!(again.code, Some(0), "{:?}", counted(&again));
    let outcomes = counted(&again);
    assert_eq!(outcomes["created"] + outcomes["already_submitted"], COUNT, "{outcomes:?}");
    assert_eq!(outcomes["already_submitted"], created, "{outcomes:?}");
    place.assert_holds(COUNT, COUNT);
    for sample in samples.iter().take(10) {
        run.assert_hides(sample);
        again.assert_hides(sample);
        place.assert_hides(sample);
    }
}

#[test]
fn the_api_server_is_restarted_in_the_middle() {
    const COUNT: usize = 40;
    let cluster = ControlPlane::start(&Options::default()).unwrap();
    let namespace = cluster.namespace("restart").unwrap().name;
    let harness = Harness::new(cluster.kubeconfig(), cluster.kubectl(), &namespace);
    write_samples(&harness, COUNT);
    let started = Started::submit(&harness, &[harness.inputs()]);
    assert!(until(PATIENCE, || cluster.count_jobs(&namespace) >= 3), "nothing is created");
    cluster.restart_api_server().unwrap();
    let run = started.end();
    let outcomes = counted(&run);
    let jobs = cluster.count_jobs(&namespace);
    let said: Vec<Value> =
        run.receipts().into_iter().filter(|one| one["outcome"] == "created").collect();
    assert!(said.len() <= jobs, "{outcomes:?}, {jobs} Jobs");
    let others = outcomes
        .keys()
        .filter(|name| !["created", "already_submitted", "unknown"].contains(&name.as_str()));
    assert_eq!(others.count(), 0, "{outcomes:?}\n{run}");
    let again = harness.submit_files(&[harness.inputs()]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!((cluster.count_jobs(&namespace), cluster.count_secrets(&namespace)), (COUNT, COUNT));
}
