//! What the API server holds, as the facts that the protocol decides on, and the terms of a plan.

use std::time::Duration;

use harness::cluster::{Answer, Outcome, Resource};
use harness::render::names;
use harness::submit::facts::{
    Fact, JobFact, JobVerdict, Moment, Reading, SecretFact, SecretVerdict,
};
use harness::submit::observe::judge;
use harness::submit::protocol::{Request, Terms as _};
use harness::submit::{Intent, Plan};
use harness::{render, submission::Namespace};
use serde_json::{Value, json};

use crate::clock::START;
use crate::plans::{NAMESPACE, inputs, inputs_in, recorded};
use crate::refusals::{absent, refused};

/// As the server answers a read of what was rendered and then changed.
fn held(plan: &Plan<'_>, request: &Request, change: impl Fn(&mut Value)) -> Fact {
    let rendered = match request {
        Request::ReadJob => plan.bundle().job(),
        _ => plan.bundle().secret(),
    };
    let mut body = rendered.clone();
    body["metadata"]["uid"] = json!("uid");
    change(&mut body);
    let answer = Answer { status: 200, body, date: None, warnings: Vec::new() };
    judge(request, Outcome::Done(answer), plan.bundle())
}

fn job(plan: &Plan<'_>, change: impl Fn(&mut Value)) -> JobFact {
    match held(plan, &Request::ReadJob, change) {
        Fact::Job(Reading::Present(job)) => job,
        other => panic!("{other:?}"),
    }
}

fn secret(plan: &Plan<'_>, change: impl Fn(&mut Value)) -> SecretFact {
    match held(plan, &Request::ReadSecret, change) {
        Fact::Secret(Reading::Present(secret)) => secret,
        other => panic!("{other:?}"),
    }
}

fn annotate(live: &mut Value, key: &str, value: &str) {
    live["metadata"]["annotations"][key] = json!(value);
}

#[test]
fn the_job_that_stands() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let ours = &plan.bundle().names().secret;
    let same = job(&plan, |_| ());
    assert_eq!((same.uid.as_str(), &same.verdict), ("uid", &JobVerdict::Same));
    assert_eq!((same.secret.as_ref(), same.mentions_our_secret), (Some(ours), true));
    assert_eq!((same.drift.len(), same.finished), (0, None));

    let leaving = job(&plan, |live| {
        live["metadata"]["deletionTimestamp"] = json!("2026-06-01T00:00:00Z");
    });
    assert_eq!(leaving.verdict, JobVerdict::Terminating);

    let cancelled = job(&plan, |live| {
        annotate(live, names::CANCELLED_AT, "2026-06-01T00:01:00Z");
        annotate(live, names::CANCELLED_BY, "somebody else");
    });
    let by = "somebody else".to_owned();
    let at = "2026-06-01T00:01:00Z".to_owned();
    assert_eq!(cancelled.verdict, JobVerdict::Cancelled { at, by });

    let drifted = job(&plan, |live| live["metadata"]["labels"]["example.org/team"] = json!("a"));
    assert_eq!(drifted.verdict, JobVerdict::Same);
    let paths: Vec<&str> = drifted.drift.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["metadata.labels[example.org/team]"]);

    let altered = job(&plan, |live| live["spec"]["activeDeadlineSeconds"] = json!(1));
    let at = |path: &str| vec![path.to_owned()];
    assert_eq!(altered.verdict, JobVerdict::Altered(at("spec.activeDeadlineSeconds")));

    let key = format!("metadata.annotations[{}]", names::SUBMISSION_DIGEST);
    let other = job(&plan, |live| annotate(live, names::SUBMISSION_DIGEST, &"0".repeat(64)));
    let JobVerdict::Foreign(paths) = &other.verdict else { panic!("{other:?}") };
    assert!(paths.contains(&key), "{paths:?}");
}

#[test]
fn the_secret_that_stands() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    assert_eq!(secret(&plan, |_| ()).verdict, SecretVerdict::Same);
    let leaving = secret(&plan, |live| {
        live["metadata"]["deletionTimestamp"] = json!("2026-06-01T00:00:00Z");
    });
    assert_eq!(leaving.verdict, SecretVerdict::Terminating);
    let changed = secret(&plan, |live| live["immutable"] = json!(false));
    assert_eq!(changed.verdict, SecretVerdict::Different(vec!["immutable".to_owned()]));
}

#[test]
fn the_terms_of_a_plan() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    assert_eq!(plan.secret_name(), plan.bundle().names().secret);
    assert!(plan.secret_name().starts_with("prediction-"));
    assert_eq!((plan.namespace_uid(), plan.rehearse_only()), (None, false));
    let intent = Intent { rehearse_only: true, ..Intent::default() };
    let namespace = Namespace::parse(NAMESPACE).unwrap();
    let fitted = render::fit(&inputs.submission, &inputs.profiles).unwrap();
    assert!(Plan::new(fitted, &namespace, intent).unwrap().rehearse_only());
}

#[test]
fn what_keeps_a_plan_from_being_created() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let at = |server: &str| {
        let local = START.parse().unwrap();
        Moment { boot: Duration::ZERO, local, server: Some(server.parse().unwrap()) }
    };
    assert_eq!(plan.obstacles(&at(START)), []);
    // By the server's clock, whatever the local one says.
    let dead = plan.obstacles(&at("2026-06-02T00:00:01Z"));
    assert!(dead.iter().any(|one| one.fault.code.name.contains("expire")), "{dead:?}");
    assert_eq!(plan.obstacles_at("2026-06-02T00:00:01Z".parse().unwrap()), dead);
}

#[test]
fn a_plan_is_for_the_namespace_that_its_submission_names() {
    let uid = "6e8e8a0c-63a4-4f6b-9f0e-0d8f5a1b2c3d";
    let inputs = inputs_in("ab", 86_400, Some(uid));
    assert_eq!(inputs.plan().namespace_uid(), Some(uid));
}

#[test]
fn a_record_is_ours_where_result_and_submission_are() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let names = plan.bundle().names();
    let (result, submission) = (names.result_identity.to_hex(), names.submission_digest.to_hex());
    let other = || "0".repeat(64);
    let differences = |result: &str, submission: &str| {
        let body = recorded(&names.job, result, submission);
        let answer = Answer { status: 200, body, date: None, warnings: Vec::new() };
        match judge(&Request::ReadRecord, Outcome::Done(answer), plan.bundle()) {
            Fact::Record(Reading::Present(record)) => record.differences,
            fact => panic!("{fact:?}"),
        }
    };
    assert!(differences(&result, &submission).is_empty());
    assert_eq!(differences(&other(), &submission), ["data.record.json: result_identity"]);
    assert_eq!(differences(&result, &other()), ["data.record.json: submission_digest"]);
}

/// Only the API server's own word about this very object proves that it is absent.
#[test]
fn what_is_absent_and_what_is_not_told() {
    let inputs = inputs("ab", 86_400);
    let plan = inputs.plan();
    let name = &plan.bundle().names().job;
    let told = |outcome| match judge(&Request::ReadJob, outcome, plan.bundle()) {
        Fact::Job(reading) => reading,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(absent(Resource::Jobs, name)), Reading::Absent);
    for outcome in [
        absent(Resource::Jobs, "another"),
        absent(Resource::Secrets, name),
        refused(403, "Forbidden", Resource::Jobs, name),
    ] {
        let reading = told(outcome);
        assert!(matches!(reading, Reading::Refused(_)), "{reading:?}");
    }
}
