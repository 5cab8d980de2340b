//! `submit` as far as it goes without a cluster.

use std::collections::BTreeSet;

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
    assert_eq!(only(&ended)["problems"][0]["code"], "signed-differs");
    assert!(!format!("{ended:?}").contains(SIGNATURE));

    // For people each problem stands once, in the receipt; beside it only the file that it is about.
    let ended = submit(&path, &["--dry-run", "client", "--signed", &file]).with(3);
    assert_eq!(ended.stdout.matches("[signed-differs]").count(), 1, "{ended:#?}");
    assert!(!ended.stderr.contains("[signed-differs]"), "{ended:#?}");
    assert!(ended.stderr.contains(&format!("{file}: refused")), "{ended:#?}");

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
