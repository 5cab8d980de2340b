//! A spool that is full: it is a small file system of its own, in a mount namespace that ends with the step.

use std::process::Command;

use harness::execution::{Category, Ending};
use serde_json::Value;

use crate::kit::{Pod, assert_ended, hello, noise, started, store};

const FINE: Ending = Ending::Exited { code: 0 };

/// A spool of so many bytes, of which `filled` are taken; without root in a user namespace.
fn with_small_spool(pod: &Pod, bytes: u32, filled: u32) -> Command {
    let script = "mount -t tmpfs -o \"size=$1\" tmpfs \"$2\" && head -c \"$3\" /dev/zero >\"$2/other\" && shift 3 && exec \"$@\"";
    let spool = pod.path("spool").display().to_string();
    let (bytes, filled) = (bytes.to_string(), filled.to_string());
    let mut before = vec!["--mount", "sh", "-c", script, "sh", &bytes, &spool, &filled];
    if !rustix::process::getuid().is_root() {
        before.splice(0..0, ["--user", "--map-root-user"]);
    }
    pod.wrapped("unshare", &before)
}

fn with_output(bytes: usize) -> Pod {
    let pod = Pod { output_size: "4Mi".to_owned(), ..Pod::new() };
    std::fs::write(pod.path("output/noise"), noise(bytes)).unwrap();
    pod
}

#[test]
fn output_that_does_not_fit_leaves_its_evidence() {
    let pod = with_output(2 << 20);
    let ended = pod.run_as(&mut with_small_spool(&pod, 1 << 20, 0), FINE);
    assert_ended(
        &ended,
        Category::Environment,
        "could not be packed into the spool: No space left",
    );
    let verdict = pod.published();
    let run = &verdict["evidence"]["predicate"]["harness_run"];
    assert_eq!(
        (&run["outcome"], &run["output"]["archived"]),
        (&"environment".into(), &Value::Bool(false))
    );
    // A failure of the runner is the more telling one.
    let pod = with_output(2 << 20);
    let ending = Ending::Exited { code: 3 };
    let ended = pod.run_as(&mut with_small_spool(&pod, 1 << 20, 0), ending);
    assert_ended(&ended, Category::RunnerFailed, "ended with exit status 3");
    assert_eq!(
        pod.published()["evidence"]["predicate"]["harness_run"]["output"]["archived"],
        false
    );
}

#[test]
fn a_spool_without_room_for_the_evidence_says_so() {
    // One page for the marker, and none for the archive.
    let pod = with_output(1000);
    let ended = pod.run_as(&mut with_small_spool(&pod, 8192, 4096), FINE);
    assert_ended(
        &ended,
        Category::PublicationFailed,
        "not even the evidence could be written to the spool: No space left",
    );
    assert!(ended.reason.remedy.contains("the node's disk"), "{:?}", ended.reason);
    assert_eq!(store().get(&pod.object).unwrap(), None);
}

#[test]
fn a_spool_without_room_for_the_marker_lets_nothing_start() {
    let pod = with_output(1000);
    let child = started(&mut with_small_spool(&pod, 4096, 4096));
    let mut connection = pod.connect();
    let answer = hello(&mut connection);
    assert!(answer.contains("refused"), "{answer}");
    let ended = pod.end(child);
    assert_ended(&ended, Category::Environment, "the start could not be recorded");
    assert!(ended.reason.sentence.contains("No space left"), "{:?}", ended.reason);
}
