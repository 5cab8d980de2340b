//! The node's control groups: one of its own in every hierarchy of the machine, v1 or v2.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The controllers that runc uses and those that the kubelet refuses to do without, as far as the machine has them.
const CONTROLLERS: [&str; 6] = ["cpu", "cpuset", "hugetlb", "io", "memory", "pids"];

/// The node's groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// The name, in all hierarchies; as an absolute path it is the kubelet's `cgroupRoot`.
    pub(super) name: String,
    /// The group in each hierarchy.
    pub(super) folders: Vec<PathBuf>,
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    /// Whether it is v2.
    unified: bool,
}

impl Groups {
    /// The groups of this name; nothing is created yet.
    pub(super) fn plan(name: &str) -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let hierarchies = hierarchies(&mounts);
        if hierarchies.is_empty() {
            bail!("no control groups are mounted on this machine (/sys/fs/cgroup)");
        }
        let folders = hierarchies.iter().map(|hierarchy| hierarchy.mount.join(name)).collect();
        Ok(Self { name: name.to_owned(), folders })
    }

    /// Creates them, each with a group `system` for the node's own processes.
    pub(super) fn create(&self) -> Result<()> {
        for folder in &self.folders {
            let root = folder.parent().context("a hierarchy has no mount point")?;
            let unified = root.join("cgroup.controllers").exists();
            if unified {
                enable(root)?;
            }
            for group in [folder.clone(), folder.join("system")] {
                fs::create_dir(&group)
                    .with_context(|| format!("{} could not be created", group.display()))?;
                if !unified {
                    inherit_processors(&group)?;
                }
            }
            if unified {
                enable(folder)?;
            }
        }
        Ok(())
    }

    /// All groups of a container: their folders are called by its identifier.
    pub(super) fn of_container(&self, identifier: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in &self.folders {
            find(&folder.join("kubepods"), identifier, &mut found);
        }
        found
    }
}

/// The hierarchies in a table of mounts, without what is mounted twice.
fn hierarchies(mounts: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(mount), Some(kind)) = (fields.next(), fields.next()) else { continue };
        if !matches!(kind, "cgroup" | "cgroup2") || !mount.starts_with("/sys/fs/cgroup") {
            continue;
        }
        let hierarchy = Hierarchy { mount: PathBuf::from(mount), unified: kind == "cgroup2" };
        if !found.contains(&hierarchy) {
            found.push(hierarchy);
        }
    }
    found
}

/// v2: lets the groups below have controllers.
fn enable(group: &Path) -> Result<()> {
    let there = fs::read_to_string(group.join("cgroup.controllers"))?;
    let wanted =
        CONTROLLERS.iter().filter(|name| there.split_whitespace().any(|one| one == **name));
    let line = wanted.map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Ok(());
    }
    let control = group.join("cgroup.subtree_control");
    if fs::write(&control, &line).is_ok() {
        return Ok(());
    }
    // "No internal processes" (cgroups(7)): in a container, whose own root group is not the machine's, processes
    // stand in the way. They are moved aside, as container engines inside of containers do it.
    let aside = group.join("outside-of-the-node");
    fs::create_dir_all(&aside)?;
    for process in fs::read_to_string(group.join("cgroup.procs"))?.lines() {
        // One that has ended since is no obstacle.
        let _ = fs::write(aside.join("cgroup.procs"), process);
    }
    fs::write(&control, &line).with_context(|| {
        format!("the controllers `{line}` could not be enabled in {}", control.display())
    })
}

/// v1: a new group of `cpuset` has no processors and no memory nodes, and takes no process before it has.
fn inherit_processors(group: &Path) -> Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let own = group.join(file);
        if own.exists() {
            let parent = group.parent().context("a group has no parent")?;
            fs::write(own, fs::read(parent.join(file))?)?;
        }
    }
    Ok(())
}

fn find(folder: &Path, identifier: &str, found: &mut Vec<PathBuf>) {
    // A pod that ends takes its groups away under our eyes.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        if entry.file_name().to_string_lossy().contains(identifier) {
            found.push(entry.path());
        } else {
            find(&entry.path(), identifier, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(mounts: &str) -> Vec<(String, bool)> {
        let pair = |one: Hierarchy| (one.mount.display().to_string(), one.unified);
        hierarchies(mounts).into_iter().map(pair).collect()
    }

    #[test]
    fn hierarchies_of_both_versions() {
        let first = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                     cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                     cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                     cgroup /elsewhere cgroup rw 0 0\n";
        let expected =
            [("/sys/fs/cgroup/memory".into(), false), ("/sys/fs/cgroup/unified".into(), true)];
        assert_eq!(found(first), expected);
        let second = "proc /proc proc rw 0 0\n\
                      cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n\
                      cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        assert_eq!(found(second), [("/sys/fs/cgroup".into(), true)]);
    }

    #[test]
    fn version_two_hands_on_what_it_has() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("cgroup.controllers"), "cpuset cpu io memory pids rdma misc\n")
            .unwrap();
        enable(group.path()).unwrap();
        let written = fs::read_to_string(group.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(written, "+cpu +cpuset +io +memory +pids");
    }
}
