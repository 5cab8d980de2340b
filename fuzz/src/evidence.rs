//! The evidence, and what is found when it is held against something else.

use std::sync::LazyLock;

use harness::execution::archive::{FileEntry, Found, readable_name};
use harness::execution::evidence::{Resource, Statement, verify};
use harness::submission::Sha256Digest;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::common::{check_shown, first_line, json_or_text, place, pointers};

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../src/execution/evidence/tests/evidence.json"))
        .expect("it is JSON")
});

/// The bytes of evidence; or lines: a place in good evidence, as a JSON pointer or a number, and a value for it.
///
/// Only the very bytes that harness writes are evidence; what they say of files and of the Job is held against both, every
/// difference is found, and what is found prints harmlessly.
pub fn evidence(data: &[u8]) {
    check(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (word, value) = first_line(text);
    let golden = read(&GOLDEN).expect("the golden evidence is good");
    let mut changed = GOLDEN.clone();
    let all = pointers(&changed);
    let Some(pointer) = place(word, &all) else { return };
    *changed.pointer_mut(pointer).expect("it is there") = json_or_text(value);
    let Some(statement) = read(&changed) else { return };
    check(&statement.to_bytes());
    let is_same = statement == golden;
    let digest = |statement: &Statement| Sha256Digest::of(statement.to_bytes());
    assert_eq!(is_same, digest(&statement) == digest(&golden));
    let seen = verify::against_archive(&statement, &found(&golden));
    check_findings(&seen);
    let is_about_files = [
        "/subject",
        "/predicate/harness_run/output/archived",
        "/predicate/harness_run/output/bytes",
    ];
    if is_about_files.iter().any(|place| pointer.starts_with(place)) {
        assert_eq!(is_same, seen.is_empty(), "{pointer} {seen:?}");
    }
    let known = known(&golden);
    let seen =
        verify::against_cluster(&statement, Sha256Digest::of("r"), digest(&statement), &known);
    check_findings(&seen);
    // The cluster keeps the digest of the whole evidence.
    assert_eq!(is_same, seen.is_empty(), "{pointer} {seen:?}");
}

/// Through the types, so that the order is harness's.
fn read(value: &Value) -> Option<Statement> {
    let statement: Statement = serde_json::from_value(value.clone()).ok()?;
    Statement::parse(&statement.to_bytes()).ok()
}

fn check(data: &[u8]) {
    match Statement::parse(data) {
        Ok(statement) => {
            assert_eq!(statement.to_bytes(), data);
            let own = found(&statement);
            let seen = verify::against_archive(&statement, &own);
            check_findings(&seen);
            let is_possible = |subject: &Resource| {
                Sha256Digest::parse(&subject.digest.sha256).is_ok()
                    && spelt(&subject.name) == subject.name
            };
            if statement.subject.iter().all(is_possible) {
                assert!(seen.is_empty(), "it differs from itself: {seen:?}");
            }
        }
        Err(why) => check_shown(&why),
    }
}

fn check_findings(findings: &[String]) {
    for finding in findings {
        check_shown(finding);
    }
}

/// As an archive's names are always spelt: the path that this name means, as a name.
fn spelt(name: &str) -> String {
    readable_name(&percent_decode_str(name).collect::<Vec<u8>>())
}

/// The archive that this evidence speaks of.
fn found(statement: &Statement) -> Found {
    let output = &statement.predicate.harness_run.output;
    let file = |subject: &Resource| FileEntry {
        name: spelt(&subject.name),
        digest: Sha256Digest::parse(&subject.digest.sha256)
            .unwrap_or_else(|_| Sha256Digest::of("")),
    };
    Found {
        output: output.archived,
        files: statement.subject.iter().map(file).collect(),
        bytes: output.bytes,
        evidence: statement.to_bytes(),
        digest: Sha256Digest::of("r"),
    }
}

/// The Job that this evidence speaks of.
fn known(statement: &Statement) -> verify::Known {
    let run = &statement.predicate.harness_run;
    verify::Known {
        job_uid: run.pod.job_uid.clone(),
        result_identity: run.result_identity.clone(),
        submission_digest: run.submission_digest.clone(),
        evidence_digest: Some(Sha256Digest::of(statement.to_bytes()).to_hex()),
        result_digest: Some(Sha256Digest::of("r").to_hex()),
    }
}
