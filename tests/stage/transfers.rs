//! What comes of the inputs, whatever the store and the way to it do.

use std::fs;
use std::time::{Duration, Instant};

use harness::submission::Sha256Digest;
use harness_test_store::{Action, Answer, Requests};

use crate::kit::{Pod, snapshot};

#[test]
fn everything_comes_into_place_once() {
    let mut pod = Pod::new();
    pod.resume = true;
    pod.url("resume_url", &pod.store.sign("GET", "inputs/snapshot").url());
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.ends(0);
    assert!(pod.is_staged());
    assert!(pod.folder.path().join("inputs/resume/data").exists());
    // Again, as after a crash: nothing is run over.
    assert!(pod.ends(10).contains("already-started"));
}

#[test]
fn a_result_that_is_there_stops_and_a_forbidden_look_does_not() {
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.put("results/r", "r").unwrap();
    assert!(pod.ends(11).contains("already-published"));
    assert_eq!(pod.asked("/inputs/snapshot"), 0);
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.when(Requests::new("GET", "/results/"), Action::HideMissing);
    pod.ends(0);
}

#[test]
fn what_the_store_refuses_is_not_asked_again() {
    for (url, code) in [
        (|pod: &Pod| pod.store.sign("GET", "inputs/snapshot").expired().url(), "403"),
        (|pod: &Pod| pod.store.sign("GET", "inputs/missing").url(), "404 NoSuchKey"),
        (|pod: &Pod| pod.store.sign("PUT", "inputs/snapshot").url(), "403"),
    ] as [(fn(&Pod) -> String, &str); 3]
    {
        let pod = Pod::new();
        pod.url("snapshot_url", &url(&pod));
        let said = pod.ends(13);
        assert!(said.contains(code), "{said}");
        assert_eq!(pod.store.exchanges().len(), 2);
    }
    let pod = Pod::new();
    let other = format!("https://{}/inputs/snapshot?canary", pod.store.other_host());
    pod.store.when(snapshot(), Action::Replace(Answer::redirect(307, &other)));
    let said = pod.ends(13);
    assert!(said.contains("the other host"), "{said}");
}

#[test]
fn other_bytes_are_named_and_not_used() {
    let mut pod = Pod::new();
    pod.snapshot[1_500_000] ^= 1;
    let said = pod.ends(14);
    assert!(said.contains(&Sha256Digest::of(&pod.snapshot).to_hex()), "{said}");
    assert!(!pod.folder.path().join("inputs/snapshot").exists());
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Gzip);
    let said = pod.ends(14);
    assert!(said.contains("Content-Encoding gzip"), "{said}");
}

#[test]
fn another_mission_is_named() {
    let mut pod = Pod::new();
    pod.mission_id = "m-2";
    let said = pod.ends(15);
    assert!(said.contains("m-1") && said.contains("m-2"), "{said}");
    let mut pod = Pod::new();
    pod.max_seconds = 61;
    pod.ends(15);
    assert_eq!(pod.asked("/inputs/snapshot"), 0);
}

#[test]
fn what_passes_is_tried_again() {
    for action in [
        Action::DropRequest,
        Action::CutResponse(1_000_000),
        Action::AnnounceLength(4_000_000),
        Action::Replace(Answer::error(503, "SlowDown")),
        Action::Replace(Answer::error(429, "TooMany").header("Retry-After", "1")),
    ] {
        let pod = Pod::new();
        pod.store.when(snapshot().nth(1), action.clone());
        pod.ends(0);
        assert!(pod.is_staged(), "{action:?}");
        // What was announced too long is asked for its rest, which is not there, and then whole.
        let tries = if matches!(action, Action::AnnounceLength(_)) { 3 } else { 2 };
        assert_eq!(pod.asked("/inputs/snapshot"), tries, "{action:?}");
    }
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Chunked);
    pod.ends(0);
    assert!(pod.is_staged());
}

#[test]
fn a_cut_transfer_goes_on_where_it_was() {
    let pod = Pod::new();
    pod.store.when(snapshot().nth(1), Action::CutResponse(2_000_000));
    pod.ends(0);
    let second =
        pod.store.exchanges().into_iter().rfind(|exchange| exchange.path == "/inputs/snapshot");
    let second = second.unwrap();
    assert!(second.headers.contains_key("range") && second.headers.contains_key("if-range"));
    assert_eq!(second.sent, Some(206));
    assert!(second.sent_bytes < 3_000_000, "{second:?}");
    assert!(pod.is_staged());
}

#[test]
fn time_ends_what_does_not_end() {
    for (action, code) in [
        (Action::Trickle(Duration::from_millis(100)), 19),
        (Action::Stall(1000), 19),
        (Action::Replace(Answer::error(503, "SlowDown")), 12),
    ] {
        let mut pod = Pod::new();
        pod.staging = 3;
        pod.store.when(snapshot(), action);
        let began = Instant::now();
        pod.ends(code);
        // Left alone, none of the three would end.
        assert!(began.elapsed() < Duration::from_mins(1));
    }
    let mut pod = Pod::new();
    pod.max_seconds = 1000;
    assert!(pod.ends(19).contains("search and publication"));
}

#[test]
fn a_signal_ends_it() {
    let pod = Pod::new();
    pod.store.when(snapshot(), Action::Stall(1000));
    let child = pod.command().stderr(std::process::Stdio::piped()).spawn().unwrap();
    while pod.asked("/inputs/snapshot") == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let began = Instant::now();
    let output = child.wait_with_output().unwrap();
    // Long before the allowance ends it.
    assert!(began.elapsed() < Duration::from_secs(pod.staging) / 2);
    pod.said(&output, 27);
}

#[test]
fn sizes_are_bounded() {
    let mut pod = Pod::new();
    pod.inputs_size = "2Mi";
    assert!(pod.ends(18).contains("3000000 bytes"));
}

#[test]
fn certificates_are_asked_for() {
    let pod = Pod::new();
    let run = |file: &std::path::Path| {
        let output = pod.command().env("SSL_CERT_FILE", file).output().unwrap();
        for name in ["inputs", "tools"] {
            fs::remove_dir_all(pod.folder.path().join(name)).unwrap();
        }
        pod.said(&output, 29)
    };
    assert!(run(std::path::Path::new("/nonexistent/ca.crt")).contains("ca_config_map"));
    assert!(run(&pod.folder.path().join("urls/mission_url")).contains("no `BEGIN CERTIFICATE`"));
    assert!(run(pod.store.wrong_authority()).contains("not trusted"));
}

#[test]
fn a_flipped_byte_is_found_in_every_input() {
    for (input, path) in [
        ("mission", "/inputs/mission.json"),
        ("snapshot", "/inputs/snapshot"),
        ("resume", "/inputs/resume"),
    ] {
        let pod = Pod::new().with_resume();
        let mut bytes = pod.store.get(&path[1..]).unwrap().unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let found = Sha256Digest::of(&bytes).to_hex();
        pod.store
            .when(Requests::new("GET", path), Action::ReplaceResponse(Answer::new(200, bytes)));
        let said = pod.ends(14);
        assert!(
            said.starts_with(&format!("error: stage: digest-mismatch: the {input} (")),
            "{said}"
        );
        assert!(said.contains(&found) && said.contains("nothing was run"), "{said}");
        // It was asked once: other bytes are no trouble of the way.
        assert_eq!(pod.asked(path), 1);
        // Nothing of it is in place, and neither is what makes a run possible.
        let inputs = pod.folder.path().join("inputs");
        assert!(!inputs.join(input).exists() && !pod.folder.path().join("tools/harness").exists());
    }
}

#[test]
fn a_result_is_seen_by_its_first_byte() {
    let pod = Pod::new();
    pod.url("result_readback_url", &pod.store.sign("GET", "results/r").url());
    pod.store.put("results/r", "a result of some length").unwrap();
    assert!(pod.ends(11).contains("the result exists already"));
    let look = pod.store.exchanges().remove(0);
    assert_eq!((look.sent, look.sent_bytes), (Some(206), 1), "{look:?}");
    // A store without ranges sends it whole, which says the same.
    pod.empty();
    pod.store.when(Requests::new("GET", "/results/"), Action::IgnoreRange);
    pod.ends(11);
    assert_eq!(pod.store.exchanges().pop().unwrap().sent, Some(200));
    // An empty object has no first byte.
    pod.empty();
    pod.store.clear_rules();
    pod.store.put("results/r", "").unwrap();
    pod.ends(11);
    assert_eq!(pod.store.exchanges().pop().unwrap().sent, Some(416));
}

#[test]
fn a_part_that_nobody_asked_for_is_not_taken_for_the_whole() {
    let pod = Pod::new();
    let part = pod.snapshot[..1000].to_vec();
    let answer = Answer::new(206, part).header("Content-Range", "bytes 0-999/3000000");
    pod.store.when(snapshot().nth(1), Action::ReplaceResponse(answer));
    pod.ends(0);
    assert!(pod.is_staged());
    assert_eq!(pod.asked("/inputs/snapshot"), 2);
    for range in ["bytes 0-999/*", "bytes 1000-1999/3000000"] {
        let mut pod = Pod::new();
        pod.staging = 15;
        let answer = Answer::new(206, &pod.snapshot[..1000]).header("Content-Range", range);
        pod.store.when(snapshot(), Action::ReplaceResponse(answer));
        let said = pod.ends(12);
        assert!(said.contains("another part of the object than was asked for"), "{said}");
    }
}
