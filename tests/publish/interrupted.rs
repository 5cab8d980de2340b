//! SIGKILL after the run, at any moment, and what a repeat then says: nothing runs twice, nothing half is published.

use std::fs;
use std::process::Child;
use std::time::Duration;

use harness::execution::control::FromRun;
use harness::execution::{Category, Ending};
use harness::submission::Sha256Digest;
use harness_test_store::{Action, Requests};

use crate::kit::{Pod, assert_ended, hello, noise, report, say, store, verify_command, wait_for};

const FINE: Ending = Ending::Exited { code: 0 };

fn with_output(bytes: usize) -> Pod {
    let pod = Pod { output_size: "128Mi".to_owned(), ..Pod::new() };
    fs::write(pod.path("output/noise"), noise(bytes)).unwrap();
    pod
}

/// Everything up to the end of the run.
fn after_the_run(pod: &Pod) -> Child {
    let child = pod.start();
    let mut connection = pod.connect();
    assert_eq!(hello(&mut connection), "{\"type\":\"go\"}\n");
    say(&mut connection, &FromRun::Finished { report: report(FINE) });
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

/// A repeat in the same pod starts nothing and sends nothing, however often.
fn is_never_repeated(pod: &Pod) {
    let asked = asked(pod, "");
    for _ in 0..2 {
        let ended = pod.end(pod.start());
        assert_ended(
            &ended,
            Category::AlreadyStarted,
            "it is not started again, and nothing is published",
        );
        assert!(ended.reason.remedy.contains("look for the result object"), "{:?}", ended.reason);
    }
    assert_eq!(self::asked(pod, ""), asked);
}

fn asked(pod: &Pod, method: &str) -> usize {
    let path = format!("/{}", pod.object);
    let exchanges = store().exchanges();
    exchanges.iter().filter(|it| it.path == path && it.method.starts_with(method)).count()
}

/// Another pod of the same Job, with empty volumes and the same output.
fn another_pod(pod: &Pod) -> Pod {
    let mut other = Pod { output_size: pod.output_size.clone(), ..Pod::new() };
    other.job_uid.clone_from(&pod.job_uid);
    other.object.clone_from(&pod.object);
    other.url("result_put_url", &store().sign("PUT", &pod.object).create_only());
    other.url("result_readback_url", &store().sign("GET", &pod.object));
    fs::copy(pod.path("output/noise"), other.path("output/noise")).unwrap();
    other
}

#[test]
fn while_packing() {
    let pod = with_output(64 << 20);
    let child = after_the_run(&pod);
    let archive = pod.path("spool/result.tar.gz");
    wait_for(|| fs::metadata(&archive).is_ok_and(|it| it.len() > 1 << 20).then_some(()));
    kill(child);
    is_never_repeated(&pod);
    assert_eq!(store().get(&pod.object).unwrap(), None);
    // What lies in the spool is no result, and is not taken for one.
    assert_eq!(verify_command(&archive).status.code(), Some(3));
}

#[test]
fn while_the_request_is_under_way() {
    // The store reads slower than is sent, so the rest of the body is never sent.
    let pod = with_output(24 << 20);
    let delay = Action::DelayRequest(Duration::from_secs(4));
    store().when(Requests::new("PUT", &pod.object).nth(1), delay);
    let child = after_the_run(&pod);
    wait_for(|| (asked(&pod, "PUT") == 1).then_some(()));
    kill(child);
    is_never_repeated(&pod);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(store().get(&pod.object).unwrap(), None);
    // Where the profile allows another pod, that one publishes.
    assert_ended(&another_pod(&pod).run(FINE), Category::Succeeded, "read back and found the same");
    pod.published();
}

#[test]
fn while_the_answer_is_waited_for() {
    let pod = with_output(1000);
    let delay = Action::DelayResponse(Duration::from_mins(1));
    store().when(Requests::new("PUT", &pod.object).nth(1), delay);
    let child = after_the_run(&pod);
    let bytes = wait_for(|| store().get(&pod.object).unwrap());
    kill(child);
    is_never_repeated(&pod);
    // It is whole, and is what lies in the spool.
    assert_eq!(bytes, fs::read(pod.path("spool/result.tar.gz")).unwrap());
    pod.published();
    // Another pod of the same Job sees that.
    let ended = another_pod(&pod).run(FINE);
    assert_ended(&ended, Category::Succeeded, "published its result before, from another pod");
    assert_eq!(store().get(&pod.object).unwrap().unwrap(), bytes);
}

#[test]
fn while_it_is_read_back() {
    let pod = with_output(1000);
    store().when(Requests::new("GET", &pod.object), Action::Stall(100));
    let child = after_the_run(&pod);
    wait_for(|| (asked(&pod, "GET") == 1).then_some(()));
    kill(child);
    is_never_repeated(&pod);
    let verdict = pod.published();
    let spooled = fs::read(pod.path("spool/result.tar.gz")).unwrap();
    assert_eq!(verdict["result_digest"], Sha256Digest::of(&spooled).to_string());
}
