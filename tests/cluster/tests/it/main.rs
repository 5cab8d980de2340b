//! The control plane, tested with itself.

#![expect(clippy::disallowed_methods, reason = "these tests run programs and wait for them")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod cluster;
mod fault;
mod lifecycle;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane};
use serde_json::{Value, json};

/// Runs the built kubectl with a kubeconfig, a context and something on its stdin.
fn kubectl(
    cluster: &ControlPlane,
    kubeconfig: &Path,
    context: &str,
    arguments: &[&str],
    input: &Value,
) -> Output {
    let mut child = Command::new(cluster.kubectl())
        .env("KUBERC", "off")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--context", context, "--cache-dir"])
        .arg(cluster.state().join("kubectl-cache"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Runs `kubectl create --raw` as the administrator.
fn create_raw(cluster: &ControlPlane, kubeconfig: &Path, path: &str, object: &Value) -> Output {
    kubectl(cluster, kubeconfig, ADMIN_CONTEXT, &["create", "--raw", path, "-f", "-"], object)
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque"})
}

fn secrets(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
