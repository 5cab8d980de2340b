//! Every way in which a runner can end, and everything of it with it.

use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness::execution::Ending;
use rustix::process::Signal;

use crate::kit::{Pod, Publish, is_running, since, wait_for};

/// What a runner has after TERM; whoever waits for it in vain takes longer.
const GRACE: Duration = Duration::from_secs(10);

#[test]
fn a_status_is_reported_as_it_is() {
    for code in [1, 3, 137, 255] {
        let ended = Pod::new().shell(&format!("exit {code}"));
        ended.expect(21, &Ending::Exited { code });
    }
}

#[test]
fn a_signal_is_reported_with_its_number() {
    for signal in [9, 11, 15] {
        let ended = Pod::new().contained().shell(&format!("kill -{signal} $$"));
        ended.expect(22, &Ending::Signalled { signal });
    }
}

#[test]
fn the_budget_ends_with_term_and_time_to_tidy_up() {
    let pod = Pod::new().budget(1);
    let begun = SystemClock.boottime();
    let ended = pod.shell(
        "trap 'sleep 0.5; echo saved > \"$HARNESS_OUTPUT/state\"; exit 0' TERM; while :; do sleep 0.1; done",
    );
    let report = ended.expect(23, &Ending::BudgetExceeded);
    assert!(report.wall_milliseconds >= 1500, "{report:?}");
    assert_eq!(pod.output("state"), "saved\n");
    assert!(
        since(begun) < Duration::from_secs(1) + GRACE,
        "nobody waits for a grace that nobody needs"
    );
}

/// The shell ends at once with TERM; what it waits for does not.
#[test]
fn the_grace_is_for_the_whole_group() {
    let pod = Pod::new().budget(1);
    let worker = "trap 'sleep 1; echo saved > \"$HARNESS_OUTPUT/state\"; exit' TERM; while :; do sleep 0.1; done";
    let script = "sh -c \"$WORKER\" & wait";
    let pod = pod.image_variable("WORKER", worker);
    pod.shell(script).expect(23, &Ending::BudgetExceeded);
    assert_eq!(pod.output("state"), "saved\n");
}

#[test]
fn who_ignores_term_is_killed_after_the_grace() {
    for pod in [Pod::new(), Pod::new().contained()] {
        let pod = pod.budget(1);
        let begun = SystemClock.boottime();
        let ended = pod.shell("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 471' & sleep 472");
        ended.expect(23, &Ending::BudgetExceeded);
        let taken = since(begun);
        assert!(
            taken > Duration::from_secs(1) + GRACE && taken < Duration::from_mins(1),
            "{taken:?}"
        );
        assert!(!is_running("sleep 471") && !is_running("sleep 472"));
    }
}

#[test]
fn what_escapes_the_group_ends_with_the_runner() {
    for (pod, mark) in [(Pod::new(), "473"), (Pod::new().contained(), "474")] {
        let begun = SystemClock.boottime();
        // A daemon as in the books: a new session, its parent gone, its streams elsewhere; and one that keeps the pipe.
        let ended = pod.shell(&format!(
            "(setsid sh -c '(trap \"\" TERM HUP; sleep {mark}) & ' </dev/null >/dev/null 2>&1 &) ; \
             (setsid sleep {mark} &); sleep 0.3; echo done"
        ));
        ended.expect(0, &Ending::Exited { code: 0 });
        assert_eq!(ended.said(), "done\n");
        assert!(!is_running(&format!("sleep {mark}")));
        assert!(since(begun) < GRACE);
    }
}

#[test]
fn a_request_to_stop_reaches_the_runner() {
    for signal in [Signal::TERM, Signal::INT] {
        let pod = Pod::new();
        let started = pod.start(&[
            "sh",
            "-c",
            "trap 'echo saved > \"$HARNESS_OUTPUT/state\"; exit 7' TERM; : > \"$HARNESS_OUTPUT/up\"; while :; do sleep 0.1; done",
        ]);
        wait_for(&pod.places.output().join("up"));
        started.signal(signal);
        let ended = pod.finish(started);
        ended.expect(27, &Ending::Stopped);
        assert_eq!(pod.output("state"), "saved\n");
    }
}

#[test]
fn a_second_request_does_not_wait() {
    let pod = Pod::new();
    let started =
        pod.start(&["sh", "-c", "trap '' TERM; : > \"$HARNESS_OUTPUT/up\"; exec sleep 475"]);
    wait_for(&pod.places.output().join("up"));
    let begun = SystemClock.boottime();
    started.signal(Signal::TERM);
    SystemClock.sleep(Duration::from_millis(300));
    started.signal(Signal::TERM);
    pod.finish(started).expect(27, &Ending::Stopped);
    assert!(since(begun) < GRACE);
    assert!(!is_running("sleep 475"));
}

#[test]
fn without_publish_there_is_nothing_to_run_for() {
    let pod = Pod::new().publish(Publish::Dies("up"));
    let ended = pod.shell(": > \"$HARNESS_OUTPUT/up\"; exec sleep 476");
    ended.expect_refusal(29, "publish ended before it knew the runner's end");
    assert!(!is_running("sleep 476"));
}
