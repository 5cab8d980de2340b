//! What `run` does not start, and what it says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use harness::execution::Ending;

use crate::kit::{Pod, Publish};

#[test]
fn a_folder_that_holds_something_was_used_before() {
    for place in ["output/left", "scratch/left", "scratch/tmp/left"] {
        let pod = Pod::new();
        fs::create_dir_all(pod.path("scratch/tmp")).unwrap();
        fs::write(pod.path(place), "").unwrap();
        let ended = pod.shell("echo never");
        ended.expect_refusal(10, "was started here before");
        assert_eq!((ended.said().as_str(), ended.record.command), ("", None), "no hello");
    }
}

#[test]
fn publish_has_the_last_word() {
    let pod = Pod::new().publish(Publish::Refuses("it started at noon"));
    let ended = pod.shell("echo never");
    ended.expect_refusal(10, "publish refuses the start: it started at noon");
    assert_eq!(ended.said(), "");
    let ended = Pod::new().publish(Publish::IsMute).shell("echo never");
    ended.expect_refusal(29, "publish ended, or gave no answer");
    assert_eq!(ended.said(), "");
}

/// The deadline is 150 s here, of which 60 are the budget and 30 the publication.
#[test]
fn what_cannot_fit_any_more_is_not_begun() {
    let ended = Pod::new().aged(61).shell("echo never");
    ended.expect_refusal(19, "no longer fit");
    assert_eq!((ended.said().as_str(), ended.record.command), ("", None), "no hello");
    let ended = Pod::new().aged(50).shell("echo now");
    ended.expect(0, &Ending::Exited { code: 0 });
}

fn executable(pod: &Pod, name: &str, text: &[u8], mode: u32) -> String {
    let path = pod.path(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// As the linker writes it, but for a processor that no test machine has.
fn foreign() -> Vec<u8> {
    let mut program = fs::read(Path::new("/bin/sh").canonicalize().unwrap()).unwrap();
    program[18..20].copy_from_slice(&22_u16.to_le_bytes());
    program
}

#[test]
fn each_reason_why_a_command_does_not_start_has_its_sentence() {
    type Make = fn(&Pod) -> String;
    let cases: [(Make, &str); 10] = [
        (
            |_| "no-such-program".to_owned(),
            "there is no program `no-such-program` in any folder of the image's PATH (`/usr/bin:/bin`)",
        ),
        (|_| "/no/such".to_owned(), "`/no/such` does not exist in the image"),
        (|_| "./search".to_owned(), "a relative path begins at the scratch folder"),
        (|pod| pod.path("inputs").to_str().unwrap().to_owned(), "is a folder"),
        (
            |pod| executable(pod, "p", b"#!/bin/sh\n", 0o644),
            "is not executable for the user of the pod",
        ),
        (
            |pod| executable(pod, "p", b"#!/opt/none/python\n", 0o755),
            "asks for the interpreter `/opt/none/python`, which does not exist",
        ),
        (|pod| executable(pod, "p", b"#!/bin/sh\r\necho\r\n", 0o755), "has Windows line ends"),
        (
            |pod| executable(pod, "p", b"echo hello\n", 0o755),
            "neither a program nor a script that begins with `#!`",
        ),
        (|pod| executable(pod, "p", b"", 0o755), "is empty"),
        (|pod| executable(pod, "p", &foreign(), 0o755), "is built for s390x, and this node is"),
    ];
    for (make, sentence) in cases {
        let pod = Pod::new().contained();
        let ended = pod.run(&[&make(&pod)]);
        let Ending::NotExecuted { cause } = &ended.report().ending else { panic!("{ended:?}") };
        assert!(cause.contains(sentence), "{cause}");
        assert_eq!((ended.code, ended.report().started_at.as_ref()), (Some(20), None));
        let reason = ended.reason.unwrap();
        assert!(reason.sentence.contains(sentence) && reason.remedy.contains("runner_command"));
    }
}

#[test]
fn without_any_command_that_is_the_diagnosis() {
    let ended = Pod::new().run(&[]);
    let Ending::NotExecuted { cause } = &ended.report().ending else { panic!("{ended:?}") };
    assert!(cause.contains("no runner_command") && cause.contains("no HARNESS_RUNNER"), "{cause}");
    assert_eq!((ended.code, ended.record.command), (Some(20), Some(Vec::new())));
    let ended = Pod::new().image_variable("HARNESS_RUNNER", "python3 search.py").run(&[]);
    let Ending::NotExecuted { cause } = &ended.report().ending else { panic!("{ended:?}") };
    assert!(cause.contains("not a JSON array"), "{cause}");
}
