//! Jobs that ended long ago make place for their records.

use harness_test_cluster::fault::{Action, Requests};
use serde_json::json;

use crate::kit::{Place, Sample, in_parallel};
use crate::world::{assert_pruned, bind, end, later, pod, set_status, submitted, uid, user};

const PRUNE: [&str; 2] = ["prune", "--yes"];

#[test]
fn as_the_pruner_a_finished_job_becomes_a_record() {
    let place = Place::new("prune");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    let job = uid(&place, &name);
    end(&place, &name, "Complete", 8 * 24);
    let pruner = user(&place, "pruner");
    let harness = place.harness_as(&pruner);
    let dry = harness.run(&["prune", "--dry-run"]).expect(0, "would_prune");
    assert_eq!(dry["secrets"].as_array().unwrap().len(), 1);
    place.assert_holds(1, 1);
    let receipt = harness.run(&PRUNE).expect(0, "pruned");
    assert_eq!(receipt["job"]["uid"], job);
    let record = assert_pruned(&place, &name, &job, "succeeded");
    assert_eq!(record["recorded_by"], pruner.name.as_str());
    // Nothing is left to do, and nothing comes back.
    assert_eq!(harness.run(&PRUNE).receipts(), Vec::<serde_json::Value>::new());
    let again = place.harness().submit(&sample.signed_again()).expect(0, "already_recorded");
    assert_eq!(again["record"]["recorded_by"], pruner.name.as_str());
    place.harness().run(&["release", &name, "--yes"]).expect(4, "not_released");
    place.harness().run(&["cancel", &name, "--yes"]).expect(0, "already_recorded");
    place.assert_holds(0, 0);
}

#[test]
fn what_failed_says_why_and_which_images_ran() {
    let place = Place::new("prune-failed");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let live = pod(&place, &name);
    bind(&place, &live);
    let evidence = "8".repeat(64);
    let message = json!({
        "schema_version": "prediction_reason.v1", "step": "publish", "category": "runner-failed",
        "sentence": "the runner ended with 3", "remedy": "", "digests": {"evidence": evidence},
    });
    let image = format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64));
    set_status(&place, "pods", live["metadata"]["name"].as_str().unwrap(), |_| {
        let ended = |name: &str, code: u8, text: &str| {
            json!({"name": name, "image": image, "imageID": image, "ready": false, "restartCount": 0,
                "containerID": "containerd://1", "state": {"terminated": {"exitCode": code, "message": text,
                "containerID": "containerd://1"}}})
        };
        json!({"phase": "Failed", "containerStatuses": [
            ended("publish", 21, &message.to_string()), ended("run", 3, ""),
        ]})
    });
    crate::world::wait_for(&place, &name, "Failed");
    let job = uid(&place, &name);
    let proxy = place.proxy();
    later(&proxy, 8);
    place.harness_through(&proxy).run(&PRUNE).expect(0, "pruned");
    let record = assert_pruned(&place, &name, &job, "runner-failed");
    assert_eq!(record["evidence_digest"], evidence.as_str());
    assert_eq!(record["image_ids"], json!([image]));
    let strict = place.harness().arg("--fail-if-failed");
    strict.submit(&Sample::new("attempt-1")).expect(7, "already_recorded");
}

#[test]
fn what_runs_or_ended_lately_stays() {
    let place = Place::new("prune-young");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let nothing = Vec::<serde_json::Value>::new();
    let proxy = place.proxy();
    later(&proxy, 30);
    assert_eq!(place.harness_through(&proxy).run(&PRUNE).receipts(), nothing, "it runs");
    end(&place, &name, "Complete", 2);
    assert_eq!(place.harness().run(&PRUNE).receipts(), nothing, "two hours of seven days");
    place.assert_holds(1, 1);
    let short = place.harness().run(&["prune", "--yes", "--older-than", "59m"]);
    assert_eq!(short.code, Some(2), "{short}");
    assert_eq!(place.harness().run(&["prune"]).code, Some(2), "nobody can be asked");
    place.harness().run(&["prune", "--yes", "--older-than", "1h"]).expect(0, "pruned");
    place.assert_holds(0, 0);
}

/// The retention is the server's: without its clock nothing goes.
#[test]
fn without_the_servers_clock_nothing_goes() {
    let place = Place::new("prune-clock");
    let name = submitted(&place, &Sample::new("attempt-1"));
    end(&place, &name, "Complete", 8 * 24);
    let proxy = place.proxy();
    let headers = vec![("Date".to_owned(), "soon".to_owned())];
    proxy.when(Requests::new("", ""), Action::SetHeaders(headers));
    let run = place.harness_through(&proxy).run(&PRUNE);
    assert_eq!((run.code, run.stdout.as_str()), (Some(6), ""), "{run}");
    place.assert_holds(1, 1);
}

#[test]
fn a_record_of_another_job_is_a_conflict() {
    in_parallel(["other", "mutable", "unreadable"], |what| {
        let place = Place::new("prune-conflict");
        let name = submitted(&place, &Sample::new("attempt-1"));
        end(&place, &name, "Complete", 8 * 24);
        // What a prune would write, with one thing wrong.
        let rehearsal = Place::new("prune-rehearsal");
        let twin = submitted(&rehearsal, &Sample::new("attempt-1"));
        end(&rehearsal, &twin, "Complete", 8 * 24);
        rehearsal.harness().run(&PRUNE).expect(0, "pruned");
        let mut kept = rehearsal.get("configmaps", &twin);
        let text = kept["data"]["record.json"].as_str().unwrap().to_owned();
        let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
        record["namespace_uid"] = json!(place.namespace.uid);
        if what != "other" {
            record["job_uid"] = uid(&place, &name);
        }
        kept["metadata"] = json!({"name": name});
        kept["immutable"] = json!(what != "mutable");
        kept["data"]["record.json"] =
            json!(if what == "unreadable" { "{}".to_owned() } else { record.to_string() });
        place.create("configmaps", &kept);
        place.harness().run(&PRUNE).expect(4, "conflict");
        place.assert_holds(1, 1);
    });
}

#[test]
fn finalizers_are_waited_for_and_named() {
    in_parallel(["jobs", "secrets"], |resource| {
        let place = Place::new("prune-finalizer");
        let name = submitted(&place, &Sample::new("attempt-1"));
        let held = if resource == "jobs" { name.clone() } else { place.secrets()[0].clone() };
        let job = uid(&place, &name);
        end(&place, &name, "Failed", 8 * 24);
        place.patch(resource, &held, &json!({"metadata": {"finalizers": ["example.org/wait"]}}));
        let run = place.harness().run(&PRUNE);
        let receipt = run.expect(6, "incomplete");
        assert!(receipt["detail"].as_str().unwrap().contains("finalizers"), "{receipt:#}");
        // The Job stands as long as a Secret does.
        assert_eq!(place.cluster.count_jobs(&place.namespace.name), 1);
        place.patch(resource, &held, &json!({"metadata": {"finalizers": null}}));
        if resource == "secrets" {
            place.harness().run(&PRUNE).expect(0, "pruned");
        }
        assert_pruned(&place, &name, &job, "failed");
    });
}

#[test]
fn a_quota_or_a_missing_right_keeps_everything() {
    let place = Place::new("prune-denied");
    let name = submitted(&place, &Sample::new("attempt-1"));
    end(&place, &name, "Complete", 8 * 24);
    let watcher = place.harness_as(&user(&place, "watcher"));
    let run = watcher.run(&PRUNE);
    assert_eq!((run.code, run.stdout.as_str()), (Some(6), ""), "{run}");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"count/configmaps": "0"}}});
    place.create("resourcequotas", &quota);
    let counted = || place.get("resourcequotas", "none")["status"]["hard"].is_object();
    assert!(harness_test_cluster::until(crate::world::PATIENCE, counted));
    let refused = place.harness().run(&PRUNE).expect(5, "refused");
    assert!(refused["detail"].as_str().unwrap().contains("quota"), "{refused:#}");
    place.assert_holds(1, 1);
}
