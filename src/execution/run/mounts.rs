//! Where a process finds the files of its own control group. Pure: `man 7 cgroups`, `man 5 proc_pid_mountinfo`.

use std::path::{Path, PathBuf};

/// Which version the memory controller has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// A hierarchy of its own.
    One,
    /// The one hierarchy of all controllers.
    Two,
}

/// The folder of the memory controller, from `/proc/self/cgroup` and `/proc/self/mountinfo`. Version 1 comes first:
/// where both are mounted, the controller is in it.
pub(super) fn memory_folder(cgroup: &str, mountinfo: &str) -> Option<(Version, PathBuf)> {
    let one = || {
        let path = cgroup.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == "memory").then_some(path)
        })?;
        let mount = mounts(mountinfo).find(|mount| {
            mount.kind == "cgroup" && mount.options.split(',').any(|o| o == "memory")
        })?;
        Some((Version::One, mount.folder_of(path)))
    };
    let two = || {
        let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
        let mount = mounts(mountinfo).find(|mount| mount.kind == "cgroup2")?;
        Some((Version::Two, mount.folder_of(path)))
    };
    one().or_else(two)
}

struct Mount<'a> {
    /// What of the file system is mounted.
    root: &'a str,
    /// Where.
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    /// In a container the mount usually begins at its own group, and `path` may be told from the host's root or from
    /// there. A path outside of the mount (`/../x`) cannot be reached: its top is the nearest.
    fn folder_of(&self, path: &str) -> PathBuf {
        let path = Path::new(path);
        let inside = path.strip_prefix(self.root).unwrap_or(Path::new(""));
        let leads_out = inside.components().any(|part| part == std::path::Component::ParentDir);
        let point = Path::new(self.point);
        if leads_out { point.to_owned() } else { point.join(inside) }
    }
}

fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut after = after.split(' ');
        let (root, point) = (before.next()?, before.next()?);
        let kind = after.next()?;
        let options = after.nth(1)?;
        Some(Mount { root, point, kind, options })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cgroup: &str, mountinfo: &str) -> Option<(Version, String)> {
        memory_folder(cgroup, mountinfo)
            .map(|(version, folder)| (version, folder.to_str().unwrap().to_owned()))
    }

    #[test]
    fn version_2_in_a_container_of_its_own_namespace() {
        let mountinfo = "1 0 0:29 / / ro - overlay overlay rw\n\
             700 690 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n";
        let own = (Version::Two, "/sys/fs/cgroup/".to_owned());
        assert_eq!(found("0::/\n", mountinfo), Some(own.clone()));
        // A process that was moved out of the namespace's root.
        assert_eq!(found("0::/../other\n", mountinfo).map(|found| found.0), Some(Version::Two));
        assert_eq!(found("0::/../other\n", mountinfo).unwrap().1, "/sys/fs/cgroup");
    }

    #[test]
    fn version_1_without_a_namespace() {
        let cgroup = "11:cpu,cpuacct:/kubepods/pod1/abc\n9:memory:/kubepods/pod1/abc\n0::/x\n";
        let mountinfo = "701 690 0:30 /kubepods/pod1/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
             702 690 0:32 /kubepods/pod1/abc /sys/fs/cgroup/memory ro,nosuid master:11 - cgroup cgroup rw,memory\n";
        let own = (Version::One, "/sys/fs/cgroup/memory/".to_owned());
        assert_eq!(found(cgroup, mountinfo), Some(own));
        let on_the_host = mountinfo.replace(" /kubepods/pod1/abc ", " / ");
        let own = (Version::One, "/sys/fs/cgroup/memory/kubepods/pod1/abc".to_owned());
        assert_eq!(found(cgroup, &on_the_host), Some(own));
    }

    #[test]
    fn without_any_it_is_unknown() {
        assert_eq!(found("", ""), None);
        assert_eq!(found("0::/\n", "1 0 0:29 / / ro - overlay overlay rw\n"), None);
        assert_eq!(found("nonsense", "nonsense - - -\n1 2 3\n"), None);
    }
}
