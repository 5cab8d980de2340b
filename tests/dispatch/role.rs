//! The namespace that `manifests/cluster` makes, and its submitter.

use std::sync::OnceLock;

use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, Namespace, shared, until};
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::{Place, Run, Sample, command};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/cluster");
const NAMESPACE: &str = "research";
const SUBMITTER: &str = "system:serviceaccount:research:harness-submitter";
/// Applies the manifests as anybody does, and waits until all of it is in force.
fn research() -> Place {
    static APPLIED: OnceLock<()> = OnceLock::new();
    let cluster = shared();
    APPLIED.get_or_init(|| apply(cluster));
    let (_, namespace) = cluster.admin_get(&format!("/api/v1/namespaces/{NAMESPACE}"));
    let uid = namespace["metadata"]["uid"].as_str().unwrap().to_owned();
    let place = Place { cluster, namespace: Namespace { name: NAMESPACE.to_owned(), uid } };
    wait_until_in_force(&place);
    place
}

fn apply(cluster: &ControlPlane) {
    let mut apply = command(cluster.kubectl());
    apply.arg("--kubeconfig").arg(cluster.kubeconfig());
    apply.args(["--context", ADMIN_CONTEXT, "apply", "-k", MANIFESTS]);
    let output = apply.output().unwrap();
    let run = Run::new(&apply, &output);
    assert_eq!(run.code, Some(0), "{run}");
}

fn wait_until_in_force(place: &Place) {
    let counts = || {
        let quota = place.get("resourcequotas", "harness-objects");
        quota["status"]["hard"] == quota["spec"]["hard"]
    };
    assert!(until(PATIENCE, counts), "the quota is not counted");
    let (_, mut tagged) = place.harness().render(&Sample::new("probe"));
    tagged["spec"]["template"]["spec"]["containers"][1]["image"] = json!("registry.test/a:latest");
    let path = format!("{}?dryRun=All", place.collection("jobs"));
    let refused = || place.cluster.admin_post(&path, &tagged).0 == 422;
    assert!(until(PATIENCE, refused), "the policy about images is not in force");
}

#[test]
fn the_submitter_of_the_manifests_submits() {
    let place = research();
    let harness = place.harness().arg("--as").arg(SUBMITTER);
    let sample = Sample::new("attempt-1");
    let rehearse = place.harness().arg("--as").arg(SUBMITTER).arg("--dry-run=server");
    assert!(until(PATIENCE, || rehearse.submit(&sample).code == Some(0)), "no rights");
    let created = harness.submit(&sample).expect(0, "created");
    // Pod Security of the newest version warns about nothing, and nothing was changed.
    assert_eq!((&created["warnings"], &created["drift"]), (&json!([]), &json!([])));
    harness.submit(&sample).expect(0, "already_submitted");
    harness.submit(&sample.signed_again()).expect(0, "already_submitted");
    let other = sample.clone().with("mission_sha256", "9".repeat(64));
    harness.submit(&other).expect(4, "conflict");
    place.assert_holds(1, 1);
    place.assert_hides(&sample);
    // The pod passes Pod Security, the policies and the quota.
    let has_pod = || !place.list("pods").is_empty();
    assert!(
        until(PATIENCE, has_pod),
        "the Job has no pod: {:#}",
        Value::Array(place.list("events"))
    );
}

#[test]
fn the_submitter_has_no_rights_elsewhere() {
    research();
    let elsewhere = Place::new("elsewhere");
    let harness = elsewhere.harness().arg("--as").arg(SUBMITTER);
    harness.submit(&Sample::new("attempt-1")).expect(5, "refused");
    elsewhere.assert_holds(0, 0);
}
