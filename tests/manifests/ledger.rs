//! The policies that protect the ledger: who is refused, who is let through, and that a namespace can still go.

use std::path::Path;
use std::sync::OnceLock;

use harness_test_cluster::{Grant, Namespace, User, shared, until};
use serde_json::{Value, json};

use crate::kit::{MANIFESTS, PATIENCE, apply, kubectl, pinned, pod, research};

const LABEL: (&str, &str) = ("research.harness/admission", "enforced");
const NAMESPACE_CONTROLLER: &str = "system:serviceaccount:kube-system:namespace-controller";
const JOB_CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";
const QUEUE: &str = "system:serviceaccount:kueue-system:kueue-controller-manager";

/// A name as harness gives it.
fn name(digit: char) -> String {
    format!("prediction-{}", digit.to_string().repeat(32))
}

fn jobs(namespace: &Namespace) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs", namespace.name)
}

fn core(namespace: &Namespace, resource: &str) -> String {
    format!("/api/v1/namespaces/{}/{resource}", namespace.name)
}

/// A protected namespace, and its administrator, who is no administrator of the cluster.
fn protected() -> (Namespace, User) {
    static APPLIED: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    let cluster = research();
    let applied = APPLIED.get_or_init(|| apply(&Path::new(MANIFESTS).join("protection")));
    assert_eq!(applied.as_ref().expect("kubectl applies").len(), 10, "{applied:#?}");
    let namespace = cluster.namespace("protected").expect("a namespace");
    let person =
        cluster.user(&[Grant::cluster_role_in(&namespace.name, "admin")]).expect("a person");
    let label = json!({"metadata": {"labels": {LABEL.0: LABEL.1}}});
    let (status, _) =
        cluster.admin_patch(&format!("/api/v1/namespaces/{}", namespace.name), &label);
    assert_eq!(status, 200);
    // A policy is in force a little after it and the label were written.
    let probe = record(&name('0'));
    let path = format!("{}?dryRun=All", core(&namespace, "configmaps"));
    let refuses = || shared().admin_post(&path, &probe).0 == 403;
    assert!(until(PATIENCE, refuses), "the policies are not in force");
    (namespace, person)
}

fn record(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "immutable": true,
        "data": {"record.json": "{}"}})
}

fn job(name: &str, suspend: bool) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "suspend": suspend, "podReplacementPolicy": "Failed",
            "template": {"spec": pod(&pinned())["spec"]}},
    })
}

fn create(path: &str, object: &Value) -> Value {
    let (status, created) = shared().admin_post(path, object);
    assert_eq!(status, 201, "{created:#}");
    created
}

/// kubectl as this user of the API server.
fn acting(who: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    kubectl(&[arguments, &["--as", who, "--as-group", "system:masters"]].concat(), input)
}

/// kubectl as this person.
fn as_person(person: &User, arguments: &[&str]) -> Result<String, String> {
    // The last context given counts.
    let mut all = vec!["--context", person.context.as_str()];
    all.extend(arguments);
    kubectl(&all, "")
}

#[track_caller]
fn denied(result: &Result<String, String>, policy: &str) {
    let refused = result.as_ref().expect_err("the policy refuses");
    assert!(refused.contains(policy), "{refused}");
}

fn merge(resource: &str, name: &str, namespace: &Namespace, patch: &Value) -> Vec<String> {
    let words = ["patch", resource, name, "-n", &namespace.name, "--type=merge", "-p"];
    words.iter().map(|word| (*word).to_owned()).chain([patch.to_string()]).collect()
}

fn words(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
fn only_operators_and_the_pruner_delete_a_job() {
    let (namespace, person) = protected();
    let own = |role: &str| format!("system:serviceaccount:{}:harness-{role}", namespace.name);
    let keepers = [
        own("operator"),
        own("pruner"),
        "system:serviceaccount:harness-system:harness-pruner".to_owned(),
        NAMESPACE_CONTROLLER.to_owned(),
    ];
    let strangers = [
        "system:admin".to_owned(),
        own("submitter"),
        "system:serviceaccount:kube-system:ttl-after-finished-controller".to_owned(),
        "system:serviceaccount:elsewhere:harness-operator".to_owned(),
    ];
    create(&jobs(&namespace), &job(&name('1'), true));
    create(&jobs(&namespace), &job("mine", true));
    let target = name('1');
    let delete = ["delete", "job", &target, "-n", &namespace.name];
    let policy = "'harness-ledger-job-deletes'";
    denied(&as_person(&person, &delete), policy);
    denied(&as_person(&person, &["delete", "jobs", "--all", "-n", &namespace.name]), policy);
    let many = as_person(&person, &["delete", "--raw", &jobs(&namespace)]);
    denied(&many, policy);
    for stranger in strangers {
        denied(&acting(&stranger, &delete, ""), policy);
    }
    for keeper in keepers {
        acting(&keeper, &[&delete[..], &["--dry-run=server"]].concat(), "").expect(&keeper);
    }
    // A Job that is none of harness is nobody's ledger; it may have gone with `--all`.
    let _ = as_person(&person, &["delete", "job", "mine", "-n", &namespace.name]);
    let (left, _) = shared().admin_get(&format!("{}/mine", jobs(&namespace)));
    assert_eq!(left, 404);
    acting(&own("pruner"), &delete, "").expect("the pruner deletes");
}

#[test]
fn only_operators_and_the_pruner_record_and_nobody_forgets() {
    let (namespace, person) = protected();
    let path = core(&namespace, "configmaps");
    let policy = "'harness-ledger-records'";
    let post = ["create", "--raw", &path, "-f", "-"];
    let kept = record(&name('2'));
    let mut mutable = kept.clone();
    mutable["immutable"] = json!(false);
    let pruner = format!("system:serviceaccount:{}:harness-pruner", namespace.name);
    let operator = format!("system:serviceaccount:{}:harness-operator", namespace.name);
    denied(&acting("system:admin", &post, &kept.to_string()), policy);
    denied(&acting(&pruner, &post, &mutable.to_string()), policy);
    for (digit, keeper) in [('2', &pruner), ('3', &operator)] {
        acting(keeper, &post, &record(&name(digit)).to_string()).expect(keeper);
    }
    let target = name('2');
    let delete = ["delete", "configmap", &target, "-n", &namespace.name];
    denied(&as_person(&person, &delete), policy);
    denied(&as_person(&person, &["delete", "--raw", &path]), policy);
    for stranger in ["system:admin", &pruner, &operator] {
        denied(&acting(stranger, &delete, ""), policy);
    }
    let dry = [&delete[..], &["--dry-run=server"]].concat();
    acting(NAMESPACE_CONTROLLER, &dry, "").expect("with its namespace it goes");
    // Other ConfigMaps are free.
    create(
        &path,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "prediction-notes"}}),
    );
    as_person(&person, &["delete", "configmap", "prediction-notes", "-n", &namespace.name])
        .expect("it is no record");
}

#[test]
fn a_started_job_is_suspended_and_resumed_by_its_queue_alone() {
    let (namespace, person) = protected();
    let policy = "'harness-ledger-job-changes'";
    let started = name('4');
    create(&jobs(&namespace), &job(&started, false));
    let path = format!("{}/{started}", jobs(&namespace));
    let has_started = || shared().admin_get(&path).1["status"]["startTime"].is_string();
    assert!(until(PATIENCE, has_started));
    let suspend =
        |value: bool| merge("job", &started, &namespace, &json!({"spec": {"suspend": value}}));
    denied(&as_person(&person, &words(&suspend(true))), policy);
    denied(&acting("system:admin", &words(&suspend(true)), ""), policy);
    acting(QUEUE, &words(&suspend(true)), "").expect("the queue suspends");
    let has_stopped = || shared().admin_get(&path).1["status"]["startTime"].is_null();
    assert!(until(PATIENCE, has_stopped));
    // Its start time is gone; that it ran is not forgotten.
    denied(&as_person(&person, &words(&suspend(false))), policy);
    acting(QUEUE, &words(&suspend(false)), "").expect("the queue resumes");

    // What was never started may be: its specification is as it was made.
    let fresh = name('5');
    create(&jobs(&namespace), &job(&fresh, true));
    let resume = merge("job", &fresh, &namespace, &json!({"spec": {"suspend": false}}));
    as_person(&person, &words(&resume)).expect("it has never run");

    for change in [
        json!({"spec": {"backoffLimit": 3}}),
        json!({"spec": {"podReplacementPolicy": "TerminatingOrFailed"}}),
        json!({"spec": {"ttlSecondsAfterFinished": 60}}),
    ] {
        denied(&as_person(&person, &words(&merge("job", &fresh, &namespace, &change))), policy);
    }
    for change in [
        json!({"spec": {"activeDeadlineSeconds": 1}}),
        json!({"metadata": {"annotations": {"research.harness/cancelled-by": "ada"}}}),
    ] {
        as_person(&person, &words(&merge("job", &fresh, &namespace, &change))).expect("a cancel");
    }
}

#[test]
fn the_finalizer_of_a_pod_is_taken_by_controllers_alone() {
    let (namespace, person) = protected();
    let policy = "'harness-ledger-pods'";
    let job_name = name('6');
    create(&jobs(&namespace), &job(&job_name, false));
    let pods = core(&namespace, "pods");
    let mut found = Value::Null;
    let came = until(PATIENCE, || {
        found = shared().admin_get(&pods).1["items"].get(0).cloned().unwrap_or_default();
        found.is_object()
    });
    assert!(came, "no pod");
    let pod = found["metadata"]["name"].as_str().expect("a name").to_owned();
    for change in [
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "another"}}}),
    ] {
        denied(&as_person(&person, &words(&merge("pod", &pod, &namespace, &change))), policy);
        let through_status = ["--subresource=status".to_owned()];
        let all: Vec<String> =
            merge("pod", &pod, &namespace, &change).into_iter().chain(through_status).collect();
        let by_status = acting("system:admin", &words(&all), "");
        // Where the status does not carry that field, nothing has changed.
        if by_status.is_err() {
            denied(&by_status, policy);
        }
        let after = shared().admin_get(&format!("{pods}/{pod}")).1;
        for field in ["finalizers", "ownerReferences", "labels"] {
            assert_eq!(after["metadata"][field], found["metadata"][field], "{field}");
        }
    }
    let drop_it = json!({"metadata": {"finalizers": null}});
    let dry = ["--dry-run=server".to_owned()];
    let all: Vec<String> =
        merge("pod", &pod, &namespace, &drop_it).into_iter().chain(dry).collect();
    acting(JOB_CONTROLLER, &words(&all), "").expect("the controller takes it");
    let label = merge("pod", &pod, &namespace, &json!({"metadata": {"labels": {"a": "b"}}}));
    as_person(&person, &words(&label)).expect("another label is free");
    // The controllers do their work: the Job's deadline ends it, and its pod goes.
    let cancel =
        merge("job", &job_name, &namespace, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    as_person(&person, &words(&cancel)).expect("a deadline is lowered");
    let gone = || shared().admin_get(&pods).1["items"].as_array().is_some_and(Vec::is_empty);
    assert!(until(PATIENCE, gone), "the pod stays");
}

/// A policy that is too strict leaves namespaces in Terminating for ever.
#[test]
fn a_protected_namespace_can_be_deleted() {
    let (namespace, _) = protected();
    create(&jobs(&namespace), &job(&name('7'), false));
    let pruner = format!("system:serviceaccount:{}:harness-pruner", namespace.name);
    let path = core(&namespace, "configmaps");
    acting(&pruner, &["create", "--raw", &path, "-f", "-"], &record(&name('8')).to_string())
        .expect("a record");
    let own = format!("/api/v1/namespaces/{}", namespace.name);
    let (status, _) = shared().admin_delete(&own, None);
    assert_eq!(status, 200);
    let gone = || shared().admin_get(&own).0 == 404;
    assert!(until(PATIENCE, gone), "{:#}", shared().admin_get(&own).1);
}

/// The `CronJob` of the pruner passes the Pod Security of its namespace, and its account has the pruner's rights.
#[test]
fn the_nightly_pruner_can_start() {
    let cluster = research();
    let said = apply(&Path::new(MANIFESTS).join("pruner")).expect("kubectl applies");
    assert_eq!(said.len(), 5, "{said:#?}");
    let path = "/apis/batch/v1/namespaces/harness-system/cronjobs/harness-pruner";
    let (status, cron) = cluster.admin_get(path);
    assert_eq!(status, 200, "{cron:#}");
    let template = &cron["spec"]["jobTemplate"]["spec"]["template"];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "try-"},
        "spec": template["spec"]});
    let try_it = "/api/v1/namespaces/harness-system/pods?dryRun=All";
    let made = || cluster.admin_post(try_it, &pod).0 == 201;
    assert!(until(PATIENCE, made), "{:#}", cluster.admin_post(try_it, &pod).1);
    let account = "system:serviceaccount:harness-system:harness-pruner";
    let may = |verb: &str, namespace: &str| {
        let arguments = ["auth", "can-i", verb, "jobs", "-n", namespace, "--as", account];
        kubectl(&arguments, "").is_ok_and(|said| said.trim() == "yes")
    };
    assert!(until(PATIENCE, || may("delete", "research")));
    assert!(!may("delete", "harness-system") && !may("create", "research"));
}

/// Kubernetes checks the types of each validation against the kinds that it is for.
#[test]
fn the_expressions_fit_their_kinds() {
    protected();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    for policy in ["job-deletes", "job-changes", "records", "pods"] {
        let path = format!("{path}/harness-ledger-{policy}");
        let mut live = Value::Null;
        let checked = until(PATIENCE, || {
            live = shared().admin_get(&path).1;
            live["status"]["observedGeneration"] == live["metadata"]["generation"]
        });
        assert!(checked, "{live:#}");
        assert!(live["status"]["typeChecking"]["expressionWarnings"].is_null(), "{live:#}");
    }
}
