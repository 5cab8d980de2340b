//! The files that the parts of a node are configured by, and their arguments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::requirements;
use crate::build::Programs;
use crate::credentials::NODE;
use crate::network::ADDRESS;

/// The name of the node's registry in image references, as pods have it.
pub const REGISTRY: &str = "registry.test";
/// Where the registry listens, on 127.0.0.1 of the node's network.
pub(super) const REGISTRY_PORT: u16 = 5000;
/// Where the kubelet says that it is well, on 127.0.0.1.
pub(super) const KUBELET_HEALTH_PORT: u16 = 10_248;
/// The image that holds the namespaces of a pod.
pub(super) const PAUSE: &str = "pause";

/// Settings of the machine that the kubelet would change, and the values that it wants
/// (`pkg/util/sysctl` of Kubernetes). A comma stands for a slash.
const SYSCTL: [(&str, &str); 6] = [
    ("vm,overcommit_memory", "1"),
    ("vm,panic_on_oom", "0"),
    ("kernel,panic", "10"),
    ("kernel,panic_on_oops", "1"),
    ("kernel,keys,root_maxkeys", "1000000"),
    ("kernel,keys,root_maxbytes", "25000000"),
];

/// Where everything of a node lies.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) state: PathBuf,
}

impl Layout {
    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    pub(super) fn containerd_socket(&self) -> PathBuf {
        self.path("containerd.sock")
    }

    /// A folder for each registry that pods may pull from.
    pub(super) fn registries(&self) -> PathBuf {
        self.path("registries")
    }

    /// Writes all files; the folder must exist.
    pub(super) fn write(&self, programs: &Programs, cgroup_root: &str) -> Result<()> {
        for folder in ["sysctl", "cni", "cni-state", "pods-log", "kubelet", "registries", "images"]
        {
            fs::create_dir(self.path(folder))?;
        }
        for (name, value) in SYSCTL {
            fs::write(self.path("sysctl").join(name), format!("{value}\n"))?;
        }
        let network = self.container_network().to_string();
        fs::write(self.path("cni").join("10-pods.conflist"), network)?;
        fs::write(self.path("containerd.toml"), self.containerd(programs)?)?;
        fs::write(self.path("kubelet.json"), self.kubelet(cgroup_root).to_string())?;
        self.add_registry(REGISTRY, &format!("http://127.0.0.1:{REGISTRY_PORT}"))
    }

    /// Lets pods pull from a host of this name, which really is at `url`.
    ///
    /// containerd looks the file up at each pull.
    pub(super) fn add_registry(&self, host: &str, url: &str) -> Result<()> {
        let folder = self.registries().join(host);
        fs::create_dir_all(&folder)?;
        let text = format!(
            "server = \"{url}\"\n\n[host.\"{url}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
        );
        let new = folder.join("hosts.toml.new");
        fs::write(&new, text)?;
        Ok(fs::rename(new, folder.join("hosts.toml"))?)
    }

    fn containerd(&self, programs: &Programs) -> Result<String> {
        let runc = requirements::path("runc")?;
        // An overlay cannot lie on another one, which is what a container's own root is.
        let snapshotter = if is_overlay(&self.state)? { "native" } else { "overlayfs" };
        Ok(format!(
            r#"version = 3
root = "{root}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
address = "{socket}"

[plugins.'io.containerd.cri.v1.images']
snapshotter = "{snapshotter}"
pinned_images = {{ sandbox = "{REGISTRY}/{PAUSE}:1" }}
registry = {{ config_path = "{registries}" }}

[plugins.'io.containerd.cri.v1.runtime']
# Where root may not lower scores (no CAP_SYS_RESOURCE), no pod would start.
restrict_oom_score_adj = true
cni = {{ bin_dirs = ["{programs}"], conf_dir = "{cni}" }}

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
options = {{ BinaryName = "{runc}", SystemdCgroup = false }}
"#,
            root = self.text("containerd"),
            socket = self.containerd_socket().display(),
            registries = self.registries().display(),
            programs = programs.folder().display(),
            cni = self.text("cni"),
            runc = runc.display(),
        ))
    }

    /// Pods are in a network of their own below 10.77.1.0, with the node as gateway.
    fn container_network(&self) -> Value {
        json!({
            "cniVersion": "1.0.0",
            "name": "pods",
            "plugins": [{
                "type": "bridge",
                "bridge": "pods0",
                "isGateway": true,
                "ipMasq": false,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": "10.77.1.0/24"}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": self.text("cni-state"),
                },
            }],
        })
    }

    fn kubelet(&self, cgroup_root: &str) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": ADDRESS,
            // Nobody else is in this network; the API server has no certificate to show.
            "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
            "authorization": {"mode": "AlwaysAllow"},
            "healthzBindAddress": "127.0.0.1",
            "healthzPort": KUBELET_HEALTH_PORT,
            "containerRuntimeEndpoint": format!("unix://{}", self.containerd_socket().display()),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": format!("/{cgroup_root}"),
            // From 1.35 on it refuses v1 unless told not to.
            "failCgroupV1": false,
            "failSwapOn": false,
            "enforceNodeAllocatable": [],
            "evictionHard": {"memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            // A slow registry of one test must not hold up the pulls of the others.
            "serializeImagePulls": false,
            // What forks without end meets the pod's limit and not the machine's.
            "podPidsLimit": 256,
            // Tests read whole logs.
            "containerLogMaxSize": "1Gi",
            "clusterDomain": "cluster.test",
            "clusterDNS": [ADDRESS],
            "resolvConf": "",
            "podLogsDir": self.text("pods-log"),
            "volumePluginDir": self.text("volume-plugins"),
        })
    }

    pub(super) fn containerd_argv(&self, programs: &Programs) -> Vec<String> {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let mut argv = open_to_others();
        argv.extend([
            "/usr/bin/env".to_owned(),
            // The shim is looked for there.
            format!("PATH={}:{path}", programs.folder().display()),
            programs.path("containerd").display().to_string(),
            format!("--config={}", self.text("containerd.toml")),
        ]);
        argv
    }

    pub(super) fn kubelet_argv(&self, programs: &Programs) -> Vec<String> {
        let mut argv = open_to_others();
        argv.extend([
            programs.path("kubelet").display().to_string(),
            format!("--config={}", self.text("kubelet.json")),
            format!("--kubeconfig={}", self.text("kubelet.kubeconfig")),
            format!("--root-dir={}", self.text("kubelet")),
            format!("--cert-dir={}", self.path("kubelet").join("pki").display()),
            format!("--hostname-override={NODE}"),
            format!("--node-ip={ADDRESS}"),
        ]);
        argv
    }

    pub(super) fn scheduler_argv(&self, programs: &Programs) -> Vec<String> {
        let kubeconfig = self.text("scheduler.kubeconfig");
        vec![
            programs.path("kube-scheduler").display().to_string(),
            format!("--kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ]
    }

    pub(super) fn registry_argv(&self, programs: &Programs) -> Vec<String> {
        let crane = programs.path("crane").display().to_string();
        let address = format!("127.0.0.1:{REGISTRY_PORT}");
        let disk = self.text("images");
        [&crane, "registry", "serve", "--address", &address, "--disk", &disk]
            .map(str::to_owned)
            .to_vec()
    }

    /// Turns a child of the supervisor into the first process of the node.
    pub(super) fn node_argv(&self) -> Result<Vec<String>> {
        let unshare = requirements::path("unshare")?.display().to_string();
        let (script, state) = (self.text("init.sh"), self.state.display().to_string());
        // Killing `unshare` kills its child, and that all processes of the node.
        let argv: [&str; 8] = [
            &unshare,
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "/bin/sh",
            &script,
        ];
        Ok(argv.into_iter().chain([state.as_str()]).map(str::to_owned).collect())
    }
}

/// Lets the files of containers be read by their users, which the supervisor's own mask does not.
fn open_to_others() -> Vec<String> {
    ["/bin/sh", "-c", "umask 022; exec \"$@\"", "sh"].map(str::to_owned).to_vec()
}

/// Whether a folder lies on an overlay.
fn is_overlay(folder: &Path) -> Result<bool> {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output();
    let output = output.context("`stat` could not be started")?;
    Ok(output.stdout.trim_ascii() == b"overlayfs")
}
