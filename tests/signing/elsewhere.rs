//! The snippets for stores with signatures of their own: nobody here can check those, but harness must take the URLs.

use harness_test_store::Store;
use serde_json::{Value, json};
use std::fs;

use crate::document::snippets;
use crate::{assert_valid, folder, python, s3, signed, url, validate};

/// Keys of no worth, of the lengths that the SDKs expect.
const KEYS: [(&str, &str); 7] = [
    ("OSS_ACCESS_KEY_ID", "LTAIharnessteststore"),
    ("OSS_ACCESS_KEY_SECRET", "secret"),
    ("AZURE_STORAGE_KEY", "aGFybmVzcyB0ZXN0IHN0b3JlIHNlY3JldCBrZXk="),
    ("COS_SECRET_ID", "AKIDharnessteststore"),
    ("COS_SECRET_KEY", "secret"),
    ("OBS_ACCESS_KEY", "HARNESSTESTSTORE0000"),
    ("OBS_SECRET_KEY", "secret"),
];

/// Writes `key.json`, as Google gives it for a service account.
const SERVICE_ACCOUNT: &str = "
import json
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
pem = key.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
json.dump({
    'type': 'service_account', 'project_id': 'project', 'private_key_id': '1', 'private_key': pem.decode(),
    'client_email': 'signer@project.iam.gserviceaccount.com', 'token_uri': 'https://oauth2.googleapis.com/token',
}, open('key.json', 'w'))
";

/// Runs a snippet; what it prints is one dictionary.
fn printed(script: &str, folder: &std::path::Path) -> Value {
    let said = python::run("python", &["-c", script], folder, &KEYS);
    let convert = "import ast, json, sys; print(json.dumps(ast.literal_eval(sys.argv[1])))";
    let json = python::run("python", &["-c", convert, said.trim()], folder, &[]);
    serde_json::from_str(&json).unwrap()
}

/// harness takes what a snippet has signed; where the URL does not show the guard, not without its declaration.
#[track_caller]
fn assert_taken(made: &Value, needs_headers: bool) {
    let (_folder, submission) = folder();
    let store = Store::start().unwrap();
    let mut whole =
        signed(&signed(&submission, &s3::other_urls(&store)), &json!({ "result_put_headers": {} }));
    whole = signed(&whole, made);
    assert_valid(&whole);
    whole["result_put_headers"] = json!({});
    assert_eq!(!validate(&whole).is_empty(), needs_headers, "{}", validate(&whole));
}

#[test]
fn oss() {
    let [new, old] = snippets("Alibaba Cloud OSS", "python");
    let (folder, _) = folder();
    let made = printed(new, folder.path());
    assert_eq!(made["result_put_headers"], json!({ "x-oss-forbid-overwrite": "true" }));
    assert_taken(&made, true);
    let said = python::run("python", &["-c", old], folder.path(), &KEYS);
    let [put, get] = said.lines().collect::<Vec<_>>().try_into().unwrap();
    let headers = json!({ "x-oss-forbid-overwrite": "true" });
    let made = json!({
        "result_put_url": put, "result_readback_url": get, "result_put_headers": headers,
    });
    assert_taken(&made, true);
}

#[test]
fn google() {
    let [script] = snippets("Google Cloud Storage", "python");
    let (folder, _) = folder();
    python::run("python", &["-c", SERVICE_ACCOUNT], folder.path(), &[]);
    assert!(fs::exists(folder.path().join("key.json")).unwrap());
    assert_taken(&printed(script, folder.path()), false);
}

#[test]
fn azure() {
    let [script] = snippets("Azure Blob Storage", "python");
    let (folder, _) = folder();
    assert_taken(&printed(script, folder.path()), false);
}

#[test]
fn cos() {
    let [script] = snippets("Tencent Cloud COS", "python");
    let (folder, _) = folder();
    let made = printed(script, folder.path());
    assert!(url(&made, "result_put_url").contains("q-header-list=host%3Bx-cos-forbid-overwrite"));
    assert_taken(&made, false);
}

#[test]
fn obs() {
    let [script] = snippets("Huawei Cloud OBS", "python");
    let (folder, _) = folder();
    assert_taken(&printed(script, folder.path()), true);
}
