//! One experiment from its submission through the blow to its end, and what must hold whatever befell it.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::until;
use serde_json::Value;

use crate::common::find;
use crate::kit::status;
use crate::seed::Seed;
use crate::table::{Object, Row};
use crate::trial::{Ended, store};
use crate::victim::Victim;

/// At most so long after a moment comes the blow.
const HESITATION: Duration = Duration::from_millis(400);
/// A request whose sender died lands by then or never.
const LANDED: Duration = Duration::from_secs(20);

/// Plays a row and judges it.
pub(crate) fn run(row: &Row, mut seed: Seed) {
    let mut way = row.moment.prepare(!row.victim.is_a_rule());
    if let Victim::StoreRules(actions) = &row.victim {
        if actions.len() > 10 {
            // It waits for the pod's deadline.
            way.trial = way.trial.profile("short-v1").budget(5);
        }
        for (nth, action) in (1..).zip(actions) {
            store().when(row.moment.requests(&way.trial).nth(nth), action.clone());
        }
    }
    let job = way.trial.submit();
    if !row.victim.is_a_rule() {
        way.arrive(&job);
        let go = way.permission(&job);
        SystemClock.sleep(seed.duration(HESITATION));
        row.victim.strike(&way, &job, &mut seed);
        if let Some(go) = go {
            // The runner may be gone that it is for.
            drop(std::fs::write(go, ""));
        }
    }
    let (trial, registry) = way.end();
    let ended = trial.wait(job);
    drop(registry);
    judge(row, &ended);
}

/// Whether a process ended while containerd was away, which then does not know how; the Job fails for it.
fn has_lost_a_status(ended: &Ended) -> bool {
    let pod = ended.trial.kit.pod_of(&ended.job);
    let is_lost = |step| status(&pod, step)["state"]["terminated"]["reason"] == "Unknown";
    ["stage", "run", "publish"].into_iter().any(is_lost)
}

/// Nothing is remarked, but that the kubelet did not find a container while containerd was away, for whichever row.
fn assert_remarks(row: &Row, ended: &Ended) {
    let remarks = ended.status["remarks"].as_array().unwrap();
    let is_lost_sight =
        |remark: &Value| remark.as_str().unwrap().starts_with("the node lost sight of a container");
    let expected = row.victim.is_of_the_node() && remarks.iter().all(is_lost_sight);
    assert!(remarks.is_empty() || expected, "{}", ended.story());
}

fn judge(row: &Row, ended: &Ended) {
    let lost = row.victim.is_of_the_node() && has_lost_a_status(ended);
    let (code, phase, category, condition) = match row.category {
        "succeeded" if !lost => (0, "succeeded", "succeeded", "Complete"),
        "succeeded" => (7, "failed", "step-failed", "Failed"),
        category => (7, "failed", category, "Failed"),
    };
    ended.assert(code, phase, category);
    assert!(!lost || ended.sentence().contains("its result is published"), "{}", ended.story());
    assert_eq!(ended.trial.kit.end_of_job(&ended.job), condition, "{}", row.name());
    assert_eq!(ended.status["pods"], 1, "{}", ended.story());
    assert_remarks(row, ended);

    let own = format!("results/{}/", ended.trial.kit.namespace.name);
    let objects = || {
        let mut all = store().list().unwrap();
        all.retain(|object| object.starts_with(&own));
        all
    };
    let result = ended.trial.object("result");
    let expected = match row.object {
        Object::Nowhere => None,
        Object::There(outcome) => Some(outcome),
        Object::Either(outcome) => until(LANDED, || !objects().is_empty()).then_some(outcome),
    };
    let Some(outcome) = expected else {
        assert_eq!(objects(), [""; 0], "{}", ended.story());
        return;
    };
    assert_eq!(objects(), [result], "{}", ended.story());
    let bytes = ended.result().unwrap();
    let verdict = ended.verify_with_cluster(&bytes);
    assert_eq!(*find(&verdict, "/evidence/predicate/harness_run/outcome"), outcome);
    assert_eq!(ended.status["run_started"], "yes", "{}", ended.story());
    // The digests are there unless `publish` died before it could say them, and then they are true.
    if !ended.status["digests"].as_object().unwrap().is_empty() {
        let archive = ended.archive();
        assert_eq!(archive.text("begun"), "once\n", "the runner was started once");
    }
}
