//! What proves that `run` never started, and everything that does not; how a Job ended.

use serde_json::{Value, json};

use super::*;
use crate::ledger::observe;

fn job(status: &Value, more: &Value) -> JobFact {
    let short = "a".repeat(32);
    let mut live = json!({
        "metadata": {
            "name": format!("prediction-{short}"), "uid": "job", "generation": 1,
            "labels": {"app.kubernetes.io/managed-by": "harness", "research.harness/result-identity": short},
            "annotations": {
                "research.harness/result-identity": "a".repeat(64),
                "research.harness/submission-digest": "b".repeat(64),
            },
        },
        "spec": {},
        "status": status,
    });
    for (pointer, value) in more.as_object().unwrap() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        live.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    observe::job(&live)
}

fn failed() -> Value {
    json!({"failed": 1, "conditions": [
        {"type": "Failed", "status": "True", "lastTransitionTime": "2030-01-02T03:04:05Z"},
    ]})
}

/// A pod whose `stage` failed, changed at some pointers.
fn pod(changes: &Value) -> PodFact {
    let mut live = json!({
        "metadata": {"name": "pod", "uid": "pod", "ownerReferences": [
            {"kind": "Job", "uid": "job", "controller": true},
        ]},
        "spec": {"nodeName": "node"},
        "status": {
            "phase": "Failed",
            "conditions": [],
            "initContainerStatuses": [
                {"name": "stage", "state": {"terminated": {"exitCode": 14}}},
            ],
            "containerStatuses": [
                {"name": "publish", "state": {"waiting": {}}, "restartCount": 0},
                {"name": "run", "state": {"waiting": {}}, "restartCount": 0},
            ],
        },
    });
    for (pointer, value) in changes.as_object().unwrap() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        live.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    observe::pod(&live)
}

#[test]
fn a_run_that_waits_and_had_no_container_is_the_proof() {
    let proof = failed_without_run(&job(&failed(), &json!({})), &[pod(&json!({}))]);
    assert_eq!(proof, Ok(()));
    let evicted = json!({"/status/conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"},
    ]});
    let proof = failed_without_run(&job(&failed(), &json!({})), &[pod(&evicted)]);
    assert_eq!(proof, Ok(()), "its own kubelet ended it");
}

#[test]
fn nothing_less_is_a_proof() {
    let run = "/status/containerStatuses/1";
    let said = |category: &str| {
        json!({"terminated": {"exitCode": 1, "message": json!({
            "schema_version": "prediction_reason.v1", "step": "publish", "category": category,
            "sentence": "s", "remedy": "", "digests": {},
        }).to_string()}})
    };
    for (changes, why) in [
        (json!({format!("{run}/containerID"): "containerd://1"}), "so it was started"),
        (json!({format!("{run}/restartCount"): 1}), "so it was started"),
        (json!({format!("{run}/started"): true}), "so it was started"),
        (json!({format!("{run}/lastState"): {"terminated": {}}}), "so it was started"),
        (json!({format!("{run}/state"): {"running": {}}}), "so it was started"),
        // The kubelet writes this for a container that it has lost.
        (
            json!({format!("{run}/state"): {"terminated": {"reason": "ContainerStatusUnknown", "exitCode": 137}}}),
            "so it was started",
        ),
        (json!({"/status/containerStatuses": []}), "no status"),
        (json!({"/status/phase": "Running"}), "has not ended"),
        (json!({"/metadata/deletionTimestamp": "2030-01-02T03:04:05Z"}), "has not ended"),
        (
            json!({"/status/conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"},
            ]}),
            "may be old",
        ),
        (json!({"/status/containerStatuses/0/state": said("runner-failed")}), "says"),
        (json!({"/metadata/ownerReferences": []}), "pod is gone"),
    ] {
        let proof = failed_without_run(&job(&failed(), &json!({})), &[pod(&changes)]);
        assert!(proof.clone().is_err_and(|said| said.contains(why)), "{changes}: {proof:?}");
    }
    let never = json!({"/status/containerStatuses/0/state": said("never-started")});
    assert_eq!(failed_without_run(&job(&failed(), &json!({})), &[pod(&never)]), Ok(()));
}

#[test]
fn a_pod_that_may_have_gone_before_is_no_proof() {
    let mut two = failed();
    two["failed"] = json!(2);
    let suspended = |generation: u64| {
        let mut status = failed();
        let condition = json!({"type": "Suspended", "status": "False"});
        status["conditions"].as_array_mut().unwrap().push(condition);
        job(&status, &json!({"/metadata/generation": generation}))
    };
    for (job, why) in [
        (job(&two, &json!({})), "may be gone"),
        (suspended(3), "suspended and started again"),
        (job(&failed(), &json!({"/spec/podFailurePolicy": {"rules": []}})), "disruption"),
    ] {
        let proof = failed_without_run(&job, &[pod(&json!({}))]);
        assert!(proof.clone().is_err_and(|said| said.contains(why)), "{why}: {proof:?}");
    }
    assert_eq!(failed_without_run(&suspended(2), &[pod(&json!({}))]), Ok(()), "started once");
    assert!(failed_without_run(&job(&failed(), &json!({})), &[]).is_err());
}

#[test]
fn a_pod_without_a_node_is_to_be_deleted() {
    let pending = job(&json!({"active": 1}), &json!({}));
    let waiting = pod(&json!({"/spec/nodeName": "", "/status": {"phase": "Pending"}}));
    assert_eq!(pending_without_node(&pending, std::slice::from_ref(&waiting)), Ok(&waiting));
    let second = PodFact { uid: "second".to_owned(), ..waiting.clone() };
    let started = PodFact { run: RunFact::MayHaveStarted, ..waiting.clone() };
    let counted = job(&json!({"active": 1, "failed": 1}), &json!({}));
    for (job, pods, why) in [
        (&pending, vec![], "no pod"),
        (&pending, vec![pod(&json!({"/status": {"phase": "Pending"}}))], "has a node"),
        (&pending, vec![waiting.clone(), second], "more than one"),
        (&pending, vec![started], "so it was started"),
        (&counted, vec![waiting.clone()], "has ended already"),
    ] {
        let proof = pending_without_node(job, &pods);
        assert!(proof.clone().is_err_and(|said| said.contains(why)), "{why}: {proof:?}");
    }
    assert!(!unbound_for_good(&waiting));
    assert!(unbound_for_good(&PodFact { is_terminating: true, ..waiting.clone() }));
    assert!(!unbound_for_good(&PodFact { is_terminating: true, is_bound: true, ..waiting }));
}

#[test]
fn a_job_that_was_suspended_from_its_beginning_never_had_a_pod() {
    let suspended =
        |generation: Value| json!({"/spec/suspend": true, "/metadata/generation": generation});
    let none = json!({});
    let queued = job(&none, &suspended(json!(1)));
    assert_eq!(never_admitted(&queued, &[]), Ok(()));
    // A pod of an earlier Job is none of this one.
    let another = PodFact { job_uid: Some("another".to_owned()), ..pod(&none) };
    assert_eq!(never_admitted(&queued, &[another]), Ok(()));
    let active = json!({"startTime": "2030-01-02T03:04:05Z"});
    for (job, pods, why) in [
        (job(&none, &suspended(json!(2))), vec![], "may have been started before"),
        (job(&none, &suspended(json!(null))), vec![], "may have been started before"),
        (job(&none, &none), vec![], "not suspended any more"),
        (job(&none, &json!({"/spec/suspend": "true"})), vec![], "not suspended any more"),
        (job(&active, &suspended(json!(1))), vec![], "had a pod"),
        (job(&json!({"failed": 1}), &suspended(json!(1))), vec![], "had a pod"),
        (queued, vec![pod(&none)], "had a pod"),
    ] {
        let proof = never_admitted(&job, &pods);
        assert!(proof.clone().is_err_and(|said| said.contains(why)), "{why}: {proof:?}");
    }
}

#[test]
fn how_it_ended() {
    let complete = json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
    let mut cancelled = job(&failed(), &json!({}));
    cancelled.cancelled = Some(crate::render::compare::Cancellation {
        at: "2030-01-02T03:04:05Z".parse().unwrap(),
        by: None,
    });
    for (job, pods, expected) in [
        (job(&complete, &json!({})), vec![], Some("succeeded")),
        (job(&json!({}), &json!({})), vec![], None),
        (job(&failed(), &json!({})), vec![], Some("failed")),
        (job(&failed(), &json!({})), vec![pod(&json!({}))], Some("digest-mismatch")),
        (cancelled, vec![pod(&json!({}))], Some("cancelled")),
    ] {
        assert_eq!(outcome(&job, &pods), expected);
    }
}

/// What `status` says of a Job that may still start its `run`, and of one that a queue took back.
#[test]
fn what_has_not_run_yet_is_told_from_what_may_have() {
    const TIME: &str = "2030-01-02T03:04:05Z";
    let none = json!({});
    let active = json!({"startTime": TIME, "active": 1});
    let suspended = |yes: bool| {
        let status = if yes { "True" } else { "False" };
        json!({"conditions": [{"type": "Suspended", "status": status, "lastTransitionTime": TIME}]})
    };
    let stopped =
        |generation: u64| json!({"/spec/suspend": true, "/metadata/generation": generation});
    let waits = || pod(&json!({"/status/phase": "Pending"}));
    let unbound = || pod(&json!({"/status": {"phase": "Pending"}, "/spec": {}}));
    let leaving = "2030-01-02T03:05:05Z";
    let gone = || pod(&json!({"/metadata/deletionTimestamp": leaving, "/status/phase": "Pending"}));
    let silent = || pod(&json!({"/status": {"phase": "Pending"}}));
    let never_bound = PodFact { is_terminating: true, ..unbound() };
    let odd = PodFact { run: RunFact::MayHaveStarted, ..unbound() };
    let ran = pod(&json!({"/status/containerStatuses/1/state": {"running": {"startedAt": TIME}}}));
    for (what, job, pods, proven) in [
        ("nothing has looked at it", job(&none, &none), vec![], true),
        ("born suspended", job(&suspended(true), &stopped(1)), vec![], true),
        ("suspended after it was started", job(&suspended(true), &stopped(2)), vec![], false),
        ("admitted once", job(&active, &json!({"/metadata/generation": 2})), vec![waits()], true),
        ("its pod waits", job(&active, &none), vec![waits()], true),
        ("its pod has no node", job(&active, &none), vec![unbound()], true),
        ("its pod is on its way out", job(&active, &none), vec![gone()], false),
        ("its pod gets no node any more", job(&active, &none), vec![never_bound], true),
        (
            "its pod has a node, and nothing is known of it",
            job(&active, &none),
            vec![silent()],
            false,
        ),
        ("its pod has no node and shows a container", job(&active, &none), vec![odd], false),
        ("it has two pods", job(&active, &none), vec![waits(), waits()], false),
        (
            "it counts a pod that is gone",
            job(&json!({"startTime": TIME, "failed": 2}), &none),
            vec![waits()],
            false,
        ),
        ("its pod runs it", job(&active, &none), vec![ran], false),
        ("its pod failed before", job(&failed(), &none), vec![pod(&none)], true),
        ("it failed and its pod is gone", job(&failed(), &none), vec![], false),
    ] {
        assert_eq!(not_yet_run(&job, &pods).is_ok(), proven, "{what}");
    }
    let gone = not_yet_run(&job(&active, &none), &[]);
    assert!(gone.is_err_and(|why| why.contains("no pod")));
}
