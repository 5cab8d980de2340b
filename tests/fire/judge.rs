//! One experiment from its submission through the blow to its end, and what must hold whatever befell it.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::until;
use serde_json::Value;

use crate::common::chance::Random;
use crate::common::find;
use crate::kit::status;
use crate::moment::Way;
use crate::table::{Object, Row};
use crate::trial::{Ended, store};
use crate::victim::Victim;

/// At most so long after a moment comes the blow.
const HESITATION: Duration = Duration::from_millis(400);
/// A request whose sender died lands by then or never.
const LANDED: Duration = Duration::from_secs(20);

/// How often a row may be played that other rows' blows to the node keep from its moment.
const ATTEMPTS: u32 = 4;

/// Plays a row and judges it; again if its moment never came, for what befalls the node befalls all rows.
pub(crate) fn run(row: &Row, mut random: Random) {
    for attempt in 1..=ATTEMPTS {
        let (ended, is_struck) = play(row, &mut random);
        judge(row, &ended);
        if is_struck {
            return;
        }
        assert!(row.victim.is_of_the_node() && attempt < ATTEMPTS, "never: {}", ended.story());
    }
}

/// One experiment to its end, and whether it was struck at its moment.
fn play(row: &Row, random: &mut Random) -> (Ended, bool) {
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
    let is_struck = row.victim.is_a_rule() || strike(row, &way, &job, random);
    let (trial, registry) = way.end();
    let ended = trial.wait(job);
    drop(registry);
    (ended, is_struck)
}

/// Kills at the moment, if it comes.
fn strike(row: &Row, way: &Way, job: &str, random: &mut Random) -> bool {
    if !way.arrives(job) {
        return false;
    }
    let go = way.permission(job);
    SystemClock.sleep(random.within(HESITATION));
    row.victim.strike(way, job, random);
    if let Some(go) = go {
        // The runner may be gone that it is for.
        drop(std::fs::write(go, ""));
    }
    true
}

/// What becomes of an experiment where containerd was killed when it started a process, or was away when one ended, of
/// which it then does not know how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// The pod fails, and its code never ran.
    Start,
    /// The pod fails before the code starts.
    Stage,
    /// The result is published, and the Job fails all the same.
    Later,
    /// As [`Lost::Later`], since `run` was started a second time and refused.
    Twice,
    /// As [`Lost::Later`], but nobody says that the result is published.
    Word,
}

fn lost(row: &Row, ended: &Ended) -> Option<Lost> {
    if !row.victim.is_of_the_node() {
        return None;
    }
    let pod = ended.trial.kit.pod_of(&ended.job);
    let found = ["stage", "run", "publish"].into_iter().find_map(|step| {
        let end = &status(&pod, step)["state"]["terminated"];
        let is_cut =
            end["message"].as_str().is_some_and(|words| words.contains("context canceled"));
        match end["reason"].as_str()? {
            "StartError" | "ContainerCannotRun" if is_cut => Some(Lost::Start),
            "Unknown" if step == "stage" => Some(Lost::Stage),
            "Unknown" if ended.sentence().contains("did not say whether") => Some(Lost::Word),
            "Unknown" => Some(Lost::Later),
            _ => None,
        }
    });
    // An end that is lost besides says more.
    found.or_else(|| was_started_twice(ended).then_some(Lost::Twice))
}

/// Whether `run` ended by finding an earlier start.
fn was_started_twice(ended: &Ended) -> bool {
    let pod = ended.trial.kit.pod_of(&ended.job);
    status(&pod, "run")["state"]["terminated"]["exitCode"] == 10
}

/// Nothing is remarked, but what the kubelet took for a restart while containerd was away, for whichever row.
fn assert_remarks(row: &Row, ended: &Ended) {
    let remarks = ended.status["remarks"].as_array().unwrap();
    if remarks.is_empty() {
        return;
    }
    let what = if was_started_twice(ended) {
        "the node started `run` a second time"
    } else {
        "the node lost sight of a container"
    };
    let is_expected = |remark: &Value| remark.as_str().unwrap().starts_with(what);
    let are_expected = row.victim.is_of_the_node() && remarks.iter().all(is_expected);
    assert!(are_expected, "{}", ended.story());
}

fn judge(row: &Row, ended: &Ended) {
    let lost = lost(row, ended);
    let (code, phase, category, condition) = match (row.category, lost) {
        ("succeeded", None) => (0, "succeeded", "succeeded", "Complete"),
        ("succeeded", Some(Lost::Stage | Lost::Later)) => (7, "failed", "step-failed", "Failed"),
        ("succeeded", Some(Lost::Start)) => (7, "failed", "container-start", "Failed"),
        ("succeeded", Some(Lost::Twice)) => (7, "failed", "already-started", "Failed"),
        ("succeeded", Some(Lost::Word)) => (7, "failed", "publication-failed", "Failed"),
        (category, _) => (7, "failed", category, "Failed"),
    };
    ended.assert(code, phase, category);
    let is_told = ended.sentence().contains("its result is published");
    assert!(!matches!(lost, Some(Lost::Later | Lost::Twice)) || is_told, "{}", ended.story());
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
        _ if matches!(lost, Some(Lost::Start | Lost::Stage)) => None,
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
