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
    for nobody in [json!({}), json!({"status": {"userInfo": {"username": ""}}})] {
        let fact = judge(&Request::ReviewSelf, answered(nobody), "lab", "job");
        assert_eq!(fact, Fact::Who(Reading::Absent));
    }
}

#[test]
fn what_names_a_job_is_read() {
    let live = json!({"metadata": {"name": "job", "uid": "u", "resourceVersion": "7"}});
    let fact = job(&live);
    assert_eq!((&*fact.name, &*fact.uid, &*fact.resource_version), ("job", "u", "7"));
}

#[test]
fn a_record_that_can_change_is_none() {
    for (immutable, expected) in [(json!(true), true), (json!(false), false), (json!(null), false)]
    {
        assert_eq!(recorded(&json!({"immutable": immutable})).is_immutable, expected);
    }
}

#[test]
fn images_are_told_once_each_and_not_without_bounds() {
    let status = |id: &str| json!({"name": "any", "imageID": id});
    let longest = "i".repeat(512);
    let live = json!({"status": {
        "initContainerStatuses": [status("b"), status("")],
        "containerStatuses": [status("a"), status("b"), status(&longest), status(&"i".repeat(513))],
    }});
    assert_eq!(image_ids(&live), ["a", "b", &longest]);
}

/// Fields that are empty are those that are not there.
#[test]
fn a_container_never_started_if_it_waits_and_nothing_else() {
    let waiting = json!({"name": "run", "state": {"waiting": {}}, "restartCount": 0});
    for (field, value, expected) in [
        ("containerID", json!(""), RunFact::NeverStarted),
        ("containerID", json!("containerd://x"), RunFact::MayHaveStarted),
        ("containerID", json!(7), RunFact::MayHaveStarted),
        ("lastState", json!({}), RunFact::NeverStarted),
        ("lastState", json!({"terminated": {}}), RunFact::MayHaveStarted),
        ("state", json!({}), RunFact::MayHaveStarted),
        ("state", json!({"waiting": {}, "running": {}}), RunFact::MayHaveStarted),
        ("state", json!({"waiting": {}, "terminated": {}}), RunFact::MayHaveStarted),
    ] {
        let mut status = waiting.clone();
        status[field] = value;
        let fact = pod(&json!({"status": {"containerStatuses": [status]}}));
        assert_eq!(fact.run, expected, "{status}");
    }
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
