//! Volumes and memory that are used up: a diagnosis by harness, never an eviction by the node.

use serde_json::Value;

use crate::common::{find, in_parallel};
use crate::kit::{python_image, shell_image};
use crate::trial::{Trial, archive};

/// Volumes of the profile `store-v1`: 32 MiB of output, 64 MiB of scratch.
const FULL: [(&str, &str); 4] = [
    ("output-bytes", "cat /dev/zero > $HARNESS_OUTPUT/large; sleep 600"),
    ("scratch-bytes", "cat /dev/zero > /tmp/large; sleep 600"),
    (
        "output-entries",
        "cd $HARNESS_OUTPUT; mkdir -p a/b; i=0; while :; do i=$((i+1)); : > a/b/$i; done",
    ),
    ("scratch-entries", "cd /tmp; i=0; while :; do i=$((i+1)); : > $i; done"),
];

fn assert_was_not_evicted(pod: &Value) {
    assert_eq!(pod["status"]["reason"], Value::Null, "{pod:#}");
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|one| one["type"] != "DisruptionTarget"), "{pod:#}");
}

#[test]
fn who_fills_a_volume_is_ended_before_the_node_evicts_it() {
    in_parallel(FULL, |(limit, script)| {
        let ended = Trial::new("full", shell_image(), &["sh", "-c", script]).run();
        ended.assert(7, "failed", "limit-exceeded");
        assert_was_not_evicted(&ended.trial.kit.pod_of(&ended.job));
        let archive = ended.archive();
        assert_eq!(*find(archive.run(), "/report/ending/limit"), limit, "{}", ended.story());
    });
}

#[test]
fn inputs_that_unpack_to_more_than_their_volume_are_refused() {
    let mut trial = Trial::new("inflated", shell_image(), &["true"]);
    trial.set_input("snapshot", &archive(&[("zeros", &vec![0; 100 << 20])]));
    let ended = trial.run();
    ended.assert(7, "failed", "inputs-too-large");
    assert_eq!(ended.status["run_started"], "never", "{}", ended.story());
    assert_was_not_evicted(&ended.trial.kit.pod_of(&ended.job));
    assert_eq!(ended.result(), None);
}

/// Allocates and touches more than there is.
const ALLOCATE: &str = "held = [bytearray(b'x') * (4 << 20) for _ in range(100)]";

/// Whether control groups are those of version 2.
fn has_unified_groups() -> bool {
    std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists()
}

/// The limit of `store-v1`.
const MEMORY: u64 = 96 << 20;

#[test]
fn memory_is_told_as_the_kernel_counts_it() {
    let ended = Trial::new("peak", python_image(), &["python3", "-c", ALLOCATE]).run();
    ended.assert(7, "failed", "out-of-memory");
    let archive = ended.archive();
    let peak = find(archive.run(), "/report/peak_memory_bytes");
    match peak.as_u64() {
        Some(peak) => assert!((MEMORY / 10 * 9..=MEMORY).contains(&peak), "{peak} of {MEMORY}"),
        // Version 2 has it from Linux 5.19 on.
        None => assert!(has_unified_groups(), "version 1 tells the peak"),
    }
    let milliseconds = find(archive.run(), "/report/cpu_milliseconds").as_u64();
    assert!(milliseconds.is_some_and(|milliseconds| milliseconds > 0), "{}", ended.story());
}

/// Where the kernel ends single processes, a runner may get along without one of them.
#[test]
fn a_runner_that_survives_want_of_memory_may_succeed() {
    let script = "python3 -c \"$0\" && exit 9; echo survived > $HARNESS_OUTPUT/survived";
    let ended = Trial::new("survivor", python_image(), &["sh", "-c", script, ALLOCATE]).run();
    if has_unified_groups() {
        ended.assert(7, "failed", "out-of-memory");
    } else {
        ended.assert(0, "succeeded", "succeeded");
        assert_eq!(ended.archive().text("survived"), "survived\n");
    }
}
