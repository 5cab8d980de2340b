//! `submit` as far as it goes without a cluster.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;

use serde_json::{Map, Value, json};

use crate::kit::{
    Ended, SIGNATURE, dispatch, folder, harness_image, signed_submission, submission, write,
};

fn submit(path: &str, more: &[&str]) -> Ended {
    submit_through("/no/such/kubectl", path, more)
}

/// A kubectl that starts and ends at once stands for a cluster that cannot be reached.
const BROKEN_KUBECTL: &str = "/bin/false";

fn submit_through(kubectl: &str, path: &str, more: &[&str]) -> Ended {
    let image = harness_image();
    let arguments =
        ["submit", "-f", path, "-n", "lab", "--context", "c", "--harness-image", &image];
    let kubectl = ["--kubectl", kubectl];
    dispatch(arguments.iter().chain(&kubectl).chain(more))
}

fn only(ended: &Ended) -> Value {
    let [receipt] = ended.json_lines().try_into().unwrap();
    receipt
}

#[test]
fn a_rehearsal_here_needs_no_cluster() {
    let folder = folder();
    let path = write(folder.path(), "a.json", &signed_submission("a")).display().to_string();
    let ended = submit(&path, &["--dry-run", "client", "-o", "json"]).with(0);
    let receipt = only(&ended);
    assert_eq!(receipt["outcome"], "would_create");
    assert_eq!(receipt["attempt_id"], "a");
    let expected = [
        "attempt_id",
        "detail",
        "differences",
        "drift",
        "identity",
        "job",
        "namespace",
        "outcome",
        "problems",
        "record",
        "remarks",
        "remedy",
        "schema_version",
        "secret",
        "source",
        "timings",
        "warnings",
    ];
    let keys: BTreeSet<&str> = receipt.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(expected));
    assert!(!format!("{ended:?}").contains(SIGNATURE));
}

#[test]
fn missing_signatures_are_named_and_can_come_apart() {
    let folder = folder();
    let path = write(folder.path(), "a.json", &submission("a")).display().to_string();
    let ended = submit(&path, &["--dry-run", "client"]).with(3);
    for name in ["mission_url", "snapshot_url", "result_put_url"] {
        assert!(ended.stdout.contains(name), "{name}: {ended:#?}");
    }

    let signed: Map<String, Value> = signed_submission("a")
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.ends_with("_url"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    std::fs::create_dir(folder.path().join("signed")).unwrap();
    let file = write(folder.path(), "signed/a.json", &Value::Object(signed.clone()));
    let file = file.display().to_string();
    submit(&path, &["--dry-run", "client", "--signed", &file]).with(0);
    let directory = folder.path().join("signed").display().to_string();
    submit(&path, &["--dry-run", "client", "--signed", &directory]).with(0);

    let mut other = signed;
    let url = other["mission_url"].as_str().unwrap().replace("mission.json", "other.json");
    other.insert("mission_url".to_owned(), json!(url));
    let file = write(folder.path(), "other.json", &Value::Object(other)).display().to_string();
    let ended = submit(&path, &["--dry-run", "client", "--signed", &file, "-o", "json"]).with(3);
    let problem = &only(&ended)["problems"][0];
    assert_eq!(problem["code"], "signed-differs");
    assert_eq!((&problem["file"], &problem["line"]), (&json!(file), &json!(1)));
    assert!(!format!("{ended:?}").contains(SIGNATURE));

    // For people each problem stands once, in the receipt, with the file that it is about.
    let ended = submit(&path, &["--dry-run", "client", "--signed", &file]).with(3);
    assert_eq!(ended.stdout.matches("[signed-differs]").count(), 1, "{ended:#?}");
    assert!(!ended.stderr.contains("[signed-differs]"), "{ended:#?}");
    assert!(
        ended.stdout.contains(&format!("{file}:1:16 /mission_url [signed-differs]")),
        "{ended:#?}"
    );

    std::fs::remove_file(folder.path().join("signed/a.json")).unwrap();
    let ended = submit(&path, &["--dry-run", "client", "--signed", &directory]).with(2);
    assert!(ended.stderr.contains(&path), "{ended:#?}");
    assert!(ended.stderr.contains("nothing was submitted"), "{ended:#?}");
}

#[test]
fn notes_about_signatures_that_come_apart_are_said_once() {
    let folder = folder();
    let url = "https://results.oss-cn-hangzhou.aliyuncs.com/runs/a/result.tar";
    let signature = format!(
        "x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-credential=AK%2F20991201%2Fcn-hangzhou%2Foss%2Faliyun_v4_request\
&x-oss-date=20991201T080000Z&x-oss-expires=604800&x-oss-signature={}",
        "ab".repeat(32)
    );
    let mut reviewed = submission("a");
    reviewed["result_put_url"] = json!(url);
    reviewed.as_object_mut().unwrap().remove("result_readback_url");
    let path = write(folder.path(), "a.json", &reviewed).display().to_string();
    let signed = json!({
        "result_put_url": format!("{url}?{signature}"),
        "result_put_headers": { "x-oss-forbid-overwrite": "true" },
    });
    let file = write(folder.path(), "signed.json", &signed).display().to_string();
    let ended = submit(&path, &["--dry-run", "client", "--public-inputs", "--signed", &file]);
    assert_eq!(ended.stderr.matches("[guard-versioned-bucket]").count(), 1, "{ended:#?}");
    // The place is in the file that the URL is in.
    let place = ended.stderr.lines().find(|line| line.contains("[guard-versioned-bucket]"));
    assert!(place.unwrap().contains(&format!("{file}:1:")), "{ended:#?}");
    assert!(!ended.stderr.contains(&format!("{path}:")), "{ended:#?}");
}

#[test]
fn standard_input_cannot_be_the_submission_and_its_signatures() {
    let ended = submit("-", &["--dry-run", "client", "--signed", "-"]).with(2);
    assert!(ended.stderr.contains("more than once"), "{ended:#?}");
    assert_eq!(ended.stdout, "");
}

/// Whether cores are files in the folder of the process, so that one is to be expected.
fn has_plain_core_files() -> bool {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let may = rustix::process::getrlimit(rustix::process::Resource::Core).maximum.is_none();
    may && pattern.trim() == "core"
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell raises the limit of core files")]
fn a_quit_from_the_keyboard_leaves_no_core_file() {
    let folder = folder();
    // It waits for its submission; the plain `cat` beside it shows whether cores are written here at all.
    let quit = |program: &str| {
        let script = format!("ulimit -c unlimited 2>/dev/null; exec {program}");
        let mut child = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.path())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let name = std::path::Path::new(program.split(' ').next().unwrap()).file_name().unwrap();
        let is_waiting = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            status.starts_with(&format!("Name:\t{}\n", name.display()))
                && status.contains("State:\tS")
        };
        assert!(harness_test_cluster::until(std::time::Duration::from_mins(1), is_waiting));
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::QUIT).unwrap();
        child.wait().unwrap()
    };
    let binary = env!("CARGO_BIN_EXE_harness");
    let ended = quit(&format!("{binary} prediction dispatch submit -f - --context none -n lab"));
    let control = quit("cat");
    let signal = Some(rustix::process::Signal::QUIT.as_raw());
    assert_eq!((control.signal(), ended.signal()), (signal, signal));
    // Where a site keeps cores elsewhere, nothing is seen of either.
    assert!(control.core_dumped() || !has_plain_core_files(), "{control:?}");
    assert!(!ended.core_dumped(), "{ended:?}");
}

#[test]
fn a_missing_kubectl_is_wrong_usage() {
    let folder = folder();
    let path = write(folder.path(), "a.json", &signed_submission("a")).display().to_string();
    let ended = submit(&path, &[]).with(2);
    assert!(ended.stderr.contains("install kubectl"), "{ended:#?}");
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_cluster_that_cannot_be_reached_is_six() {
    let folder = folder();
    let path = write(folder.path(), "a.json", &signed_submission("a")).display().to_string();
    for output in ["text", "json"] {
        let ended = submit_through(BROKEN_KUBECTL, &path, &["-o", output]).with(6);
        assert!(ended.stdout.contains("unknown"), "{ended:#?}");
        assert!(!format!("{ended:?}").contains(SIGNATURE));
    }
}

#[test]
fn the_most_urgent_of_several_decides() {
    let folder = folder();
    write(folder.path(), "a.json", &signed_submission("a"));
    write(folder.path(), "b.json", &json!({"attempt_id": "B"}));
    let path = folder.path().display().to_string();
    let ended = submit_through(BROKEN_KUBECTL, &path, &["-o", "json"]).with(6);
    let mut outcomes: Vec<Value> =
        ended.json_lines().iter().map(|receipt| receipt["outcome"].clone()).collect();
    outcomes.sort_by_key(ToString::to_string);
    assert_eq!(outcomes, ["invalid", "unknown"]);
    submit(&path, &["--dry-run", "client"]).with(3);
}
