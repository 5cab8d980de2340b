//! What the admission policies refuse, what they let pass, and where.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::{
    DIGEST, NAMESPACE, PATIENCE, attempt, container, job, outcome, pinned, pod, pod_with, research,
};
use crate::roles::ROLES;

/// What is refused: description, the policy that does it, resource, object.
pub(crate) fn violations() -> Vec<(String, &'static str, &'static str, Value)> {
    let mut pods = Vec::new();
    for image in [
        "a".to_owned(),
        "registry.test/a".to_owned(),
        "registry.test/a:v1".to_owned(),
        "registry.test/a@sha256:".to_owned(),
        format!("registry.test/a@sha256:{}", &DIGEST[1..]),
        format!("registry.test/a@sha256:{DIGEST}0"),
        format!("registry.test/a@sha256:{}", DIGEST.to_uppercase()),
        format!("registry.test/a@sha512:{DIGEST}"),
        format!("@sha256:{DIGEST}"),
        format!("registry.test/a@sha256:{DIGEST}@sha256:{DIGEST}"),
        format!("registry.test/a@sha256:{DIGEST}:v1"),
    ] {
        pods.push((image.clone(), "images", pod(&image)));
    }
    let tagged = "registry.test/a:v1";
    pods.push((
        "init container".to_owned(),
        "images",
        pod_with("initContainers", json!([container("i", tagged)])),
    ));
    let second = json!([container("run", &pinned()), container("second", tagged)]);
    pods.push(("second container".to_owned(), "images", pod_with("containers", second)));
    for (role, _) in ROLES {
        let account = json!(format!("harness-{role}"));
        // `serviceAccount` is the old name of the same field.
        for field in ["serviceAccountName", "serviceAccount"] {
            pods.push((
                format!("{field} {role}"),
                "service-accounts",
                pod_with(field, account.clone()),
            ));
        }
    }
    let mut all = Vec::new();
    for (what, policy, pod) in pods {
        let (of_jobs, of_pods) = match policy {
            "images" => ("'harness-job-images'", "'harness-pod-images'"),
            _ => ("'harness-job-service-accounts'", "'harness-pod-service-accounts'"),
        };
        all.push((format!("Job, {what}"), of_jobs, "jobs", job(&pod)));
        all.push((format!("Pod, {what}"), of_pods, "pods", pod));
    }
    let token = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {
            "generateName": "example-",
            "annotations": {"kubernetes.io/service-account.name": "harness-operator"},
        },
    });
    all.push(("Secret of a token".to_owned(), "'harness-token-secrets'", "secrets", token));
    all
}

#[test]
fn what_a_policy_refuses() {
    research();
    for (what, policy, resource, object) in violations() {
        let refused = attempt(NAMESPACE, resource, &object).expect_err(&what);
        assert!(refused.contains(policy), "{what}: {refused}");
    }
}

#[test]
fn what_the_policies_let_pass() {
    research();
    let with_tag = format!("registry.test:5000/a/b:v1@sha256:{DIGEST}");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"generateName": "example-"}});
    assert_eq!(attempt(NAMESPACE, "secrets", &secret), Ok(()));
    for pod in [
        pod(&pinned()),
        pod(&with_tag),
        pod_with("initContainers", json!([container("stage", &pinned())])),
        pod_with("serviceAccountName", json!("default")),
    ] {
        assert_eq!(attempt(NAMESPACE, "pods", &pod), Ok(()), "{pod:#}");
        assert_eq!(attempt(NAMESPACE, "jobs", &job(&pod)), Ok(()), "{pod:#}");
    }
}

/// In a namespace without the label nothing of this holds.
#[test]
fn the_policies_hold_where_the_label_is() {
    let cluster = research();
    let other = cluster.namespace("unlabelled").expect("a namespace");
    for (what, _, resource, object) in violations() {
        // Some of the images are no image at all, and refused by the API server itself.
        if let Err(refused) = attempt(&other.name, resource, &object) {
            assert!(!refused.contains("ValidatingAdmissionPolicy"), "{what}: {refused}");
        }
    }
    assert_eq!(attempt(&other.name, "pods", &pod("registry.test/a:v1")), Ok(()));
}

#[test]
fn an_ephemeral_container_needs_a_digest_too() {
    let cluster = research();
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let (status, created) = cluster.admin_post(&pods, &pod(&pinned()));
    assert_eq!(status, 201, "{created:#}");
    let path = format!("{pods}/{}", created["metadata"]["name"].as_str().expect("a name"));
    let add = |image: &str| {
        let (_, mut pod) = cluster.admin_get(&path);
        pod["spec"]["ephemeralContainers"] = json!([container("debug", image)]);
        outcome(cluster.admin_put(&format!("{path}/ephemeralcontainers"), &pod))
    };
    let refused = add("registry.test/debug:latest").expect_err("a tag");
    assert!(refused.contains("'harness-pod-images'"), "{refused}");
    assert_eq!(add(&pinned()), Ok(()));
    let image = |image: &str| json!({"spec": {"containers": [container("run", image)]}});
    let refused =
        outcome(cluster.admin_patch(&path, &image("registry.test/a:v1"))).expect_err("a tag");
    assert!(refused.contains("'harness-pod-images'"), "{refused}");
}

/// A pod and a Job from before the policies can still be changed and come to their end.
#[test]
fn what_is_older_than_the_policies_can_still_end() {
    let cluster = research();
    let old = cluster.namespace("older").expect("a namespace").name;
    let mut before = pod("registry.test/a:v1");
    before["metadata"]["finalizers"] = json!(["example.test/hold"]);
    let pods = format!("/api/v1/namespaces/{old}/pods");
    let jobs = format!("/apis/batch/v1/namespaces/{old}/jobs");
    let mut suspended = job(&before);
    suspended["spec"]["suspend"] = json!(true);
    let (_, created) = cluster.admin_post(&pods, &before);
    let (_, created_job) = cluster.admin_post(&jobs, &suspended);
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("a name").to_owned();
    let (path, job_path) =
        (format!("{pods}/{}", name(&created)), format!("{jobs}/{}", name(&created_job)));

    let label = json!({"metadata": {"labels": {"research.harness/admission": "enforced"}}});
    assert_eq!(outcome(cluster.admin_patch(&format!("/api/v1/namespaces/{old}"), &label)), Ok(()));
    assert!(until(PATIENCE, || attempt(&old, "pods", &before).is_err()), "the label had no effect");

    let without = json!({"metadata": {"finalizers": null, "labels": {"a": "b"}}});
    assert_eq!(outcome(cluster.admin_patch(&path, &without)), Ok(()));
    let deadline = json!({"spec": {"activeDeadlineSeconds": 1}});
    assert_eq!(outcome(cluster.admin_patch(&job_path, &deadline)), Ok(()));
    let other = json!({"spec": {"containers": [container("run", "registry.test/a:v2")]}});
    let refused = outcome(cluster.admin_patch(&path, &other)).expect_err("another tag");
    assert!(refused.contains("'harness-pod-images'"), "{refused}");
}

/// Kubernetes checks the types of each validation against the kinds that it is for. Mistakes in variables it does not
/// report; they show in what is refused and what passes.
#[test]
fn the_expressions_fit_their_kinds() {
    let cluster = research();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let checked = || {
        let (_, list) = cluster.admin_get(path);
        let policies = list["items"].as_array().expect("a list");
        // Five of the base, and those of the ledger once its tests have applied them.
        assert!(policies.len() >= 5, "{list:#}");
        policies.iter().all(|policy| {
            policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
        })
    };
    assert!(until(PATIENCE, checked), "the policies were not type checked");
    for policy in cluster.admin_get(path).1["items"].as_array().expect("a list") {
        let warnings = &policy["status"]["typeChecking"]["expressionWarnings"];
        assert!(warnings.is_null(), "{}: {warnings:#}", policy["metadata"]["name"]);
    }
}
