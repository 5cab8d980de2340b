//! The committed schemas are generated from the types, and every example and output fits them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::*;
use crate::cli::executions;
use crate::cli::problems::Validation;
use crate::cli::verdict::{self, Verdict};
use crate::execution::evidence;
use crate::submission::schema::{SignedForm, SubmissionForm, check, of_form};
use crate::submission::{Problem, Submission};
use crate::submit::receipt::{self, ProblemReceipt, Turn};
use crate::submit::record::{self, Record};
use crate::submit::{Receipt, ReceiptOutcome};

const NAMES: [(SchemaName, &str); 12] = [
    (SchemaName::Submission, "submission"),
    (SchemaName::Signed, "signed"),
    (SchemaName::Profile, "profile"),
    (SchemaName::Receipt, "receipt"),
    (SchemaName::Validation, "validation"),
    (SchemaName::Record, "record"),
    (SchemaName::Status, "status"),
    (SchemaName::Listing, "listing"),
    (SchemaName::Ledger, "ledger"),
    (SchemaName::Evidence, "evidence"),
    (SchemaName::Verification, "verification"),
    (SchemaName::Execution, "execution"),
];

/// The schema of what we write: every field is there, perhaps with null.
fn of_output<T: JsonSchema>(version: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["properties"]["schema_version"] = json!({ "const": version });
    without_rust_formats(&mut schema);
    schema
}

fn without_rust_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("format").and_then(Value::as_str).is_some_and(|it| it.contains("int")) {
                map.remove("format");
            }
            map.values_mut().for_each(without_rust_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rust_formats),
        _ => (),
    }
}

fn generated(name: SchemaName) -> Value {
    match name {
        SchemaName::Submission => of_form::<SubmissionForm>(),
        SchemaName::Signed => of_form::<SignedForm>(),
        SchemaName::Profile => of_form::<crate::profile::Profile>(),
        SchemaName::Receipt => of_output::<Receipt>(receipt::SCHEMA_VERSION),
        SchemaName::Validation => of_output::<Validation<'_>>("prediction_validation.v1"),
        SchemaName::Record => of_output::<Record>(record::SCHEMA_VERSION),
        SchemaName::Status => of_output::<crate::status::Status>(crate::status::SCHEMA_VERSION),
        SchemaName::Listing => {
            of_output::<crate::status::listing::Row>(crate::status::listing::SCHEMA_VERSION)
        }
        SchemaName::Ledger => {
            of_output::<crate::ledger::LedgerReceipt>(crate::ledger::receipt::SCHEMA_VERSION)
        }
        SchemaName::Evidence => of_evidence(),
        SchemaName::Verification => of_verification(),
        SchemaName::Execution => of_execution(),
    }
}

/// The reasons inside of it have a version of their own.
fn of_execution() -> Value {
    let mut schema = of_output::<executions::Execution<'_>>(executions::SCHEMA_VERSION);
    schema["$defs"]["Reason"]["properties"]["schema_version"] =
        json!({ "const": crate::execution::reason::SCHEMA_VERSION });
    schema
}

/// The evidence inside of it has a version of its own.
fn of_verification() -> Value {
    let mut schema = of_output::<Verdict<'_>>(verdict::SCHEMA_VERSION);
    schema["$defs"]["HarnessRun"]["properties"]["schema_version"] =
        json!({ "const": evidence::SCHEMA_VERSION });
    schema
}

/// The version of evidence stands in its own part of the statement.
fn of_evidence() -> Value {
    let mut schema = of_output::<evidence::Statement>(evidence::SCHEMA_VERSION);
    schema["properties"].as_object_mut().unwrap().remove("schema_version");
    schema["$defs"]["HarnessRun"]["properties"]["schema_version"] =
        json!({ "const": evidence::SCHEMA_VERSION });
    for (field, value) in
        [("_type", evidence::STATEMENT_TYPE), ("predicateType", evidence::PREDICATE_TYPE)]
    {
        schema["properties"][field] = json!({ "const": value });
    }
    schema
}

#[test]
fn evidence_fits_its_schema() {
    let schema = committed(SchemaName::Evidence);
    let golden = include_str!("../../execution/evidence/tests/evidence.json");
    let mut statement: Value = serde_json::from_str(golden).unwrap();
    check(&schema, &statement).unwrap();
    statement["predicate"]["harness_run"]["schema_version"] = json!("v2");
    check(&schema, &statement).unwrap_err();
}

#[test]
fn verdicts_fit_their_schema() {
    use crate::cli::verdict::{Asked, Witness};
    let schema = committed(SchemaName::Verification);
    let golden = include_bytes!("../../execution/evidence/tests/evidence.json");
    let statement = evidence::Statement::parse(golden).unwrap();
    let asked = Asked::without("lab", "prediction-0", Witness::Nothing, "why");
    let findings = ["a file is missing".to_owned()];
    let verdict = |cluster, evidence| Verdict {
        schema_version: verdict::SCHEMA_VERSION,
        result: "result".to_owned(),
        holds: false,
        compared_with_submission: true,
        cluster,
        result_digest: None,
        evidence_digest: None,
        findings: &findings,
        evidence,
    };
    check(&schema, &serde_json::to_value(verdict(None, None)).unwrap()).unwrap();
    let full = serde_json::to_value(verdict(Some(&asked), Some(&statement))).unwrap();
    check(&schema, &full).unwrap();
    for (pointer, wrong) in [
        ("/cluster/witness", "perhaps"),
        ("/schema_version", "v2"),
        ("/evidence/predicate/harness_run/schema_version", "v2"),
    ] {
        let mut other = full.clone();
        *other.pointer_mut(pointer).unwrap() = json!(wrong);
        check(&schema, &other).expect_err(pointer);
    }
}

#[test]
fn executions_fit_their_schema() {
    use crate::cli::executions::Execution;
    use crate::execution::execute::Ended;
    use crate::execution::{Category, Reason, Step};
    let schema = committed(SchemaName::Execution);
    let example = include_bytes!("../../../examples/submissions/first-attempt.json");
    let submission = Submission::parse(example).unwrap();
    let command = ["python3".to_owned()];
    let problems = Submission::parse(b"{}").unwrap_err();
    let problems = problems.iter().map(ProblemReceipt::from).collect();
    let invalid = Execution::invalid("-", None, &command, problems, 3);
    check(&schema, &serde_json::to_value(&invalid).unwrap()).unwrap();
    let digest = crate::submission::Sha256Digest::of("x");
    let published = Reason::new(Step::Publish, Category::RunnerFailed, "a", "b")
        .with_digest("result", digest)
        .with_digest("evidence", digest);
    let ended = Ended { steps: vec![published], may_have_run: true };
    let folder = Some("/tmp/folder".to_owned());
    let document = Execution::of("-", &submission, digest, &command, &ended, folder);
    let mut document = serde_json::to_value(&document).unwrap();
    assert_eq!(
        (&document["outcome"], &document["published"]),
        (&"runner-failed".into(), &true.into())
    );
    check(&schema, &document).unwrap();
    document["steps"][0]["schema_version"] = json!("v2");
    check(&schema, &document).unwrap_err();
}

fn committed(name: SchemaName) -> Value {
    serde_json::from_str(text(name)).unwrap()
}

#[test]
fn the_committed_schemas_are_current() {
    for (name, file) in NAMES {
        let current = serde_json::to_string_pretty(&generated(name)).unwrap() + "\n";
        #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            let path = format!("{}/schemas/{file}.json", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(path, current).unwrap();
            continue;
        }
        assert!(
            current == text(name),
            "schemas/{file}.json is old: run the tests with UPDATE_SCHEMAS=1"
        );
    }
}

#[test]
fn every_schema_is_of_the_named_draft_and_says_what_each_field_is() {
    for (name, file) in NAMES {
        let schema = committed(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        for (property, inner) in schema["properties"].as_object().unwrap() {
            let says = ["description", "const", "$ref"].iter().any(|key| inner.get(key).is_some());
            assert!(says, "{file}: {property}");
        }
    }
}

/// Every JSON file below a folder of the repository.
fn examples(folder: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.display().to_string(), serde_json::from_str(&text).unwrap()));
            }
        }
    }
    found
}

#[test]
fn every_example_fits_its_schema() {
    let mut submissions = 0;
    for (path, document) in examples("examples") {
        if document.get("attempt_id").is_some() {
            submissions += 1;
            check(&committed(SchemaName::Submission), &document).unwrap();
            Submission::parse(document.to_string().as_bytes()).expect(&path);
        }
    }
    assert!(submissions >= 3, "{submissions} examples");
}

#[test]
fn every_profile_fits_its_schema() {
    let schema = committed(SchemaName::Profile);
    let complete = include_str!("../../profile/tests/complete.yaml");
    let embedded = [
        include_str!("../../../manifests/profiles/standard-v1.yaml"),
        include_str!("../../../manifests/profiles/long-v1.yaml"),
        complete,
    ];
    let documentation = include_str!("../../../docs/profiles.md");
    let documented: Vec<&str> = documentation
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(documented.len() >= 2);
    for text in embedded.into_iter().chain(documented) {
        check(&schema, &serde_yaml::from_str(text).unwrap()).unwrap();
    }
    for wrong in ["cpu: -1", "unknown: 1"] {
        let text = format!("{complete}\n{wrong}\n");
        check(&schema, &serde_yaml::from_str(&text).unwrap()).expect_err(wrong);
    }
}

fn problems() -> Vec<Problem> {
    Submission::parse(b"{\"attempt_id\": \"A\"}").unwrap_err()
}

#[test]
fn receipts_fit_their_schema() {
    let schema = committed(SchemaName::Receipt);
    let turn = Turn {
        source: "a.json".to_owned(),
        namespace: "lab".to_owned(),
        started: jiff::Timestamp::UNIX_EPOCH,
        milliseconds: 7,
    };
    let receipt =
        serde_json::to_value(Receipt::invalid(turn, None, &problems(), Some("signed.json")))
            .unwrap();
    check(&schema, &receipt).unwrap();
    for outcome in ReceiptOutcome::ALL {
        let mut other = receipt.clone();
        other["outcome"] = json!(outcome.name());
        check(&schema, &other).unwrap();
    }
    for (key, wrong) in
        [("outcome", json!("done")), ("schema_version", json!("v2")), ("problems", Value::Null)]
    {
        let mut other = receipt.clone();
        other[key] = wrong;
        check(&schema, &other).expect_err(key);
        other.as_object_mut().unwrap().remove(key);
        check(&schema, &other).expect_err(key);
    }
}

#[test]
fn validations_and_records_fit_their_schemas() {
    let validation = Validation {
        schema_version: "prediction_validation.v1",
        source: "a.json",
        valid: false,
        problems: problems().iter().map(ProblemReceipt::from).collect(),
        notes: Vec::new(),
    };
    let mut shown = serde_json::to_value(validation).unwrap();
    check(&committed(SchemaName::Validation), &shown).unwrap();
    shown["valid"] = json!("no");
    check(&committed(SchemaName::Validation), &shown).unwrap_err();

    let mut record = json!({
        "schema_version": "prediction_record.v1",
        "job_name": "prediction-0", "job_uid": "u", "namespace_uid": "n",
        "result_identity": "0", "submission_digest": "0", "outcome": "succeeded",
        "started_at": null, "finished_at": null, "evidence_digest": null, "image_ids": [],
        "recorded_by": "pruner", "recorded_at": "2026-12-01T08:00:00Z",
    });
    check(&committed(SchemaName::Record), &record).unwrap();
    serde_json::from_value::<Record>(record.clone()).unwrap();
    record.as_object_mut().unwrap().remove("job_uid");
    check(&committed(SchemaName::Record), &record).unwrap_err();
}

#[test]
fn receipts_of_the_ledger_fit_their_schema() {
    use crate::ledger::survey::Task;
    use crate::ledger::{Command, LedgerReceipt};
    let schema = committed(SchemaName::Ledger);
    let older_than = std::time::Duration::from_hours(1);
    let secrets = vec!["a".to_owned()];
    for command in [Command::Prune { older_than }, Command::Sweep { older_than }] {
        let task = Task { name: "job".to_owned(), command, secrets: secrets.clone() };
        let receipts =
            [LedgerReceipt::would("lab", &task), LedgerReceipt::not_started("lab", &task)];
        for receipt in receipts {
            check(&schema, &serde_json::to_value(&receipt).unwrap()).unwrap();
        }
    }
    let lost = LedgerReceipt::unreachable("lab", "job", Command::Cancel, "why");
    let mut value = serde_json::to_value(&lost).unwrap();
    check(&schema, &value).unwrap();
    value["outcome"] = json!("perhaps");
    check(&schema, &value).expect_err("no such outcome");
}
