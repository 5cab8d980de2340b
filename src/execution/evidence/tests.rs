//! The evidence's bytes are frozen, and nothing else is evidence.

use super::*;
use crate::execution::archive::{FileEntry, OddityReason};
use crate::execution::evidence::build::{Facts, Origin, Pod, Told};
use crate::execution::{Ending, Expectation};
use crate::submission::{MissionId, PinnedImage, Sha256Digest};

pub(in crate::execution) fn facts() -> Facts {
    let digest = Sha256Digest::of;
    Facts {
        expectation: Expectation {
            mission_id: MissionId::parse("mission-1").unwrap(),
            evaluator_version: digest("evaluator"),
            max_seconds: 600,
            mission_sha256: digest("mission"),
            snapshot_sha256: digest("snapshot"),
            resume_sha256: None,
        },
        attempt_id: "attempt-1".to_owned(),
        origin: Origin::Pod {
            image: PinnedImage::parse(&format!(
                "registry.example.org/runner@sha256:{}",
                digest("image")
            ))
            .unwrap(),
            pod: Pod {
                job_uid: "j".to_owned(),
                namespace: "lab".to_owned(),
                name: "p".to_owned(),
                uid: "u".to_owned(),
                node: "n".to_owned(),
            },
        },
        profile: "standard-v1".to_owned(),
        profile_digest: digest("profile"),
        result_identity: digest("identity"),
        submission_digest: digest("submission"),
    }
}

pub(in crate::execution) fn told() -> Told {
    Told {
        result_object: "https://store.example.org/results/attempt-1.tar.gz".to_owned(),
        command: vec!["python".to_owned(), "run.py".to_owned()],
        started_on: "2026-12-01T08:00:00Z".parse().unwrap(),
        finished_on: "2026-12-01T08:00:01Z".to_owned(),
        outcome: Category::Succeeded,
        report: Some(RunReport {
            ending: Ending::Exited { code: 0 },
            started_at: Some("2026-12-01T08:00:00Z".to_owned()),
            finished_at: "2026-12-01T08:00:01Z".to_owned(),
            wall_milliseconds: 1000,
            cpu_milliseconds: Some(900),
            peak_memory_bytes: None,
            output_tail: "done\n".to_owned(),
            output_bytes: 5,
        }),
        archived: true,
        files: vec![FileEntry { name: "a%0Ab".to_owned(), digest: Sha256Digest::of("file") }],
        bytes: 4,
        left_out: vec![Oddity { name: "link".to_owned(), reason: OddityReason::SymbolicLink }],
        changed: Vec::new(),
    }
}

#[test]
fn the_form_is_frozen() {
    let statement = build(&facts(), told());
    let golden = include_str!("tests/evidence.json");
    let bytes = statement.to_bytes();
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), golden);
    assert_eq!(Statement::parse(&bytes), Ok(statement));
}

#[test]
fn nothing_else_is_evidence() {
    let good = String::from_utf8(build(&facts(), told()).to_bytes()).unwrap();
    for wrong in [
        String::new(),
        good.trim_end().to_owned(),
        format!(" {good}"),
        good.replace("Statement/v1", "Statement/v2"),
        good.replace("provenance/v1", "provenance/v2"),
        good.replace("prediction_evidence.v1", "prediction_evidence.v2"),
        good.replace("\"command\"", "\"more\":1,\"command\""),
        good.replace("600", "600.0"),
    ] {
        assert!(Statement::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn oddities_are_listed_within_bounds() {
    let odd = Oddity { name: "x".to_owned(), reason: OddityReason::Pipe };
    let statement = build(&facts(), Told { left_out: vec![odd; 1003], ..told() });
    let output = statement.predicate.harness_run.output;
    assert_eq!((output.left_out.len(), output.left_out_more), (1000, 3));
}

#[test]
fn the_cluster_s_word_is_compared_by_name() {
    let statement = build(&facts(), told());
    let evidence = Sha256Digest::of(statement.to_bytes());
    let result = Sha256Digest::of("archive");
    let known = verify::Known {
        job_uid: "j".to_owned(),
        result_identity: Sha256Digest::of("identity").to_hex(),
        submission_digest: Sha256Digest::of("submission").to_hex(),
        evidence_digest: Some(evidence.to_hex()),
        result_digest: Some(result.to_hex()),
    };
    assert!(verify::against_cluster(&statement, result, evidence, &known).is_empty());
    for (other, named) in [
        (verify::Known { job_uid: "k".to_owned(), ..known.clone() }, "Job UID"),
        (verify::Known { result_identity: String::new(), ..known.clone() }, "result identity"),
        (verify::Known { submission_digest: String::new(), ..known.clone() }, "submission digest"),
        (
            verify::Known { evidence_digest: Some(String::new()), ..known.clone() },
            "evidence digest",
        ),
        (verify::Known { result_digest: Some(String::new()), ..known.clone() }, "result digest"),
    ] {
        let findings = verify::against_cluster(&statement, result, evidence, &other);
        assert!(findings[0].starts_with(named), "{findings:?}");
    }
}

#[test]
fn files_are_compared_one_by_one() {
    let statement = build(&facts(), told());
    let file = |name: &str, content: &str| FileEntry {
        name: name.to_owned(),
        digest: Sha256Digest::of(content),
    };
    let found = |files: Vec<FileEntry>| crate::execution::archive::Found {
        output: true,
        files,
        bytes: 4,
        evidence: statement.to_bytes(),
        digest: Sha256Digest::of(""),
    };
    let of = |files| verify::against_archive(&statement, &found(files));
    assert!(of(vec![file("a%0Ab", "file")]).is_empty());
    assert!(of(vec![file("a%0Ab", "other")])[0].starts_with("`a%0Ab` hashes to"));
    assert!(of(vec![])[0].contains("not in the archive"));
    assert!(of(vec![file("a%0Ab", "file"), file("b", "")])[0].contains("not in the evidence"));
    assert!(of(vec![file("c", "file")]).len() == 2);
}

#[test]
fn a_local_run_names_no_cluster_and_no_image() {
    let local = Facts { origin: Origin::Local, ..facts() };
    let statement = build(&local, told());
    let bytes = statement.to_bytes();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert_eq!(text, include_str!("tests/local.json"));
    assert!(!text.contains("oci://") && statement.is_local());
    assert_eq!(Statement::parse(&bytes), Ok(statement.clone()));
    assert!(!build(&facts(), told()).is_local());

    let cluster = build(&facts(), told());
    let mut with_pod = statement.clone();
    with_pod.predicate.harness_run.pod.node = "n".to_owned();
    let mut with_job = statement.clone();
    with_job.predicate.run_details.metadata.invocation_id = "j".to_owned();
    let mut with_image = statement.clone();
    with_image.predicate.build_definition.resolved_dependencies =
        cluster.predicate.build_definition.resolved_dependencies.clone();
    let mut by_another = statement.clone();
    by_another.predicate.run_details.builder = cluster.predicate.run_details.builder.clone();
    let mut of_another = cluster.clone();
    of_another.predicate.run_details.builder = statement.predicate.run_details.builder.clone();
    for wrong in [with_pod, with_job, with_image, by_another, of_another] {
        assert!(Statement::parse(&wrong.to_bytes()).is_err(), "{wrong:?}");
    }
}
