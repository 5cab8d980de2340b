//! The whole way: inputs in a store, submitted, staged, run, published, and the result verified.

use serde_json::{Value, json};

use crate::common::find;
use crate::kit::shell_image;
use crate::trial::{Trial, archive};

/// Shows what it found, in its output and in its log.
const SHOW: &str = r#"
set -eu
echo "searching for at most $HARNESS_BUDGET_SECONDS s"
echo "a line on standard error" >&2
cd "$HARNESS_SNAPSHOT"
find . -type f | sort | while read -r file; do echo "$file $(cat "$file")"; done > "$HARNESS_OUTPUT/snapshot"
cp "$HARNESS_MISSION" "$HARNESS_OUTPUT/mission"
if [ -n "${HARNESS_RESUME:-}" ]; then cat "$HARNESS_RESUME"/* > "$HARNESS_OUTPUT/resume"; fi
"#;

#[test]
fn an_experiment_goes_the_whole_way() {
    let ended = Trial::new("whole", shell_image(), &["sh", "-c", SHOW]).run();
    ended.assert(0, "succeeded", "succeeded");
    ended.keep("succeeded");
    assert_eq!(ended.trial.kit.end_of_job(&ended.job), "Complete");
    for step in ended.status["steps"].as_array().unwrap() {
        assert_eq!(step["state"], "succeeded", "{}", ended.story());
    }
    assert_eq!(ended.status["run_started"], "yes");

    let log = ended.logs("run");
    assert_eq!(log.code, Some(0), "{log}");
    assert!(log.stdout.contains("searching for at most 120 s\n"), "{log}");
    assert!(log.stdout.contains("a line on standard error\n"), "{log}");

    let archive = ended.archive();
    assert_eq!(archive.text("snapshot"), "./data/one first\n./data/two second\n");
    assert_eq!(archive.text("mission"), ended.trial.mission.to_string());
    assert_eq!(archive.run()["outcome"], "succeeded");
    assert_eq!(*find(archive.run(), "/report/ending/kind"), "exited");
    let tail = find(archive.run(), "/report/output_tail").as_str().unwrap();
    assert!(tail.contains("searching for at most 120 s"), "{tail}");

    // The same again finds what is there, and nothing runs twice.
    let again = ended.trial.kit.harness().submit(&ended.trial.sample);
    let receipt = again.expect(0, "already_submitted");
    assert_eq!(receipt["job"]["state"], "succeeded", "{again}");
}

/// What the output may hold besides files, and a name that would be two lines of a list.
const ODD: &str = "cd $HARNESS_OUTPUT; echo said > \"$(printf 'two\\nlines')\"; ln -s /etc/passwd link; \
                   ln -s .. up; mkfifo pipe; mknod device c 0 0; ln \"$(printf 'two\\nlines')\" hard";

#[test]
fn output_that_is_no_file_is_left_out_and_said() {
    let ended = Trial::shell("odd", ODD).run();
    ended.assert(0, "succeeded", "succeeded");
    let archive = ended.archive();
    let names: Vec<&str> = archive.output.iter().map(|(name, _)| name.as_str()).collect();
    // The first is the folder itself.
    assert_eq!(names, ["", "hard", "two\nlines"], "{}", ended.story());
    assert_eq!(archive.text("two\nlines"), "said\n");
    let left_out = find(archive.run(), "/output/left_out").as_array().unwrap();
    let told = |entry: &Value| (entry["name"].clone(), entry["reason"].clone());
    let left_out: Vec<_> = left_out.iter().map(told).collect();
    let expected = [
        ("device", "device"),
        ("link", "symbolic-link"),
        ("pipe", "pipe"),
        ("up", "symbolic-link"),
    ];
    let expected = expected.map(|(name, reason)| (json!(name), json!(reason)));
    assert_eq!(left_out, expected);
}

#[test]
fn a_resume_reaches_the_runner() {
    let mut trial = Trial::new("resume", shell_image(), &["sh", "-c", SHOW]);
    trial.set_input("resume", &archive(&[("state", b"half way")]));
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("resume"), "half way");
}
