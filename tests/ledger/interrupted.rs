//! Killed at every request, and every answer lost: what is there afterwards is safe, and the same command goes on.

use std::process::Stdio;

use harness_test_cluster::fault::{Action, FaultProxy, Requests};
use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::{Place, Run, Sample, in_parallel};
use crate::world::{
    PATIENCE, assert_pruned, bind, end, fail_in_stage, later, pod, stands, submitted, uid, wait_for,
};

/// One command with an experiment to try it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Prune,
    CancelRunning,
    CancelSuspended,
    Release,
}

const CASES: [Case; 4] = [Case::Prune, Case::CancelRunning, Case::CancelSuspended, Case::Release];

struct Prepared {
    place: Place,
    name: String,
    uid: Value,
}

fn prepare(case: Case) -> Prepared {
    let place = Place::new("interrupted");
    let name = submitted(&place, &Sample::new("attempt-1"));
    match case {
        Case::Prune => end(&place, &name, "Complete", 8 * 24),
        Case::CancelRunning => bind(&place, &pod(&place, &name)),
        Case::CancelSuspended => {
            place.patch("jobs", &name, &json!({"spec": {"suspend": true}}));
        }
        Case::Release => {
            let live = pod(&place, &name);
            bind(&place, &live);
            fail_in_stage(&place, &live, None);
            wait_for(&place, &name, "Failed");
        }
    }
    let uid = uid(&place, &name);
    Prepared { place, name, uid }
}

fn arguments(case: Case, name: &str) -> Vec<&str> {
    match case {
        Case::Prune => vec!["prune", "--yes"],
        Case::CancelRunning | Case::CancelSuspended => vec!["cancel", name, "--yes"],
        Case::Release => vec!["release", name, "--yes"],
    }
}

/// What must be true at any moment: no Secret without its Job, and no Job gone without a reason.
#[track_caller]
fn assert_safe(case: Case, prepared: &Prepared, context: &str) {
    let Prepared { place, name, uid } = prepared;
    let job = place.cluster.admin_get(&place.path("jobs", name));
    let secrets = place.secrets().len();
    let recorded = stands(place, "configmaps", name);
    if job.0 == 200 {
        assert_eq!(job.1["metadata"]["uid"], *uid, "{context}");
        assert!(secrets == 1 || recorded || case == Case::Release, "{context}");
    } else {
        assert_eq!(secrets, 0, "{context}: a Secret outlived its Job");
        assert!(recorded || case == Case::Release, "{context}: a Job went without its record");
    }
    assert!(!(recorded && case == Case::Release), "{context}: what never ran is recorded");
}

#[track_caller]
fn assert_converges(case: Case, prepared: &Prepared, context: &str) {
    let Prepared { place, name, uid } = prepared;
    let run = place.harness().run(&arguments(case, name));
    match case {
        Case::Prune => {
            assert_eq!(run.code, Some(0), "{context} {run}");
            assert_pruned(place, name, uid, "succeeded");
        }
        Case::CancelRunning => {
            run.expect(0, "cancel_requested");
            let pods = place.list("pods");
            assert_eq!(pods[0]["spec"]["activeDeadlineSeconds"], 1, "{context}");
            place.assert_holds(1, 1);
        }
        Case::CancelSuspended => {
            let (code, outcome) = run.outcome();
            let fine = matches!(outcome.as_str(), "cancelled" | "already_recorded");
            assert!(code == 0 && fine, "{context} {run}");
            assert_pruned(place, name, uid, "cancelled");
        }
        Case::Release => {
            let (code, outcome) = run.outcome();
            let fine = matches!((code, outcome.as_str()), (0, "released") | (9, "missing"));
            assert!(fine, "{context} {run}");
            place.assert_holds(0, 0);
        }
    }
}

/// How many requests an undisturbed run sends.
fn requests(case: Case) -> u32 {
    let prepared = prepare(case);
    let proxy = prepared.place.proxy();
    let run = prepared.place.harness_through(&proxy).run(&arguments(case, &prepared.name));
    assert_eq!(run.code, Some(0), "{run}");
    u32::try_from(proxy.exchanges().len()).unwrap()
}

/// Kills harness while its request of this number is on its way; `lands` if the API server gets it all the same. Says
/// whether there was such a request: a controller's write can have made the counted run a little longer.
fn kill_at(case: Case, prepared: &Prepared, number: u32, lands: bool) -> bool {
    let proxy: FaultProxy = prepared.place.proxy();
    let held = proxy.hold(Requests::new("", "").nth(number));
    let harness = prepared.place.harness_through(&proxy);
    let mut command = harness.dispatch(&arguments(case, &prepared.name));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let went_on = until(PATIENCE, || {
        proxy.exchanges().len() >= number as usize || child.try_wait().unwrap().is_some()
    });
    assert!(went_on, "{case:?} neither went on nor ended");
    let reached = proxy.exchanges().len() >= number as usize;
    child.kill().unwrap();
    child.wait().unwrap();
    if lands && reached {
        held.release_and_wait().unwrap();
    }
    reached
}

#[test]
fn killed_at_every_request() {
    in_parallel(CASES, |case| {
        let count = requests(case);
        assert!(count >= 6, "{case:?} sends {count}");
        for number in 1..=count {
            for lands in [false, true] {
                let context = format!("{case:?}, request {number} of {count}, lands: {lands}");
                let prepared = prepare(case);
                let reached = kill_at(case, &prepared, number, lands);
                assert!(reached || number > 6, "{context} was never sent");
                assert_safe(case, &prepared, &context);
                assert_converges(case, &prepared, &context);
            }
        }
    });
}

#[test]
fn every_answer_lost() {
    in_parallel(CASES, |case| {
        let count = requests(case);
        for number in 1..=count {
            let context = format!("{case:?}, answer {number} of {count}");
            let prepared = prepare(case);
            let proxy = prepared.place.proxy();
            proxy.when(Requests::new("", "").nth(number), Action::LoseResponse);
            let run: Run =
                prepared.place.harness_through(&proxy).run(&arguments(case, &prepared.name));
            assert_eq!(run.code, Some(0), "{context} {run}");
            assert_safe(case, &prepared, &context);
            assert_converges(case, &prepared, &context);
        }
    });
}

/// A pending Job's pod is deleted as the proof, and the answer to that is lost: it is seen on its way out.
#[test]
fn a_lost_proof_is_found_again() {
    let place = Place::new("lost-proof");
    let name = submitted(&place, &Sample::new("attempt-1"));
    pod(&place, &name);
    let proxy = place.proxy();
    proxy.when(Requests::new("DELETE", "/pods/"), Action::LoseResponse);
    later(&proxy, 0);
    place.harness_through(&proxy).run(&["release", &name, "--yes"]).expect(0, "released");
    place.assert_holds(0, 0);
}
