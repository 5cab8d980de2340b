//! `--in-cluster`: kubectl with nothing but what a pod of the pruner has.
//!
//! The files of the service account are put where a kubelet mounts them, in a mount namespace of the test's own. That a
//! kubelet mounts and renews them is Kubernetes' part.

use std::fs;

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::{Place, Run, Sample, command};
use crate::world::{PATIENCE, assert_pruned, end, rules, submitted, uid};

/// Puts the files in their place, and becomes harness.
const IN_POD: &str = r#"
set -e
mount -t tmpfs tmpfs /run
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
cp "$FILES/token" "$FILES/ca.crt" /var/run/secrets/kubernetes.io/serviceaccount/
exec "$@"
"#;

/// The account's token, as a kubelet asks for it, and the rights of the pruner for it.
fn account(place: &Place) -> String {
    let namespace = &place.namespace.name;
    let named =
        |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "night"}});
    place.create("serviceaccounts", &named("ServiceAccount"));
    let base = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let group = "rbac.authorization.k8s.io";
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "Role",
        "metadata": {"name": "night"}, "rules": rules("pruner")});
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "night"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "night"},
        "subjects": [{"kind": "ServiceAccount", "name": "night", "namespace": namespace}]});
    for (kind, object) in [("roles", role), ("rolebindings", binding)] {
        let (status, answer) = place.cluster.admin_post(&format!("{base}/{kind}"), &object);
        assert_eq!(status, 201, "{answer:#}");
    }
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = format!("{}/token", place.path("serviceaccounts", "night"));
    let (status, answer) = place.cluster.admin_post(&path, &request);
    assert_eq!(status, 201, "{answer:#}");
    answer["status"]["token"].as_str().unwrap().to_owned()
}

#[test]
fn with_the_files_of_a_service_account_the_pruner_prunes() {
    let place = Place::new("in-cluster");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let job = uid(&place, &name);
    end(&place, &name, "Complete", 8 * 24);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("token"), account(&place)).unwrap();
    let config: Value =
        serde_yaml::from_str(&fs::read_to_string(place.cluster.kubeconfig()).unwrap()).unwrap();
    let cluster = &config["clusters"][0]["cluster"];
    let authority = cluster["certificate-authority"].as_str().unwrap();
    fs::copy(authority, folder.path().join("ca.crt")).unwrap();
    let server = cluster["server"].as_str().unwrap().trim_start_matches("https://");
    let (host, port) = server.rsplit_once(':').unwrap();
    // A home with a kubeconfig of another cluster, which must not be taken.
    fs::create_dir(folder.path().join(".kube")).unwrap();
    fs::write(folder.path().join(".kube/config"), "apiVersion: v1\nkind: Config\n").unwrap();
    let run = || {
        let mut command = command("unshare");
        // What is mounted is seen in there only.
        if rustix::process::getuid().is_root() {
            command.arg("--mount");
        } else {
            command.args(["--map-root-user", "--mount"]);
        }
        command
            .args(["sh", "-c", IN_POD, "sh", env!("CARGO_BIN_EXE_harness")])
            .args(["prediction", "dispatch", "prune", "--in-cluster", "--yes", "-o", "json"])
            .args(["-n", &place.namespace.name, "--kubectl"])
            .arg(place.cluster.kubectl())
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("FILES", folder.path())
            .env("KUBERNETES_SERVICE_HOST", host)
            .env("KUBERNETES_SERVICE_PORT", port);
        let output = command.output().unwrap();
        Run::new(&command, &output)
    };
    let mut last = run();
    // The authorizer learns of the binding a little later.
    assert!(
        until(PATIENCE, || last.code == Some(0) || {
            last = run();
            false
        }),
        "{last}"
    );
    last.expect(0, "pruned");
    let record = assert_pruned(&place, &name, &job, "succeeded");
    let who = format!("system:serviceaccount:{}:night", place.namespace.name);
    assert_eq!(record["recorded_by"], who.as_str());
}
