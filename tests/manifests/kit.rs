//! What the tests share: kubectl, the applied manifests, and objects to try.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, shared, until};
use serde_json::{Value, json};

use crate::admission::violations;

pub(crate) const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/cluster");
pub(crate) const NAMESPACE: &str = "research";
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) const DIGEST: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(crate) fn pinned() -> String {
    format!("registry.test/a@sha256:{DIGEST}")
}

/// Runs kubectl as the administrator; gives standard output, or standard error of a failure.
pub(crate) fn kubectl(arguments: &[&str], input: &str) -> Result<String, String> {
    let cluster = shared();
    let mut child = Command::new(cluster.kubectl())
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["--context", ADMIN_CONTEXT])
        .args(arguments)
        .env("KUBERC", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A kubectl that reads no input may have closed it already.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().expect("kubectl ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Applies a folder; gives what kubectl says about each object.
pub(crate) fn apply(folder: &Path) -> Result<Vec<String>, String> {
    let folder = folder.to_str().expect("the path is UTF-8");
    Ok(kubectl(&["apply", "-k", folder], "")?.lines().map(str::to_owned).collect())
}

/// The control plane with the manifests applied once, and everything in force.
pub(crate) fn research() -> &'static ControlPlane {
    // A failure is kept, so that not every test waits for it again.
    static FIRST: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let said = apply(Path::new(MANIFESTS))?;
        wait_until_in_force(NAMESPACE)?;
        Ok(said)
    });
    match first {
        Ok(said) => assert!(said.iter().all(|line| line.ends_with(" created")), "{said:#?}"),
        Err(error) => panic!("{error}"),
    }
    shared()
}

/// Policies are compiled, quotas counted and service accounts made a little after they were applied.
pub(crate) fn wait_until_in_force(namespace: &str) -> Result<(), String> {
    if until(PATIENCE, || not_in_force(namespace).is_empty()) {
        return Ok(());
    }
    Err(format!("not in force in {namespace}: {}", not_in_force(namespace).join(", ")))
}

fn not_in_force(namespace: &str) -> Vec<String> {
    let cluster = shared();
    let base = format!("/api/v1/namespaces/{namespace}");
    let mut missing = Vec::new();
    let (_, quota) = cluster.admin_get(&format!("{base}/resourcequotas/harness-objects"));
    if quota["status"]["hard"] != quota["spec"]["hard"] {
        missing.push("the quota".to_owned());
    }
    let (account, _) = cluster.admin_get(&format!("{base}/serviceaccounts/default"));
    if account != 200 {
        missing.push("the service account `default`".to_owned());
    }
    // A policy is in force as a whole: the first refusal by each is enough.
    let mut policies = BTreeMap::new();
    for (_, policy, resource, object) in violations() {
        policies.entry(policy).or_insert((resource, object));
    }
    for (policy, (resource, object)) in policies {
        let refused = attempt(namespace, resource, &object);
        if !refused.is_err_and(|message| message.contains(policy)) {
            missing.push(policy.to_owned());
        }
    }
    missing
}

/// Sends an object as a dry run, which goes through all of admission; gives the message of a refusal.
pub(crate) fn attempt(namespace: &str, resource: &str, object: &Value) -> Result<(), String> {
    let group = if resource == "jobs" { "/apis/batch/v1" } else { "/api/v1" };
    let path =
        format!("{group}/namespaces/{namespace}/{resource}?dryRun=All&fieldValidation=Strict");
    outcome(shared().admin_post(&path, object))
}

pub(crate) fn outcome((status, answer): (u16, Value)) -> Result<(), String> {
    if status < 300 { Ok(()) } else { Err(format!("{status}: {}", answer["message"])) }
}

pub(crate) fn container(name: &str, image: &str) -> Value {
    json!({
        "name": name,
        "image": image,
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    })
}

pub(crate) fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "example-"},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container("run", image)],
        },
    })
}

pub(crate) fn pod_with(field: &str, value: Value) -> Value {
    let mut pod = pod(&pinned());
    pod["spec"][field] = value;
    pod
}

pub(crate) fn job(pod: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "example-"},
        "spec": {"backoffLimit": 0, "template": {"spec": pod["spec"]}},
    })
}
