//! What a test does on the node: make images, run pods of the restricted shape, look at how they ended.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use harness_test_cluster::{Container, Image, Namespace, Node, REGISTRY, node, until};
use serde_json::{Value, json};

use crate::common::{Harness, Place, Sample, command};

/// How long a pod may take for anything: the machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(4);

/// A namespace of the node's cluster, in which Pod Security is enforced; also a [`Place`].
#[derive(Debug)]
pub(crate) struct Kit {
    /// The node, whose network the calling thread is in.
    pub(crate) node: &'static Node,
    place: Place,
}

impl Deref for Kit {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

/// Whatever became of the test: a pod that waits for something would hold its part of the node until its deadline.
impl Drop for Kit {
    fn drop(&mut self) {
        let options = json!({"propagationPolicy": "Background"});
        self.node.cluster().admin_delete(&self.collection("jobs"), Some(&options));
    }
}

impl Kit {
    /// A new namespace that takes restricted pods only.
    pub(crate) fn new(prefix: &str) -> Self {
        let node = node();
        let place = Place::on(node.cluster(), prefix);
        let labels =
            json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let path = format!("/api/v1/namespaces/{}", place.namespace.name);
        let (status, answer) = node.cluster().admin_patch(&path, &labels);
        assert_eq!(status, 200, "{answer:#}");
        Self { node, place }
    }

    /// The same in a namespace that exists, such as one of the shipped manifests.
    pub(crate) fn elsewhere(mut self, namespace: &str) -> Self {
        let path = format!("/api/v1/namespaces/{namespace}");
        let (status, found) = self.node.cluster().admin_get(&path);
        assert_eq!(status, 200, "{found:#}");
        let uid = found["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.place.namespace = Namespace { name: namespace.to_owned(), uid };
        self
    }

    /// The real harness as the administrator, with harness's image in the node's registry and the profile `node-v1`.
    pub(crate) fn harness(&self) -> Harness {
        let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node/profiles");
        let harness = self.place.harness().env("HARNESS_PROFILES", profiles);
        harness.env("HARNESS_IMAGE", &harness_image().reference)
    }

    /// Creates a Job of one attempt with this pod.
    pub(crate) fn create_job(&self, name: &str, pod: &Value) {
        self.create(
            "jobs",
            &json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name},
                "spec": {"backoffLimit": 0, "template": {"spec": pod}},
            }),
        );
    }

    /// How a Job has ended, if it has: `Complete` or `Failed`.
    pub(crate) fn ending(&self, name: &str) -> Option<String> {
        let job = self.get("jobs", name);
        let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        let mut met = conditions.filter(|condition| condition["status"] == "True");
        let found = met.find(|one| one["type"] == "Complete" || one["type"] == "Failed");
        found.and_then(|condition| condition["type"].as_str()).map(str::to_owned)
    }

    /// Waits for the end of a Job.
    #[track_caller]
    pub(crate) fn end_of_job(&self, name: &str) -> String {
        let mut end = None;
        let ended = until(PATIENCE, || {
            end = self.ending(name);
            end.is_some()
        });
        assert!(ended, "{name} did not end: {}", self.kubectl(&["describe", "jobs,pods"]));
        end.unwrap()
    }

    /// The only pod of a Job, once it is there.
    #[track_caller]
    pub(crate) fn pod_of(&self, job: &str) -> Value {
        let mut pods = Vec::new();
        let found = until(PATIENCE, || {
            pods = self.list("pods");
            pods.retain(|pod| pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == job);
            !pods.is_empty()
        });
        assert!(found && pods.len() == 1, "{job} has {} pods", pods.len());
        pods.remove(0)
    }

    /// Waits until something holds for the only pod of a Job, and gives the pod.
    #[track_caller]
    pub(crate) fn pod_when(&self, job: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut pod = Value::Null;
        let met = until(PATIENCE, || {
            pod = self.pod_of(job);
            condition(&pod)
        });
        assert!(met, "not met: {}\n{}", self.kubectl(&["get", "events"]), pod["status"]);
        pod
    }

    /// What a container of the Job's pod has written.
    #[track_caller]
    pub(crate) fn log(&self, job: &str, container: &str) -> String {
        self.kubectl(&["logs", &format!("job/{job}"), "-c", container])
    }

    /// A container of the Job's pod, from the node's side, once it runs.
    #[track_caller]
    pub(crate) fn container(&self, job: &str, name: &str) -> Container<'static> {
        let pod = self.pod_when(job, |pod| is_running(pod, name));
        let pod = pod["metadata"]["name"].as_str().unwrap();
        self.node.container(&self.namespace.name, pod, name).unwrap()
    }
}

/// A submission that runs this command in this image, by the profile `node-v1`.
pub(crate) fn sample(attempt: &str, image: &Image, runner: &[&str]) -> Sample {
    Sample::new(attempt)
        .with("image", image.reference.as_str())
        .with("resource_profile", "node-v1")
        .with("search_budget", json!({"max_seconds": 60}))
        .with("runner_command", runner.to_vec())
}

/// The status of a container of any kind; null before it has one.
pub(crate) fn status<'a>(pod: &'a Value, container: &str) -> &'a Value {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut all = lists.iter().filter_map(|list| pod["status"][list].as_array()).flatten();
    all.find(|status| status["name"] == container).unwrap_or(&Value::Null)
}

/// Whether a container runs.
pub(crate) fn is_running(pod: &Value, container: &str) -> bool {
    status(pod, container)["state"]["running"].is_object()
}

/// Waits for an event with this reason.
#[track_caller]
pub(crate) fn event(kit: &Kit, reason: &str) {
    event_that_says(kit, reason, "");
}

/// Waits for an event with this reason, whose message has these words.
#[track_caller]
pub(crate) fn event_that_says(kit: &Kit, reason: &str, words: &str) {
    let is_it = |event: &Value| {
        event["reason"] == reason && event["message"].as_str().is_some_and(|it| it.contains(words))
    };
    let is_there = || kit.list("events").iter().any(is_it);
    assert!(until(PATIENCE, is_there), "no event {reason}: {}", kit.kubectl(&["get", "events"]));
}

/// What `scripts/images` prints with these arguments, having put its images into the node's registry.
#[track_caller]
pub(crate) fn scripted_images(kit: &Kit, arguments: &[&OsStr]) -> String {
    let mut script = command(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/images"));
    script.args(["--insecure", "--pull-name", REGISTRY, "--binary"]).arg(static_harness());
    script.args(arguments).arg(kit.node.registry_address()).env("CRANE", kit.node.crane());
    let output = script.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// A container as Pod Security wants it, with a read-only root.
pub(crate) fn container(name: &str, image: &Image, argv: &[&str]) -> Value {
    json!({
        "name": name,
        "image": image.reference,
        "command": argv,
        "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    })
}

/// A pod as Pod Security wants it, of these containers.
pub(crate) fn pod(containers: &[Value]) -> Value {
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": containers,
    })
}

/// An image with a shell and the socket tool.
pub(crate) fn shell_image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let image = node().image("shell").shell().unwrap().socket_tool().unwrap();
        image.env("PATH", "/bin").command(&["/bin/sh"]).push().unwrap()
    })
}

/// An image with a shell and Python, for runners that are more than a script.
pub(crate) fn python_image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let image = node().image("python").base(shell_image()).python().unwrap();
        image.env("PATH", "/bin").push().unwrap()
    })
}

/// An image shaped like the usual ones of deep learning: a user who does not exist, caches in the home of root,
/// CUDA's variables and a `PATH` that matters.
pub(crate) fn deep_learning_image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let image = node().image("deep-learning").base(shell_image());
        let image = image.folder("root/.cache/torch", 0o700).unwrap();
        let image = image.folder("workspace", 0o755).unwrap();
        let tool = "#!/bin/sh\necho \"$CUDA_VERSION as $(id -u) in $PWD\"\n";
        image
            .file("opt/conda/bin/model", tool, 0o755)
            .unwrap()
            .env("PATH", "/opt/conda/bin:/usr/local/nvidia/bin:/usr/local/cuda/bin:/bin")
            .env("HOME", "/root")
            .env("USER", "root")
            .env("XDG_CACHE_HOME", "/root/.cache")
            .env("TORCH_HOME", "/root/.cache/torch")
            .env("CUDA_VERSION", "12.8.1")
            .env("LD_LIBRARY_PATH", "/usr/local/nvidia/lib:/usr/local/nvidia/lib64")
            .env("NVIDIA_VISIBLE_DEVICES", "all")
            .env("NVIDIA_DRIVER_CAPABILITIES", "compute,utility")
            .user("1000:100")
            .working_directory("/workspace")
            .push()
            .unwrap()
    })
}

/// The harness image: the static binary and nothing else.
pub(crate) fn harness_image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let image =
            node().image("harness").copy("usr/local/bin/harness", static_harness()).unwrap();
        image.entrypoint(&["/usr/local/bin/harness"]).push().unwrap()
    })
}

/// The harness image with a trust store, PEM, where harness looks for the system's.
pub(crate) fn harness_image_trusting(authority: &str) -> Image {
    let image = node().image("harness-with-authority").base(harness_image());
    image.file("etc/ssl/certs/ca-certificates.crt", authority, 0o644).unwrap().push().unwrap()
}

/// The static harness binary, built from this checkout; quick when `scripts/test` has done it before.
pub(crate) fn static_harness() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/static");
        let mut build = command(script);
        build.arg("--quick");
        // What cargo tells a test is no part of a build: ring's build script watches CARGO_MANIFEST_DIR and its like, so
        // that everything above ring would be built anew for each test that another caller had built it for.
        for name in ["DIR", "LINKS", "PATH"] {
            build.env_remove(format!("CARGO_MANIFEST_{name}"));
        }
        for name in ["NAME", "VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH", "VERSION_PRE"] {
            build.env_remove(format!("CARGO_PKG_{name}"));
        }
        let output = build.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    })
}
