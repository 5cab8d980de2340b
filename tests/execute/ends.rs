//! Every way in which a runner can end.

use std::fs;

use harness_test_store::{Action, Answer, Requests};

use crate::kit::{Trial, is_running, store, wait_for_the_end_of};

#[test]
fn a_runner_that_failed_is_published() {
    let trial = Trial::new();
    let document =
        trial.shell("echo half > \"$HARNESS_OUTPUT/half\"; exit 3").expect(21, "runner-failed");
    assert_eq!(document["published"], true);
    assert_eq!(trial.published_outcome(), "runner-failed");
    assert_eq!(trial.published_file("half").as_deref(), Some("half\n"));
    assert!(trial.left().is_empty());
}

#[test]
fn a_program_that_is_not_there_is_said() {
    let trial = Trial::new();
    let ended = trial.end(trial.start(&["no-such-program"]));
    let document = ended.expect(20, "no-runner");
    assert!(document["detail"].as_str().unwrap().contains("no-such-program"), "{document:#}");
    assert_eq!(trial.published_outcome(), "no-runner");
}

#[test]
fn the_budget_is_hard() {
    let trial = Trial::new().budget(2);
    let mark = format!("{}-budget", trial.attempt);
    let script = format!("(exec -a {mark} sleep 1000) & wait");
    let document = trial.end(trial.start(&["bash", "-c", &script])).expect(23, "budget-exceeded");
    assert_eq!(document["published"], true);
    assert!(!is_running(&mark));
}

#[test]
fn what_a_runner_leaves_behind_ends_with_it() {
    let trial = Trial::new();
    let mark = format!("{}-daemon", trial.attempt);
    let script = format!(
        "setsid bash -c 'exec -a {mark} sleep 1000' < /dev/null > /dev/null 2>&1 & sleep 1"
    );
    trial.end(trial.start(&["bash", "-c", &script])).expect(0, "succeeded");
    assert!(!is_running(&mark));
}

#[test]
fn a_runner_that_kills_run_does_not_outlive_it() {
    let trial = Trial::new();
    let mark = format!("{}-orphan", trial.attempt);
    let script = format!(
        "echo early > \"$HARNESS_OUTPUT/early\"; kill -9 $PPID; sleep 3; echo late > \"$HARNESS_OUTPUT/late\"; exec -a {mark} sleep 1000"
    );
    let document = trial.end(trial.start(&["bash", "-c", &script])).expect(22, "runner-killed");
    assert_eq!(document["published"], true);
    assert!(!is_running(&mark));
    assert_eq!(trial.published_file("early").as_deref(), Some("early\n"));
    assert_eq!(trial.published_file("late"), None);
}

#[test]
fn a_runner_that_kills_everything_publishes_nothing() {
    let trial = Trial::new();
    let mark = format!("{}-last", trial.attempt);
    // `run` notices that its connection has ended, and ends the runner.
    let script = format!(
        "parent=$(cut -d' ' -f4 /proc/$PPID/stat); kill -9 $parent; exec -a {mark} sleep 1000"
    );
    let child = trial.start(&["bash", "-c", &script]);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), None, "{ended:?}");
    wait_for_the_end_of(&mark);
    assert!(!trial.is_published());
}

#[test]
fn somebody_else_s_result_is_not_overwritten_and_ours_is_kept() {
    let trial = Trial::new();
    let put = Requests::new("PUT", &format!("/{}", trial.result()));
    store().when(put, Action::Replace(Answer::error(412, "PreconditionFailed")));
    let ended = trial.shell("echo ours > \"$HARNESS_OUTPUT/ours\"");
    let document = ended.expect(11, "already-published");
    assert_eq!(document["published"], false);
    // What ran and is nowhere else stays where it is.
    let folder = document["folder"].as_str().unwrap();
    assert_eq!(trial.left().len(), 1);
    assert_eq!(fs::read_to_string(format!("{folder}/output/ours")).unwrap(), "ours\n");
    assert!(fs::exists(format!("{folder}/spool/result.tar.gz")).unwrap());
    assert!(ended.stderr.contains("is kept"), "{ended:#?}");
}

#[test]
fn a_lost_answer_is_found_out() {
    let trial = Trial::new();
    let put = Requests::new("PUT", &format!("/{}", trial.result())).nth(1);
    store().when(put, Action::LoseResponse);
    let document = trial.shell("echo 1 > \"$HARNESS_OUTPUT/one\"").expect(0, "succeeded");
    assert_eq!(document["published"], true);
    assert_eq!(trial.published_outcome(), "succeeded");
}

#[test]
fn much_output_neither_stops_it_nor_is_lost() {
    let trial = Trial::new();
    let ended = trial.shell("yes 0123456789abcdef | head -n 500000; echo the end");
    ended.expect(0, "succeeded");
    assert_eq!(ended.stderr.matches("0123456789abcdef\n").count(), 500_000);
    assert!(ended.stderr.contains("the end\n"));
}
