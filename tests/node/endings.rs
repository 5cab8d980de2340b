//! Every way in which a runner can end, as `status`, the exit code and the published evidence tell it.

use harness_test_cluster::until;
use serde_json::{Value, json};

use crate::common::find;
use crate::common::situation::Taken;
use crate::kit::{PATIENCE, deep_learning_image, python_image};
use crate::trial::{Ended, Trial};

/// Allocates and touches memory until something ends it.
const ALLOCATE: &str = "
held = []
while True:
    held.append(bytearray(b'x') * (4 << 20))
";

/// Leaves a file, says that it has begun, and goes on for long.
const LONG: &str = "echo partial > $HARNESS_OUTPUT/partial; echo begun; sleep 600 & wait";

/// What the runner left is published although it did not succeed.
#[track_caller]
fn assert_published(ended: &Ended, category: &str) -> Value {
    ended.assert(7, "failed", category);
    assert_eq!(ended.trial.kit.end_of_job(&ended.job), "Failed");
    let archive = ended.archive();
    assert_eq!(archive.text("partial"), "partial\n");
    assert_eq!(archive.run()["outcome"], category);
    archive.run().clone()
}

#[test]
fn a_status_of_its_own_is_published_as_a_failure() {
    let script = "echo partial > $HARNESS_OUTPUT/partial; echo no result >&2; exit 3";
    let ended = Trial::shell("status", script).run();
    let run = assert_published(&ended, "runner-failed");
    assert_eq!(*find(&run, "/report/ending"), json!({"kind": "exited", "code": 3}));
    assert!(find(&run, "/report/output_tail").as_str().unwrap().contains("no result"));
    assert!(ended.sentence().contains('3'), "{}", ended.sentence());
    ended.keep("runner-failed");
}

#[test]
fn a_signal_of_its_own_is_told_apart() {
    let ended =
        Trial::shell("signal", "echo partial > $HARNESS_OUTPUT/partial; kill -SEGV $$").run();
    let run = assert_published(&ended, "runner-killed");
    assert_eq!(*find(&run, "/report/ending"), json!({"kind": "signalled", "signal": 11}));
    ended.keep("runner-killed");
}

#[test]
fn who_stays_over_budget_is_ended_and_published() {
    let ended = Trial::shell("budget", LONG).budget(3).run();
    assert_published(&ended, "budget-exceeded");
    ended.keep("budget-exceeded");
}

#[test]
fn want_of_memory_is_named() {
    let script = "echo partial > $HARNESS_OUTPUT/partial; exec python3 -c \"$0\"";
    let ended = Trial::new("memory", python_image(), &["sh", "-c", script, ALLOCATE]).run();
    assert_published(&ended, "out-of-memory");
    ended.keep("oom-run");
}

#[test]
fn the_death_of_everything_at_once_is_published() {
    let mut trial = Trial::shell("lost", LONG);
    let job = trial.submit();
    let container = trial.kit.container(&job, "run");
    assert!(until(PATIENCE, || trial.kit.log(&job, "run").contains("begun")));
    container.kill_all().unwrap();
    let ended = trial.wait(job);
    ended.assert(7, "failed", "runner-killed");
    let archive = ended.archive();
    assert_eq!(archive.text("partial"), "partial\n");
    assert_eq!(*find(archive.run(), "/report/ending/kind"), "lost");
}

#[test]
fn a_cancel_ends_the_runner_and_publishes_what_there_is() {
    let mut trial = Trial::shell("cancel", LONG);
    let job = trial.submit();
    trial.kit.container(&job, "run");
    assert!(until(PATIENCE, || trial.kit.log(&job, "run").contains("begun")));
    let cancel = trial.kit.harness().run(&["cancel", &job, "--yes"]);
    assert_eq!(cancel.code, Some(0), "{cancel}");
    let ended = trial.wait(job);
    ended.assert(7, "cancelled", "cancelled");
    ended.keep("cancelled");
    let archive = ended.archive();
    assert_eq!(archive.run()["outcome"], "stopped");
    assert_eq!(archive.text("partial"), "partial\n");
}

/// It deletes the pod, and somebody else could have.
#[test]
fn the_deadline_of_the_job_is_told_from_a_deletion_by_hand() {
    let script = "trap '' TERM; echo partial > $HARNESS_OUTPUT/partial; echo begun; sleep 600";
    let mut trial = Trial::shell("overdue", script);
    let job = trial.submit();
    trial.kit.container(&job, "run");
    assert!(until(PATIENCE, || trial.kit.log(&job, "run").contains("begun")));
    trial.kit.patch("jobs", &job, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    trial.kit.pod_when(&job, |pod| pod["metadata"]["deletionTimestamp"].is_string());
    Taken::of(&trial.kit, &job).keep("job-deadline-running", "running", "deadline");
    let ended = trial.wait(job);
    assert_eq!(ended.waited.code, Some(7), "{}", ended.story());
    let archive = ended.published();
    assert_eq!(archive.run()["outcome"], "stopped");
    assert_eq!(archive.text("partial"), "partial\n");
}

#[test]
fn an_image_of_deep_learning_runs_unchanged() {
    let script = r#"model > "$HARNESS_OUTPUT/model"; echo "$USER $HOME $XDG_CACHE_HOME" > "$HARNESS_OUTPUT/who"
        mkdir -p "$XDG_CACHE_HOME/torch" && echo cached > "$XDG_CACHE_HOME/torch/x" && echo t > /tmp/t && ls "$HOME/tmp/t""#;
    let ended = Trial::new("deep", deep_learning_image(), &["sh", "-c", script]).run();
    ended.assert(0, "succeeded", "succeeded");
    let archive = ended.archive();
    assert_eq!(archive.text("model"), "12.8.1 as 65532 in /harness/scratch\n");
    assert_eq!(archive.text("who"), "harness /harness/scratch /harness/scratch/.cache\n");
}

#[test]
fn python_finds_a_user_and_a_home() {
    let script = "import getpass, os, tempfile; folder = os.environ['HARNESS_OUTPUT']
with open(folder + '/who', 'w') as file: print(getpass.getuser(), os.path.expanduser('~'), tempfile.gettempdir(), file=file)";
    let ended = Trial::new("python", python_image(), &["python3", "-c", script]).run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("who"), "harness /harness/scratch /harness/scratch/tmp\n");
}

#[test]
fn a_flood_of_output_is_no_harm() {
    let script = "yes 0123456789012345678901234567890123456789012345678 | head -c 100000000; echo the end; touch $HARNESS_OUTPUT/done";
    let ended = Trial::shell("flood", script).run();
    ended.assert(0, "succeeded", "succeeded");
    let archive = ended.archive();
    let tail = find(archive.run(), "/report/output_tail").as_str().unwrap();
    assert!(tail.ends_with("the end\n"), "{tail}");
    assert_eq!(*find(archive.run(), "/report/output_bytes"), 100_000_008);
}
