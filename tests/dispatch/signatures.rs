//! URLs that were signed again, before and after the Job exists, and Secrets that are missing.

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::{Action, FaultProxy, Requests};
use serde_json::{Value, json};

use crate::finished::finish;
use crate::kit::{Place, Sample, find};

const THREE_DAYS: std::time::Duration = std::time::Duration::from_hours(72);

#[test]
fn signed_again_after_the_job_exists() {
    let place = Place::new("resigned");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let again = place.harness().submit(&sample.signed_again()).expect(0, "already_submitted");
    assert_eq!(again["job"]["uid"], created["job"]["uid"]);
    assert_ne!(again["secret"]["name"], created["secret"]["name"]);
    assert_eq!(again["secret"]["state"], "absent");
    assert_eq!(again["remarks"], json!([]));
    place.assert_holds(1, 1);
    assert_eq!(place.secrets(), [created["secret"]["name"].as_str().unwrap()]);
}

/// Interrupted between Secret and Job: the Secret of the earlier signature stays for a prune.
#[test]
fn signed_again_before_the_job_exists() {
    let place = Place::new("orphan");
    let sample = Sample::new("attempt-1");
    let (orphan, _) = place.harness().render(&sample);
    place.create("secrets", &orphan);
    let again = sample.signed_again();
    let created = place.harness().submit(&again).expect(0, "created");
    place.assert_holds(1, 2);
    let named = find(&place.job(), "/spec/template/spec/volumes").to_string();
    assert!(named.contains(created["secret"]["name"].as_str().unwrap()));
    // Whichever signature comes next, there is the one Job.
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.harness().submit(&again).expect(0, "already_submitted");
    place.assert_holds(1, 2);
}

#[test]
fn interrupted_after_the_secret() {
    let place = Place::new("interrupted");
    let sample = Sample::new("attempt-1");
    let harness = place.harness();
    let (orphan, _) = harness.render(&sample);
    let uid = find(&place.create("secrets", &orphan), "/metadata/uid").clone();
    let receipt = harness.submit(&sample).expect(0, "created");
    assert_eq!(receipt["secret"]["state"], "present");
    place.assert_holds(1, 1);
    let name = receipt["secret"]["name"].as_str().unwrap();
    let stored = place.get("secrets", name);
    assert_eq!(*find(&stored, "/metadata/uid"), uid, "the Secret was taken over as it is");
}

#[test]
fn a_missing_secret_is_created_again_while_the_job_can_start() {
    let place = Place::new("repair");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    let name = created["secret"]["name"].as_str().unwrap();
    place.delete("secrets", name);
    // Another signature would make another Secret, which helps nobody.
    let other = place.harness().submit(&sample.signed_again()).expect(0, "already_submitted");
    assert!(other["remarks"][0].as_str().unwrap().contains(name), "{other:#}");
    place.assert_holds(1, 0);
    let repaired = place.harness().submit(&sample).expect(0, "already_submitted");
    assert!(repaired["remarks"].to_string().contains("created again"), "{repaired:#}");
    assert_eq!(repaired["secret"]["state"], "created");
    place.assert_holds(1, 1);
    let again = place.harness().submit(&sample).expect(0, "already_submitted");
    assert_eq!(again["remarks"], json!([]));
}

#[test]
fn a_missing_secret_of_a_finished_job_stays_missing() {
    let place = Place::new("spent");
    let sample = Sample::new("attempt-1");
    let created = place.harness().submit(&sample).expect(0, "created");
    finish(&place, "Complete");
    place.delete("secrets", created["secret"]["name"].as_str().unwrap());
    for sample in [&sample, &sample.signed_again()] {
        let again = place.harness().submit(sample).expect(0, "already_submitted");
        assert_eq!(again["remarks"], json!([]));
        assert_eq!(again["job"]["state"], "succeeded");
    }
    place.assert_holds(1, 0);
}

fn three_days_later(place: &Place) -> FaultProxy {
    let later = SystemClock.now() + THREE_DAYS;
    let date = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let proxy = place.proxy();
    proxy.when(Requests::new("", ""), Action::SetHeaders(vec![("Date".to_owned(), date)]));
    proxy
}

/// The server's clock decides: it says that the URLs are dead, and this machine's does not.
#[test]
fn expired_urls_stop_a_create_and_nothing_else() {
    let place = Place::new("expired");
    let sample = Sample::new("attempt-1");
    let proxy = three_days_later(&place);
    let late = place.harness_through(&proxy);
    let receipt = late.submit(&sample).expect(3, "invalid");
    let problems = receipt["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 4, "{receipt:#}");
    assert!(problems.iter().all(|problem| problem["code"] == "url-expired"), "{receipt:#}");
    place.assert_holds(0, 0);
    place.harness().submit(&sample).expect(0, "created");
    let again = late.submit(&sample).expect(0, "already_submitted");
    let remarks = again["remarks"].to_string();
    assert!(remarks.contains("clock differs"), "{remarks}");
    let skew = again["timings"]["clock_skew_seconds"].as_i64().unwrap();
    assert!((skew - 259_200).abs() < 60, "{skew}");
    place.assert_holds(1, 1);
}

#[test]
fn urls_that_were_dead_from_the_start() {
    let place = Place::new("dead");
    let sample = Sample::new("attempt-1");
    let dead = sample.expired();
    let receipt = place.harness().submit(&dead).expect(3, "invalid");
    assert!(receipt["problems"].as_array().unwrap().len() >= 4, "{receipt:#}");
    place.assert_holds(0, 0);
    place.harness().submit(&sample).expect(0, "created");
    let again = place.harness().submit(&dead).expect(0, "already_submitted");
    assert_eq!(again["problems"], Value::Array(Vec::new()));
    place.assert_holds(1, 1);
}
