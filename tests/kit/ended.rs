//! What controllers write, written by hand: an experiment that ended long ago.

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::until;
use serde_json::{Value, json};

use super::PATIENCE;
use super::place::Place;

/// Writes a status until no controller's write comes in between.
#[track_caller]
pub(crate) fn set_status(
    place: &Place,
    resource: &str,
    name: &str,
    change: impl Fn(&Value) -> Value,
) {
    let mut last = (0, Value::Null);
    let done = until(PATIENCE, || {
        let mut object = place.get(resource, name);
        object["status"] = change(&object);
        let path = format!("{}/status", place.path(resource, name));
        last = place.cluster.admin_put(&path, &object);
        last.0 == 200
    });
    assert!(done, "{last:#?}");
}

/// Ends the Job as its controller does, so many hours ago.
#[track_caller]
pub(crate) fn end(place: &Place, name: &str, condition: &str, hours: i64) {
    let at = (SystemClock.now() - jiff::SignedDuration::from_hours(hours)).to_string();
    let at = format!("{}Z", &at[..19]);
    set_status(place, "jobs", name, |job| {
        let start = match &job["status"]["startTime"] {
            Value::Null => job["metadata"]["creationTimestamp"].clone(),
            start => start.clone(),
        };
        let ready = if condition == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let stands = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at});
        let mut status =
            json!({"startTime": start, "conditions": [stands(ready), stands(condition)]});
        if condition == "Complete" {
            status["completionTime"] = start;
            status["succeeded"] = json!(1);
        }
        status
    });
}
