//! Images that take longer to pull than a pod may live: what a node that pulls does not see, `status` says, and what it
//! starts too late does nothing.

use std::net::TcpListener;
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::{ADDRESS, SlowRegistry, node, until};
use serde_json::{Value, json};

use crate::common::in_parallel;
use crate::common::situation::Taken;
use crate::kit::{PATIENCE, harness_image, shell_image};
use crate::trial::{Ended, Trial, store};

/// Until the test has seen enough.
const LATE: Duration = Duration::from_mins(10);

/// An experiment by `short-v1`, whose pod may live for 65 s and whose Job for 126, with one image that does not come.
struct Late {
    trial: Trial,
    registry: SlowRegistry,
    /// Where the runner would be heard.
    runner: TcpListener,
}

impl Late {
    fn new(which: &str) -> Self {
        // This thread is in its network then.
        let node = node();
        let runner = TcpListener::bind((ADDRESS, 0)).unwrap();
        runner.set_nonblocking(true).unwrap();
        let script = format!("echo ran | nc {ADDRESS} {}", runner.local_addr().unwrap().port());
        let mut trial = Trial::shell("late", &script).profile("short-v1").budget(5);
        let host = format!("{}.test", trial.kit.namespace.name);
        let registry = node.slow_registry(&host, LATE).unwrap();
        let base = if which == "harness" { harness_image() } else { shell_image() };
        // Its content must not be on the node already.
        let image = node.image("late").base(base);
        let mut image =
            image.file("unique", &trial.kit.namespace.uid, 0o644).unwrap().push().unwrap();
        image.reference = image.at(&host);
        if which == "harness" {
            trial.harness_image = Some(image);
        } else {
            trial.sample.value["image"] = image.reference.into();
        }
        Self { trial, registry, runner }
    }

    /// Waits until `status` says something.
    #[track_caller]
    fn waits_for(&self, job: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut status = Value::Null;
        let met = until(PATIENCE, || {
            SystemClock.sleep(Duration::from_secs(1));
            status = self.trial.status(job);
            is_it(&status)
        });
        assert!(met, "{what}: {status:#}\n{}", self.trial.kit.kubectl(&["describe", "pods"]));
        status
    }
}

fn category(status: &Value) -> &str {
    status["diagnosis"]["category"].as_str().unwrap()
}

/// The kubelet sees neither the pod's deadline nor its deletion before a pull has ended.
#[test]
fn an_image_that_comes_after_the_deadline_starts_nothing() {
    in_parallel(["harness", "runner"], |which| {
        let mut late = Late::new(which);
        let job = late.trial.submit();

        let is_overdue = |status: &Value| !status["remarks"].as_array().unwrap().is_empty();
        let status = late.waits_for(&job, "the pod's deadline", is_overdue);
        assert_eq!(category(&status), "pulling", "{status:#}");
        if which == "runner" {
            Taken::of(&late.trial.kit, &job).keep("pulling-too-long", "staging", "pulling");
        }
        let remark = status["remarks"][0].as_str().unwrap();
        assert!(remark.starts_with("the pod's deadline passed "), "{remark}");

        let is_deleted = |status: &Value| category(status) != "pulling";
        let status = late.waits_for(&job, "the Job's deadline", is_deleted);
        assert_eq!(category(&status), "deadline", "{status:#}");
        let sentence = "the Job's deadline passed, and its pod ends once the node has done with pulling an image";
        assert_eq!(status["diagnosis"]["sentence"], sentence);
        assert_eq!(late.trial.kit.ending(&job), None);
        if which == "runner" {
            Taken::of(&late.trial.kit, &job).keep("job-deadline-pulling", "staging", "deadline");
        }

        late.registry.hurry();
        let Late { trial, runner, .. } = late;
        let ended: Ended = trial.wait(job);
        let kit = &ended.trial.kit;
        assert_eq!(ended.waited.code, Some(7), "{}", ended.story());
        // Until then it may tell what `stage` said last.
        assert!(until(PATIENCE, || kit.list("pods").is_empty()), "{}", ended.story());
        let status = ended.trial.status(&ended.job);
        assert_eq!(
            (&status["phase"], category(&status), &status["run_started"]),
            (&json!("failed"), "deadline", &json!("unknown")),
            "{status:#}"
        );
        assert_eq!(ended.result(), None);
        let was_heard = runner.accept().map(|_| ()).map_err(|error| error.kind());
        assert_eq!(was_heard, Err(std::io::ErrorKind::WouldBlock), "{}", ended.story());
        let snapshot = ended.trial.object("snapshot");
        let was_fetched = store().exchanges().iter().any(|one| one.path.ends_with(&snapshot));
        assert_eq!(was_fetched, which == "runner", "{}", ended.story());
    });
}
