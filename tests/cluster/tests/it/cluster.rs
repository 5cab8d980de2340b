//! What the control plane does for tests that use it.

use std::time::Duration;

use harness_test_cluster::{ADMIN_CONTEXT, Authority, Grant, shared, until};
use serde_json::{Value, json};

use crate::{create_raw, kubectl, secret, secrets, stderr};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_job_gets_a_pod_that_stays_pending() {
    let cluster = shared();
    let namespace = cluster.namespace("job").unwrap().name;
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "one"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.test/none"}],
        }}},
    });
    let jobs = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    assert_eq!(cluster.count_jobs(&namespace), 0);
    let output = create_raw(cluster, cluster.kubeconfig(), &jobs, &job);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(cluster.count_jobs(&namespace), 1);

    let pods = || cluster.admin_get(&format!("/api/v1/namespaces/{namespace}/pods")).1;
    assert!(until(PATIENCE, || pods()["items"][0].is_object()), "no pod was made");
    let pod = &pods()["items"][0];
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_eq!(pod["metadata"]["ownerReferences"][0]["name"], "one");
}

#[test]
fn a_user_may_do_what_was_granted_and_nothing_else() {
    let cluster = shared();
    let namespace = cluster.namespace("user").unwrap().name;
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]);
    let user = cluster.user(&[Grant::in_namespace(&namespace, rules)]).unwrap();
    let run = |arguments: &[&str]| {
        kubectl(cluster, cluster.kubeconfig(), &user.context, arguments, &secret("one"))
    };
    let path = secrets(&namespace);
    let created = run(&["create", "--raw", &path, "-f", "-"]);
    assert!(created.status.success(), "{}", stderr(&created));

    let denied = run(&["get", "--raw", &path]);
    let expected = format!("(Forbidden): secrets is forbidden: User \"{}\" cannot list", user.name);
    assert!(stderr(&denied).contains(&expected), "{}", stderr(&denied));

    let viewer = cluster.user(&[Grant::cluster_role_in(&namespace, "view")]).unwrap();
    let everywhere = json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]);
    let operator = cluster.user(&[Grant::everywhere(everywhere)]).unwrap();
    for (context, path, allowed) in [
        (&viewer.context, format!("/api/v1/namespaces/{namespace}/configmaps"), true),
        (&viewer.context, "/api/v1/nodes".to_owned(), false),
        (&operator.context, "/api/v1/nodes".to_owned(), true),
    ] {
        let arguments = ["get", "--raw", &path];
        let output = kubectl(cluster, cluster.kubeconfig(), context, &arguments, &Value::Null);
        assert_eq!(output.status.success(), allowed, "{context} {path}: {}", stderr(&output));
    }
}

#[test]
fn secrets_are_counted_by_type() {
    let cluster = shared();
    let namespace = cluster.namespace("count").unwrap().name;
    let mut other = secret("other");
    other["type"] = json!("example.org/other");
    for object in [secret("one"), other] {
        assert_eq!(cluster.admin_post(&secrets(&namespace), &object).0, 201);
    }
    assert_eq!(cluster.count_secrets(&namespace), 1);
}

#[test]
fn the_administrator_changes_things_by_hand() {
    let cluster = shared();
    let namespace = cluster.namespace("hand").unwrap();
    let path = format!("{}/one", secrets(&namespace.name));
    let (status, mut object) = cluster.admin_post(&secrets(&namespace.name), &secret("one"));
    assert_eq!(status, 201);
    object["metadata"]["labels"] = json!({"put": "yes"});
    assert_eq!(cluster.admin_put(&path, &object).0, 200);
    let labelled = json!({"metadata": {"labels": {"patched": "yes"}}});
    let (status, object) = cluster.admin_patch(&path, &labelled);
    let labels = &object["metadata"]["labels"];
    assert_eq!((status, labels), (200, &json!({"put": "yes", "patched": "yes"})));
    let stale = json!({"preconditions": {"uid": namespace.uid}});
    assert_eq!(cluster.admin_delete(&path, Some(&stale)).0, 409);
    assert_eq!(cluster.admin_delete(&path, None).0, 200);
    let (status, answer) = cluster.admin_get(&path);
    assert_eq!((status, &answer["reason"]), (404, &json!("NotFound")));
}

#[test]
fn the_release_and_its_admission() {
    let cluster = shared();
    assert_eq!(cluster.admin_get("/version").1["gitVersion"], "v1.37.2");
    let (_, resources) = cluster.admin_get("/apis/admissionregistration.k8s.io/v1");
    let names: Vec<_> =
        resources["resources"].as_array().unwrap().iter().map(|r| &r["name"]).collect();
    for name in ["validatingadmissionpolicies", "mutatingadmissionpolicies"] {
        assert!(names.contains(&&json!(name)), "{name} is not served");
    }
}

#[test]
fn servers_that_are_not_right() {
    let cluster = shared();
    let token = cluster.admin_token();
    let dead = "https://127.0.0.1:1";
    for (server, token, authority, message) in [
        (cluster.server_url().as_str(), token, Authority::Right, ""),
        (&cluster.server_url(), token, Authority::Wrong, "x509"),
        (&cluster.server_url(), "nobody's", Authority::Right, "Unauthorized"),
        (dead, token, Authority::Right, "refused"),
    ] {
        let kubeconfig = cluster.kubeconfig_with(server, token, authority).unwrap();
        let arguments = ["get", "--raw", "/api/v1/namespaces/default"];
        let output = kubectl(cluster, &kubeconfig, ADMIN_CONTEXT, &arguments, &Value::Null);
        assert!(stderr(&output).contains(message), "{message}: {}", stderr(&output));
        assert_eq!(output.status.success(), message.is_empty(), "{message}");
    }
}
