//! A container as its node sees it: its processes, its files, and hands on it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Node;
use crate::wait;

/// How long processes may take to freeze, or to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A container of a pod.
#[derive(Debug, Clone)]
pub struct Container<'node> {
    node: &'node Node,
    /// Its identifier in containerd.
    pub identifier: String,
    groups: Vec<PathBuf>,
}

impl<'node> Container<'node> {
    pub(super) fn find(node: &'node Node, namespace: &str, pod: &str, name: &str) -> Result<Self> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}");
        let object = node.cluster().admin.must("GET", &path, None)?;
        let identifier = identifier(&object, name)
            .with_context(|| format!("the container {name} of the pod {pod} was never started"))?;
        Ok(Self { node, groups: node.groups.of_container(&identifier), identifier })
    }

    /// Its processes, as the caller sees them; empty when it has ended.
    pub fn processes(&self) -> BTreeSet<i32> {
        let files = self.groups.iter().map(|group| group.join("cgroup.procs"));
        let text: String = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
        text.lines().filter_map(|line| line.parse().ok()).filter(|number| *number > 0).collect()
    }

    /// The process that is PID 1 in the container.
    pub fn first_process(&self) -> Result<Pid> {
        let first = self.processes().into_iter().find(|number| {
            // proc(5): the last number is the one in the innermost namespace.
            fs::read_to_string(format!("/proc/{number}/status")).is_ok_and(|status| {
                let line = status.lines().find(|line| line.starts_with("NSpid:"));
                line.is_some_and(|line| line.split_whitespace().next_back() == Some("1"))
            })
        });
        first.and_then(Pid::from_raw).with_context(|| format!("{} has ended", self.identifier))
    }

    /// A path of the container, as a path of the caller: all files, mounts included, while it runs.
    pub fn path(&self, path: &str) -> Result<PathBuf> {
        let root = format!("/proc/{}/root", self.first_process()?.as_raw_nonzero());
        Ok(PathBuf::from(root).join(path.trim_start_matches('/')))
    }

    /// Runs a program of the container in it, as its user.
    pub fn exec(&self, argv: &[&str]) -> Result<Output> {
        let output = self
            .node
            .inside(self.node.programs.path("ctr"))
            .arg("--address")
            .arg(self.node.layout.containerd_socket())
            .args(["--namespace", "k8s.io", "tasks", "exec", "--exec-id"])
            .args([&wait::random_name(), &self.identifier])
            .args(argv)
            .output();
        output.context("`nsenter` could not be started")
    }

    /// Kills every process of the container at once, as an out-of-memory kill does on cgroup v2.
    ///
    /// None of them sees another one die.
    pub fn kill_all(&self) -> Result<()> {
        let freezer = |group: &&PathBuf| group.join("freezer.state").exists();
        let killer = |group: &&PathBuf| group.join("cgroup.kill").exists();
        if let Some(group) = self.groups.iter().find(freezer) {
            let state = group.join("freezer.state");
            let frozen = || {
                // FREEZING becomes FROZEN only when it is asked for again (freezer-subsystem.txt).
                let _ = fs::write(&state, "FROZEN");
                fs::read_to_string(&state).is_ok_and(|text| text.trim() == "FROZEN")
            };
            if !wait::until(PATIENCE, frozen) {
                bail!("the container {} could not be frozen", self.identifier);
            }
            for process in self.processes().into_iter().filter_map(Pid::from_raw) {
                kill_process(process, Signal::KILL)?;
            }
            fs::write(&state, "THAWED")?;
        } else if let Some(group) = self.groups.iter().find(killer) {
            fs::write(group.join("cgroup.kill"), "1")?;
        } else {
            bail!("the container {} has ended, or the kernel cannot end groups", self.identifier);
        }
        if wait::until(PATIENCE, || self.processes().is_empty()) {
            return Ok(());
        }
        bail!("processes of {} survive: {:?}", self.identifier, self.processes())
    }
}

/// The identifier of a container in the status of its pod.
fn identifier(pod: &Value, name: &str) -> Option<String> {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut all = lists.iter().filter_map(|list| pod["status"][list].as_array()).flatten();
    let status = all.find(|status| status["name"] == name)?;
    let state = &status["state"];
    let ended = || state["terminated"]["containerID"].as_str();
    let text = status["containerID"].as_str().filter(|text| !text.is_empty()).or_else(ended)?;
    text.rsplit_once("://").map(|(_, identifier)| identifier.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn identifiers_of_all_kinds() {
        let pod = json!({"status": {
            "containerStatuses": [{"name": "run", "containerID": "containerd://abc"}, {"name": "new"}],
            "initContainerStatuses": [{"name": "stage", "state": {"terminated": {"containerID": "containerd://def"}}}],
        }});
        let found = |name| identifier(&pod, name);
        assert_eq!(found("run").as_deref(), Some("abc"));
        assert_eq!(found("stage").as_deref(), Some("def"));
        assert_eq!((found("new"), found("other")), (None, None));
    }
}
