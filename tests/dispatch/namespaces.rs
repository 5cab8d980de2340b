//! The namespace that is meant, and those that are not.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::{Harness, Place, Sample, find};

#[test]
fn a_missing_namespace() {
    let place = Place::new("here");
    let elsewhere = Harness::new(place.cluster.kubeconfig(), place.cluster.kubectl(), "nowhere");
    let receipt = elsewhere.submit(&Sample::new("attempt-1")).expect(5, "refused");
    assert!(receipt["detail"].as_str().unwrap().contains("no such namespace"), "{receipt:#}");
    place.assert_holds(0, 0);
}

#[test]
fn the_namespace_that_is_meant() {
    let place = Place::new("meant");
    let sample = Sample::new("attempt-1");
    let other = sample.clone().with("namespace_uid", "01234567-89ab-cdef-0123-456789abcdef");
    let receipt = place.harness().submit(&other).expect(5, "refused");
    assert!(receipt["detail"].as_str().unwrap().contains(&place.namespace.uid), "{receipt:#}");
    place.assert_holds(0, 0);
    let right = sample.with("namespace_uid", place.namespace.uid.as_str());
    place.harness().submit(&right).expect(0, "created");
    // Where the Job exists, too: it may be another cluster's.
    place.harness().submit(&other).expect(5, "refused");
    place.assert_holds(1, 1);
}

#[test]
fn a_recreated_namespace() {
    let place = Place::new("recreated");
    let sample = Sample::new("attempt-1").with("namespace_uid", place.namespace.uid.as_str());
    place.harness().submit(&sample).expect(0, "created");
    let name = &place.namespace.name;
    let path = format!("/api/v1/namespaces/{name}");
    assert_eq!(place.cluster.admin_delete(&path, None).0, 200);
    assert!(until(PATIENCE, || place.cluster.admin_get(&path).0 == 404), "it does not go");
    let again = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let (status, created) = place.cluster.admin_post("/api/v1/namespaces", &again);
    assert_eq!(status, 201, "{created:#}");
    let receipt = place.harness().submit(&sample).expect(5, "refused");
    assert_eq!(receipt["namespace"]["uid"], *find(&created, "/metadata/uid"));
    place.assert_holds(0, 0);
}

#[test]
fn a_terminating_namespace() {
    let place = Place::new("terminating");
    let sample = Sample::new("attempt-1");
    let name = &place.namespace.name;
    let kept = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kept", "finalizers": ["example.org/wait"]},
    });
    place.create("configmaps", &kept);
    let path = format!("/api/v1/namespaces/{name}");
    assert_eq!(place.cluster.admin_delete(&path, None).0, 200);
    let receipt = place.harness().submit(&sample).expect(5, "refused");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("because it is being terminated"), "{detail}");
    place.assert_holds(0, 0);
    place.patch("configmaps", "kept", &json!({"metadata": {"finalizers": Value::Null}}));
}
