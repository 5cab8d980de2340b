//! The snippets for S3 and its relatives, against the store of the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use harness_test_store::{Options, Store};
use serde_json::{Value, json};

use crate::document::snippets;
use crate::{assert_valid, folder, keys, python, signed, url};

/// The domains whose first label is a bucket in the snippets.
const DOMAINS: [&str; 2] = ["s3.eu-central-1.amazonaws.com", "fra1.digitaloceanspaces.com"];
const RESULT: &str = "results-bucket/runs/attempt-0042/result.tar";

fn store() -> Store {
    let options = Options { domains: DOMAINS.map(str::to_owned).to_vec(), ..Options::default() };
    let store = Store::start_with(&options).unwrap();
    store.bucket("inputs-bucket").unwrap();
    store.bucket("results-bucket").unwrap();
    store
}

#[track_caller]
fn assert_reads(store: &Store, url: &str, expected: &str) {
    let answer = store.send("GET", url, &[], b"").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, expected));
}

/// The URL creates, and neither with its header nor without overwrites.
#[track_caller]
fn assert_creates_once(store: &Store, url: &str) {
    let put = |headers: &[(&str, &str)], body: &[u8]| {
        store.send("PUT", url, headers, body).unwrap().status
    };
    let guard = [("If-None-Match", "*")];
    assert_eq!(put(&[], b"unguarded"), 403);
    assert_eq!(put(&guard, b"result"), 200);
    assert_eq!(put(&guard, b"another"), 412);
    assert_eq!(put(&[], b"unguarded"), 403);
    assert_eq!(store.get(RESULT).unwrap().unwrap(), b"result");
}

#[test]
fn boto3_signs_a_whole_submission() {
    let [script] = snippets("Amazon S3", "python");
    let (folder, submission) = folder();
    fs::write(folder.path().join("sign.py"), script).unwrap();
    let arguments = ["sign.py", "submission.json", "signed.json"];
    python::run("python", &arguments, folder.path(), &keys());
    let file = folder.path().join("signed.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let made: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_valid(&signed(&submission, &made));

    let store = store();
    store.put("inputs-bucket/missions/m-17.json", "mission").unwrap();
    store.put("inputs-bucket/snapshots/2026-11.tar.zst", "snapshot").unwrap();
    assert_reads(&store, url(&made, "mission_url"), "mission");
    assert_reads(&store, url(&made, "snapshot_url"), "snapshot");
    assert_creates_once(&store, url(&made, "result_put_url"));
    assert_reads(&store, url(&made, "result_readback_url"), "result");
    // A URL serves one method only.
    assert_eq!(store.send("PUT", url(&made, "mission_url"), &[], b"").unwrap().status, 403);
    assert_eq!(store.send("HEAD", url(&made, "mission_url"), &[], b"").unwrap().status, 403);
}

#[test]
fn the_aws_cli_signs_inputs() {
    let [script] = snippets("Amazon S3", "sh");
    let (folder, submission) = folder();
    let said = python::run("sh", &["-euc", script], folder.path(), &keys());
    assert!(
        said.starts_with("https://inputs-bucket.s3.eu-central-1.amazonaws.com/missions/m-17.json?")
    );
    let made = json!({ "mission_url": said.trim() });
    let store = store();
    store.put("inputs-bucket/missions/m-17.json", "mission").unwrap();
    assert_reads(&store, url(&made, "mission_url"), "mission");
    let whole = signed(&signed(&submission, &other_urls(&store)), &made);
    assert_valid(&whole);
}

/// Signed URLs for the fields that a snippet leaves out.
pub(crate) fn other_urls(store: &Store) -> Value {
    let sign = |method, bucket: &str, key: &str| {
        store.sign(method, key).host(&format!("{bucket}.{}", DOMAINS[0])).region("eu-central-1")
    };
    let result = "runs/attempt-0042/result.tar";
    json!({
        "mission_url": sign("GET", "inputs-bucket", "missions/m-17.json").url(),
        "snapshot_url": sign("GET", "inputs-bucket", "snapshots/2026-11.tar.zst").url(),
        "result_put_url": sign("PUT", "results-bucket", result).create_only().url(),
        "result_readback_url": sign("GET", "results-bucket", result).url(),
        "result_put_headers": { "If-None-Match": "*" },
    })
}

#[test]
fn other_endpoints_take_the_same_calls() {
    let [script] = snippets("Cloudflare R2, MinIO, Ceph, DigitalOcean Spaces", "python");
    let (folder, submission) = folder();
    let said = python::run("python", &["-c", script], folder.path(), &keys());
    let urls: Vec<&str> = said.lines().collect();
    assert_eq!(urls.len(), 6, "one pair for each of three stores");
    for pair in urls.chunks(2) {
        let store = store();
        let made = json!({ "result_put_url": pair[0], "result_readback_url": pair[1] });
        assert_valid(&signed(&signed(&submission, &other_urls(&store)), &made));
        assert_creates_once(&store, pair[0]);
        assert_reads(&store, pair[1], "result");
    }
}
