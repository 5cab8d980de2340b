//! The nightly prune as it is shipped: the manifests, the image of `scripts/images`, the rights of its account, a pod.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::common::{MANIFESTS, Sample, end, find};
use crate::kit::{Kit, PATIENCE, container, pod, scripted_images, shell_image};

/// Where the shipped manifests put the `CronJob`, and where experiments are.
const SYSTEM: &str = "harness-system";
const EXPERIMENTS: &str = "research";
const ACCOUNT: &str = "system:serviceaccount:harness-system:harness-pruner";

/// The image with harness and kubectl, in the node's registry: `NAME@sha256:DIGEST`.
fn image(kit: &Kit) -> String {
    let kubectl = kit.node.cluster().kubectl();
    let arguments = ["--only", "harness-pruner", "--kubectl"].map(OsStr::new);
    let stdout = scripted_images(kit, &[&arguments[..], &[kubectl.as_os_str()]].concat());
    stdout.trim().strip_prefix("harness-pruner=").expect("the image is printed").to_owned()
}

/// Applies everything as a site does, by one overlay that names the image.
fn apply(kit: &Kit, image: &str) {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    // kustomize takes no absolute path.
    let up = here.components().filter(|part| matches!(part, Component::Normal(_))).count();
    let base = Path::new(MANIFESTS).canonicalize().unwrap();
    let base = format!("{}{}", "../".repeat(up), base.strip_prefix("/").unwrap().display());
    let (name, digest) = image.split_once('@').unwrap();
    // Two overlays have a namespace in common, so each is applied by itself.
    for part in ["", "/protection", "/pruner"] {
        let overlay = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [format!("{base}{part}")],
            "images": [{"name": "registry.example.org/harness-pruner", "newName": name, "digest": digest}],
        });
        fs::write(here.join("kustomization.yaml"), overlay.to_string()).unwrap();
        kit.kubectl_anywhere(&["apply", "-k", here.to_str().unwrap()]);
    }
}

/// Runs the `CronJob` now; gives what it printed, a JSON document a line.
fn run_now(kit: &Kit, name: &str) -> Vec<Value> {
    kit.kubectl_anywhere(&["-n", SYSTEM, "create", "job", name, "--from=cronjob/harness-pruner"]);
    let mut job = Value::Null;
    let is_over = |job: &Value| job["status"]["succeeded"] == 1 || job["status"]["failed"] == 1;
    let ended = until(PATIENCE, || {
        let path = format!("/apis/batch/v1/namespaces/{SYSTEM}/jobs/{name}");
        job = kit.node.cluster().admin_get(&path).1;
        is_over(&job)
    });
    let log = || kit.kubectl_anywhere(&["-n", SYSTEM, "logs", &format!("job/{name}")]);
    assert!(ended, "{}", kit.kubectl_anywhere(&["-n", SYSTEM, "describe", "jobs,pods"]));
    let log = log();
    assert_eq!(job["status"]["succeeded"], 1, "{log}");
    log.lines().map(|line| serde_json::from_str(line).expect("nothing else is printed")).collect()
}

/// Every Job, Secret and record of the experiments: name and UID.
fn held(kit: &Kit) -> Vec<String> {
    let all = ["jobs", "secrets", "configmaps"].iter().flat_map(|resource| kit.list(resource));
    all.map(|object| format!("{} {}", object["metadata"]["name"], object["metadata"]["uid"]))
        .collect()
}

#[test]
fn the_cron_job_prunes_what_is_due_and_nothing_else() {
    let kit = Kit::new("pruner");
    let _api_server = kit.node.serve_api_server().unwrap();
    apply(&kit, &image(&kit));
    let kit = kit.elsewhere(EXPERIMENTS);
    let submit = |attempt: &str| {
        let receipt = kit.harness().submit(&Sample::new(attempt)).expect(0, "created");
        find(&receipt, "/job/name").as_str().unwrap().to_owned()
    };
    let ended = |attempt: &str, condition: &str, days: i64| {
        let name = submit(attempt);
        end(&kit, &name, condition, days * 24);
        name
    };
    let due = [ended("due-1", "Complete", 8), ended("due-2", "Failed", 30)];
    let kept = [ended("recent", "Complete", 6), submit("unfinished")];
    let container = container("c", shell_image(), &["true"]);
    let spec = json!({"suspend": true, "template": {"spec": pod(&[container])}});
    kit.create("jobs", &json!({"metadata": {"name": "foreign"}, "spec": spec}));
    end(&kit, "foreign", "Complete", 30 * 24);

    let mut receipts = run_now(&kit, "first");
    receipts.sort_by_key(|receipt| receipt["job"]["name"].to_string());
    let mut names = due.to_vec();
    names.sort();
    let said = |receipt: &Value| {
        assert_eq!(receipt["outcome"], "pruned", "{receipt:#}");
        receipt["job"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(receipts.iter().map(said).collect::<Vec<_>>(), names);

    let jobs: Vec<Value> =
        kit.list("jobs").iter().map(|job| job["metadata"]["name"].clone()).collect();
    assert!(jobs.len() == 3 && kept.iter().all(|name| jobs.contains(&json!(name))), "{jobs:?}");
    assert_eq!(kit.secrets().len(), kept.len());
    for (name, has_succeeded) in due.iter().zip([true, false]) {
        let record = kit.get("configmaps", name);
        assert_eq!(record["immutable"], true);
        let record = find(&record, "/data/record.json").as_str().unwrap();
        let record: Value = serde_json::from_str(record).unwrap();
        assert_eq!(record["outcome"] == "succeeded", has_succeeded, "{record:#}");
        assert_eq!(record["recorded_by"], ACCOUNT);
    }

    let before = held(&kit);
    assert_eq!(run_now(&kit, "second"), Vec::<Value>::new(), "nothing is left to do");
    assert_eq!(held(&kit), before);
    // What was pruned stays refused.
    kit.harness().submit(&Sample::new("due-1")).expect(0, "already_recorded");
}
