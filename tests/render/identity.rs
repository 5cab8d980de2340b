//! What changes the submission digest, what changes the names, and what changes neither.

use std::collections::BTreeMap;

use harness::profile::Profiles;
use harness::render::Bundle;

use crate::bundles::{self, SITE};
use crate::form::{Form, signed};

fn site() -> Form {
    Form::full().with("resource_profile", "site-gpu")
}

/// Each with one decisive thing changed.
fn decisive_changes() -> Vec<(&'static str, Form)> {
    let other_result = |form: Form| {
        form.with(
            "result_put_url",
            &signed("out/a-1/other.tar", "content-type%3Bhost%3Bif-none-match", "a4"),
        )
        .with("result_readback_url", &signed("out/a-1/other.tar", "host", "a5"))
    };
    let sibling = "a-1.tar";
    let both = format!("out/a-1/{sibling}");
    vec![
        (
            "attempt_id",
            site()
                .with("attempt_id", "a-2")
                // A path that names both attempts, so that the result stays the same.
                .with(
                    "result_put_url",
                    &signed("out/a-1/a-2/r", "content-type%3Bhost%3Bif-none-match", "a4"),
                )
                .with("result_readback_url", &signed("out/a-1/a-2/r", "host", "a5")),
        ),
        ("mission_id", site().with("mission_id", "Mission 8")),
        (
            "image",
            site().with(
                "image",
                &format!("registry.example.org:5000/lab/model@sha256:{}", "7".repeat(64)),
            ),
        ),
        (
            "image repository",
            site().with(
                "image",
                &format!("registry.example.org:5000/lab/other@sha256:{}", "1".repeat(64)),
            ),
        ),
        (
            "evaluator_version",
            site().with("evaluator_version", &format!("sha256:{}", "8".repeat(64))),
        ),
        ("profile", site().with("resource_profile", "long-v1")),
        ("max_seconds", site().set("search_budget", r#"{"max_seconds": 601}"#)),
        ("mission_sha256", site().with("mission_sha256", &"9".repeat(64))),
        ("snapshot_sha256", site().with("snapshot_sha256", &"9".repeat(64))),
        ("resume_sha256", site().with("resume_sha256", &"9".repeat(64))),
        ("resume absent", site().without("resume_url").without("resume_sha256")),
        ("result", other_result(site())),
        (
            "result and its extension",
            site()
                .with("result_put_url", &signed(&both, "content-type%3Bhost%3Bif-none-match", "a4"))
                .with("result_readback_url", &signed(&both, "host", "a5")),
        ),
        ("runner_command", site().set("runner_command", r#"["python3"]"#)),
        ("runner_command absent", site().without("runner_command")),
        ("runner_secret_name absent", site().without("runner_secret_name")),
    ]
}

#[test]
fn each_decisive_field_changes_the_submission_digest() {
    let mut seen =
        BTreeMap::from([(bundles::bundle(&site()).names().submission_digest, "unchanged")]);
    for (what, form) in decisive_changes() {
        let digest = bundles::bundle(&form).names().submission_digest;
        if let Some(other) = seen.insert(digest, what) {
            panic!("{what} and {other} have one submission digest");
        }
    }
}

#[test]
fn a_changed_profile_changes_the_submission_digest() {
    let digest = |text: &str| {
        let profiles = bundles::profiles(text);
        bundles::render_with(&site(), &profiles, "research").names().submission_digest
    };
    let edits = [
        ("memory: 60Gi", "memory: 61Gi"),
        ("nvidia.com/gpu: 1", "nvidia.com/gpu: 2"),
        ("queue: research", "queue: other"),
        ("on_disruption: restart", "on_disruption: fail"),
        ("claim: models", "claim: others"),
        ("staging: 1200", "staging: 1201"),
        ("http://proxy.example:3128", "http://proxy.example:3129"),
        ("name: site-ca", "name: other-ca"),
    ];
    let mut earlier = vec![digest(SITE)];
    for (from, to) in edits {
        assert!(SITE.contains(from), "{from}");
        let changed = digest(&SITE.replace(from, to));
        assert!(!earlier.contains(&changed), "{from} -> {to}");
        earlier.push(changed);
    }
}

/// What decides nothing: where inputs lie, how they are signed, the read-back, the ends of credentials.
fn indecisive_changes() -> Vec<(&'static str, Form)> {
    let put = |mark: &str, headers: &str| signed("out/a-1/result.tar", headers, mark);
    vec![
        (
            "mission elsewhere",
            site().with("mission_url", "https://other.s3.eu-central-1.amazonaws.com/m.json"),
        ),
        (
            "snapshot elsewhere",
            site().with("snapshot_url", "https://acct.blob.core.windows.net/inputs/s.tar"),
        ),
        ("resume elsewhere", site().with("resume_url", &signed("old/result.tar", "host", "a3"))),
        ("inputs re-signed", site().with("mission_url", &signed("in/mission.json", "host", "b1"))),
        (
            "result re-signed",
            site().with("result_put_url", &put("b4", "content-type%3Bhost%3Bif-none-match")),
        ),
        (
            "other headers",
            site()
                .with("result_put_url", &put("b4", "host%3Bif-none-match"))
                .set("result_put_headers", r#"{"if-none-match": "*"}"#),
        ),
        ("path style", {
            let moved = |url: String| {
                url.replace(
                    "https://ex-bkt.s3.us-west-2.amazonaws.com/",
                    "https://s3.us-west-2.amazonaws.com/ex-bkt/",
                )
            };
            site()
                .with("result_put_url", &moved(put("b4", "content-type%3Bhost%3Bif-none-match")))
                .with("result_readback_url", &moved(signed("out/a-1/result.tar", "host", "b5")))
        }),
        ("no read-back", site().without("result_readback_url")),
        ("credentials", site().with("credentials_expire_at", "2026-12-02T07:00:00+00:00")),
        ("permanent credentials", site().without("credentials_expire_at")),
        ("namespace uid", site().without("namespace_uid")),
        ("schema version", site().without("schema_version")),
        ("prefix of a digest", site().with("resume_sha256", &"6".repeat(64))),
        (
            "tag",
            site().with(
                "image",
                &format!("registry.example.org:5000/lab/model@sha256:{}", "1".repeat(64)),
            ),
        ),
        (
            "unsigned",
            site()
                .extend(&Form::empty().with("mission_url", &crate::form::plain("in/mission.json"))),
        ),
    ]
}

fn lock(bundle: &Bundle) -> (String, String) {
    (bundle.names().job.clone(), bundle.names().submission_digest.to_hex())
}

#[test]
fn nothing_else_changes_the_submission_digest_or_the_lock() {
    let expected = lock(&bundles::bundle(&site()));
    for (what, form) in indecisive_changes() {
        assert_eq!(lock(&bundles::bundle(&form)), expected, "{what}");
    }
    let profiles = bundles::profiles(SITE);
    assert_eq!(lock(&bundles::render_with(&site(), &profiles, "other")), expected, "namespace");
    let image = format!("harness_image: registry.example/h@sha256:{}\n", "a".repeat(64));
    let profiles = bundles::profiles(&format!("{SITE}{image}"));
    let other_image = bundles::render_with(&site(), &profiles, "research");
    assert!(other_image.job().to_string().contains("registry.example/h@"));
    assert_eq!(lock(&other_image), expected, "harness image");
}

#[test]
fn other_signatures_make_another_secret_and_keep_the_job() {
    let first = bundles::bundle(&site());
    let again =
        bundles::bundle(&site().with("mission_url", &signed("in/mission.json", "host", "b1")));
    assert_eq!(first.names().job, again.names().job);
    assert_ne!(first.names().secret, again.names().secret);
    assert!(harness::render::compare::compare_job(first.job(), again.job()).is_same());
}

#[test]
fn a_profile_that_is_unknown_or_too_short_is_refused_where_it_stands() {
    for (form, pointer, code) in [
        (
            Form::minimal().with("resource_profile", "nobody"),
            "/resource_profile",
            "profile-unknown",
        ),
        (
            Form::minimal().set("search_budget", r#"{"max_seconds": 86400}"#),
            "/search_budget/max_seconds",
            "profile-budget-over-deadline",
        ),
        (
            Form::minimal().with("runner_secret_name", "other"),
            "/runner_secret_name",
            "runner-secret-not-allowed",
        ),
    ] {
        let submission = bundles::parse(&form);
        let problems = harness::render::fit(&submission, &bundles::profiles(SITE)).unwrap_err();
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (problem.pointer.as_str(), problem.fault.code.name))
            .collect();
        assert_eq!(found, [(pointer, code)]);
    }
    let submission = bundles::parse(&Form::minimal());
    let embedded = Profiles::embedded();
    let fitted = harness::render::fit(&submission, &embedded).unwrap();
    let namespace = harness::submission::Namespace::parse("research").unwrap();
    let problem = harness::render::render(&fitted, &namespace).unwrap_err();
    assert_eq!(problem.fault.code.name, "harness-image-missing");
}
