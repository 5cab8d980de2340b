//! The output, which is hostile.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use harness::execution::{Category, Ending};

use crate::kit::{Pod, assert_ended};

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
fn the_same_output_gives_the_same_files() {
    let (one, other) = (Pod::new(), Pod::new());
    fs::set_permissions(other.path("output/a"), fs::Permissions::from_mode(0o755)).unwrap();
    one.run(FINE);
    other.run(FINE);
    assert_eq!(one.published()["evidence"]["subject"], other.published()["evidence"]["subject"]);
}
