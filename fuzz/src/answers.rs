//! Answers of an API server, or of whatever stands in its place.

use std::sync::LazyLock;
use std::time::Duration;

use harness::cluster::classify::{RawAnswer, classify};
use harness::cluster::{
    Answer, DryRun, Expected, Method, Outcome, Preconditions, Request, Requests, Resource, Status,
    headers,
};
use harness::render::{Bundle, fit, render};
use harness::submission::{Namespace, Submission};
use harness::submit::facts::{Effect, Fact, JobVerdict, Reading, SecretVerdict};
use harness::submit::observe::judge;
use harness::submit::protocol;
use harness::{ledger, render::names};
use serde_json::{Value, json};

use crate::common::{CANARY, PROFILES, first_line};

static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
    let text = include_bytes!("../../examples/submissions/first-attempt.json");
    let submission = Submission::parse(text).expect("the example is valid");
    let fitted = fit(&submission, &PROFILES).expect("the example fits");
    render(&fitted, &Namespace::parse("research").expect("a DNS label")).expect("there is an image")
});

/// What is asked, by the word at the beginning of an input.
const KINDS: [&str; 12] = [
    "read-namespace",
    "read-job",
    "read-secret",
    "read-record",
    "create-secret",
    "create-job",
    "create-record",
    "delete-secret",
    "cancel-job",
    "list-pods",
    "read-log",
    "who",
];

/// Lines: what was asked, the status, the media type and `Retry-After` of the answer; then its body, in which `$JOB`,
/// `$SECRET` and `$WHOLE_JOB`, `$WHOLE_SECRET` stand for what is rendered.
///
/// Done is only the very object that was asked for in the form of an API server, and a create only with 201; refused is
/// only the server's own no; absent only its own word for this name; a Secret is never repeated.
pub fn answers(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (terms, body) = first_line(&text);
    let mut terms = terms.split(' ');
    let kind = terms.next().unwrap_or_default();
    let kind = KINDS.into_iter().find(|known| *known == kind).unwrap_or("create-job");
    let status = terms.next().and_then(|status| status.parse().ok()).unwrap_or(201);
    let media_type = headers::media_type(terms.next().unwrap_or("application/json"));
    let retry_after = terms.next().and_then(headers::retry_after);
    let body = with_names(body);
    let answer = RawAnswer {
        status,
        media_type: media_type.clone(),
        retry_after,
        date: None,
        warnings: vec![format!("a webhook warns of {body:.40}")],
        body: body.clone().into_bytes(),
    };
    let request = request(kind);
    let outcome = classify(&request, answer.clone());
    assert_eq!(outcome, classify(&request, answer));
    match &outcome {
        Outcome::Done(done) => check_done(&request, done, status, &media_type, &body),
        Outcome::Refused(refused) => check_refused(refused, status, &media_type, &body),
        Outcome::Unknown(unknown) => assert!(unknown.to_string().len() < 8192),
    }
    if request.is_confidential() && !is_named(&body) {
        assert!(!format!("{outcome:?}").contains(CANARY), "{outcome:?}");
    }
    check_facts(kind, outcome, status, &body);
}

fn with_names(body: &str) -> String {
    let ours = BUNDLE.names();
    body.replace("$WHOLE_JOB", &BUNDLE.job().to_string())
        .replace("$WHOLE_SECRET", &BUNDLE.secret().to_string())
        .replace("$SECRET", &ours.secret)
        .replace("$JOB", &ours.job)
}

fn request(kind: &str) -> Request {
    let requests = Requests::new("research", Duration::from_secs(1));
    let ours = BUNDLE.names();
    let preconditions = Preconditions { uid: "u".to_owned(), resource_version: None };
    match kind {
        "read-namespace" => requests.read_namespace(),
        "read-job" => requests.read_job(&ours.job),
        "read-secret" => requests.read_secret(&ours.secret),
        "read-record" => requests.read_config_map(&ours.job),
        "create-secret" => requests.create_secret(&ours.secret, b"{}".to_vec(), DryRun::No),
        "create-record" => requests.create_config_map(&ours.job, b"{}".to_vec(), DryRun::No),
        "delete-secret" => requests.delete_secret(&ours.secret, &preconditions),
        "cancel-job" => requests.patch(Resource::Jobs, &ours.job, &json!({})),
        "list-pods" => requests.list(Resource::Pods, "", 100, None),
        "read-log" => requests.read_log("p", "run", 1, 1),
        "who" => requests.review_self(),
        _ => requests.create_job(&ours.job, b"{}".to_vec(), DryRun::No),
    }
}

/// Whether what is secret stands where a server writes names, which are no secret.
fn is_named(body: &str) -> bool {
    fn anywhere(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains(CANARY),
            Value::Array(items) => items.iter().any(anywhere),
            Value::Object(members) => members.iter().any(|(key, value)| {
                key.contains(CANARY) || (key != "message" && key != "data" && anywhere(value))
            }),
            _ => false,
        }
    }
    serde_json::from_str(body).is_ok_and(|body| anywhere(&body))
}

fn check_done(request: &Request, done: &Answer, status: u16, media_type: &str, body: &str) {
    assert!((200..=299).contains(&status));
    assert!(request.method != Method::Post || status == 201, "created with {status}");
    if request.expected == Expected::Log {
        assert_eq!(media_type, "text/plain");
        return;
    }
    assert_eq!(media_type, "application/json");
    let held: Value = serde_json::from_str(body).expect("what is believed is JSON");
    assert_eq!(held, done.body);
    let is = |resource: &Resource, suffix: &str| {
        held["apiVersion"] == resource.api_version()
            && held["kind"] == format!("{}{suffix}", resource.kind())
    };
    let holds = |name: &str, namespace: &Option<String>| {
        held["metadata"]["name"] == name
            && held["metadata"]["namespace"].as_str() == namespace.as_deref()
    };
    let is_expected = match &request.expected {
        Expected::Object { resource, name, namespace } => {
            is(resource, "") && holds(name, namespace)
        }
        Expected::Nameless(resource) => is(resource, ""),
        Expected::List(resource) => is(resource, "List") && held["items"].is_array(),
        Expected::Log => unreachable!("looked at before"),
        Expected::Deleted { resource, name, namespace } => {
            let is_end = held["kind"] == "Status"
                && held["status"] == "Success"
                && held["details"]["name"] == **name
                && held["details"]["kind"] == resource.plural();
            is_end || (is(resource, "") && holds(name, namespace))
        }
    };
    assert!(is_expected, "{:?} is answered by {body}", request.expected);
}

fn check_refused(refused: &Status, status: u16, media_type: &str, body: &str) {
    assert!((400..=499).contains(&status));
    assert_eq!((refused.code, media_type), (status, "application/json"));
    let held: Value = serde_json::from_str(body).expect("what is believed is JSON");
    assert_eq!((&held["kind"], &held["code"]), (&json!("Status"), &json!(status)));
    assert!(refused.message.len() <= 4100 && refused.details.causes.len() <= 32);
}

/// What the protocols are told.
fn check_facts(kind: &str, outcome: Outcome, status: u16, body: &str) {
    let held = || serde_json::from_str::<Value>(body).expect("what is believed is JSON");
    let ours = BUNDLE.names();
    let is_absence = |resource: &str, name: &str| {
        let held = held();
        let details = &held["details"];
        status == 404
            && held["reason"] == "NotFound"
            && details["name"] == name
            && details["kind"] == resource
    };
    let request = match kind {
        "read-namespace" => protocol::Request::ReadNamespace,
        "read-job" => protocol::Request::ReadJob,
        "read-secret" => protocol::Request::ReadSecret,
        "read-record" => protocol::Request::ReadRecord,
        "create-secret" => protocol::Request::CreateSecret,
        // The create itself needs what only the protocol makes; it is judged as its rehearsal.
        "create-job" => protocol::Request::RehearseJob,
        "delete-secret" => protocol::Request::DeleteSecret("u".to_owned()),
        "list-pods" => return check_ledger(&ledger::protocol::Request::ListPods, outcome),
        "who" => return check_ledger(&ledger::protocol::Request::ReviewSelf, outcome),
        _ => return,
    };
    match judge(&request, outcome, &BUNDLE) {
        Fact::Job(Reading::Absent) => assert!(is_absence("jobs", &ours.job)),
        Fact::Secret(Reading::Absent) => assert!(is_absence("secrets", &ours.secret)),
        Fact::Record(Reading::Absent) => assert!(is_absence("configmaps", &ours.job)),
        Fact::Namespace(Reading::Absent) => assert!(is_absence("namespaces", "research")),
        Fact::SecretCreate(Effect::Done(fact)) if fact.verdict == SecretVerdict::Same => {
            assert_eq!(held()["data"], BUNDLE.secret()["data"]);
            assert_eq!((status, &held()["immutable"]), (201, &json!(true)));
        }
        Fact::JobRehearsal(Effect::Done(fact)) => {
            assert_eq!(status, 201);
            check_same_job(&fact.verdict, &held());
        }
        Fact::Job(Reading::Present(fact)) => check_same_job(&fact.verdict, &held()),
        _ => {}
    }
}

fn check_same_job(verdict: &JobVerdict, held: &Value) {
    if *verdict != JobVerdict::Same {
        return;
    }
    let ours = BUNDLE.job();
    for name in [names::SUBMISSION_DIGEST, names::RESULT_IDENTITY] {
        assert_eq!(held["metadata"]["annotations"][name], ours["metadata"]["annotations"][name]);
    }
    let image = |job: &Value| {
        let containers = job["spec"]["template"]["spec"]["containers"].as_array();
        let run = containers.into_iter().flatten().find(|container| container["name"] == "run");
        run.map(|run| run["image"].clone())
    };
    assert_eq!(image(held), image(ours));
    assert!(held["metadata"]["deletionTimestamp"].is_null());
}

fn check_ledger(request: &ledger::protocol::Request, outcome: Outcome) {
    let is_done = matches!(outcome, Outcome::Done(_));
    match ledger::observe::judge(request, outcome, "research", &BUNDLE.names().job) {
        ledger::facts::Fact::Pods(Reading::Present(_)) => assert!(is_done),
        ledger::facts::Fact::Pods(Reading::Absent) => panic!("a list is never absent"),
        ledger::facts::Fact::Who(Reading::Present(name)) => assert!(is_done && !name.is_empty()),
        _ => {}
    }
}
