//! Where an experiment stands and why, of whatever objects.

use harness::cli::statuses;
use harness::status::{Basis, Category, Phase, RunStarted, Situation, Status, derive};
use serde_json::Value;

use crate::common::check_shown;
use crate::situation::situation;

/// Lines as of a recorded situation that is changed.
///
/// The same objects give the same status; its category is one of the table and its end is the Job's own condition; "the
/// code never ran" is never said beside a container that did; what is shown holds nothing that redraws a terminal or that
/// a CI system takes for a command.
pub fn status(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let objects = situation(text);
    let list = |name: &str| objects.get(name).and_then(Value::as_array).cloned();
    let object = |name: &str| objects.get(name).filter(|value| !value.is_null()).cloned();
    let seen = Situation {
        name: "prediction-a296ff2f1a22d46a10840cec869a0067".to_owned(),
        namespace: "research".to_owned(),
        job: object("job"),
        pods: list("pods"),
        events: list("events").unwrap_or_default(),
        workload: object("workload"),
        record: object("record"),
        now: "2030-01-02T03:14:05Z".parse().expect("a time"),
        awaited_uid: None,
        submission_digest: None,
    };
    let status = derive(&seen);
    assert_eq!(status, derive(&seen));
    assert!(!status.diagnosis.sentence.is_empty());
    assert_eq!(Category::named(status.diagnosis.category.name()), Some(status.diagnosis.category));
    check_end(&seen, &status);
    check_run(&seen, &status);
    check_output(&status);
}

fn has_condition(job: &Value, kind: &str) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == kind && one["status"] == "True")
}

fn check_end(seen: &Situation, status: &Status) {
    let Some(job) = &seen.job else {
        assert!(status.is_recorded || matches!(status.phase, Phase::Absent | Phase::Unknown));
        return;
    };
    let is_over = has_condition(job, "Complete") || has_condition(job, "Failed");
    assert!(!status.phase.is_over() || is_over, "{:?}", status.phase);
    assert!(status.phase != Phase::Succeeded || has_condition(job, "Complete"));
    assert!(status.phase != Phase::Absent && !status.is_recorded);
    assert!(status.diagnosis.basis != Basis::Record);
}

fn check_run(seen: &Situation, status: &Status) {
    if status.run_started != RunStarted::Never {
        return;
    }
    let uid = seen.job.as_ref().map(|job| &job["metadata"]["uid"]);
    for pod in seen.pods.iter().flatten() {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let is_own = owners.into_iter().flatten().any(|owner| Some(&owner["uid"]) == uid);
        let statuses = pod["status"]["containerStatuses"].as_array();
        let run = statuses.into_iter().flatten().find(|one| one["name"] == "run");
        let has_run = run.is_some_and(|run| {
            let has_id = run["containerID"].as_str().is_some_and(|id| !id.is_empty());
            has_id || run["state"]["running"].is_object()
        });
        assert!(!is_own || !has_run, "it ran: {pod}");
    }
}

fn check_output(status: &Status) {
    let page = statuses::for_people(status);
    for line in page.lines() {
        check_shown(line);
        check_no_command(line);
    }
    for line in [statuses::in_one_line(status), statuses::wide(status)] {
        check_shown(&line);
        check_no_command(&line);
    }
    let json = statuses::json(status);
    let plain = serde_json::to_value(status).expect("a status is JSON");
    assert_eq!(serde_json::from_str::<Value>(&json).ok(), Some(plain.clone()));
    check_shown(&json);
    let yaml = statuses::yaml(status).expect("a status is YAML");
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).ok(), Some(plain), "{yaml}");
}

/// Workflow commands are broken up by a backslash.
fn check_no_command(line: &str) {
    for begin in ["::", "##["] {
        for (at, _) in line.match_indices(begin) {
            assert!(line[..at].ends_with('\\'), "{line:?}");
        }
    }
}
