//! What a live Job may have besides that which is rendered.

use super::*;

#[track_caller]
fn with(pointer: &str, key: &str, value: Value) -> Verdict {
    let (rendered, mut live) = plain();
    assert!(rendered.pointer(pointer).unwrap().get(key).is_none(), "{pointer}/{key} is rendered");
    put(&mut live, pointer, key, value);
    compare_job(&rendered, &live)
}

#[test]
fn nothing_may_be_added_where_it_decides() {
    let seccomp = format!("{POD}/securityContext/seccompProfile");
    let volume = |index: usize, source: &str| format!("{POD}/volumes/{index}{source}");
    let at = |container: &str, place: &str| format!("{container}/{place}");
    let places: Vec<(String, &[&str])> = vec![
        (
            "/spec".to_owned(),
            &[
                "backoffLimitPerIndex",
                "managedBy",
                "maxFailedIndexes",
                "selector",
                "successPolicy",
                "ttlSecondsAfterFinished",
            ],
        ),
        ("/spec/podFailurePolicy/rules/0".to_owned(), &["onExitCodes"]),
        (
            POD.to_owned(),
            &[
                "dnsConfig",
                "ephemeralContainers",
                "hostAliases",
                "hostIPC",
                "hostNetwork",
                "hostPID",
                "hostUsers",
                "hostname",
                "nodeName",
                "resourceClaims",
                "resources",
                "schedulingGates",
                "serviceAccount",
                "serviceAccountName",
                "setHostnameAsFQDN",
                "shareProcessNamespace",
                "subdomain",
            ],
        ),
        (at(POD, "securityContext"), &["supplementalGroups", "sysctls", "seLinuxOptions", "new"]),
        (seccomp, &["localhostProfile"]),
        (at(POD, "nodeSelector"), &["pool"]),
        (at(POD, "affinity"), &["podAffinity"]),
        (at(RUN, "resources"), &["claims"]),
        (at(RUN, "resources/limits"), &["hugepages-2Mi"]),
        (at(RUN, "securityContext"), &["runAsUser", "seLinuxOptions", "seccompProfile", "new"]),
        (at(RUN, "securityContext/capabilities"), &["add"]),
        (at(RUN, "volumeMounts/0"), &["mountPropagation", "subPath", "subPathExpr", "new"]),
        (at(RUN, "envFrom/0"), &["prefix", "configMapRef"]),
        (at(PUBLISH, "env/0"), &["value"]),
        (at(PUBLISH, "env/0/valueFrom"), &["secretKeyRef"]),
        (volume(0, "/emptyDir"), &["medium", "new"]),
        (volume(0, ""), &["hostPath", "new"]),
        (volume(6, "/secret/items/0"), &["mode"]),
        (volume(9, "/configMap"), &["new"]),
    ];
    for (pointer, keys) in places {
        for key in keys {
            for value in [json!("x"), json!({ "x": 1 }), json!([{ "name": "x" }]), json!(7)] {
                let verdict = with(&pointer, key, value.clone());
                let found = altered(&verdict);
                assert!(found.len() == 1 && found[0].contains(key), "{key} {value}: {found:?}");
            }
        }
    }
}

#[test]
fn nothing_may_be_added_to_a_container_where_it_decides() {
    for container in [STAGE, PUBLISH, RUN] {
        for key in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "restartPolicy",
            "restartPolicyRules",
            "startupProbe",
            "volumeDevices",
            "workingDir",
        ] {
            for value in [json!("Always"), json!({ "exec": {} }), json!(["x"])] {
                assert_eq!(altered(&with(container, key, value)).len(), 1, "{container} {key}");
            }
        }
        let open = json!([{ "containerPort": 80 }, { "containerPort": 81, "hostPort": 81 }]);
        assert_eq!(altered(&with(container, "ports", open)).len(), 1);
    }
    assert_eq!(altered(&with(STAGE, "envFrom", json!([{ "prefix": "X" }]))).len(), 1);
    assert_eq!(altered(&with(RUN, "env", json!([{ "name": "LD_PRELOAD" }]))).len(), 1);
}

/// A profile without these, so that they can be added.
#[test]
fn nothing_may_be_added_where_a_plainer_profile_leaves_it_out() {
    for (pointer, key) in [
        ("/spec", "podFailurePolicy"),
        (POD, "affinity"),
        (POD, "nodeSelector"),
        (POD, "tolerations"),
        (POD, "runtimeClassName"),
        (RUN, "envFrom"),
        (STAGE, "env"),
    ] {
        let (mut rendered, live) = plain();
        remove(&mut rendered, &format!("{pointer}/{key}"));
        let verdict = compare_job(&rendered, &live);
        let found = altered(&verdict);
        assert!(found.len() == 1 && found[0].ends_with(key), "{key}: {found:?}");
    }
}

#[test]
fn other_additions_are_drift() {
    let label = "/metadata/labels";
    let pod_label = "/spec/template/metadata/labels";
    for (pointer, key, value, path) in [
        (label, "team", json!("x"), "metadata.labels.team"),
        ("/metadata/annotations", "a.example/b", json!("x"), "metadata.annotations[a.example/b]"),
        (label, "kueue.x-k8s.io/x", json!("x"), "metadata.labels[kueue.x-k8s.io/x]"),
        (pod_label, "team", json!("x"), "spec.template.metadata.labels.team"),
        ("/metadata", "finalizers", json!(["x"]), "metadata.finalizers"),
        ("/spec", "newDefault", json!(1), "spec.newDefault"),
        (POD, "preemptionPolicy", json!("Never"), "spec.template.spec.preemptionPolicy"),
        (POD, "newDefault", json!({ "x": [] }), "spec.template.spec.newDefault"),
        (RUN, "resizePolicy", json!([{}]), "spec.template.spec.containers[run].resizePolicy"),
        (
            RUN,
            "ports",
            json!([{ "containerPort": 80, "protocol": "TCP" }]),
            "spec.template.spec.containers[run].ports",
        ),
        ("", "newTopLevel", json!({}), "newTopLevel"),
    ] {
        let verdict = {
            let (rendered, mut live) = plain();
            put(&mut live, pointer, key, value);
            compare_job(&rendered, &live)
        };
        assert_eq!(drift_of(&verdict), [(path, DriftKind::Added)], "{pointer} {key}");
    }
}

#[test]
fn what_a_server_writes_out_is_nothing() {
    for (pointer, key, value) in [
        ("/metadata", "generateName", json!("x-")),
        ("/metadata", "deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ("/metadata", "selfLink", json!("/apis")),
        ("/metadata", "ownerReferences", json!([])),
        ("/spec/template/metadata", "creationTimestamp", Value::Null),
        (POD, "hostNetwork", json!(false)),
        (POD, "nodeName", json!("")),
        (POD, "hostAliases", json!([])),
        (POD, "schedulingGates", json!([])),
        (RUN, "env", json!([])),
        (RUN, "workingDir", json!("")),
        (RUN, "lifecycle", Value::Null),
    ] {
        assert_eq!(drift_of(&with(pointer, key, value)), [], "{pointer} {key}");
    }
    let own_default = with(&format!("{RUN}/securityContext"), "procMount", json!("Default"));
    assert_eq!(
        drift_of(&own_default),
        [("spec.template.spec.containers[run].securityContext.procMount", DriftKind::Added)]
    );
    let another = with(&format!("{RUN}/securityContext"), "procMount", json!("Unmasked"));
    assert_eq!(altered(&another).len(), 1);
}

#[test]
fn empty_values_that_mean_something_are_seen() {
    let (rendered, mut live) = plain();
    let term = "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0";
    // Without it, pods of this namespace; with `{}`, pods of all.
    put(&mut live, &format!("{POD}{term}"), "namespaceSelector", json!({}));
    assert_eq!(altered(&compare_job(&rendered, &live)).len(), 1);
}

#[test]
fn an_empty_rendered_value_may_be_left_out() {
    let (mut rendered, stored) = plain();
    for (pointer, key, value) in [
        (RUN, "env", json!([])),
        (POD, "hostAliases", json!([])),
        (&*format!("{RUN}/volumeMounts/3"), "readOnly", json!(false)),
        (&*format!("{RUN}/volumeMounts/3"), "subPath", json!("")),
    ] {
        put(&mut rendered, pointer, key, value);
    }
    assert_eq!(drift_of(&compare_job(&rendered, &stored)), []);
}

#[test]
fn labels_and_annotations_of_harness_cannot_be_added() {
    for pointer in [
        "/metadata/labels",
        "/metadata/annotations",
        "/spec/template/metadata/labels",
        "/spec/template/metadata/annotations",
    ] {
        assert_eq!(altered(&with(pointer, "research.harness/new", json!("x"))).len(), 1);
    }
}

#[test]
fn an_owner_would_take_the_record_with_it() {
    let owner = json!([{ "kind": "Workflow", "name": "x", "uid": "y" }]);
    assert_eq!(altered(&with("/metadata", "ownerReferences", owner)), ["metadata.ownerReferences"]);
}
