//! What is one of harness' Jobs, and what an answer means.

use serde_json::json;

use super::*;
use crate::cluster::Status;
use crate::cluster::{Answer, Details};

fn answered(body: Value) -> Outcome {
    Outcome::Done(Answer { status: 200, body, date: None, warnings: Vec::new() })
}

#[test]
fn name_label_and_annotation_must_agree() {
    let short = "a".repeat(32);
    let good = json!({"metadata": {
        "name": format!("prediction-{short}"),
        "labels": {"app.kubernetes.io/managed-by": "harness", "research.harness/result-identity": short},
        "annotations": {
            "research.harness/result-identity": "a".repeat(64),
            "research.harness/submission-digest": "b".repeat(64),
        },
    }});
    assert!(job(&good).identity.is_some());
    for (pointer, value) in [
        ("/metadata/name", json!("prediction-b")),
        ("/metadata/labels", json!({})),
        ("/metadata/annotations", json!({})),
    ] {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert_eq!(job(&wrong).identity, None, "{pointer}");
    }
    let mut other = good;
    other["metadata"]["annotations"]["research.harness/result-identity"] = json!("c".repeat(64));
    assert_eq!(job(&other).identity, None);
}

#[test]
fn a_second_page_of_pods_is_not_understood() {
    let one = json!({"items": [{}], "metadata": {"continue": "more"}});
    let fact = judge(&Request::ListPods, answered(one.clone()), "lab", "job");
    assert!(matches!(fact, Fact::Pods(Reading::Unknown(_))), "{fact:?}");
    // Secrets go page by page: the list is made again until it is empty.
    let fact = judge(&Request::ListSecrets, answered(one), "lab", "job");
    assert!(matches!(fact, Fact::Secrets(Reading::Present(all)) if all.len() == 1));
}

#[test]
fn only_the_api_server_says_that_there_is_nothing() {
    let absent = |name: &str| {
        Outcome::Refused(Status {
            code: 404,
            reason: "NotFound".to_owned(),
            details: Details {
                name: name.to_owned(),
                group: "batch".to_owned(),
                kind: "jobs".to_owned(),
                ..Details::default()
            },
            ..Status::default()
        })
    };
    assert_eq!(judge(&Request::ReadJob, absent("job"), "lab", "job"), Fact::Job(Reading::Absent));
    let fact = judge(&Request::ReadJob, absent("another"), "lab", "job");
    assert!(matches!(fact, Fact::Job(Reading::Refused(_))), "{fact:?}");
}

#[test]
fn somebody_without_a_name_is_nobody() {
    let named = json!({"status": {"userInfo": {"username": "ada"}}});
    let fact = judge(&Request::ReviewSelf, answered(named), "lab", "job");
    assert_eq!(fact, Fact::Who(Reading::Present("ada".to_owned())));
    let fact = judge(&Request::ReviewSelf, answered(json!({})), "lab", "job");
    assert_eq!(fact, Fact::Who(Reading::Absent));
}

#[test]
fn two_containers_of_one_name_are_no_proof() {
    let waiting = json!({"name": "run", "state": {"waiting": {}}, "restartCount": 0});
    let with = |statuses: Value| pod(&json!({"status": {"containerStatuses": statuses}})).run;
    assert_eq!(with(json!([waiting])), RunFact::NeverStarted);
    assert_eq!(with(json!([waiting, {"name": "publish"}])), RunFact::NeverStarted);
    let made = json!({"name": "run", "containerID": "containerd://x", "state": {"running": {}}});
    for statuses in [json!([waiting, made]), json!([made, waiting]), json!([waiting, waiting])] {
        assert_eq!(with(statuses.clone()), RunFact::MayHaveStarted, "{statuses}");
    }
}

#[test]
fn counts_that_no_server_writes_do_not_overflow() {
    let counted = json!({"status": {"failed": u64::MAX, "succeeded": 1}});
    assert_eq!(job(&counted).counted, u64::MAX);
}
