//! What others do between the reads of harness and its creates.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::{Action, Requests};
use serde_json::json;

use crate::kit::{Place, Sample, find};
use crate::late::{creates, start};

#[test]
fn a_foreign_job_comes_first() {
    let place = Place::new("between");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let harness = place.harness_through(&proxy);
    let started = start(&harness, &sample);
    held.wait_until_read().unwrap();
    let (_, mut job) = place.harness().render(&sample.clone().with("mission_id", "Mission 8"));
    job["metadata"]["labels"] = json!({"example.org/made": "by-hand"});
    let foreign = place.create("jobs", &job);
    held.release();
    let receipt = started.end().expect(4, "conflict");
    assert_eq!(receipt["job"]["uid"], *find(&foreign, "/metadata/uid"));
    // It names the Secret that this call made, which may be all that it waits for.
    place.assert_holds(1, 1);
}

#[test]
fn another_experiment_comes_first() {
    let place = Place::new("between");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let harness = place.harness_through(&proxy);
    let started = start(&harness, &sample);
    held.wait_until_read().unwrap();
    let other = sample.signed_again().with("mission_sha256", "9".repeat(64));
    let first = place.harness().submit(&other).expect(0, "created");
    held.release();
    let receipt = started.end().expect(4, "conflict");
    assert_eq!(receipt["job"]["uid"], first["job"]["uid"]);
    assert_eq!(receipt["secret"]["state"], "removed");
    place.assert_holds(1, 1);
    assert_eq!(place.secrets(), [first["secret"]["name"].as_str().unwrap()]);
}

#[test]
fn a_foreign_secret_comes_first() {
    let place = Place::new("between");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    let held = proxy.hold(creates("secrets"));
    let harness = place.harness_through(&proxy);
    let started = start(&harness, &sample);
    held.wait_until_read().unwrap();
    let (mut secret, _) = place.harness().render(&sample);
    secret["data"]["snapshot_url"] = json!("aHR0cHM6Ly9ldmlsLmV4YW1wbGUub3JnLw==");
    place.create("secrets", &secret);
    held.release();
    let receipt = started.end().expect(4, "conflict");
    assert_eq!(receipt["differences"], json!(["data[snapshot_url]"]));
    place.assert_holds(0, 1);
}

#[test]
fn the_secret_is_being_deleted() {
    let place = Place::new("between");
    let sample = Sample::new("attempt-1");
    let (mut secret, _) = place.harness().render(&sample);
    secret["metadata"]["finalizers"] = json!(["example.org/wait"]);
    place.create("secrets", &secret);
    let name = find(&secret, "/metadata/name").as_str().unwrap();
    place.delete("secrets", name);
    let receipt = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!(receipt["detail"], "the Secret is being deleted");
    place.assert_holds(0, 1);
    place.patch("secrets", name, &json!({"metadata": {"finalizers": null}}));
    place.harness().submit(&sample).expect(0, "created");
    place.assert_holds(1, 1);
}

/// The namespace begins to go while a create is on its way.
#[test]
fn the_namespace_goes() {
    let place = Place::new("between");
    let kept = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kept", "finalizers": ["example.org/wait"]},
    });
    place.create("configmaps", &kept);
    let proxy = place.proxy();
    let held = proxy.hold(creates("jobs"));
    let harness = place.harness_through(&proxy);
    let started = start(&harness, &Sample::new("attempt-1"));
    held.wait_until_read().unwrap();
    let path = format!("/api/v1/namespaces/{}", place.namespace.name);
    assert_eq!(place.cluster.admin_delete(&path, None).0, 200);
    held.release();
    let receipt = started.end().expect(5, "refused");
    assert!(receipt["detail"].as_str().unwrap().contains("being terminated"), "{receipt:#}");
    assert_eq!(place.cluster.count_jobs(&place.namespace.name), 0);
    place.patch("configmaps", "kept", &json!({"metadata": {"finalizers": null}}));
}

/// The server's clock says that the reads are old (a machine that was paused): they are made again.
#[test]
fn reads_that_have_grown_old() {
    let place = Place::new("paused");
    let sample = Sample::new("attempt-1");
    let later = SystemClock.now() + Duration::from_mins(10);
    let date = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let proxy = place.proxy();
    let rehearsal = Requests::new("POST", "/secrets?").nth(1);
    proxy.when(rehearsal, Action::SetHeaders(vec![("Date".to_owned(), date)]));
    place.harness_through(&proxy).submit(&sample).expect(0, "created");
    let exchanges = proxy.exchanges();
    let reads = exchanges.iter().filter(|one| one.path.contains("/configmaps/")).count();
    assert_eq!(reads, 2, "{exchanges:?}");
    let creates =
        exchanges.iter().filter(|one| one.method == "POST" && !one.query.contains("dryRun"));
    assert_eq!(creates.count(), 2, "{exchanges:?}");
    place.assert_holds(1, 1);
}
