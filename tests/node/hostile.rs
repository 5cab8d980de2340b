//! Runners on a real kubelet that do what nobody asked them for.

use crate::common::find;
use crate::kit::shell_image;
use crate::trial::Trial;

/// What is left in the container's message is no more than a hint, whatever it is.
#[test]
fn a_success_is_one_whatever_stands_in_the_message() {
    let script =
        "head -c 1000000 /dev/urandom > /dev/termination-log; echo done > $HARNESS_OUTPUT/done";
    let ended = Trial::new("message", shell_image(), &["sh", "-c", script]).run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
}

#[test]
fn who_ignores_term_is_killed_with_all_that_it_started() {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" & \
                  echo partial > $HARNESS_OUTPUT/partial; while :; do sleep 1; done";
    let mut trial = Trial::new("stubborn", shell_image(), &["sh", "-c", script]).budget(3);
    let job = trial.submit();
    let container = trial.kit.container(&job, "run");
    let ended = trial.wait(job);
    ended.assert(7, "failed", "budget-exceeded");
    let archive = ended.archive();
    assert_eq!(archive.text("partial"), "partial\n");
    let wall = find(archive.run(), "/report/wall_milliseconds").as_u64().unwrap();
    assert!((13_000..30_000).contains(&wall), "3 s of budget, 10 s of grace: {wall} ms");
    assert!(container.processes().is_empty(), "{:?}", container.processes());
}
