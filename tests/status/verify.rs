//! `evidence verify` against a real API server: by the Job, by its record, by neither.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use harness::submit::record::{self, Record};
use harness_test_cluster::{ADMIN_CONTEXT, Grant, until};
use serde_json::{Value, json};

use crate::kit::{HARNESS_IMAGE, Place, Run, Sample, command, find};
use crate::made::{self, Made};

/// A submitted experiment whose Job is known.
struct Submitted {
    place: Place,
    sample: Sample,
    name: String,
    uid: String,
    /// Where not the control plane's own is used.
    kubeconfig: Option<PathBuf>,
    context: String,
}

fn submitted(prefix: &str) -> Submitted {
    let place = Place::new(prefix);
    let sample = Sample::new("attempt-1");
    let receipt = place.harness().submit(&sample).expect(0, "created");
    let text = |pointer| find(&receipt, pointer).as_str().unwrap().to_owned();
    let (name, uid) = (text("/job/name"), text("/job/uid"));
    Submitted { place, sample, name, uid, kubeconfig: None, context: ADMIN_CONTEXT.to_owned() }
}

impl Submitted {
    fn made(&self, uid: &str) -> Made {
        made::result(&self.sample.value.to_string(), HARNESS_IMAGE, uid)
    }

    /// The exit code and the verdict.
    fn verify(&self, made: &Made, more: &[&str]) -> (Option<i32>, Value) {
        let run = self.run(made, &[&["-o", "json"], more].concat());
        let verdict = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"));
        (run.code, verdict)
    }

    fn run(&self, made: &Made, more: &[&str]) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result");
        fs::write(&file, &made.bytes).unwrap();
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .args(["evidence", "verify", "--context", &self.context])
            .args(["-n", &self.place.namespace.name, "--kubectl"])
            .arg(self.place.cluster.kubectl())
            .arg("--kubeconfig")
            .arg(self.kubeconfig.as_deref().unwrap_or(self.place.cluster.kubeconfig()))
            .args(more)
            .arg(&file);
        let output = command.output().unwrap();
        Run::new(&command, &output)
    }

    /// Lets the Job's pod say what `publish` says.
    fn publish(&self, category: &str, digests: &Value) {
        let mut pods = Vec::new();
        let is_there = until(std::time::Duration::from_secs(40), || {
            pods = self.place.list("pods");
            !pods.is_empty()
        });
        assert!(is_there, "the Job has no pod");
        let name = find(&pods[0], "/metadata/name").as_str().unwrap();
        let message = json!({
            "schema_version": "prediction_reason.v1", "step": "publish", "category": category,
            "sentence": "it ended", "remedy": "", "digests": digests,
        });
        let status = json!({"containerStatuses": [{
            "name": "publish", "image": HARNESS_IMAGE, "imageID": HARNESS_IMAGE, "ready": false,
            "restartCount": 0, "containerID": "containerd://1",
            "state": {"terminated": {"exitCode": 0, "message": message.to_string(), "containerID": "containerd://1"}},
        }]});
        let path = format!("{}/status", self.place.path("pods", name));
        let (code, answer) = self.place.cluster.admin_patch(&path, &json!({"status": status}));
        assert_eq!(code, 200, "{answer:#}");
    }

    /// Puts a record in the Job's place.
    fn record(&self, evidence: Option<String>) {
        let annotations = find(&self.place.job(), "/metadata/annotations").clone();
        let text = |name: &str| annotations[name].as_str().unwrap().to_owned();
        self.place.delete("jobs", &self.name);
        let record = Record {
            schema_version: record::SCHEMA_VERSION.to_owned(),
            job_name: self.name.clone(),
            job_uid: self.uid.clone(),
            namespace_uid: "n".to_owned(),
            result_identity: text("research.harness/result-identity"),
            submission_digest: text("research.harness/submission-digest"),
            outcome: "succeeded".to_owned(),
            started_at: None,
            finished_at: None,
            evidence_digest: evidence,
            image_ids: Vec::new(),
            recorded_by: "test".to_owned(),
            recorded_at: "2026-12-01T08:00:00Z".to_owned(),
        };
        let record = serde_json::to_string(&record).unwrap();
        self.place.create(
            "configmaps",
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
                "metadata": {"name": self.name}, "data": {record::KEY: record}}),
        );
    }
}

fn witness(verdict: &Value) -> (&Value, &Value) {
    (find(verdict, "/cluster/witness"), &verdict["holds"])
}

#[test]
fn the_job_vouches_for_its_own_result_only() {
    let experiment = submitted("verify-job");
    let own = experiment.made(&experiment.uid);
    // The pod has not spoken: the UID and the digests agree, and no more is known.
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(0), (&json!("job"), &json!(true))), "{verdict:#}");
    assert!(verdict["cluster"]["evidence_digest"].is_null());
    let page = experiment.run(&own, &[]);
    assert!(page.stdout.contains("does not keep the evidence's digest"), "{page}");

    let digests = json!({"evidence": own.evidence.to_hex(), "result": own.result.to_hex()});
    experiment.publish("succeeded", &digests);
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!(code, Some(0), "{verdict:#}");
    assert_eq!(verdict["cluster"]["evidence_digest"], own.evidence.to_hex());
    let page = experiment.run(&own, &[]);
    assert!(page.stdout.contains("vouched for by its Job"), "{page}");

    // Of another Job, and of this one with other content.
    let (code, verdict) = experiment.verify(&experiment.made("another-uid"), &[]);
    assert_eq!((code, witness(&verdict)), (Some(3), (&json!("job"), &json!(false))));
    assert!(verdict["findings"][0].as_str().unwrap().starts_with("Job UID"), "{verdict:#}");
    experiment.publish("succeeded", &json!({"evidence": "8".repeat(64)}));
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!(code, Some(3), "{verdict:#}");
    assert!(verdict["findings"][0].as_str().unwrap().starts_with("evidence digest"));
}

#[test]
fn an_earlier_pod_s_result_is_this_job_s_too() {
    let experiment = submitted("verify-before");
    let own = experiment.made(&experiment.uid);
    let digests = json!({"evidence": "7".repeat(64), "result": "6".repeat(64),
        "found_evidence": own.evidence.to_hex()});
    experiment.publish("succeeded", &digests);
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, &verdict["holds"]), (Some(0), &json!(true)), "{verdict:#}");
}

#[test]
fn the_record_vouches_when_the_job_is_gone() {
    let experiment = submitted("verify-record");
    let own = experiment.made(&experiment.uid);
    experiment.record(Some(own.evidence.to_hex()));
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(0), (&json!("record"), &json!(true))));
    let page = experiment.run(&own, &[]);
    assert!(page.stdout.contains("vouched for by the record"), "{page}");
    let (code, verdict) = experiment.verify(&experiment.made("another-uid"), &[]);
    assert_eq!((code, witness(&verdict)), (Some(3), (&json!("record"), &json!(false))));
}

#[test]
fn without_job_record_or_cluster_nobody_vouches() {
    let experiment = submitted("verify-none");
    let own = experiment.made(&experiment.uid);
    experiment.place.delete("jobs", &experiment.name);
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(9), (&json!("nothing"), &json!(false))));
    assert_eq!(verdict["findings"], json!([]));

    let proxy = experiment.place.proxy();
    let unreachable = proxy.kubeconfig().to_owned();
    let text = fs::read_to_string(&unreachable).unwrap();
    drop(proxy);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, text).unwrap();
    let more = ["--request-timeout", "2"];
    let mut gone = experiment;
    gone.kubeconfig = Some(kubeconfig);
    let (code, verdict) = gone.verify(&own, &more);
    assert_eq!((code, witness(&verdict)), (Some(6), (&json!("unknown"), &json!(false))));
}

#[test]
fn reading_is_enough_and_necessary() {
    let mut experiment = submitted("verify-role");
    let own = experiment.made(&experiment.uid);
    let path = format!("{}/manifests/cluster/role-watcher.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let role = text
        .split("\n---\n")
        .map(|document| serde_yaml::from_str::<Value>(document).unwrap())
        .find(|document| document["kind"] == "Role")
        .unwrap();
    let namespace = experiment.place.namespace.name.clone();
    let cluster = experiment.place.cluster;
    let watcher = cluster.user(&[Grant::in_namespace(&namespace, role["rules"].clone())]).unwrap();
    experiment.context = watcher.context;
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(0), (&json!("job"), &json!(true))), "{verdict:#}");
    experiment.context = cluster.user(&[]).unwrap().context;
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(5), (&json!("refused"), &json!(false))));
    // What does not hold is said first, whoever may read.
    let mut broken = own;
    broken.bytes[20] ^= 1;
    assert_eq!(experiment.verify(&broken, &[]).0, Some(3));
}

#[test]
fn what_harness_did_not_make_is_no_witness() {
    let experiment = submitted("verify-other");
    let own = experiment.made(&experiment.uid);
    let label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "someone"}}});
    experiment.place.patch("jobs", &experiment.name, &label);
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(3), (&json!("other"), &json!(false))));
    assert_eq!(verdict["findings"].as_array().unwrap().len(), 1, "{verdict:#}");
    experiment.place.delete("jobs", &experiment.name);
    let unreadable = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": experiment.name}, "data": {record::KEY: "{"}});
    experiment.place.create("configmaps", &unreadable);
    let (code, verdict) = experiment.verify(&own, &[]);
    assert_eq!((code, witness(&verdict)), (Some(3), (&json!("other"), &json!(false))));
}
