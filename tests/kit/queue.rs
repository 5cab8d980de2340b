//! Queues of a namespace for a cluster with Kueue, and what competes in them.

use serde_json::{Value, json};

use super::place::Place;
use super::run::Harness;

/// The version of Kueue's objects.
pub(crate) const QUEUE_GROUP: &str = "kueue.x-k8s.io/v1beta2";
/// The queue that the profiles of the tests name.
pub(crate) const QUEUE: &str = "lab";

impl Place {
    /// harness with the profile `queued-v1`, whose queue nobody looks at.
    pub(crate) fn harness_with_queue(&self) -> Harness {
        let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kit/profiles");
        self.harness().env("HARNESS_PROFILES", profiles)
    }

    /// What Kueue has of the Jobs here; nothing where there is no Kueue.
    #[track_caller]
    pub(crate) fn workloads(&self) -> Vec<Value> {
        let path = format!("/apis/{QUEUE_GROUP}/namespaces/{}/workloads", self.namespace.name);
        let (_, mut list) = self.cluster.admin_get(&path);
        let items = list.get_mut("items").map(Value::take);
        items.and_then(|items| items.as_array().cloned()).unwrap_or_default()
    }

    /// Opens the queue, on nodes with these labels. Only one workload fits at a time.
    #[track_caller]
    pub(crate) fn open_queue(&self, node_labels: &Value) {
        let name = &self.namespace.name;
        let quota =
            |resource: &str, amount: &str| json!({"name": resource, "nominalQuota": amount});
        let flavor = json!({"name": name, "resources": [
            quota("cpu", "100"), quota("memory", "100Gi"), quota("ephemeral-storage", "100Gi"), quota("pods", "1"),
        ]});
        let resources = ["cpu", "memory", "ephemeral-storage", "pods"];
        self.make("ResourceFlavor", name, &json!({"nodeLabels": node_labels}));
        self.make(
            "ClusterQueue",
            name,
            &json!({
                "namespaceSelector": {},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": resources, "flavors": [flavor]}],
            }),
        );
        self.local_queue(QUEUE);
    }

    /// A queue of this name, which leads to the one that [`open_queue`](Self::open_queue) makes.
    #[track_caller]
    pub(crate) fn local_queue(&self, name: &str) {
        let namespace = &self.namespace.name;
        let queue = json!({"metadata": {"name": name}, "spec": {"clusterQueue": namespace}});
        self.post(&format!("namespaces/{namespace}/localqueues"), "LocalQueue", queue);
    }

    /// Takes back all that the queue has admitted, or lets it go on.
    #[track_caller]
    pub(crate) fn hold_queue(&self, held: bool) {
        let policy = if held { "HoldAndDrain" } else { "None" };
        let path = format!("/apis/{QUEUE_GROUP}/clusterqueues/{}", self.namespace.name);
        let change = json!({"spec": {"stopPolicy": policy}});
        let (status, answer) = self.cluster.admin_patch(&path, &change);
        assert_eq!(status, 200, "{answer:#}");
    }

    fn make(&self, kind: &str, name: &str, spec: &Value) {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.post(&format!("{}s", kind.to_lowercase()), kind, object);
    }

    #[track_caller]
    fn post(&self, path: &str, kind: &str, mut object: Value) {
        object["apiVersion"] = QUEUE_GROUP.into();
        object["kind"] = kind.into();
        let (status, answer) =
            self.cluster.admin_post(&format!("/apis/{QUEUE_GROUP}/{path}"), &object);
        assert_eq!(status, 201, "{answer:#}");
    }

    /// Somebody else's Job in the same queue, more important than all experiments.
    #[track_caller]
    pub(crate) fn more_important(&self, name: &str, pod: &Value) {
        let class = &self.namespace.name;
        let path = "workloadpriorityclasses";
        let important = json!({"metadata": {"name": class}, "value": 1000, "description": "tests"});
        self.post(path, "WorkloadPriorityClass", important);
        let labels =
            json!({"kueue.x-k8s.io/queue-name": QUEUE, "kueue.x-k8s.io/priority-class": class});
        self.create(
            "jobs",
            &json!({
                "metadata": {"name": name, "labels": labels},
                "spec": {"suspend": true, "template": {"spec": pod}},
            }),
        );
    }
}
