//! Where a Job stands, and who it is.

use super::*;

fn state(spec: &Value, status: &Value) -> JobState {
    job_state(&json!({ "spec": spec, "status": status }))
}

#[test]
fn conditions_alone_end_a_job() {
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": "BackoffLimitExceeded",
            "lastTransitionTime": "2026-03-01T10:00:00Z",
        })
    };
    let at = Some("2026-03-01T10:00:00Z".parse().unwrap());
    let failed = JobState::Failed { at, reason: "BackoffLimitExceeded".to_owned() };
    let (open, suspended) = (json!({ "suspend": false }), json!({ "suspend": true }));
    for (spec, status, expected) in [
        (&open, json!(null), JobState::Pending),
        (&open, json!({}), JobState::Pending),
        (&open, json!({ "active": 0, "ready": 0 }), JobState::Pending),
        (&open, json!({ "active": 1 }), JobState::Running),
        (&open, json!({ "terminating": 1 }), JobState::Running),
        (&open, json!({ "failed": 1 }), JobState::Running),
        (&open, json!({ "succeeded": 1 }), JobState::Running),
        (&suspended, json!({}), JobState::Queued),
        (&suspended, json!({ "active": 1 }), JobState::Queued),
        (&open, json!({ "conditions": [condition("FailureTarget", "True")] }), JobState::Running),
        (&open, json!({ "conditions": [condition("Failed", "False")] }), JobState::Pending),
        (&open, json!({ "conditions": [condition("Suspended", "False")] }), JobState::Pending),
        (
            &open,
            json!({ "conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "True")] }),
            JobState::Succeeded { at },
        ),
        (&suspended, json!({ "conditions": [condition("Failed", "True")] }), failed),
        (
            &open,
            json!({ "conditions": [{ "type": "Failed", "status": "True" }] }),
            JobState::Failed { at: None, reason: String::new() },
        ),
    ] {
        let found = state(spec, &status);
        assert_eq!(found, expected, "{spec} {status}");
        let is_end = matches!(found, JobState::Succeeded { .. } | JobState::Failed { .. });
        assert_eq!(found.is_terminal(), is_end);
    }
    assert_eq!(job_state(&queued().1), JobState::Queued);
    assert_eq!(job_state(&plain().0), JobState::Pending);
}

#[test]
fn identity_of_the_live_object() {
    let (rendered, stored) = queued();
    assert_eq!(uid(&rendered), None);
    assert_eq!(uid(&stored), stored["metadata"]["uid"].as_str());
    assert_eq!(uid(&json!({ "metadata": { "uid": "" } })), None);
    assert!(!is_terminating(&stored));
    assert!(!is_terminating(&json!({ "metadata": { "deletionTimestamp": null } })));
    assert!(is_terminating(
        &json!({ "metadata": { "deletionTimestamp": "2026-03-01T10:00:00Z" } })
    ));
}

#[test]
fn the_named_secret_is_one() {
    let (_, stored) = queued();
    let name = stored["metadata"]["name"].as_str().unwrap();
    let secret = named_secret(&stored).unwrap();
    assert_eq!(secret.strip_prefix(name).unwrap().len(), 11);
    let mut two = stored.clone();
    let pointer = format!("{POD}/volumes/6/secret/secretName");
    *two.pointer_mut(&pointer).unwrap() = json!(format!("{name}-0123456789"));
    assert_eq!(named_secret(&two), None);
    assert!(mentions(&two, &format!("{name}-0123456789")) && !mentions(&stored, "x"));
    assert!(
        mentions(&stored, &secret) && !mentions(&json!({ secret.clone(): secret.len() }), &secret)
    );
    for other in ["", "x", "-0123456789", "-01234567890", "-012345678G"] {
        *two.pointer_mut(&pointer).unwrap() = json!(format!("{name}{other}x"));
        assert_eq!(named_secret(&two).as_ref(), Some(&secret));
    }
    assert_eq!(named_secret(&json!({})), None);
}

#[test]
fn cancellation_is_read() {
    let job = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
    let at = "2026-03-01T10:00:00Z";
    let found = cancelled(&job(json!({ keys::CANCELLED_AT: at, keys::CANCELLED_BY: "alice" })));
    let expected = Cancellation { at: at.parse().unwrap(), by: Some("alice".to_owned()) };
    assert_eq!(found, Some(expected));
    assert_eq!(cancelled(&job(json!({ keys::CANCELLED_AT: at }))).unwrap().by, None);
    assert_eq!(cancelled(&job(json!({ keys::CANCELLED_AT: "soon" }))), None);
    assert_eq!(cancelled(&job(json!({ keys::CANCELLED_BY: "alice" }))), None);
    assert_eq!(cancelled(&json!(null)), None);
}
