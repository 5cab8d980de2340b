//! `manifests/cluster` on a real control plane: what it applies, whom it lets do what, and what it refuses.

#![expect(
    clippy::disallowed_methods,
    reason = "the subject is what the real kubectl makes of the manifests"
)]

mod admission;
mod kit;
mod ledger;
mod roles;

use std::path::{Component, Path};

use harness_test_cluster::until;
use serde_json::json;

use kit::{
    MANIFESTS, NAMESPACE, PATIENCE, apply, attempt, job, kubectl, pinned, pod, pod_with, research,
    wait_until_in_force,
};
use roles::{ROLES, account, expected, rights};

const POLICIES: &str = "/apis/networking.k8s.io/v1/namespaces/research/networkpolicies";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

#[test]
fn a_second_apply_changes_nothing() {
    research();
    let said = apply(Path::new(MANIFESTS)).expect("kubectl applies");
    assert_eq!(said.len(), 26, "{said:#?}");
    assert!(said.iter().all(|line| line.ends_with(" unchanged")), "{said:#?}");
}

#[test]
fn pods_are_restricted() {
    let cluster = research();
    let (_, namespace) = cluster.admin_get(&format!("/api/v1/namespaces/{NAMESPACE}"));
    for (label, value) in [
        ("pod-security.kubernetes.io/enforce", "restricted"),
        ("pod-security.kubernetes.io/enforce-version", "v1.30"),
        ("pod-security.kubernetes.io/warn", "restricted"),
        ("pod-security.kubernetes.io/warn-version", "latest"),
        ("pod-security.kubernetes.io/audit", "restricted"),
        ("pod-security.kubernetes.io/audit-version", "latest"),
    ] {
        assert_eq!(namespace["metadata"]["labels"][label], value, "{label}");
    }
    for (field, value) in [
        ("hostNetwork", json!(true)),
        ("securityContext", json!({})),
        ("volumes", json!([{"name": "host", "hostPath": {"path": "/"}}])),
    ] {
        let refused = attempt(NAMESPACE, "pods", &pod_with(field, value)).expect_err(field);
        assert!(refused.contains("violates PodSecurity"), "{field}: {refused}");
    }
}

/// All of it together: a submitter's Job passes the policies, and its pod passes Pod Security, the policies and the
/// quota, and carries the label that the network policy selects.
#[test]
fn a_submitted_job_gets_its_pod() {
    let cluster = research();
    let mut object = job(&pod(&pinned()));
    object["metadata"] = json!({"name": "submitted"});
    let path = format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs?fieldValidation=Strict");
    let who = account("submitter");
    let arguments = ["create", "--raw", &path, "-f", "-", "--as", &who];
    kubectl(&arguments, &object.to_string()).expect("the Job is created");
    let (_, policy) = cluster.admin_get(&format!("{POLICIES}/harness-experiment-egress"));
    let selector = json!({"matchExpressions": [{"key": JOB_NAME, "operator": "Exists"}]});
    assert_eq!(policy["spec"]["podSelector"], selector);
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={JOB_NAME}%3Dsubmitted");
    let has_pod = || cluster.admin_get(&pods).1["items"][0]["metadata"]["uid"].is_string();
    assert!(until(PATIENCE, has_pod), "the Job got no pod: {}", events());
}

/// What the cluster says about the namespace's objects.
fn events() -> String {
    kubectl(&["get", "events", "--namespace", NAMESPACE], "").unwrap_or_else(|error| error)
}

/// The network policies as the API server holds them; only a network plugin can put them into force.
#[test]
fn experiments_reach_names_and_https_but_no_metadata() {
    let cluster = research();
    let (_, deny) = cluster.admin_get(&format!("{POLICIES}/harness-default-deny"));
    assert_eq!(deny["spec"], json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}));
    let (_, egress) = cluster.admin_get(&format!("{POLICIES}/harness-experiment-egress"));
    let rules = egress["spec"]["egress"].as_array().expect("there are rules");
    let ports: Vec<_> = rules.iter().map(|rule| rule["ports"].clone()).collect();
    let port = |protocol: &str, port: u16| json!({"protocol": protocol, "port": port});
    assert_eq!(ports, [json!([port("UDP", 53), port("TCP", 53)]), json!([port("TCP", 443)])]);
    let open: Vec<_> = rules[1]["to"]
        .as_array()
        .expect("peers")
        .iter()
        .map(|peer| peer["ipBlock"].clone())
        .collect();
    let left_out = |family: usize, address: &str| {
        let except = open[family]["except"].as_array().expect("exceptions");
        assert!(
            except.iter().any(|cidr| cidr == address),
            "{address} is missing in {}",
            open[family]
        );
    };
    assert_eq!((&open[0]["cidr"], &open[1]["cidr"]), (&json!("0.0.0.0/0"), &json!("::/0")));
    for address in [
        "169.254.169.254/32",
        "169.254.0.0/16",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "10.0.0.0/8",
    ] {
        left_out(0, address);
    }
    for address in ["fd00:ec2::254/128", "fd20:ce::254/128", "fc00::/7", "fe80::/10"] {
        left_out(1, address);
    }
}

/// The way to the same folder from another one, as kustomize takes no absolute one.
fn relative(from: &Path, to: &Path) -> String {
    let up =
        from.components().filter(|component| matches!(component, Component::Normal(_))).count();
    format!("{}{}", "../".repeat(up), to.strip_prefix("/").expect("an absolute path").display())
}

#[test]
fn another_namespace_is_one_overlay() {
    let cluster = research();
    let folder = tempfile::tempdir().expect("a folder");
    let real = |path: &Path| path.canonicalize().expect("the folder exists");
    let base = relative(&real(folder.path()), &real(Path::new(MANIFESTS)));
    let overlay = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: vision\nresources: [\"{base}\"]\n"
    );
    std::fs::write(folder.path().join("kustomization.yaml"), overlay)
        .expect("the overlay is written");
    let said = apply(folder.path()).expect("kubectl applies");
    let created: Vec<_> = said.iter().filter(|line| line.ends_with(" created")).collect();
    // The policies are shared: ten of the objects are there already, and stay as they are.
    assert_eq!((said.len(), created.len()), (26, 16), "{said:#?}");
    wait_until_in_force("vision").expect("the overlay works");
    for (role, rules) in ROLES {
        let (_, binding) = cluster.admin_get(&format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/rolebindings/harness-{role}"
        ));
        let subject = json!({"kind": "ServiceAccount", "name": format!("harness-{role}"), "namespace": "vision"});
        assert_eq!(binding["subjects"], json!([subject]));
        // The account of the one namespace has no right in the other.
        assert_eq!(rights(role, "vision"), expected(&[]), "{role}");
        assert_eq!(rights(role, NAMESPACE), expected(rules), "{role}");
    }
}
