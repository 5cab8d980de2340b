//! `status`, `--wait`, `--watch` and `list` against a real API server, as it restarts and as objects come and go.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::fault::{Action, FaultProxy, Requests};
use harness_test_cluster::{ADMIN_CONTEXT, until};
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::{Place, Run, Sample, command, find};

fn dispatch(place: &Place, arguments: &[&str], proxy: Option<&FaultProxy>) -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_harness"));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .args(["prediction", "dispatch"])
        .args(arguments)
        .args(["--context", ADMIN_CONTEXT, "-n", &place.namespace.name, "--kubeconfig"])
        .arg(proxy.map_or_else(|| place.cluster.kubeconfig(), FaultProxy::kubeconfig))
        .arg("--kubectl")
        .arg(place.cluster.kubectl());
    command
}

fn run(place: &Place, arguments: &[&str]) -> Run {
    let mut command = dispatch(place, arguments, None);
    let output = command.output().unwrap();
    Run::new(&command, &output)
}

/// Submits one experiment and gives its Job's name.
fn submitted(place: &Place) -> String {
    let receipt = place.harness().submit(&Sample::new("attempt-1")).expect(0, "created");
    find(&receipt, "/job/name").as_str().unwrap().to_owned()
}

/// Ends a Job through its status, as the controller does.
#[track_caller]
fn finish(place: &Place, name: &str, kind: &str) {
    let attempt = || {
        let mut job = place.get("jobs", name);
        let time = find(&job, "/metadata/creationTimestamp").clone();
        let ready = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let stands = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": time, "lastTransitionTime": time});
        job["status"] = json!({"startTime": time, "conditions": [stands(ready), stands(kind)]});
        if kind == "Complete" {
            job["status"]["completionTime"] = time.clone();
            job["status"]["succeeded"] = json!(1);
        }
        place.cluster.admin_put(&format!("{}/status", place.path("jobs", name)), &job).0
    };
    assert!(until(PATIENCE, || attempt() == 200), "the Job could not be ended");
}

/// A command that goes on, and the lines of its standard output as they come.
struct Going {
    child: Child,
    lines: Receiver<Value>,
}

fn start(mut command: Command) -> Going {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
        }
    });
    Going { child, lines }
}

impl Going {
    /// Waits for a line with this phase.
    #[track_caller]
    fn phase(&self, phase: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line comes in time");
            if line["phase"] == phase {
                return line;
            }
        }
    }

    #[track_caller]
    fn code(mut self) -> Option<i32> {
        let ended = until(PATIENCE, || self.child.try_wait().unwrap().is_some());
        if !ended {
            let _ = self.child.kill();
        }
        assert!(ended, "it goes on");
        self.child.wait().unwrap().code()
    }
}

#[test]
fn what_is_there_is_told() {
    let place = Place::new("status");
    let name = submitted(&place);
    let now = run(&place, &["status", &name, "-o", "json"]);
    let status: Value = serde_json::from_str(&now.stdout).unwrap();
    assert_eq!((now.code, &status["phase"]), (Some(0), &json!("pending")), "{now}");
    let page = run(&place, &["status", &name]);
    assert!(page.stdout.lines().all(|line| line.chars().count() <= 80), "{page}");
    finish(&place, &name, "Failed");
    assert_eq!(run(&place, &["status", &name]).code, Some(7));
    let absent = format!("prediction-{}", "0".repeat(32));
    assert_eq!(run(&place, &["status", &absent]).code, Some(9));
    assert_eq!(run(&place, &["status", "attempt-1"]).code, Some(2));
    let list = run(&place, &["list", "-o", "json"]);
    let row: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!((&row["name"], &row["phase"]), (&json!(name), &json!("failed")), "{list}");
    assert_eq!(run(&place, &["list", "-o", "name", "--phase", "succeeded"]).stdout.trim(), "");
}

#[test]
fn the_output_of_what_has_not_begun_is_not_there_yet() {
    let place = Place::new("unbegun");
    let name = submitted(&place);
    let pod = || !place.list("pods").is_empty();
    assert!(until(PATIENCE, pod), "the controller makes the pod");
    for step in ["stage", "run", "publish"] {
        let logs = run(&place, &["logs", &name, "--step", step]);
        assert_eq!((logs.code, logs.stdout.as_str()), (Some(0), ""), "{logs}");
        assert!(logs.stderr.contains(&format!("there is no output of `{step}` yet: ")), "{logs}");
    }
}

#[test]
fn a_wait_ends_in_time_and_with_the_job() {
    let place = Place::new("wait");
    let name = submitted(&place);
    let before = SystemClock.boottime();
    assert_eq!(run(&place, &["status", &name, "--wait=2s"]).code, Some(8));
    let took = SystemClock.boottime().saturating_sub(before);
    assert!((2..60).contains(&took.as_secs()), "{took:?}");
    let watch = start(dispatch(&place, &["status", &name, "--watch", "-o", "json"], None));
    watch.phase("pending");
    finish(&place, &name, "Complete");
    let noticed = SystemClock.boottime();
    watch.phase("succeeded");
    let took = SystemClock.boottime().saturating_sub(noticed);
    // The watch told it: without one it would be seen when all is read again, after five seconds.
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(watch.code(), Some(0));
}

#[test]
fn failing_reads_and_cut_watches_are_survived() {
    let place = Place::new("faults");
    let name = submitted(&place);
    let proxy = place.proxy();
    for number in 2..=6 {
        proxy.when(Requests::new("GET", &format!("/jobs/{name}")).nth(number), Action::DropRequest);
    }
    proxy.when(Requests::new("GET", "/pods").nth(2), Action::CutResponse(10));
    let watch = start(dispatch(&place, &["status", &name, "--watch", "-o", "json"], Some(&proxy)));
    watch.phase("pending");
    finish(&place, &name, "Complete");
    watch.phase("succeeded");
    assert_eq!(watch.code(), Some(0));
}

#[test]
fn a_job_made_anew_is_not_the_one_waited_for() {
    let place = Place::new("replaced");
    let name = submitted(&place);
    let watch = start(dispatch(&place, &["status", &name, "--watch", "-o", "json"], None));
    watch.phase("pending");
    place.delete("jobs", &name);
    let line = watch.lines.iter().find(|line| line["diagnosis"]["category"] == "deleted");
    assert!(line.is_some());
    assert_eq!(watch.code(), Some(9));
}

#[test]
fn a_signal_ends_a_wait_at_once() {
    let place = Place::new("signal");
    let name = submitted(&place);
    let watch = start(dispatch(&place, &["status", &name, "--watch", "-o", "json"], None));
    watch.phase("pending");
    let id = rustix::process::Pid::from_raw(i32::try_from(watch.child.id()).unwrap()).unwrap();
    let before = SystemClock.boottime();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(watch.code(), Some(6));
    let took = SystemClock.boottime().saturating_sub(before);
    assert!(took < Duration::from_mins(1), "{took:?}");
    assert_eq!(run(&place, &["status", &name]).code, Some(0));
}

#[test]
fn submit_waits_for_what_it_submitted() {
    let place = Place::new("submit-wait");
    let harness = place.harness().arg("--wait=2s");
    let file = Sample::new("attempt-1").write(&harness.inputs());
    let run = harness.submit_files(&[file]);
    assert_eq!(run.code, Some(8), "{run}");
    assert!(run.stdout.lines().next().unwrap().contains("\"created\""), "{run}");
}
