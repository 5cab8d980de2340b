//! Where submissions come from: files, directories, standard input, and what is none of these.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::kit::{dispatch, folder, harness_with_input, submission, write};

#[test]
fn a_file_a_directory_and_standard_input() {
    let folder = folder();
    let file = write(folder.path(), "a.json", &submission("a"));
    let ended = dispatch(["validate".as_ref(), "-f".as_ref(), file.as_os_str()]).with(0);
    assert_eq!(ended.stdout, format!("{}: valid\n", file.display()));

    write(folder.path(), "b.json", &submission("b"));
    let ended = dispatch(["validate".as_ref(), "-f".as_ref(), folder.path().as_os_str()]).with(0);
    assert_eq!(ended.stdout.lines().count(), 2);
    assert!(ended.stderr.contains("2 of 2 submissions are valid"), "{ended:?}");

    let input = submission("c").to_string();
    let arguments = ["prediction", "dispatch", "validate", "-f", "-"];
    let ended = harness_with_input(arguments, input.as_bytes()).with(0);
    assert_eq!(ended.stdout, "-: valid\n");
}

#[test]
fn a_directory_gives_its_regular_json_files_only() {
    let (folder, outside) = (folder(), folder());
    write(folder.path(), "a.json", &submission("a"));
    write(folder.path(), "notes.txt", &json!("no submission"));
    write(folder.path(), "B.JSON", &json!("no submission"));
    fs::create_dir(folder.path().join("inner.json")).unwrap();
    let secret = write(outside.path(), "secret.json", &json!({"password": "canary"}));
    symlink(secret, folder.path().join("link.json")).unwrap();
    symlink(outside.path(), folder.path().join("folder-link.json")).unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket.json")).unwrap();
    let ended = dispatch(["validate".as_ref(), "-f".as_ref(), folder.path().as_os_str()]).with(0);
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
    assert!(!format!("{ended:?}").contains("canary"));
}

#[test]
fn one_bad_file_never_hides_another() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    write(folder.path(), "good.json", &submission("good"));
    write(folder.path(), "worse.json", &json!({"attempt_id": "A"}));
    fs::write(folder.path().join("text.json"), "no JSON").unwrap();
    fs::write(folder.path().join("empty.json"), "").unwrap();
    fs::write(folder.path().join("huge.json"), " ".repeat(3 << 20)).unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket.json")).unwrap();
    fs::create_dir(folder.path().join("nothing")).unwrap();

    let names =
        ["worse", "text", "empty", "huge", "good"].map(|name| path(&format!("{name}.json")));
    let ended = dispatch(["validate", "-f"].into_iter().chain(names.iter().map(String::as_str)));
    let ended = ended.with(3);
    for name in ["worse", "text", "empty", "huge"] {
        assert!(ended.stderr.contains(&path(&format!("{name}.json"))), "{name}: {ended:?}");
    }
    assert_eq!(ended.stdout, format!("{}: valid\n", path("good.json")));

    let unreadable = [path("missing.json"), path("socket.json"), path("nothing")];
    let all = ["validate", "-f"].into_iter().chain(unreadable.iter().map(String::as_str));
    let ended = dispatch(all.chain(names.iter().map(String::as_str))).with(2);
    for name in unreadable.iter().chain(&names[..4]) {
        assert!(ended.stderr.contains(name), "{name}: {ended:?}");
    }
    assert_eq!(ended.stdout, format!("{}: valid\n", path("good.json")));
}

#[test]
fn submit_names_every_file_that_it_cannot_read_and_sends_nothing() {
    let folder = folder();
    let good = write(folder.path(), "good.json", &submission("good")).display().to_string();
    let arguments =
        ["submit", "-f", "/no/such/a", &good, "/no/such/b", "--context", "c", "-n", "lab"];
    let ended = dispatch(arguments.into_iter().chain(["--kubectl", "/no/such/kubectl"])).with(2);
    assert!(ended.stdout.is_empty(), "{ended:?}");
    for name in ["/no/such/a", "/no/such/b"] {
        assert!(ended.stderr.contains(name), "{ended:?}");
    }
}

#[test]
fn the_number_of_files_is_bounded() {
    let folder = folder();
    for index in 0..=10_000 {
        fs::File::create(folder.path().join(format!("{index}.json"))).unwrap();
    }
    let ended = dispatch(["validate".as_ref(), "-f".as_ref(), folder.path().as_os_str()]).with(2);
    assert!(ended.stderr.contains("more than 10000"), "{ended:?}");
}

#[test]
fn standard_input_can_be_read_once() {
    let ended = dispatch(["validate", "-f", "-", "-f", "-"]).with(2);
    assert!(ended.stderr.contains("more than once"), "{ended:?}");
}

#[test]
fn the_same_result_twice_is_refused_in_both_files() {
    let folder = folder();
    let mut twin = submission("a");
    twin["search_budget"]["max_seconds"] = json!(601);
    write(folder.path(), "a.json", &submission("a"));
    write(folder.path(), "b.json", &twin);
    let ended = dispatch(["validate".as_ref(), "-f".as_ref(), folder.path().as_os_str()]).with(3);
    assert!(ended.stdout.is_empty(), "{ended:?}");
    assert!(ended.stderr.contains("0 of 2 submissions are valid"), "{ended:?}");
}

#[test]
fn a_broken_profile_is_wrong_usage() {
    let folder = folder();
    fs::write(folder.path().join("a.yaml"), "schema_version: profile.v1\nname: A\n").unwrap();
    let profiles = folder.path().display().to_string();
    let ended = dispatch(["validate", "-f", "-", "--profiles", &profiles]).with(2);
    assert!(ended.stderr.contains("a.yaml"), "{ended:?}");
    let ended = dispatch(["validate", "-f", "-", "--harness-image", "harness:latest"]).with(2);
    assert!(ended.stderr.contains("HARNESS_IMAGE"), "{ended:?}");
}
