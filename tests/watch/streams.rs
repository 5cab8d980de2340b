//! Streams of output that break: nothing is lost, nothing is repeated, or it is said.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::going::{Going, dispatch, run};
use crate::hands::submitted;
use crate::kit::{Place, Sample};
use crate::kubelet::{End, Kubelet, Stands, stand};
use harness_test_cluster::{ControlPlane, Options};

/// A control plane to be hurt, for one test at a time; it ends with this process.
pub(crate) struct Own {
    pub(crate) cluster: &'static ControlPlane,
    pub(crate) kubelet: Kubelet,
    _turn: MutexGuard<'static, ()>,
}

pub(crate) fn own() -> Own {
    static TURN: Mutex<()> = Mutex::new(());
    static OWN: OnceLock<(ControlPlane, Kubelet)> = OnceLock::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (cluster, kubelet) = OWN.get_or_init(|| {
        let cluster = ControlPlane::start(&Options::default()).unwrap();
        let kubelet = Kubelet::start(&cluster);
        (cluster, kubelet)
    });
    Own { cluster, kubelet: kubelet.clone(), _turn: turn }
}

#[test]
fn whatever_breaks_no_line_is_lost_or_repeated() {
    let own = own();
    let (cluster, kubelet) = (own.cluster, &own.kubelet);
    let place = Place::on(cluster, "breaks");
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    let mut expected = String::new();
    let mut write = |line: &str| {
        expected.push_str(line);
        kubelet.write(&place, "run", &[line.as_bytes()]);
    };
    write("one\n");
    write("half");
    let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f", "--step", "run"]));
    logs.out.wait_for("half");
    // In the middle of a line; the rest of it comes later, under its own time, as long lines do in pieces.
    kubelet.end_streams(End::Torn);
    write("\n");
    write("after a torn stream\n");
    logs.out.wait_for("after a torn stream\n");
    // A kubelet that is restarted: the API server ends the answer as if it were whole.
    kubelet.end_streams(End::Clean);
    write("after a clean end\n");
    logs.out.wait_for("after a clean end\n");
    logs.kill_kubectl();
    write("after kubectl\n");
    logs.out.wait_for("after kubectl\n");
    cluster.stop_api_server().unwrap();
    write("without an API server\n");
    cluster.start_api_server().unwrap();
    logs.out.wait_for("without an API server\n");
    write("the end\n");
    kubelet.end_container(&place, "run");
    stand(&place, &name, Stands::Succeeded);
    logs.ends_with(0);
    assert_eq!(logs.out.text(), expected);
    assert!(logs.err.text().contains("trying again"), "{}", logs.err.text());
    assert!(!logs.err.text().contains("lines may be missing"), "{}", logs.err.text());
}

#[test]
fn what_the_node_threw_away_meanwhile_is_said_to_be_missing() {
    let kubelet = Kubelet::shared();
    let place = Place::new("rotated");
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    kubelet.write(&place, "run", &[b"one\n", b"two\n"]);
    let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f", "--step", "run"]));
    logs.out.wait_for("two\n");
    logs.kill_kubectl();
    kubelet.write(&place, "run", &[b"lost\n", b"four\n"]);
    kubelet.forget(&place, "run", 1);
    logs.out.wait_for("four\n");
    kubelet.end_container(&place, "run");
    stand(&place, &name, Stands::Succeeded);
    logs.ends_with(0);
    assert_eq!(logs.out.text(), "one\ntwo\nfour\n");
    assert!(logs.err.text().contains("lines may be missing here"), "{}", logs.err.text());
    let again = kubelet.asked(&place);
    assert!(again.iter().any(|target| target.contains("sinceTime=2026-11-30T09")), "{again:?}");
}

#[test]
fn a_node_that_is_lost_ends_it_once_the_job_is_over() {
    let kubelet = Kubelet::shared();
    let place = Place::new("node-lost");
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    kubelet.write(&place, "run", &[b"one\n"]);
    let mut logs = Going::start(dispatch(&place, None, &["logs", &name, "-f", "--step", "run"]));
    logs.out.wait_for("one\n");
    kubelet.go_down(&place);
    let now = run(&place, &["logs", &name]);
    assert_eq!((now.code, now.stdout.as_str()), (Some(6), ""), "{now}");
    stand(&place, &name, Stands::RunnerFailed);
    logs.ends_with(7);
    assert_eq!(logs.out.text(), "one\n");
    assert!(
        logs.err.text().contains("the rest of the output of `run` is lost"),
        "{}",
        logs.err.text()
    );
}
