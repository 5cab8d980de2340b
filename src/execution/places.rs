//! Where things lie in the pod, or below another folder where there is no pod. Pure.
//!
//! The Job's mounts (`render/job.rs`) and these paths are one table in two places; a test holds them together.

use std::path::{Path, PathBuf};

/// The folder that holds all volumes in a pod.
pub const ROOT: &str = "/harness";

/// The paths of the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    root: PathBuf,
}

impl Places {
    /// Everything below `root`: [`ROOT`] in a pod.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The folder that everything is below.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What `stage` fetches and `run` reads.
    pub fn inputs(&self) -> PathBuf {
        self.root.join("inputs")
    }

    /// The mission document, byte for byte.
    pub fn mission(&self) -> PathBuf {
        self.inputs().join("mission.json")
    }

    /// The snapshot: a folder, also when it is one plain file, which is then called `data`.
    pub fn snapshot(&self) -> PathBuf {
        self.inputs().join("snapshot")
    }

    /// The resume, in the same form; absent without one.
    pub fn resume(&self) -> PathBuf {
        self.inputs().join("resume")
    }

    /// Where `stage` puts the harness binary for `run`.
    pub fn tools(&self) -> PathBuf {
        self.root.join("tools")
    }

    /// The folder of the control socket.
    pub fn control(&self) -> PathBuf {
        self.root.join("control")
    }

    /// What the runner fills.
    pub fn output(&self) -> PathBuf {
        self.root.join("output")
    }

    /// Where the runner starts, and its HOME; its folder `tmp` is the container's `/tmp`.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// `publish`'s own folder.
    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// The signed URLs that a step may use, one file each, named like the submission's fields.
    pub fn urls(&self) -> PathBuf {
        self.root.join("urls")
    }
}
