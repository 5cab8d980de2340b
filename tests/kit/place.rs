//! A namespace of the shared control plane for one test, with the objects in it.

use harness_test_cluster::fault::FaultProxy;
use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, Namespace, User, shared};
use serde_json::{Value, json};

use super::run::{Harness, command};
use super::sample::Sample;

/// One test's namespace.
#[derive(Debug)]
pub(crate) struct Place {
    /// The control plane.
    pub(crate) cluster: &'static ControlPlane,
    /// The namespace.
    pub(crate) namespace: Namespace,
}

impl Place {
    /// A new namespace.
    pub(crate) fn new(prefix: &str) -> Self {
        Self::on(shared(), prefix)
    }

    /// A new namespace of another control plane, such as that of a node.
    pub(crate) fn on(cluster: &'static ControlPlane, prefix: &str) -> Self {
        Self { cluster, namespace: cluster.namespace(prefix).unwrap() }
    }

    /// harness as the administrator, straight to the API server.
    pub(crate) fn harness(&self) -> Harness {
        Harness::new(self.cluster.kubeconfig(), self.cluster.kubectl(), &self.namespace.name)
    }

    /// harness as this user.
    pub(crate) fn harness_as(&self, user: &User) -> Harness {
        self.harness().context(&user.context)
    }

    /// A proxy that forwards as the administrator.
    pub(crate) fn proxy(&self) -> FaultProxy {
        FaultProxy::start(self.cluster, self.cluster.admin_token()).unwrap()
    }

    /// A proxy that forwards as this user.
    pub(crate) fn proxy_as(&self, user: &User) -> FaultProxy {
        FaultProxy::start(self.cluster, &user.token).unwrap()
    }

    /// harness through this proxy.
    pub(crate) fn harness_through(&self, proxy: &FaultProxy) -> Harness {
        Harness::new(proxy.kubeconfig(), self.cluster.kubectl(), &self.namespace.name)
    }

    /// kubectl with the administrator's context, in this namespace; gives standard output.
    #[track_caller]
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_anywhere(&[&["-n", &self.namespace.name][..], arguments].concat())
    }

    /// The same in the namespaces that the objects or the arguments name.
    #[track_caller]
    pub(crate) fn kubectl_anywhere(&self, arguments: &[&str]) -> String {
        let mut command = command(self.cluster.kubectl());
        command
            .arg(format!("--kubeconfig={}", self.cluster.kubeconfig().display()))
            .args(["--context", ADMIN_CONTEXT])
            .args(arguments);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The path of the collection: `jobs`, or a resource of the core group.
    pub(crate) fn collection(&self, resource: &str) -> String {
        let group = if resource == "jobs" { "/apis/batch/v1" } else { "/api/v1" };
        format!("{group}/namespaces/{}/{resource}", self.namespace.name)
    }

    /// The path of one object.
    pub(crate) fn path(&self, resource: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(resource))
    }

    /// All objects of a resource.
    #[track_caller]
    pub(crate) fn list(&self, resource: &str) -> Vec<Value> {
        let (status, list) = self.cluster.admin_get(&self.collection(resource));
        assert_eq!(status, 200, "{list:#}");
        list["items"].as_array().unwrap().clone()
    }

    /// The only Job.
    #[track_caller]
    pub(crate) fn job(&self) -> Value {
        let jobs = self.list("jobs");
        assert_eq!(jobs.len(), 1, "{jobs:#?}");
        // Elements of a list have no apiVersion and no kind.
        self.get("jobs", find(&jobs[0], "/metadata/name").as_str().unwrap())
    }

    /// One object.
    #[track_caller]
    pub(crate) fn get(&self, resource: &str, name: &str) -> Value {
        let (status, object) = self.cluster.admin_get(&self.path(resource, name));
        assert_eq!(status, 200, "{object:#}");
        object
    }

    /// The names of all Secrets of type `Opaque`, in order.
    #[track_caller]
    pub(crate) fn secrets(&self) -> Vec<String> {
        let opaque = |secret: &Value| secret["type"] == "Opaque";
        let mut secrets: Vec<String> =
            self.list("secrets").iter().filter(|secret| opaque(secret)).filter_map(names).collect();
        secrets.sort();
        secrets
    }

    /// Creates an object as the administrator.
    #[track_caller]
    pub(crate) fn create(&self, resource: &str, object: &Value) -> Value {
        let (status, answer) = self.cluster.admin_post(&self.collection(resource), object);
        assert_eq!(status, 201, "{answer:#}");
        answer
    }

    /// Changes an object by a merge patch.
    #[track_caller]
    pub(crate) fn patch(&self, resource: &str, name: &str, patch: &Value) -> Value {
        let (status, answer) = self.cluster.admin_patch(&self.path(resource, name), patch);
        assert_eq!(status, 200, "{answer:#}");
        answer
    }

    /// Deletes an object; what depends on it goes later.
    #[track_caller]
    pub(crate) fn delete(&self, resource: &str, name: &str) {
        let options = json!({"propagationPolicy": "Background"});
        let (status, answer) =
            self.cluster.admin_delete(&self.path(resource, name), Some(&options));
        assert!((200..300).contains(&status), "{answer:#}");
    }

    /// Panics unless the namespace holds exactly so many Jobs and Secrets.
    #[track_caller]
    pub(crate) fn assert_holds(&self, jobs: usize, secrets: usize) {
        let namespace = &self.namespace.name;
        let found = (self.cluster.count_jobs(namespace), self.cluster.count_secrets(namespace));
        assert_eq!(found, (jobs, secrets), "Jobs and Secrets in {namespace}");
    }

    /// Panics when a secret part of the sample stands in anything but the Secrets.
    #[track_caller]
    pub(crate) fn assert_hides(&self, sample: &Sample) {
        for resource in ["jobs", "pods", "events", "configmaps"] {
            let objects = Value::Array(self.list(resource)).to_string();
            for marker in &sample.markers {
                assert!(!objects.contains(marker), "{marker} stands in {resource}");
            }
        }
    }
}

/// The name of an object, as an iterator of one.
fn names(object: &Value) -> Option<String> {
    object["metadata"]["name"].as_str().map(str::to_owned)
}

/// The value at a JSON pointer.
#[track_caller]
pub(crate) fn find<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    match object.pointer(pointer) {
        Some(value) => value,
        None => panic!("nothing at {pointer} in {object:#}"),
    }
}
