//! What ends an experiment: the proof that its code never ran, and the record.

use harness::ledger::evidence::{failed_without_run, outcome, pending_without_node};
use harness::ledger::observe::{job, pod, secret};
use harness::submit::record;
use serde_json::{Value, json};

use crate::common::check_shown;
use crate::situation::situation;

/// Lines as of a recorded situation that is changed, or the text of a record.
///
/// No Job is released beside a pod of it that shows any trace of its code; an outcome is said of ended Jobs only; a record
/// is none, or one that reads back as the same.
pub fn ledger(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_record(&json!({"data": {(record::KEY): text}}));
    let objects = situation(text);
    check_record(&objects["record"]);
    let pods: Vec<Value> = objects["pods"].as_array().cloned().unwrap_or_default();
    let live = &objects["job"];
    let (fact, facts) = (job(live), pods.iter().map(pod).collect::<Vec<_>>());
    let _ = secret(live);
    let said = outcome(&fact, &facts);
    assert_eq!(said.is_some(), fact.state.is_terminal());
    assert_eq!(said == Some("succeeded"), fact.state.name() == "succeeded");
    let own: Vec<&Value> = pods.iter().filter(|pod| is_of(pod, live)).collect();
    match failed_without_run(&fact, &facts) {
        Ok(()) => {
            assert!(!own.is_empty());
            for pod in &own {
                assert!(!shows_run(pod), "released beside {pod}");
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
    match pending_without_node(&fact, &facts) {
        Ok(proof) => {
            assert!(!proof.is_bound && own.len() == 1, "{proof:?}");
            let bound = own[0]["spec"]["nodeName"].as_str().unwrap_or_default();
            assert!(bound.is_empty() && !shows_run(own[0]), "released beside {}", own[0]);
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

fn is_of(pod: &Value, job: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default();
    let controller = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
    controller.is_some_and(|owner| owner["kind"] == "Job" && owner["uid"] == uid)
}

/// Whether the pod shows any trace of a container of `run`.
fn shows_run(pod: &Value) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array();
    statuses.into_iter().flatten().filter(|one| one["name"] == "run").any(|run| {
        run["containerID"].as_str().is_some_and(|id| !id.is_empty())
            || run["state"]["running"].is_object()
            || run["state"]["terminated"].is_object()
            || run["lastState"]["terminated"].is_object()
            || run["restartCount"].as_u64().is_some_and(|count| count > 0)
    })
}

fn check_record(config_map: &Value) {
    match record::read(config_map) {
        Ok(record) => {
            assert_eq!(record.schema_version, record::SCHEMA_VERSION);
            let text = serde_json::to_string(&record).expect("a record is JSON");
            assert_eq!(record::read(&json!({"data": {(record::KEY): text}})), Ok(record));
        }
        Err(why) => check_shown(&why),
    }
}
