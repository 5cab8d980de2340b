//! The output, which is hostile.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use harness::execution::archive::{SEAL_BYTES, Seal};
use harness::execution::{Category, Ending};
use serde_json::Value;

use crate::kit::{Pod, assert_ended, store};

const FINE: Ending = Ending::Exited { code: 0 };

#[test]
fn too_much_output_leaves_the_evidence() {
    let pod = Pod { output_size: "4Ki".to_owned(), ..Pod::new() };
    fs::write(pod.path("output/large"), vec![0; 5000]).unwrap();
    assert_ended(&pod.run(FINE), Category::LimitExceeded, "5022 bytes, and 4096 are allowed");
    let verdict = pod.published();
    let run = &verdict["evidence"]["predicate"]["harness_run"];
    assert_eq!(run["outcome"], "limit-exceeded");
    assert_eq!(run["output"]["archived"], false);
    assert_eq!(verdict["evidence"]["subject"].as_array().unwrap().len(), 0);
}

#[test]
fn a_sparse_giant_is_too_much() {
    let pod = Pod::new();
    fs::File::create(pod.path("output/giant")).unwrap().set_len(1 << 42).unwrap();
    assert_ended(&pod.run(FINE), Category::LimitExceeded, "are allowed");
    pod.published();
}

#[test]
fn too_many_files_are_too_much() {
    let pod = Pod::new();
    for number in 0..10_001 {
        fs::File::create(pod.path(&format!("output/{number}"))).unwrap();
    }
    assert_ended(&pod.run(FINE), Category::LimitExceeded, "10000 files and folders");
    pod.published();
}

#[test]
fn links_and_the_like_are_left_out_and_said() {
    let pod = Pod::new();
    symlink("/etc/passwd", pod.path("output/link")).unwrap();
    symlink("..", pod.path("output/up")).unwrap();
    fs::hard_link(pod.path("output/a"), pod.path("output/hard")).unwrap();
    fs::write(pod.path("output/line\nfeed"), "x").unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    let pipe = pod.path("output/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let ended = pod.run(FINE);
    assert_ended(&ended, Category::Succeeded, "3 entries left out");
    let verdict = pod.published();
    let left_out = &verdict["evidence"]["predicate"]["harness_run"]["output"]["left_out"];
    assert_eq!(left_out.as_array().unwrap().len(), 3);
    let names: Vec<&str> = verdict["evidence"]["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| subject["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b/c", "hard", "line%0Afeed"]);
}

#[test]
fn folders_that_are_too_deep_are_a_loss() {
    let pod = Pod::new();
    fs::create_dir_all(pod.path(&format!("output{}", "/d".repeat(120)))).unwrap();
    let ended = pod.run(FINE);
    assert_ended(&ended, Category::RunnerFailed, "cannot be published as it is");
    pod.published();
}

#[test]
fn an_output_folder_that_is_gone_leaves_the_evidence() {
    let pod = Pod::new();
    fs::remove_dir_all(pod.path("output")).unwrap();
    assert_ended(&pod.run(FINE), Category::Environment, "could not be looked at");
    pod.published();
}

#[test]
fn what_cannot_be_read_is_a_loss_and_named() {
    let pod = Pod::new();
    fs::write(pod.path("output/secret"), "x").unwrap();
    fs::create_dir(pod.path("output/shut")).unwrap();
    fs::write(pod.path("output/shut/inside"), "x").unwrap();
    for name in ["output/secret", "output/shut"] {
        fs::set_permissions(pod.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    // Root reads everything, unless it has no capabilities.
    let mut command = if rustix::process::getuid().is_root() {
        pod.wrapped("setpriv", &["--bounding-set=-all", "--inh-caps=-all"])
    } else {
        pod.command()
    };
    let ended = pod.run_as(&mut command, FINE);
    assert_ended(&ended, Category::RunnerFailed, "cannot be published as it is: `shut`");
    let verdict = pod.published();
    let left_out = verdict["evidence"]["predicate"]["harness_run"]["output"]["left_out"].clone();
    let expected = serde_json::json!([
        {"name": "shut", "reason": "unreadable"},
        {"name": "secret", "reason": "unreadable"},
    ]);
    assert_eq!(left_out, expected);
    assert_eq!(verdict["evidence"]["subject"].as_array().unwrap().len(), 2);
    fs::set_permissions(pod.path("output/shut"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn devices_and_sockets_are_left_out_and_said() {
    let pod = Pod::new();
    // A character device of number 0 is what overlay file systems mark removed files with, and anybody may make it.
    let device = rustix::fs::FileType::CharacterDevice;
    let at = pod.path("output/device");
    rustix::fs::mknodat(rustix::fs::CWD, at, device, rustix::fs::Mode::RWXU, 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(pod.path("output/socket")).unwrap();
    let ended = pod.run(FINE);
    assert_ended(&ended, Category::Succeeded, "2 entries left out");
    let verdict = pod.published();
    let left_out = verdict["evidence"]["predicate"]["harness_run"]["output"]["left_out"].clone();
    let expected = serde_json::json!([
        {"name": "device", "reason": "device"},
        {"name": "socket", "reason": "socket"},
    ]);
    assert_eq!(left_out, expected);
}

/// Where two documents differ, as JSON pointers.
fn differences(one: &Value, other: &Value, at: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (key, value) in one {
                differences(value, &other[key], &format!("{at}/{key}"), found);
            }
        }
        _ if one == other => {}
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn two_runs_differ_in_their_times_alone() {
    let first = Pod::new();
    first.run(FINE);
    let bytes = store().get(&first.object).unwrap().unwrap();
    let verdict = first.published();
    // The same Job again, as if nothing had been published, with files made in another order, at another time and of
    // other modes.
    fs::remove_file(store().path(&first.object)).unwrap();
    let mut second = Pod::new();
    second.job_uid.clone_from(&first.job_uid);
    second.object.clone_from(&first.object);
    second.url("result_put_url", &store().sign("PUT", &first.object).create_only());
    second.url("result_readback_url", &store().sign("GET", &first.object));
    fs::remove_file(second.path("output/a")).unwrap();
    fs::write(second.path("output/a"), "some output").unwrap();
    fs::set_permissions(second.path("output/a"), fs::Permissions::from_mode(0o755)).unwrap();
    second.run(FINE);
    let others = store().get(&first.object).unwrap().unwrap();
    let mut found = Vec::new();
    differences(&verdict["evidence"], &second.published()["evidence"], "", &mut found);
    assert_eq!(found, ["/predicate/runDetails/metadata/startedOn"]);
    // The first member of the archive, which holds the output, is the same byte for byte.
    let member = |bytes: &[u8]| {
        let seal = Seal::parse(&bytes[bytes.len() - SEAL_BYTES..]).unwrap();
        bytes[..usize::try_from(seal.evidence_at).unwrap()].to_vec()
    };
    assert_eq!(member(&bytes), member(&others));
    assert!(bytes != others);
}
