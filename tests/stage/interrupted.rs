//! SIGKILL at any moment, and a second start in the same volumes: it goes on only where nothing was begun.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use harness_test_store::{Action, Requests};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::kit::{Pod, snapshot, wait_until};

/// Starts it, waits until this is so, and kills it.
fn killed_when(pod: &Pod, is_so: impl FnMut() -> bool) {
    let mut child: Child = pod.command().stderr(Stdio::null()).spawn().unwrap();
    wait_until(is_so);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    pod.store.clear_rules();
}

fn is_refused(pod: &Pod, left: &[&str]) {
    is_refused_with_binary(pod, left);
    assert!(!pod.folder.path().join("tools/harness").exists());
}

fn is_refused_with_binary(pod: &Pod, left: &[&str]) {
    assert_eq!(pod.inputs(), left);
    for _ in 0..2 {
        let said = pod.ends(10);
        assert!(said.contains("already-started") && said.contains("is not empty"), "{said}");
    }
    // It was looked at and not touched.
    assert_eq!(pod.inputs(), left);
}

#[test]
fn before_anything_was_fetched_it_goes_on() {
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.when(Requests::new("GET", "/results/"), Action::NeverAnswer);
    killed_when(&pod, || pod.asked("/results/r") == 1);
    pod.ends(0);
    assert!(pod.is_staged());
}

#[test]
fn while_the_mission_is_fetched() {
    let pod = Pod::new();
    let mission = Requests::new("GET", "/inputs/mission.json");
    pod.store.when(mission, Action::Stall(10));
    killed_when(&pod, || pod.asked("/inputs/mission.json") == 1);
    is_refused(&pod, &["mission.json"]);
}

#[test]
fn while_the_snapshot_is_fetched() {
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Stall(1_000_000));
    killed_when(&pod, || pod.asked("/inputs/snapshot") == 1);
    is_refused(&pod, &[".snapshot.fetched", "mission.json"]);
    // The volumes of a new pod are empty.
    pod.empty();
    pod.ends(0);
    assert!(pod.is_staged());
}

#[test]
fn while_the_snapshot_is_unpacked() {
    let mut pod = Pod::new();
    let mut builder = tar::Builder::new(Vec::new());
    for number in 0..20_000 {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("folder/{number}"), &b""[..]).unwrap();
    }
    pod.set_snapshot(builder.into_inner().unwrap());
    let begun = pod.folder.path().join("inputs/snapshot/folder/100");
    killed_when(&pod, || begun.exists());
    is_refused(&pod, &[".snapshot.fetched", "mission.json", "snapshot"]);
}

#[test]
fn while_the_resume_is_fetched() {
    let pod = Pod::new().with_resume();
    pod.store.when(Requests::new("GET", "/inputs/resume"), Action::Stall(1_000_000));
    killed_when(&pod, || pod.asked("/inputs/resume") == 1);
    is_refused(&pod, &[".resume.fetched", "mission.json", "snapshot"]);
}

/// Everything is there and nobody has been told: the kubelet starts nothing after a step that was killed.
#[test]
fn when_all_is_in_place_and_it_has_not_said_so() {
    let pod = Pod::new();
    // Nobody reads its last words, so that it does not come to its end.
    mknodat(CWD, pod.log(), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let binary = pod.folder.path().join("tools/harness");
    let is_copied = || binary.metadata().is_ok_and(|of| of.permissions().mode() & 0o777 == 0o555);
    killed_when(&pod, is_copied);
    std::fs::remove_file(pod.log()).unwrap();
    is_refused_with_binary(&pod, &["mission.json", "snapshot"]);
    pod.empty();
    pod.ends(0);
    assert!(pod.is_staged());
}

#[test]
fn after_the_end_it_is_not_begun_again() {
    let pod = Pod::new();
    pod.ends(0);
    let binary = pod.folder.path().join("tools/harness");
    let before = std::fs::metadata(&binary).unwrap().modified().unwrap();
    assert!(pod.ends(10).contains("already-started"));
    assert_eq!(std::fs::metadata(&binary).unwrap().modified().unwrap(), before);
    assert!(pod.is_staged());
}
