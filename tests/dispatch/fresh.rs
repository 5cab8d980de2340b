//! A fresh submission, and everything that stores nothing.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::kit::{Place, Sample, find};

/// Every leaf by its path; what is empty counts as a leaf.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn walk(path: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                map.iter().for_each(|(key, value)| walk(&format!("{path}/{key}"), value, into));
            }
            Value::Array(list) if !list.is_empty() => {
                let each = list.iter().enumerate();
                each.for_each(|(index, value)| walk(&format!("{path}/{index}"), value, into));
            }
            leaf => drop(into.insert(path.to_owned(), leaf.clone())),
        }
    }
    let mut into = BTreeMap::new();
    walk("", value, &mut into);
    into
}

/// What the server writes itself, below these paths.
const OF_THE_SERVER: [&str; 11] = [
    "/metadata/uid",
    "/metadata/creationTimestamp",
    "/metadata/generation",
    "/metadata/managedFields/",
    "/metadata/resourceVersion",
    "/status",
    "/spec/selector/matchLabels/batch.kubernetes.io/controller-uid",
    "/spec/template/metadata/labels/batch.kubernetes.io/controller-uid",
    "/spec/template/metadata/labels/batch.kubernetes.io/job-name",
    "/spec/template/metadata/labels/controller-uid",
    "/spec/template/metadata/labels/job-name",
];

#[track_caller]
fn assert_stored_as_rendered(rendered: &Value, stored: &Value) {
    let (rendered, stored) = (leaves(rendered), leaves(stored));
    for (path, value) in &rendered {
        assert_eq!(stored.get(path), Some(value), "{path}");
    }
    let is_ours = |path: &str| !OF_THE_SERVER.iter().any(|server| path.starts_with(server));
    let added: Vec<&String> =
        stored.keys().filter(|path| !rendered.contains_key(*path) && is_ours(path)).collect();
    assert!(added.is_empty(), "the server added {added:?}");
}

#[test]
fn what_is_stored_is_what_was_rendered() {
    let place = Place::new("fresh");
    let sample = Sample::new("attempt-1");
    let harness = place.harness();
    let receipt = harness.submit(&sample).expect(0, "created");
    for empty in ["drift", "remarks", "warnings", "differences", "problems"] {
        assert_eq!(receipt[empty], json!([]), "{empty}");
    }
    assert_eq!(receipt["secret"]["state"], "created");
    assert_eq!(receipt["namespace"]["uid"], Value::from(place.namespace.uid.as_str()));
    place.assert_holds(1, 1);
    let (secret, job) = harness.render(&sample);
    let stored_job = place.job();
    assert_stored_as_rendered(&job, &stored_job);
    let name = find(&secret, "/metadata/name").as_str().unwrap();
    assert_stored_as_rendered(&secret, &place.get("secrets", name));
    assert_eq!(receipt["job"]["uid"], *find(&stored_job, "/metadata/uid"));
    assert_eq!(receipt["job"]["name"], *find(&stored_job, "/metadata/name"));
    assert_eq!(receipt["secret"]["name"], name);
    place.assert_hides(&sample);
}

#[test]
fn the_same_again_creates_nothing() {
    let place = Place::new("again");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let again = place.harness().submit(&sample).expect(0, "already_submitted");
    assert_eq!(again["job"]["uid"], created["job"]["uid"]);
    assert_eq!(again["drift"], json!([]));
    assert_eq!(again["secret"]["state"], "present");
    place.assert_holds(1, 1);
}

#[test]
fn dry_runs_store_nothing() {
    let place = Place::new("dry");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let client = place.harness_through(&proxy).arg("--dry-run=client");
    client.submit(&sample).expect(0, "would_create");
    assert_eq!(proxy.exchanges(), [], "--dry-run=client asks no cluster");
    let server = place.harness_through(&proxy).arg("--dry-run=server");
    let receipt = server.submit(&sample).expect(0, "would_create");
    assert_eq!(receipt["drift"], json!([]));
    let writes: Vec<_> = proxy.exchanges().into_iter().filter(|one| one.method != "GET").collect();
    assert_eq!(writes.len(), 2, "{writes:?}");
    assert!(writes.iter().all(|one| one.query.contains("dryRun=All")), "{writes:?}");
    place.assert_holds(0, 0);
    place.harness().submit(&sample).expect(0, "created");
    // Of one that exists, a rehearsal says so and repairs nothing.
    place.delete("secrets", &place.secrets()[0]);
    server.submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 0);
}

#[test]
fn every_missing_signature_is_listed() {
    let place = Place::new("unsigned");
    let mut sample = Sample::new("attempt-1");
    let plain = Sample::unsigned("attempt-1");
    for field in ["snapshot_url", "result_put_url"] {
        sample.value[field] = plain.value[field].clone();
    }
    let pointers = |receipt: &Value| -> Vec<String> {
        let problems = receipt["problems"].as_array().unwrap();
        assert!(problems.iter().all(|problem| problem["code"] == "signature-missing"));
        problems.iter().map(|problem| problem["pointer"].as_str().unwrap().to_owned()).collect()
    };
    let receipt = place.harness().submit(&sample).expect(3, "invalid");
    assert_eq!(pointers(&receipt), ["/snapshot_url", "/result_put_url"]);
    let public = place.harness().arg("--public-inputs");
    let receipt = public.submit(&sample).expect(3, "invalid");
    assert_eq!(pointers(&receipt), ["/result_put_url"]);
    let receipt = place.harness().arg("--dry-run=client").submit(&sample).expect(3, "invalid");
    assert_eq!(pointers(&receipt), ["/snapshot_url", "/result_put_url"]);
    place.assert_holds(0, 0);
    let signed = Sample::new("attempt-1");
    let sample = sample.with("result_put_url", signed.value["result_put_url"].clone());
    public.submit(&sample).expect(0, "created");
    place.assert_holds(1, 1);
}

#[test]
fn signatures_come_from_a_file_or_a_folder() {
    let place = Place::new("signed");
    let (plain, signed) = (Sample::unsigned("attempt-1"), Sample::new("attempt-1"));
    let harness = place.harness();
    let folder = harness.temporary().parent().unwrap().join("signed");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("attempt-1.json");
    fs::write(&file, signed.signatures().to_string()).unwrap();
    let by_file = place.harness().arg("--signed").arg(&file);
    let run = by_file.submit(&plain);
    run.assert_hides(&signed);
    let created = run.expect(0, "created");
    let by_folder = place.harness().arg("--signed").arg(&folder);
    let run = by_folder.submit(&plain);
    run.assert_hides(&signed);
    let again = run.expect(0, "already_submitted");
    assert_eq!(again["identity"], created["identity"]);
    // The whole form gives the same bytes as the form and its signatures apart.
    let whole = place.harness().submit(&signed).expect(0, "already_submitted");
    assert_eq!(whole["identity"], created["identity"]);
    place.assert_holds(1, 1);
    place.assert_hides(&signed);
}

#[test]
fn a_signature_of_another_object_is_refused() {
    let place = Place::new("other");
    let (plain, signed) = (Sample::unsigned("attempt-1"), Sample::new("attempt-1"));
    let mut signatures = signed.signatures();
    signatures["mission_url"] = signed.value["snapshot_url"].clone();
    let harness = place.harness();
    let file = harness.inputs().parent().unwrap().join("signatures.json");
    fs::write(&file, signatures.to_string()).unwrap();
    let run = harness.arg("--signed").arg(&file).submit(&plain);
    run.assert_hides(&signed);
    let receipt = run.expect(3, "invalid");
    assert_eq!(receipt["problems"][0]["pointer"], "/mission_url");
    place.assert_holds(0, 0);
}
