//! Who may do what. The table of the four roles is written down here a second time, on purpose: a right that is
//! added to a Role must be added to the table as well, and the comparison is exact in both directions.

use std::collections::BTreeSet;

use harness_test_cluster::ControlPlane;
use serde_json::{Value, json};

use crate::kit::{NAMESPACE, kubectl, research};

/// API group, resource, verbs.
type Rules = &'static [(&'static str, &'static str, &'static [&'static str])];

/// The name of a right: API group, resource, verb.
type Right = (String, String, String);

/// Each role, and what it may.
pub(crate) const ROLES: [(&str, Rules); 4] = [
    (
        "submitter",
        &[
            ("", "namespaces", &["get"]),
            ("", "configmaps", &["get"]),
            ("batch", "jobs", &["get", "create"]),
            ("", "secrets", &["get", "create", "delete"]),
        ],
    ),
    (
        "watcher",
        &[
            ("batch", "jobs", &["get", "list", "watch"]),
            ("", "pods", &["get", "list", "watch"]),
            ("", "events", &["get", "list", "watch"]),
            ("", "pods/log", &["get"]),
            ("", "configmaps", &["get", "list"]),
            ("kueue.x-k8s.io", "workloads", &["list"]),
        ],
    ),
    (
        "operator",
        &[
            ("batch", "jobs", &["get", "list", "watch", "patch", "delete"]),
            ("", "pods", &["get", "list", "watch", "patch", "delete"]),
            ("", "events", &["get", "list", "watch"]),
            ("", "pods/log", &["get"]),
            ("", "configmaps", &["get", "list", "create"]),
            ("kueue.x-k8s.io", "workloads", &["list"]),
            ("", "namespaces", &["get"]),
            ("", "secrets", &["list", "delete"]),
        ],
    ),
    (
        "pruner",
        &[
            ("", "namespaces", &["get"]),
            ("batch", "jobs", &["get", "list", "delete"]),
            ("", "secrets", &["get", "list", "delete"]),
            ("", "pods", &["get", "list"]),
            ("", "configmaps", &["get", "create"]),
        ],
    ),
];

/// What every service account may: ask about itself, and read which certificates to trust (the `ClusterRoles`
/// `system:basic-user` and `system:cluster-trust-bundle-discovery`, which Kubernetes binds).
const EVERY_ACCOUNT: Rules = &[
    ("authorization.k8s.io", "selfsubjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "selfsubjectrulesreviews", &["create"]),
    ("authentication.k8s.io", "selfsubjectreviews", &["create"]),
    ("certificates.k8s.io", "clustertrustbundles", &["get", "list", "watch"]),
];

const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The sets of (group, resource, verb) that the API server says a role has in a namespace.
pub(crate) fn rights(role: &str, namespace: &str) -> BTreeSet<Right> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    });
    let who = account(role);
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let said = kubectl(&["create", "--raw", path, "-f", "-", "--as", &who], &review.to_string());
    let said: Value =
        serde_json::from_str(&said.expect("the review is answered")).expect("the answer is JSON");
    // "incomplete" says nothing here: the authorizer of nodes cannot list its rules, and has none for service accounts.
    let strings = |rule: &Value, field: &str| -> Vec<String> {
        let values = rule[field].as_array().into_iter().flatten();
        values.map(|value| value.as_str().expect("rules hold strings").to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in said["status"]["resourceRules"].as_array().expect("there are rules") {
        assert!(strings(rule, "resourceNames").is_empty(), "{rule}");
        for group in strings(rule, "apiGroups") {
            for resource in strings(rule, "resources") {
                for verb in strings(rule, "verbs") {
                    rights.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    rights
}

/// The name of a role's service account, as the API server knows it.
pub(crate) fn account(role: &str) -> String {
    format!("system:serviceaccount:{NAMESPACE}:harness-{role}")
}

pub(crate) fn expected(rules: Rules) -> BTreeSet<Right> {
    let all = rules.iter().chain(EVERY_ACCOUNT.iter());
    let triples = all.flat_map(|(group, resource, verbs)| {
        verbs.iter().map(move |verb| (*group, *resource, *verb))
    });
    triples
        .map(|(group, resource, verb)| (group.to_owned(), resource.to_owned(), verb.to_owned()))
        .collect()
}

#[test]
fn each_role_has_the_rights_of_the_table_and_no_other() {
    research();
    for (role, rules) in ROLES {
        assert_eq!(rights(role, NAMESPACE), expected(rules), "{role}");
        assert_eq!(rights(role, "default"), expected(&[]), "{role}, in another namespace");
    }
}

/// All resources that the API server has, as (group, resource), subresources included.
fn resources(cluster: &ControlPlane) -> Vec<(String, String)> {
    let mut lists = vec![(String::new(), "/api/v1".to_owned())];
    for group in cluster.admin_get("/apis").1["groups"].as_array().expect("there are groups") {
        let version =
            group["preferredVersion"]["groupVersion"].as_str().expect("a group has a version");
        lists.push((
            group["name"].as_str().expect("a group has a name").to_owned(),
            format!("/apis/{version}"),
        ));
    }
    let mut all = Vec::new();
    for (group, path) in lists {
        for resource in
            cluster.admin_get(&path).1["resources"].as_array().expect("there are resources")
        {
            all.push((
                group.clone(),
                resource["name"].as_str().expect("a resource has a name").to_owned(),
            ));
        }
    }
    all
}

/// Whether the authorizer lets the role do it, as it decides about a request in the namespace.
fn may(cluster: &ControlPlane, role: &str, group: &str, resource: &str, verb: &str) -> bool {
    let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account(role),
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{NAMESPACE}"), "system:authenticated"],
            "resourceAttributes": {
                "namespace": NAMESPACE, "group": group, "resource": name, "subresource": subresource, "verb": verb,
            },
        },
    });
    let (status, answer) =
        cluster.admin_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
    assert_eq!(status, 201, "{answer:#}");
    answer["status"]["allowed"] == true
}

/// The same table seen from the other side: every verb on every resource that exists.
#[test]
fn everything_outside_the_table_is_denied() {
    let cluster = research();
    let resources = resources(cluster);
    assert!(resources.len() > 100, "discovery gave {resources:?}");
    std::thread::scope(|scope| {
        for (role, rules) in ROLES {
            let resources = &resources;
            scope.spawn(move || {
                let expected = expected(rules);
                for (group, resource) in resources {
                    for verb in VERBS {
                        let right = (group.clone(), resource.clone(), verb.to_owned());
                        let allowed = may(cluster, role, group, resource, verb);
                        assert_eq!(
                            allowed,
                            expected.contains(&right),
                            "{role} {verb} {group}/{resource}"
                        );
                    }
                }
            });
        }
    });
    for (group, resource, verb) in [
        ("", "serviceaccounts", "impersonate"),
        ("", "users", "impersonate"),
        ("rbac.authorization.k8s.io", "roles", "bind"),
        ("rbac.authorization.k8s.io", "roles", "escalate"),
    ] {
        for (role, _) in ROLES {
            assert!(!may(cluster, role, group, resource, verb), "{role} {verb} {resource}");
        }
    }
}

/// A Role reaches the Namespace object that it is in; that is why no `ClusterRole` is needed.
#[test]
fn a_namespace_is_read_by_its_own_roles_only() {
    research();
    for (role, rules) in ROLES {
        let who = account(role);
        let get = |namespace: &str| {
            kubectl(&["get", "--raw", &format!("/api/v1/namespaces/{namespace}"), "--as", &who], "")
        };
        let allowed = rules.iter().any(|(_, resource, _)| *resource == "namespaces");
        assert_eq!(get(NAMESPACE).is_ok(), allowed, "{role}: {:?}", get(NAMESPACE));
        for path in ["default", "kube-system", ""] {
            let refused = get(path).expect_err("another namespace, or the list of all");
            assert!(refused.contains("Forbidden"), "{role} {path:?}: {refused}");
        }
    }
}
