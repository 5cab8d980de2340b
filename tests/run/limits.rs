//! Memory, bytes and files: a limit is a diagnosis.

use std::fs;
use std::path::PathBuf;

use harness::clock::{Clock as _, SystemClock};
use harness::execution::Ending;
use harness::execution::report::Limit;

use crate::kit::{Pod, is_running};

#[test]
fn too_many_bytes_are_said_before_the_kubelet_looks() {
    for (folder, limit) in
        [("$HARNESS_OUTPUT", Limit::OutputBytes), ("$TMPDIR", Limit::ScratchBytes)]
    {
        let pod = Pod::new().contained().size("1Mi");
        let ended =
            pod.shell(&format!("head -c 2000000 /dev/zero > \"{folder}/large\"; exec sleep 477"));
        ended.expect(25, &Ending::LimitExceeded { limit });
        assert!(!is_running("sleep 477"));
    }
}

/// A volume of 1Mi has room for ten thousand; the runner would make a million.
#[test]
fn too_many_files_are_said() {
    let script = "import os\nos.chdir(os.environ['HARNESS_OUTPUT'])\n\
        for number in range(1000000): os.symlink('/', str(number))\n\
        import time; time.sleep(60)";
    let ended = Pod::new().size("1Mi").run(&["/usr/bin/python3", "-c", script]);
    ended.expect(25, &Ending::LimitExceeded { limit: Limit::OutputEntries });
}

#[test]
fn what_lies_elsewhere_or_cannot_be_read_is_not_counted() {
    let pod = Pod::new().contained().size("1Mi");
    let ended = pod.shell(
        "cd \"$HARNESS_OUTPUT\"; ln -s / root; ln -s . round; mkdir shut; echo x > shut/x; chmod 0 shut; \
         mkfifo pipe; truncate -s 1G holes; sleep 2.5",
    );
    ended.expect(0, &Ending::Exited { code: 0 });
    fs::set_permissions(
        pod.places.output().join("shut"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
}

/// A control group with a limit of 64 MiB, of whichever version this machine has; removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Self {
        let one = PathBuf::from("/sys/fs/cgroup/memory");
        let (parent, limit) = if one.is_dir() {
            (one, "memory.limit_in_bytes")
        } else {
            let root = PathBuf::from("/sys/fs/cgroup");
            fs::write(root.join("cgroup.subtree_control"), "+memory").unwrap();
            (root, "memory.max")
        };
        let group = Self(parent.join(format!("harness-test-{name}-{}", std::process::id())));
        fs::create_dir(&group.0).unwrap_or_else(|error| panic!("{}: {error}", group.0.display()));
        fs::write(group.0.join(limit), "67108864").unwrap();
        group
    }

    fn join(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.0.display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process may be gone a moment later than its exit is seen.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            SystemClock.sleep(std::time::Duration::from_millis(20));
        }
    }
}

const FILL: &str = "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1";

#[test]
fn want_of_memory_is_told_from_other_kills() {
    let group = Group::new("runner");
    let pod = Pod::new().contained().before(group.join());
    let ended = pod.run(&["/usr/bin/python3", "-c", FILL]);
    let report = ended.expect(24, &Ending::OutOfMemory);
    let peak = report.peak_memory_bytes.unwrap();
    assert!((32 << 20..=64 << 20).contains(&peak), "{peak}");
    // A kill of its own in the same group is none.
    let pod = Pod::new().contained().before(group.join());
    pod.shell("kill -9 $$").expect(22, &Ending::Signalled { signal: 9 });
}

#[test]
fn a_child_that_was_killed_for_want_of_memory_explains_the_runners_failure() {
    let group = Group::new("child");
    let pod = Pod::new().contained().before(group.join()).image_variable("FILL", FILL);
    let ended = pod.shell("/usr/bin/python3 -c \"$FILL\"; echo $?; exit 5");
    ended.expect(24, &Ending::OutOfMemory);
    assert_eq!(ended.said(), "137\n");
    let pod = Pod::new().contained().before(group.join()).image_variable("FILL", FILL);
    let ended = pod.shell("/usr/bin/python3 -c \"$FILL\"; exit 0");
    ended.expect(0, &Ending::Exited { code: 0 });
}
