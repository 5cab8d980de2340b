//! A namespace with queues of its own, and what a scheduler and a kubelet do to its pods.

use std::ops::Deref;
use std::sync::{Once, OnceLock};
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::{Grant, User, shared, until};
use serde_json::{Value, json};

pub(crate) use crate::kit::PATIENCE;
use crate::kit::situation::Taken;
use crate::kit::{Harness, Place, Sample, find, rules, set_status};

/// A node without a machine.
const NODE: &str = "by-hand";

/// One test's namespace.
#[derive(Debug)]
pub(crate) struct Lab {
    place: Place,
    /// May only watch.
    watcher: User,
}

impl Deref for Lab {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Lab {
    /// A namespace, without any queue yet.
    pub(crate) fn new(prefix: &str) -> Self {
        static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
        let started =
            STARTED.get_or_init(|| shared().start_queue().map_err(|error| format!("{error:#}")));
        started.as_ref().expect("Kueue starts");
        let place = Place::new(prefix);
        let grant = Grant::in_namespace(&place.namespace.name, rules("watcher"));
        let watcher = place.cluster.user(&[grant]).unwrap();
        Self { place, watcher }
    }

    /// harness as the administrator, with the profile of these tests.
    pub(crate) fn harness(&self) -> Harness {
        let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queue/profiles");
        self.place.harness().env("HARNESS_PROFILES", profiles)
    }

    /// Submits it and gives the Job's name.
    #[track_caller]
    pub(crate) fn submitted(&self, sample: &Sample) -> String {
        let receipt = self.harness().submit(sample).expect(0, "created");
        find(&receipt, "/job/name").as_str().unwrap().to_owned()
    }

    /// What `status` says, to somebody who may only watch.
    #[track_caller]
    pub(crate) fn status(&self, job: &str) -> Value {
        let run = self.harness_as(&self.watcher).run(&["status", job]);
        run.receipts().pop().unwrap_or_else(|| panic!("{run}"))
    }

    /// Waits until `status` says this phase and category, and gives all that it says.
    #[track_caller]
    pub(crate) fn status_when(&self, job: &str, phase: &str, category: &str) -> Value {
        let mut last = Value::Null;
        let is_so = until(PATIENCE, || {
            last = self.status(job);
            last["phase"] == phase && last["diagnosis"]["category"] == category
        });
        assert!(is_so, "{last:#}\n{:#}", Value::Array(self.list("events")));
        last
    }

    /// Waits as [`status_when`](Self::status_when) does, and keeps it as the situation of this name.
    #[track_caller]
    pub(crate) fn keep_when(&self, name: &str, job: &str, phase: &str, category: &str) -> Value {
        let status = self.status_when(job, phase, category);
        Taken::of(&self.place, job).keep(name, phase, category);
        status
    }

    /// Waits until something holds for the Job.
    #[track_caller]
    pub(crate) fn job_when(&self, job: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut live = Value::Null;
        let met = until(PATIENCE, || {
            live = self.get("jobs", job);
            condition(&live)
        });
        assert!(met, "{live:#}\n{:#}", Value::Array(self.list("events")));
        live
    }

    /// The pod of the Job that is not on its way out, once its controller has made it.
    #[track_caller]
    pub(crate) fn pod(&self, job: &str) -> Value {
        let mut found = Vec::new();
        let came = until(PATIENCE, || {
            found = self.list("pods");
            found.retain(|pod| {
                pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == job
                    && pod["metadata"]["deletionTimestamp"].is_null()
            });
            !found.is_empty()
        });
        assert!(came && found.len() == 1, "{job} has no pod: {found:#?}");
        found.remove(0)
    }

    /// Does with the pod what a scheduler and a kubelet do until its runner is at work.
    #[track_caller]
    pub(crate) fn run(&self, pod: &Value) {
        let name = find(pod, "/metadata/name").as_str().unwrap();
        node();
        let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}});
        let path = format!("{}/binding", self.path("pods", name));
        let (status, answer) = self.cluster.admin_post(&path, &binding);
        assert_eq!(status, 201, "{answer:#}");
        let container = |name: &str, state: &Value| {
            json!({"name": name, "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
                "containerID": "containerd://1", "state": state})
        };
        let running = json!({"running": {"startedAt": pod["metadata"]["creationTimestamp"]}});
        let done = json!({"terminated": {"exitCode": 0, "containerID": "containerd://1"}});
        set_status(self, "pods", name, |_| {
            json!({
                "phase": "Running",
                "initContainerStatuses": [container("stage", &done)],
                "containerStatuses": [container("publish", &running), container("run", &running)],
            })
        });
        let about = json!({
            "apiVersion": "v1", "kind": "Pod", "name": name, "namespace": self.namespace.name,
            "uid": pod["metadata"]["uid"], "fieldPath": "spec.containers{run}",
        });
        let time = &pod["metadata"]["creationTimestamp"];
        self.create("events", &json!({
            "metadata": {"generateName": "started-"}, "involvedObject": about, "reason": "Started",
            "message": "Container started", "type": "Normal", "source": {"component": "kubelet"},
            "firstTimestamp": time, "lastTimestamp": time,
        }));
    }

    /// Ends the pod as a kubelet does whose containers ended well.
    #[track_caller]
    pub(crate) fn succeed(&self, pod: &Value) {
        let name = find(pod, "/metadata/name").as_str().unwrap();
        set_status(self, "pods", name, |pod| {
            let mut status = pod["status"].clone();
            status["phase"] = "Succeeded".into();
            for container in status["containerStatuses"].as_array_mut().unwrap() {
                let done = json!({"exitCode": 0, "containerID": container["containerID"]});
                container["state"] = json!({"terminated": done});
            }
            status
        });
    }

    /// Lets a pod that is on its way out be gone, as its kubelet does at the end.
    #[track_caller]
    pub(crate) fn gone(&self, pod: &Value) {
        let path = self.path("pods", find(pod, "/metadata/name").as_str().unwrap());
        let is_leaving = || {
            let (status, pod) = self.cluster.admin_get(&path);
            status == 404 || !pod["metadata"]["deletionTimestamp"].is_null()
        };
        assert!(until(PATIENCE, is_leaving), "nobody deleted the pod");
        self.cluster.admin_delete(&path, Some(&json!({"gracePeriodSeconds": 0})));
        assert!(until(PATIENCE, || self.cluster.admin_get(&path).0 == 404), "the pod stays");
    }

    /// Kueue's view of the Job; null where it has none.
    pub(crate) fn workload(&self, job: &str) -> Value {
        let owned = |one: &Value| one["metadata"]["ownerReferences"][0]["name"] == job;
        self.workloads().into_iter().find(owned).unwrap_or_default()
    }
}

/// A submission in the queue.
pub(crate) fn sample(attempt: &str) -> Sample {
    Sample::new(attempt).with("resource_profile", "queued-v1")
}

/// A node that is well for as long as the tests run: of one that is silent, the controllers would say that it is lost.
fn node() {
    static BEATS: Once = Once::new();
    let beat = || {
        let now = SystemClock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady",
            "lastHeartbeatTime": now, "lastTransitionTime": now});
        let path = format!("/api/v1/nodes/{NODE}/status");
        let change = json!({"status": {"conditions": [ready]}});
        shared().admin("PATCH", &path, Some(&change))
    };
    BEATS.call_once(|| {
        let (status, answer) =
            shared().admin_post("/api/v1/nodes", &json!({"metadata": {"name": NODE}}));
        assert_eq!(status, 201, "{answer:#}");
        std::thread::spawn(move || {
            while beat().is_ok() {
                SystemClock.sleep(Duration::from_secs(5));
            }
        });
    });
}
