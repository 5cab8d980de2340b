//! What happens to an experiment while it is waited for.

use std::time::Duration;

use harness_test_cluster::fault::{Action, Answer, Requests};
use harness_test_cluster::until;
use rustix::process::Signal;
use serde_json::json;

use crate::going::{Going, PATIENCE, dispatch, run, timed};
use crate::hands::{self, submitted};
use crate::kit::{HARNESS_IMAGE, Place, Sample};
use crate::kubelet::{Kubelet, Stands, stand};

/// A wait that prints each change, and has seen the experiment.
fn watching(place: &Place, name: &str) -> Going {
    let watch = Going::start(dispatch(place, None, &["status", name, "--watch", "-o", "json"]));
    watch.out.wait_for("\"phase\":\"pending\"");
    watch
}

#[test]
fn one_document_for_each_change_and_an_end_with_the_job() {
    let _node = Kubelet::shared();
    let place = Place::new("changes");
    for (attempt, last, phase, code) in [
        ("attempt-1", Stands::Succeeded, "succeeded", 0),
        ("attempt-2", Stands::RunnerFailed, "failed", 7),
    ] {
        let name = submitted(&place, &Sample::new(attempt));
        let mut watch = watching(&place, &name);
        for (stands, shown) in [(Stands::Staging, "staging"), (Stands::Running, "running")] {
            stand(&place, &name, stands);
            watch.out.wait_for(&format!("\"phase\":\"{shown}\""));
        }
        stand(&place, &name, last);
        watch.ends_with(code);
        let documents = watch.out.documents();
        let phases: Vec<_> = documents.iter().map(|it| it["phase"].as_str().unwrap()).collect();
        assert_eq!(phases.last(), Some(&phase), "{phases:?}");
        for pair in documents.windows(2) {
            let view = |it: &serde_json::Value| {
                json!([it["phase"], it["diagnosis"], it["steps"], it["remarks"], it["pods"]])
            };
            assert_ne!(view(&pair[0]), view(&pair[1]), "nothing changed");
        }
    }
}

#[test]
fn a_pod_that_vanishes_ends_with_what_the_job_says() {
    let _node = Kubelet::shared();
    let place = Place::new("vanished");
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    let mut wait = Going::start(dispatch(&place, None, &["status", &name, "--wait", "-o", "json"]));
    wait.out.wait_for("\"phase\":\"running\"");
    let pod = hands::pod(&place, &name)["metadata"]["name"].as_str().unwrap().to_owned();
    let at_once = json!({"gracePeriodSeconds": 0});
    let (status, answer) = place.cluster.admin_delete(&place.path("pods", &pod), Some(&at_once));
    assert!(status < 300, "{answer:#}");
    wait.out.wait_for("on its way out");
    // As a kubelet does with a pod that is deleted; then the Job counts it and lets it go.
    stand(&place, &name, Stands::RunnerFailed);
    wait.ends_with(7);
    assert!(until(PATIENCE, || place.list("pods").is_empty()), "the pod stays");
    let gone = run(&place, &["status", &name, "--wait", "-o", "json"]);
    assert_eq!((gone.code, gone.stdout.lines().count()), (Some(7), 1), "{gone}");
}

#[test]
fn a_job_that_was_really_made_anew_is_another_one() {
    let place = Place::new("anew");
    let sample = Sample::new("attempt-1");
    let name = submitted(&place, &sample);
    let proxy = place.proxy();
    let arguments = ["status", &name, "--watch", "-o", "json"];
    let mut watch = Going::start(dispatch(&place, Some(&proxy), &arguments));
    watch.out.wait_for("\"phase\":\"pending\"");
    let held = proxy.hold(Requests::new("GET", &format!("/jobs/{name}")));
    let earlier = place.get("jobs", &name)["metadata"]["uid"].clone();
    place.delete("jobs", &name);
    assert!(until(PATIENCE, || !hands::stands(&place, "jobs", &name)));
    assert_eq!(submitted(&place, &sample), name);
    assert_ne!(place.get("jobs", &name)["metadata"]["uid"], earlier);
    held.release();
    watch.ends_with(9);
    assert!(watch.out.text().contains("\"replaced\""), "{}", watch.out.text());
}

#[test]
fn a_namespace_that_goes_takes_the_experiment_with_it() {
    let place = Place::new("no-namespace");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let mut watch = watching(&place, &name);
    let path = format!("/api/v1/namespaces/{}", place.namespace.name);
    assert!(place.cluster.admin_delete(&path, None).0 < 300);
    // Its pod goes first, and the Job may have time to say so.
    let code = watch.code();
    assert!(matches!(code, Some(7 | 9)), "{code:?}\n{}", watch.out.text());
}

#[test]
fn an_expired_watch_is_begun_anew_and_changes_are_seen_at_once() {
    let _node = Kubelet::shared();
    let gone = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "too old resource version: 1 (2)",
    });
    let as_event = format!("{}\n", json!({"type": "ERROR", "object": gone}));
    for answer in [
        Answer::new(410, "application/json", gone.to_string()),
        Answer::new(200, "application/json", as_event),
    ] {
        let place = Place::new("expired");
        let name = submitted(&place, &Sample::new("attempt-1"));
        let proxy = place.proxy();
        for number in 1..=2 {
            let watches = Requests::new("GET", "watch=true").nth(number);
            proxy.when(watches, Action::Replace(answer.clone()));
        }
        let arguments = ["status", &name, "--watch", "-o", "json"];
        let mut watch = Going::start(dispatch(&place, Some(&proxy), &arguments));
        watch.out.wait_for("\"phase\":\"pending\"");
        let watches = || {
            let all = proxy.exchanges();
            all.iter().filter(|it| it.query.contains("watch=true")).count()
        };
        assert!(until(PATIENCE, || watches() >= 4), "the watches are begun anew");
        stand(&place, &name, Stands::Succeeded);
        watch.ends_with(0);
    }
}

#[test]
fn signals_end_a_wait_at_once_and_leave_the_experiment_alone() {
    let place = Place::new("signals");
    let name = submitted(&place, &Sample::new("attempt-1"));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut watch = watching(&place, &name);
        watch.signal(signal);
        let (code, took) = timed(|| watch.code());
        assert_eq!(code, Some(6), "{}", watch.err.text());
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    let status = run(&place, &["status", &name, "-o", "json"]);
    assert!(status.stdout.contains("\"phase\":\"pending\""), "{status}");
}

#[test]
fn submit_waits_and_the_wait_decides_about_the_exit_code() {
    let _node = Kubelet::shared();
    let place = Place::new("submit-wait");
    let folder = tempfile::tempdir().unwrap();
    for (attempt, last, code) in
        [("attempt-1", Stands::Succeeded, 0), ("attempt-2", Stands::RunnerFailed, 7)]
    {
        let file = Sample::new(attempt).write(folder.path());
        let arguments = ["submit", "-o", "json", "--wait", "-f", file.to_str().unwrap()];
        let mut wait = Going::start(dispatch(&place, None, &arguments));
        wait.out.wait_for("\"phase\":\"pending\"");
        let receipt = wait.out.documents().remove(0);
        assert_eq!(receipt["outcome"], "created");
        stand(&place, receipt["job"]["name"].as_str().unwrap(), last);
        wait.ends_with(code);
    }
}

#[test]
fn what_stands_under_the_name_is_compared_with_the_submission() {
    let place = Place::new("compared");
    let (one, two) = (Sample::new("attempt-1"), Sample::new("attempt-2"));
    submitted(&place, &one);
    submitted(&place, &two);
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (one.write(folder.path()), two.write(folder.path()));
    let (first, second) = (first.to_str().unwrap(), second.to_str().unwrap());
    let status = |more: &[&str]| run(&place, &[&["status"][..], more].concat());
    let both = status(&["-f", first, second, "-o", "name"]);
    assert_eq!((both.code, both.stdout.lines().count()), (Some(0), 2), "{both}");
    let folder_of_both = status(&["-f", folder.path().to_str().unwrap(), "-o", "json"]);
    assert_eq!(folder_of_both.stdout.lines().count(), 2, "{folder_of_both}");
    // The same result object, and another mission.
    let other = one.with("mission_sha256", "9".repeat(64));
    std::fs::write(first, other.value.to_string()).unwrap();
    let another = status(&["-f", first, "-o", "json"]);
    assert_eq!(another.code, Some(4), "{another}");
    // There is nothing to wait for: it is not what is asked about.
    let (waited, took) = timed(|| status(&["-f", first, second, "--wait=20s"]));
    assert_eq!(waited.code, Some(4), "{waited}");
    assert!(took >= Duration::from_secs(19), "the other one is waited for: {took:?}");
    let (alone, took) = timed(|| status(&["-f", first, "--wait=2m"]));
    assert!(alone.code == Some(4) && took < Duration::from_mins(1), "{alone}");
    let input = std::fs::File::open(second).unwrap();
    let mut command = dispatch(&place, None, &["status", "-f", "-", "-o", "name"]);
    let piped = command.stdin(input).env("HARNESS_IMAGE", HARNESS_IMAGE).output().unwrap();
    assert_eq!(piped.status.code(), Some(0), "{}", String::from_utf8_lossy(&piped.stderr));
    std::fs::write(first, "{}").unwrap();
    assert_eq!(status(&["-f", first]).code, Some(3));
}
