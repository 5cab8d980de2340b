//! Waits while the API server, etcd or kubectl are away.

use std::time::Duration;

use harness_test_cluster::Component;
use harness_test_cluster::fault::{Action, Answer, Requests};
use rustix::process::Signal;

use crate::going::{Going, dispatch, run, timed};
use crate::hands::submitted;
use crate::kit::{Place, Sample};
use crate::kubelet::{Kubelet, Stands, stand};
use crate::streams::own;

#[test]
fn restarts_and_a_dead_kubectl_are_survived() {
    let own = own();
    let cluster = own.cluster;
    let place = Place::on(cluster, "restarts");
    let names =
        ["attempt-1", "attempt-2", "attempt-3"].map(|it| submitted(&place, &Sample::new(it)));
    let mut watch =
        Going::start(dispatch(&place, None, &["status", &names[0], "--watch", "-o", "json"]));
    let mut wait = Going::start(dispatch(&place, None, &["status", &names[1], "--wait=10m"]));
    let mut both =
        Going::start(dispatch(&place, None, &["status", &names[0], &names[2], "--wait"]));
    watch.out.wait_for("\"phase\":\"pending\"");
    wait.err.wait_for("pending: ");
    both.err.wait_for(&names[2]);
    cluster.stop_api_server().unwrap();
    watch.err.wait_for("cannot read the cluster");
    wait.err.wait_for("cannot read the cluster");
    cluster.start_api_server().unwrap();
    stand(&place, &names[0], Stands::Running);
    watch.out.wait_for("\"phase\":\"running\"");
    watch.kill_kubectl();
    wait.kill_kubectl();
    cluster.stop_etcd().unwrap();
    cluster.start_etcd().unwrap();
    stand(&place, &names[0], Stands::Succeeded);
    watch.ends_with(0);
    stand(&place, &names[1], Stands::RunnerFailed);
    wait.ends_with(7);
    stand(&place, &names[2], Stands::Succeeded);
    both.ends_with(0);
}

#[test]
fn a_server_that_hangs_prolongs_no_wait() {
    let own = own();
    let cluster = own.cluster;
    let place = Place::on(cluster, "hangs");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let mut stopped =
        Going::start(dispatch(&place, None, &["status", &name, "--wait", "-o", "json"]));
    stopped.out.wait_for("\"phase\":\"pending\"");
    let mut wait =
        Going::start(dispatch(&place, None, &["status", &name, "--wait=8s", "-o", "json"]));
    let ((), took) = timed(|| {
        wait.out.wait_for("\"phase\":\"pending\"");
        cluster.pause(Component::ApiServer).unwrap();
        wait.ends_with(8);
    });
    assert!(took < Duration::from_secs(25), "{took:?}");
    stopped.signal(Signal::INT);
    let (code, took) = timed(|| stopped.code());
    assert_eq!(code, Some(6));
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Never seen, so nobody can say that it goes on.
    let (never, took) = timed(|| run(&place, &["status", &name, "--wait=3s"]));
    assert_eq!(never.code, Some(6), "{never}");
    assert!(never.stderr.contains("did not say where it stands"), "{never}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    cluster.resume(Component::ApiServer).unwrap();
}

/// Not a dropped request: kubectl repeats those by itself.
fn broken() -> Action {
    Action::Replace(Answer::new(500, "text/plain", "broken"))
}

#[test]
fn five_failures_in_a_row_are_survived_and_six_before_the_first_sight_are_not() {
    let place = Place::new("failures");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let job = format!("/jobs/{name}");
    for failures in [5, 6] {
        let proxy = place.proxy();
        for number in 1..=failures {
            proxy.when(Requests::new("GET", &job).nth(number), broken());
        }
        let arguments = ["status", &name, "--wait=40s", "-o", "json"];
        let mut wait = Going::start(dispatch(&place, Some(&proxy), &arguments));
        if failures == 5 {
            wait.out.wait_for("\"phase\":\"pending\"");
        } else {
            wait.ends_with(6);
            assert_eq!(wait.out.text(), "");
        }
        assert_eq!(wait.err.text().matches("trying again").count(), 1, "{}", wait.err.text());
    }
    // What was seen once is waited for through any number of them, for ten minutes.
    let proxy = place.proxy();
    for number in 2..=10 {
        proxy.when(Requests::new("GET", &job).nth(number), broken());
    }
    let _node = Kubelet::shared();
    let mut wait = Going::start(dispatch(&place, Some(&proxy), &["status", &name, "--wait"]));
    wait.err.wait_for("pending: ");
    stand(&place, &name, Stands::Succeeded);
    wait.ends_with(0);
}
