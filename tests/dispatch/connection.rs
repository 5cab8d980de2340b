//! Clusters that cannot be reached at all: exit code 6, and the receipt says what is in the way.

use harness_test_cluster::Authority;

use crate::kit::{Harness, Place, Sample};

#[track_caller]
fn assert_unreachable(place: &Place, harness: &Harness, why: &str) {
    let sample = Sample::new("attempt-1");
    let receipt = harness.submit(&sample).expect(6, "unknown");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains(why), "{detail}");
    assert!(receipt["identity"]["result_identity"].is_string(), "{receipt:#}");
    place.assert_holds(0, 0);
}

#[test]
fn a_server_that_is_not_there() {
    let place = Place::new("unreachable");
    // The port that no user may use, so nobody listens.
    let kubeconfig = place
        .cluster
        .kubeconfig_with("https://127.0.0.1:1", place.cluster.admin_token(), Authority::Right)
        .unwrap();
    let harness = Harness::new(&kubeconfig, place.cluster.kubectl(), &place.namespace.name);
    assert_unreachable(&place, &harness, "connection refused");
}

#[test]
fn a_certificate_of_a_stranger() {
    let place = Place::new("untrusted");
    let kubeconfig = place
        .cluster
        .kubeconfig_with(&place.cluster.server_url(), place.cluster.admin_token(), Authority::Wrong)
        .unwrap();
    let harness = Harness::new(&kubeconfig, place.cluster.kubectl(), &place.namespace.name);
    assert_unreachable(&place, &harness, "certificate signed by unknown authority");
}

#[test]
fn credentials_that_the_server_does_not_know() {
    let place = Place::new("stranger");
    let kubeconfig = place
        .cluster
        .kubeconfig_with(&place.cluster.server_url(), "no-such-token", Authority::Right)
        .unwrap();
    let harness = Harness::new(&kubeconfig, place.cluster.kubectl(), &place.namespace.name);
    let receipt = harness.submit(&Sample::new("attempt-1")).expect(5, "refused");
    assert!(receipt["remedy"].as_str().unwrap().contains("log in again"), "{receipt:#}");
    place.assert_holds(0, 0);
}

#[test]
fn a_context_that_is_not_there() {
    let place = Place::new("contextless");
    let harness = place.harness().context("no-such-context");
    assert_wrong_usage(&place, &harness, "no context \"no-such-context\"");
    // Once, in harness' words, which say what to do, and not in kubectl's as well.
    let run = harness.submit(&Sample::new("attempt-1"));
    assert_eq!(run.stderr.matches("no-such-context").count(), 1, "{run}");
}

#[test]
fn a_kubectl_that_is_not_there() {
    let place = Place::new("toolless");
    let harness = place.harness().kubectl("/nonexistent/kubectl");
    assert_wrong_usage(&place, &harness, "there is no `/nonexistent/kubectl`");
    let harness = place.harness().kubectl("no-such-kubectl");
    assert_wrong_usage(&place, &harness, "there is no `no-such-kubectl`");
}

/// The same command can never work, so there is no receipt that says to repeat it.
fn assert_wrong_usage(place: &Place, harness: &Harness, why: &str) {
    let run = harness.submit(&Sample::new("attempt-1"));
    assert_eq!(run.code, Some(2), "{run}");
    assert_eq!(run.stdout, "", "{run}");
    assert!(run.stderr.contains(why), "{run}");
    place.assert_holds(0, 0);
}
