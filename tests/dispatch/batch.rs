//! Many submissions in one call, and those of a profile with a queue.

use std::fs;

use serde_json::{Value, json};

use crate::kit::{Place, Sample, find};

const MANY: usize = 200;

#[test]
fn two_hundred_submissions_in_one_call() {
    let place = Place::new("many");
    let harness = place.harness();
    let mut files: Vec<String> = (0..MANY)
        .map(|number| {
            let sample = Sample::new(&format!("attempt-{number:03}"));
            sample.write(&harness.inputs()).to_str().unwrap().to_owned()
        })
        .collect();
    files.sort();
    // The receipts come as they are ready; each file has exactly one.
    for outcome in ["created", "already_submitted"] {
        let run = harness.submit_files(&[harness.inputs()]);
        assert_eq!(run.code, Some(0), "{run}");
        let receipts = run.receipts();
        let mut sources: Vec<&str> =
            receipts.iter().map(|receipt| receipt["source"].as_str().unwrap()).collect();
        sources.sort_unstable();
        assert_eq!(sources, files);
        for receipt in &receipts {
            assert_eq!(receipt["outcome"], outcome, "{receipt:#}");
        }
        place.assert_holds(MANY, MANY);
    }
}

/// One bad file hides no other, and the most urgent exit code wins.
#[test]
fn a_mixed_call() {
    let place = Place::new("mixed");
    let harness = place.harness();
    let inputs = harness.inputs();
    let good = Sample::new("attempt-1").write(&inputs);
    let unsigned = Sample::unsigned("attempt-2").write(&inputs);
    let changed = Sample::new("attempt-3");
    place.harness().submit(&changed).expect(0, "created");
    let changed = changed.with("mission_sha256", "9".repeat(64)).write(&inputs);
    let broken = inputs.join("broken.json");
    fs::write(&broken, "{\"attempt_id\": ").unwrap();
    let run = harness.submit_files(&[&good, &unsigned, &changed, &broken]);
    assert_eq!(run.code, Some(4), "{run}");
    let receipts = run.receipts();
    let outcome_of = |file: &std::path::Path| {
        let of_file = |receipt: &&Value| receipt["source"] == file.to_str().unwrap();
        receipts.iter().find(of_file).unwrap()["outcome"].as_str().unwrap()
    };
    assert_eq!(outcome_of(&good), "created");
    assert_eq!(outcome_of(&unsigned), "invalid");
    assert_eq!(outcome_of(&changed), "conflict");
    assert_eq!(outcome_of(&broken), "invalid");
    place.assert_holds(2, 2);
}

#[test]
fn a_job_for_a_queue() {
    let place = Place::new("queue");
    let harness = place.harness_with_queue();
    let sample = Sample::new("attempt-1").with("resource_profile", "queued-v1");
    let created = harness.submit(&sample).expect(0, "created");
    assert_eq!(created["job"]["state"], "queued");
    let job = place.job();
    assert_eq!(*find(&job, "/spec/suspend"), json!(true));
    assert_eq!(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "research");
    let again = harness.submit(&sample).expect(0, "already_submitted");
    assert_eq!((&again["job"]["state"], &again["drift"]), (&json!("queued"), &json!([])));
    // What Kueue does to admit it.
    let name = created["job"]["name"].as_str().unwrap();
    place.patch("jobs", name, &json!({"spec": {"suspend": false}}));
    let started = harness.submit(&sample.signed_again()).expect(0, "already_submitted");
    assert_eq!(started["drift"], json!([{"path": "spec.suspend", "kind": "queue"}]));
    assert_ne!(started["job"]["state"], "queued");
    place.assert_holds(1, 1);
}
