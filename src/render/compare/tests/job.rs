//! The named exceptions: pattern, queue, cancellation, signed again, another render version, another experiment.

use super::*;

const POD_LABELS: &str = "/spec/template/metadata/labels";

fn volumes(job: &mut Value) -> &mut Vec<Value> {
    job.pointer_mut(&format!("{POD}/volumes")).unwrap().as_array_mut().unwrap()
}

/// Names another Secret in all volumes of `job`.
fn sign_again(job: &mut Value) {
    let name = format!("{}-0123456789", job["metadata"]["name"].as_str().unwrap());
    for volume in volumes(job) {
        if let Some(secret) = volume.get_mut("secret") {
            secret["secretName"] = json!(name);
        }
    }
    job["metadata"]["annotations"][keys::SECRET_DIGEST] = json!("0123456789abcdef".repeat(4));
}

fn record_digest(job: &mut Value) {
    job["metadata"]["annotations"][keys::DECISIVE_DIGEST] = json!(decisive_digest(job).to_hex());
}

#[test]
fn stored_jobs_are_the_same() {
    for (rendered, stored) in [plain(), queued()] {
        assert_eq!(compare_job(&rendered, &stored), Verdict::Same { drift: Vec::new() });
        assert_eq!(compare_job(&rendered, &rendered), Verdict::Same { drift: Vec::new() });
    }
}

#[test]
fn a_dry_run_answer_is_the_same() {
    let (rendered, mut answer) = plain();
    let uid = "436a6894-ab96-419e-8ff6-8209362207f8";
    answer["metadata"]["uid"] = json!(uid);
    answer["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = json!(uid);
    for label in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
        put(&mut answer, POD_LABELS, label, json!(uid));
    }
    remove(&mut answer, "/metadata/resourceVersion");
    answer["status"] = json!({});
    assert_eq!(compare_job(&rendered, &answer), Verdict::Same { drift: Vec::new() });
}

#[test]
fn generated_labels_and_selector_are_of_this_very_job() {
    for (pointer, path) in [
        ("/metadata/uid", None),
        ("/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid", Some("spec.selector")),
        (
            "/spec/template/metadata/labels/controller-uid",
            Some("spec.template.metadata.labels[controller-uid]"),
        ),
        (
            "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
            Some("spec.template.metadata.labels[batch.kubernetes.io/controller-uid]"),
        ),
        (
            "/spec/template/metadata/labels/job-name",
            Some("spec.template.metadata.labels[job-name]"),
        ),
        (
            "/spec/template/metadata/labels/batch.kubernetes.io~1job-name",
            Some("spec.template.metadata.labels[batch.kubernetes.io/job-name]"),
        ),
    ] {
        let (rendered, mut live) = plain();
        *live.pointer_mut(pointer).unwrap() = json!("other");
        let verdict = compare_job(&rendered, &live);
        match path {
            Some(path) => assert!(altered(&verdict).contains(&path), "{pointer}: {verdict:?}"),
            None => assert_eq!(altered(&verdict).len(), 3, "{verdict:?}"),
        }
    }
    let (rendered, mut live) = plain();
    put(&mut live, "/spec/selector/matchLabels", "app", json!("x"));
    assert_eq!(altered(&compare_job(&rendered, &live)), ["spec.selector"]);
    let (rendered, mut live) = plain();
    put(&mut live, "/spec/selector", "matchExpressions", json!([{ "key": "x" }]));
    assert_eq!(altered(&compare_job(&rendered, &live)), ["spec.selector"]);
}

#[test]
fn quantities_are_compared_by_value() {
    for (pointer, same, other) in [
        (format!("{RUN}/resources/limits/cpu"), "7.5", "7501m"),
        (format!("{RUN}/resources/requests/memory"), "64424509440", "60G"),
        (format!("{RUN}/resources/limits/nvidia.com~1gpu"), "1000m", "2"),
        (format!("{POD}/volumes/0/emptyDir/sizeLimit"), "40960Mi", "40G"),
    ] {
        let (rendered, mut live) = plain();
        *live.pointer_mut(&pointer).unwrap() = json!(same);
        assert_eq!(drift_of(&compare_job(&rendered, &live)), [], "{pointer}");
        assert_eq!(decisive_digest(&rendered), decisive_digest(&live), "{pointer}");
        *live.pointer_mut(&pointer).unwrap() = json!(other);
        assert_eq!(altered(&compare_job(&rendered, &live)).len(), 1, "{pointer}");
        assert_ne!(decisive_digest(&rendered), decisive_digest(&live), "{pointer}");
    }
    // Elsewhere `1` and `1000m` are different texts.
    let (rendered, mut live) = plain();
    put(&mut live, "/metadata/labels", "cost-center", json!("4711000m"));
    assert_eq!(altered(&compare_job(&rendered, &live)).len(), 1);
}

#[test]
fn another_harness_image_is_drift_if_it_is_pinned() {
    let digest = "ab".repeat(32);
    for (image, is_same) in [
        (format!("mirror.example:5000/harness:2@sha256:{digest}"), true),
        (format!("harness@sha256:{digest}"), true),
        ("registry.example/harness:latest".to_owned(), false),
        (format!("registry.example/harness@sha256:{}", &digest[1..]), false),
        (format!("@sha256:{digest}"), false),
        (format!("registry.example/harness@sha256:{}", digest.to_uppercase()), false),
        (format!("a b@sha256:{digest}"), false),
        (format!("a@sha256:{digest}@sha256:{digest}"), false),
    ] {
        let (rendered, mut live) = plain();
        for pointer in [STAGE, PUBLISH] {
            put(&mut live, pointer, "image", json!(image));
        }
        let verdict = compare_job(&rendered, &live);
        if is_same {
            let expected = [
                "spec.template.spec.containers[publish].image",
                "spec.template.spec.initContainers[stage].image",
            ];
            assert_eq!(drift_of(&verdict), expected.map(|path| (path, DriftKind::HarnessImage)));
            assert_eq!(decisive_digest(&rendered), decisive_digest(&live));
        } else {
            assert_eq!(altered(&verdict).len(), 2, "{image}");
            assert_ne!(decisive_digest(&rendered), decisive_digest(&live));
        }
    }
    let (rendered, mut live) = plain();
    put(&mut live, RUN, "image", json!(format!("mirror.example/search@sha256:{digest}")));
    let verdict = compare_job(&rendered, &live);
    assert_eq!(altered(&verdict), ["spec.template.spec.containers[run].image"]);
}

#[test]
fn a_job_signed_again_is_the_same() {
    let (rendered, mut live) = plain();
    sign_again(&mut live);
    assert_eq!(drift_of(&compare_job(&rendered, &live)), []);
    assert_eq!(decisive_digest(&rendered), decisive_digest(&live));
    assert_ne!(named_secret(&rendered), named_secret(&live));

    let one = format!("{POD}/volumes/6/secret/secretName");
    *live.pointer_mut(&one).unwrap() = json!(named_secret(&rendered).unwrap());
    let verdict = compare_job(&rendered, &live);
    let path = "spec.template.spec.volumes[publish-urls].secret.secretName";
    assert_eq!(altered(&verdict), [path]);

    let (rendered, mut live) = plain();
    for index in [6, 7] {
        let pointer = format!("{POD}/volumes/{index}/secret/secretName");
        *live.pointer_mut(&pointer).unwrap() = json!("prediction-other-0123456789");
    }
    assert_eq!(altered(&compare_job(&rendered, &live)).len(), 2);
    assert_ne!(decisive_digest(&rendered), decisive_digest(&live));
}

/// A profile may mount a Secret of the site, whose name has no pattern.
#[test]
fn a_secret_of_the_site_is_compared_as_it_stands() {
    let (mut rendered, mut live) = plain();
    for job in [&mut rendered, &mut live] {
        volumes(job).push(json!({"name": "site", "secret": {"secretName": "licence"}}));
    }
    assert_eq!(drift_of(&compare_job(&rendered, &live)), []);
    volumes(&mut live).last_mut().unwrap()["secret"]["secretName"] = json!("another");
    let path = "spec.template.spec.volumes[site].secret.secretName";
    assert_eq!(altered(&compare_job(&rendered, &live)), [path]);
}

#[test]
fn what_the_submission_digest_leaves_out_may_differ_with_the_secret() {
    let edit = |live: &mut Value| {
        for (index, item) in [(6, 2), (7, 2), (7, 1)] {
            remove(live, &format!("{POD}/volumes/{index}/secret/items/{item}"));
        }
        let moved = json!("https://elsewhere.example/snapshot");
        put(live, "/metadata/annotations", keys::OBJECTS[1], moved);
    };
    let paths = [
        "metadata.annotations[research.harness/snapshot-object]",
        "spec.template.spec.volumes[stage-urls].secret.items",
        "spec.template.spec.volumes[publish-urls].secret.items",
    ];
    let (rendered, mut live) = plain();
    edit(&mut live);
    assert_eq!(altered(&compare_job(&rendered, &live)), paths);
    sign_again(&mut live);
    let verdict = compare_job(&rendered, &live);
    assert_eq!(drift_of(&verdict), paths.map(|path| (path, DriftKind::SignedAgain)));
    assert_eq!(decisive_digest(&rendered), decisive_digest(&live));
    // The other way round: the live Job has what the rendered one lacks.
    let (mut rendered, mut live) = plain();
    edit(&mut rendered);
    sign_again(&mut live);
    assert!(compare_job(&rendered, &live).is_same());
    // A key under another file's name is no such item.
    let item = format!("{POD}/volumes/6/secret/items/2/path");
    *live.pointer_mut(&item).unwrap() = json!("mission_url");
    assert!(!compare_job(&rendered, &live).is_same());
    assert_ne!(decisive_digest(&rendered), decisive_digest(&live));
}

#[test]
fn a_queue_may_do_what_kueue_does_and_nothing_more() {
    let edits: Vec<(&str, &str, Value, Option<&str>)> = vec![
        ("/spec", "suspend", json!(false), Some("spec.suspend")),
        (POD_LABELS, "kueue.x-k8s.io/podset", json!("main"), Some("podset]")),
        (POD_LABELS, "kueue.x-k8s.io/cluster-queue-name", json!("q"), Some("queue-name]")),
        (
            "/spec/template/metadata/annotations",
            "kueue.x-k8s.io/workload",
            json!("w"),
            Some("workload]"),
        ),
        (POD_SELECTOR, "pool", json!("spot"), Some("nodeSelector.pool")),
        (POD, "schedulingGates", json!([{ "name": "kueue.x-k8s.io/topology" }]), Some("Gates")),
        (POD, "schedulingGates", json!([{ "name": "other.example/gate" }]), None),
        (POD, "schedulingGates", json!("kueue.x-k8s.io/topology"), None),
        (POD_SELECTOR, "pool", json!(1), None),
        (POD_SELECTOR, "nvidia.com/gpu.product", json!("T4"), None),
        (POD, "nodeSelector", json!({ "pool": "spot" }), None),
        (POD, "tolerations", json!([{ "key": "spot", "operator": "Exists" }]), None),
        ("/spec", "suspend", json!("false"), None),
        ("/spec", "parallelism", json!(2), None),
        ("/spec", "managedBy", json!("kueue.x-k8s.io/multikueue"), None),
        ("/spec", "activeDeadlineSeconds", json!(60), None),
        (RUN, "image", json!("other"), None),
        (RUN, "resources", json!({}), None),
        (POD, "priorityClassName", json!("other"), None),
        ("/metadata/labels", keys::QUEUE_NAME, json!("other"), None),
    ];
    for (pointer, key, value, drift) in edits {
        let (rendered, mut live) = queued();
        put(&mut live, pointer, key, value.clone());
        let verdict = compare_job(&rendered, &live);
        let Some(path) = drift else {
            assert!(!altered(&verdict).is_empty(), "{key} {value}");
            continue;
        };
        let found = drift_of(&verdict);
        assert!(found.len() == 1 && found[0].1 == DriftKind::Queue, "{found:?}");
        assert!(found[0].0.ends_with(path), "{found:?}");
        assert_eq!(decisive_digest(&rendered), decisive_digest(&live), "{path}");

        let (rendered, mut live) = plain();
        let value = if key == "suspend" { json!(true) } else { value };
        put(&mut live, pointer, key, value);
        assert_eq!(altered(&compare_job(&rendered, &live)).len(), 1, "{key} without a queue");
    }
}

const POD_SELECTOR: &str = "/spec/template/spec/nodeSelector";

#[test]
fn a_queue_appends_tolerations() {
    let spot = json!({ "key": "spot", "operator": "Exists" });
    let append = |live: &mut Value| {
        let list = live.pointer_mut(&format!("{POD}/tolerations")).unwrap();
        list.as_array_mut().unwrap().push(spot.clone());
    };
    let (rendered, mut live) = queued();
    append(&mut live);
    let expected = [("spec.template.spec.tolerations[2]", DriftKind::Queue)];
    assert_eq!(drift_of(&compare_job(&rendered, &live)), expected);
    let (rendered, mut live) = plain();
    append(&mut live);
    assert_eq!(altered(&compare_job(&rendered, &live)), [expected[0].0]);

    let (mut rendered, mut live) = queued();
    for key in ["tolerations", "nodeSelector"] {
        remove(&mut rendered, &format!("{POD}/{key}"));
    }
    let found = compare_job(&rendered, &live);
    let paths = ["spec.template.spec.nodeSelector", "spec.template.spec.tolerations"];
    assert_eq!(drift_of(&found), paths.map(|path| (path, DriftKind::Queue)));
    put(&mut live, POD, "tolerations", json!({}));
    assert_eq!(altered(&compare_job(&rendered, &live)), [paths[1]]);
}

#[test]
fn a_cancelled_job_is_not_changed() {
    let cancel = |live: &mut Value, deadline: u64| {
        let annotations = "/metadata/annotations";
        put(live, annotations, keys::CANCELLED_AT, json!("2026-03-01T10:00:00Z"));
        put(live, annotations, keys::CANCELLED_BY, json!("alice"));
        put(live, "/spec", "activeDeadlineSeconds", json!(deadline));
    };
    let (rendered, mut live) = plain();
    for deadline in [1, 8519, 8520] {
        cancel(&mut live, deadline);
        assert_eq!(drift_of(&compare_job(&rendered, &live)), []);
        assert_eq!(decisive_digest(&rendered), decisive_digest(&live));
    }
    cancel(&mut live, 8521);
    assert_eq!(altered(&compare_job(&rendered, &live)), ["spec.activeDeadlineSeconds"]);
    cancel(&mut live, 1);
    put(&mut live, POD, "activeDeadlineSeconds", json!(1));
    let pod_deadline = ["spec.template.spec.activeDeadlineSeconds"];
    assert_eq!(altered(&compare_job(&rendered, &live)), pod_deadline);

    // Without a time that can be read, nobody cancelled it.
    let (rendered, mut live) = plain();
    cancel(&mut live, 1);
    put(&mut live, "/metadata/annotations", keys::CANCELLED_AT, json!("yesterday"));
    assert_eq!(altered(&compare_job(&rendered, &live)).len(), 3);
    // Nor does a label or the pod say so.
    let (rendered, mut live) = plain();
    cancel(&mut live, 1);
    put(&mut live, "/metadata/labels", keys::CANCELLED_AT, json!("x"));
    put(&mut live, POD_LABELS, keys::CANCELLED_AT, json!("x"));
    assert_eq!(altered(&compare_job(&rendered, &live)).len(), 2);
}

#[test]
fn a_job_of_another_render_version_is_held_against_its_own_record() {
    let (rendered, mut live) = plain();
    let annotations = "/metadata/annotations";
    put(&mut live, annotations, keys::RENDER_VERSION, json!("2"));
    put(&mut live, PUBLISH, "args", json!(["publish", "--new"]));
    put(&mut live, POD, "hostname", json!("new"));
    record_digest(&mut live);
    let drift =
        [("metadata.annotations[research.harness/render-version]", DriftKind::RenderVersion)];
    assert_eq!(drift_of(&compare_job(&rendered, &live)), drift);
    let genuine = live.clone();

    put(&mut live, "/spec", "activeDeadlineSeconds", json!(1));
    put(&mut live, annotations, keys::CANCELLED_AT, json!("2026-03-01T10:00:00Z"));
    sign_again(&mut live);
    assert_eq!(drift_of(&compare_job(&rendered, &live)), drift);

    let recorded = "metadata.annotations[research.harness/decisive-digest]";
    let image = "spec.template.spec.containers[run].image";
    let mut live = genuine.clone();
    put(&mut live, RUN, "args", json!(["other"]));
    assert_eq!(altered(&compare_job(&rendered, &live)), [recorded]);
    let mut live = genuine.clone();
    remove(&mut live, &format!("{annotations}/research.harness~1decisive-digest"));
    assert_eq!(altered(&compare_job(&rendered, &live)), [recorded]);
    let mut live = genuine.clone();
    put(&mut live, RUN, "image", json!("other"));
    assert_eq!(altered(&compare_job(&rendered, &live)), [image, recorded]);
    record_digest(&mut live);
    assert_eq!(altered(&compare_job(&rendered, &live)), [image]);
    let mut live = genuine;
    put(&mut live, annotations, "research.harness/submission-digest", json!("other"));
    foreign(&compare_job(&rendered, &live));
}

#[test]
fn another_experiment_is_foreign_and_its_identities_come_first() {
    let (rendered, mut live) = plain();
    for (key, value) in [("submission-digest", "x"), ("attempt-id", "y"), ("mission-id", "z")] {
        put(&mut live, "/metadata/annotations", &format!("research.harness/{key}"), json!(value));
    }
    put(&mut live, "/spec", "backoffLimit", json!(6));
    put(&mut live, RUN, "image", json!("other"));
    let expected = [
        "metadata.annotations[research.harness/submission-digest]",
        "metadata.annotations[research.harness/attempt-id]",
        "metadata.annotations[research.harness/mission-id]",
        "spec.backoffLimit",
        "spec.template.spec.containers[run].image",
    ];
    assert_eq!(foreign(&compare_job(&rendered, &live)), expected);
}

#[test]
fn what_is_no_job_is_foreign() {
    let (rendered, _) = plain();
    for live in [json!(null), json!([]), json!("x"), json!(1)] {
        let verdict = compare_job(&rendered, &live);
        assert!(foreign(&verdict).contains(&"."), "{live}");
    }
    let verdict = compare_job(&rendered, &json!({}));
    assert_eq!(foreign(&verdict)[0], "metadata.name");
    assert!(!foreign(&verdict).contains(&"."));
}

#[test]
fn the_older_name_of_the_service_account_is_a_mirror() {
    let (mut rendered, mut live) = plain();
    for job in [&mut rendered, &mut live] {
        put(job, POD, "serviceAccountName", json!("runner"));
    }
    put(&mut live, POD, "serviceAccount", json!("runner"));
    assert_eq!(drift_of(&compare_job(&rendered, &live)), []);
    put(&mut live, POD, "serviceAccount", json!("other"));
    assert_eq!(altered(&compare_job(&rendered, &live)), ["spec.template.spec.serviceAccount"]);
}
