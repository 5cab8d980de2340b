//! Every byte that a bundle has, against files under `tests/golden`.
//!
//! `UPDATE_GOLDENS=1 cargo test --test render` writes them anew; a change of one is a change of a frozen format.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use harness::render::{Bundle, mask};

use crate::bundles;

fn golden(file: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    #[expect(clippy::disallowed_methods, reason = "whoever changes a format says so on purpose")]
    let update = std::env::var_os("UPDATE_GOLDENS");
    if update.is_some_and(|value| value == "1") {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(expected == found, "{file} differs:\n--- expected\n{expected}\n--- found\n{found}");
}

/// Names and digests, one a line.
fn summary(bundle: &Bundle) -> String {
    let names = bundle.names();
    let mut text = String::new();
    for (what, value) in [
        ("namespace", names.namespace.clone()),
        ("job", names.job.clone()),
        ("secret", names.secret.clone()),
        ("result-identity", names.result_identity.to_hex()),
        ("submission-digest", names.submission_digest.to_hex()),
        ("secret-digest", names.secret_digest.to_hex()),
        ("profile-digest", bundle.profile_digest().to_hex()),
        ("decisive-digest", harness::render::decisive::decisive_digest(bundle.job()).to_hex()),
    ] {
        writeln!(text, "{what} {value}").unwrap();
    }
    text
}

#[test]
fn every_byte_is_pinned() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        golden(&format!("{name}.names.txt"), &summary(&bundle));
        golden(&format!("{name}.secret.json"), &bundle.secret().to_string());
        golden(&format!("{name}.job.json"), &bundle.job().to_string());
        let masked = mask::masked(bundle.clone());
        golden(&format!("{name}.masked.json"), &serde_json::to_string_pretty(&masked).unwrap());
        golden(&format!("{name}.masked.yaml"), &serde_yaml::to_string(&masked).unwrap());
    }
}

#[test]
fn no_golden_is_left_over() {
    let expected: Vec<String> = bundles::all()
        .iter()
        .flat_map(|(name, _)| {
            ["names.txt", "secret.json", "job.json", "masked.json", "masked.yaml"]
                .map(|kind| format!("{name}.{kind}"))
        })
        .collect();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(expected.contains(&name), "{name} belongs to no test");
    }
}

#[test]
fn masked_bundles_hold_no_signature_and_differ_in_nothing_else() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        let mut masked = mask::masked(bundle.clone());
        let text = masked.to_string();
        assert!(!text.contains("X-Amz-"), "{name}: {text}");
        assert!(!text.contains("application/x-tar"), "{name}: {text}");
        assert_eq!(masked["apiVersion"], "research.harness/v1");
        assert_eq!(masked["kind"], "MaskedBundle");
        assert_eq!(&masked["job"], bundle.job());
        let keys = |data: &serde_json::Value| {
            data.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&masked["secret"]["data"]), keys(&bundle.secret()["data"]));
        masked["secret"]["data"] = bundle.secret()["data"].clone();
        assert_eq!(&masked["secret"], bundle.secret());
    }
}

#[test]
fn yaml_says_the_same_as_json() {
    let command = r#"["sh", "-c", "a\r\nb\t\u001b", "- a: b # c", "yes", "0x1", "~", "'", "|", "&a", "*a", " x "]"#;
    for (name, form) in bundles::all() {
        let masked = mask::masked(bundles::bundle(&form.set("runner_command", command)));
        let yaml = serde_yaml::to_string(&masked).unwrap();
        let back: serde_json::Value = serde_yaml::from_str(&yaml).unwrap();
        assert_eq!(back, masked, "{name}");
    }
}
