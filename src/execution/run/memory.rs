//! The memory of this container as its control group tells it: limit, most at once, and processes that the kernel killed.
//!
//! What is not told is unknown, never an error: sandboxed runtimes show less, and a laptop has no limit.
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files>,
//! <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html>

use std::fs;
use std::path::PathBuf;

use super::mounts::{self, Version};

/// No machine has as much: version 1 writes a number near 2^63 for "no limit".
const NO_LIMIT: u64 = 1 << 60;

/// The control group of this process.
#[derive(Debug)]
pub(super) struct Memory {
    version: Version,
    folder: PathBuf,
    killed_before: u64,
    limit: Option<u64>,
    is_of_container: bool,
}

impl Memory {
    /// The group that this process is in, where it is told.
    pub(super) fn of_this_container() -> Option<Self> {
        let read = |path| fs::read_to_string(path).ok();
        let (cgroup, mountinfo) = (read("/proc/self/cgroup")?, read("/proc/self/mountinfo")?);
        let (version, folder) = mounts::memory_folder(&cgroup, &mountinfo)?;
        Some(Self::at(version, folder, rustix::process::getpid().is_init()))
    }

    fn at(version: Version, folder: PathBuf, is_of_container: bool) -> Self {
        let mut memory = Self { version, folder, killed_before: 0, limit: None, is_of_container };
        memory.killed_before = memory.killed().unwrap_or(0);
        let limit = match version {
            Version::One => memory.number("memory.limit_in_bytes"),
            // `max`, which is no number, where there is none.
            Version::Two => memory.number("memory.max"),
        };
        memory.limit = limit.filter(|limit| *limit < NO_LIMIT);
        memory
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }

    /// A line `name number` of a file of such lines.
    fn entry(&self, file: &str, name: &str) -> Option<u64> {
        entry(&self.read(file)?, name)
    }

    fn killed(&self) -> Option<u64> {
        match self.version {
            Version::One => self.entry("memory.oom_control", "oom_kill"),
            Version::Two => self.entry("memory.events", "oom_kill"),
        }
    }

    /// Whether the kernel killed a process of the group for want of memory since this was made.
    pub(super) fn has_killed(&self) -> bool {
        self.killed().is_some_and(|killed| killed > self.killed_before)
    }

    /// The most bytes that were used at once. Outside of a container the group is not the runner's alone.
    pub(super) fn peak(&self) -> Option<u64> {
        if !self.is_of_container {
            return None;
        }
        match self.version {
            Version::One => self.number("memory.max_usage_in_bytes"),
            // From Linux 5.19 on.
            Version::Two => self.number("memory.peak"),
        }
    }

    /// Whether the kernel ends every process of the group, this one too, when memory runs out: what the kubelet asks for
    /// with version 2 (<https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/>, `singleProcessOOMKill`).
    pub(super) fn takes_all_along(&self) -> bool {
        self.version == Version::Two
            && self.limit.is_some()
            && self.number("memory.oom.group") == Some(1)
    }

    /// Whether so little is left that the kernel will kill next: less than a 256th of the limit, after everything that
    /// could be given back. Ending the runner here leaves somebody to say why.
    pub(super) fn is_full(&self) -> bool {
        let Some(limit) = self.limit else { return false };
        let (Some(used), Some(statistics)) =
            (self.number("memory.current"), self.read("memory.stat"))
        else {
            return false;
        };
        // Most of the time a look at one number is enough.
        let line = limit - limit / 256;
        used >= line && used.saturating_sub(reclaimable(&statistics)) >= line
    }
}

/// What the kernel can take back: files that are on a disk, and its own caches.
fn reclaimable(statistics: &str) -> u64 {
    let of = |name| entry(statistics, name).unwrap_or(0);
    of("inactive_file") + of("active_file") + of("slab_reclaimable")
}

fn entry(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, number) = line.split_once(' ')?;
        if found == name { number.trim().parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Group(tempfile::TempDir);

    impl Group {
        fn new(files: &[(&str, &str)]) -> Self {
            let group = Self(tempfile::tempdir().unwrap());
            group.set(files);
            group
        }

        fn set(&self, files: &[(&str, &str)]) {
            for (name, text) in files {
                fs::write(self.0.path().join(name), text).unwrap();
            }
        }

        fn memory(&self, version: Version) -> Memory {
            Memory::at(version, self.0.path().to_owned(), true)
        }
    }

    #[test]
    fn version_2_tells_kills_and_peak() {
        let group = Group::new(&[
            ("memory.events", "low 0\nhigh 0\nmax 10\noom 1\noom_kill 1\noom_group_kill 0\n"),
            ("memory.max", "1073741824\n"),
            ("memory.peak", "900000000\n"),
            ("memory.oom.group", "1\n"),
        ]);
        let memory = group.memory(Version::Two);
        assert!(!memory.has_killed(), "what was before does not count");
        assert_eq!(memory.peak(), Some(900_000_000));
        assert!(memory.takes_all_along());
        group.set(&[("memory.events", "oom 2\noom_kill 2\n")]);
        assert!(memory.has_killed());
    }

    #[test]
    fn full_is_what_cannot_be_given_back() {
        let group = Group::new(&[
            ("memory.max", "1073741824\n"),
            ("memory.oom.group", "1\n"),
            ("memory.current", "1073000000\n"),
            ("memory.stat", "anon 500000000\ninactive_file 400000000\nactive_file 100000000\n"),
        ]);
        let memory = group.memory(Version::Two);
        assert!(!memory.is_full(), "half of it is the cache of files");
        group.set(&[("memory.stat", "anon 1072000000\ninactive_file 0\nactive_file 0\n")]);
        assert!(memory.is_full());
        group.set(&[("memory.current", "1060000000\n")]);
        assert!(!memory.is_full());
    }

    #[test]
    fn version_1_tells_kills_and_peak() {
        let group = Group::new(&[
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.max_usage_in_bytes", "123\n"),
        ]);
        let memory = group.memory(Version::One);
        assert_eq!((memory.limit, memory.peak()), (None, Some(123)));
        assert!(!memory.has_killed() && !memory.takes_all_along());
        group.set(&[("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")]);
        assert!(memory.has_killed());
    }

    #[test]
    fn what_is_not_told_is_unknown() {
        for version in [Version::One, Version::Two] {
            let memory = Group::new(&[]).memory(version);
            assert!(!memory.has_killed() && !memory.takes_all_along() && !memory.is_full());
            assert_eq!((memory.peak(), memory.limit), (None, None));
        }
        let nonsense = Group::new(&[("memory.events", "oom_kill many\n"), ("memory.max", "max\n")]);
        let memory = nonsense.memory(Version::Two);
        assert!(!memory.has_killed());
        assert_eq!(memory.limit, None);
    }
}
