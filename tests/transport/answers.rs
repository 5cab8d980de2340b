//! Answers, good and bad, through a whole connection.

use std::time::Duration;

use harness::cluster::{
    DryRun, NotSent, Outcome, Preconditions, Request, Requests, Resource, Status, Unknown, Why,
};
use serde_json::{Value, json};

use crate::kit::{AT_ONCE, Fake, PATIENCE, job, namespace, status, time};

/// Short enough to wait for, long enough for a loaded machine to answer in.
const SHORT: Duration = Duration::from_secs(3);

const CANARY: &str = "c2lnbmF0dXJlLWNhbmFyeQ==";

fn requests() -> Requests {
    Requests::new("lab", PATIENCE)
}

fn ask(request: &Request, rule: Value) -> Outcome {
    Fake::answering(rule).connect().send(request)
}

fn why(request: &Request, rule: Value) -> Why {
    match ask(request, rule) {
        Outcome::Unknown(unknown) => unknown.why,
        other => panic!("{other:?}"),
    }
}

fn refusal(request: &Request, rule: Value) -> Status {
    match ask(request, rule) {
        Outcome::Refused(status) => status,
        other => panic!("{other:?}"),
    }
}

fn create_secret() -> Request {
    let body = json!({ "data": { "mission_url": CANARY } });
    requests().create_secret("s1", body.to_string().into_bytes(), DryRun::No)
}

#[test]
fn a_good_answer_is_done() {
    let rule = json!({
        "body": job("j1"), "status": 201, "manner": "chunked",
        "headers": [
            ["Date", "Mon, 30 Nov 2026 02:40:15 GMT"],
            ["Warning", "299 - \"would violate PodSecurity\""],
        ],
    });
    let request = requests().create_job("j1", b"{}".to_vec(), DryRun::No);
    let Outcome::Done(answer) = ask(&request, rule) else { panic!() };
    assert_eq!(answer.status, 201);
    assert_eq!(answer.body["metadata"]["uid"], "u-2");
    assert_eq!(answer.date.unwrap().to_string(), "2026-11-30T02:40:15Z");
    assert_eq!(answer.warnings, ["would violate PodSecurity"]);
}

#[test]
fn the_request_is_sent_as_it_is_meant() {
    let fake = Fake::answering(json!({ "body": job("j1") }));
    let connection = fake.connect();
    let mut request = requests().create_job("j1", b"{\"a\":1}".to_vec(), DryRun::Yes);
    request.timeout = Duration::from_secs(20);
    connection.send(&request);
    let preconditions =
        Preconditions { uid: "u-2".to_owned(), resource_version: Some("7".to_owned()) };
    connection.send(&requests().delete_job("j1", &preconditions));
    connection.send(&requests().patch(Resource::Jobs, "j1", &json!({ "spec": {} })));
    let [create, delete, patch] = &fake.requests()[..] else { panic!() };
    assert_eq!(create["method"], "POST");
    assert_eq!(
        create["target"],
        "/apis/batch/v1/namespaces/lab/jobs?fieldManager=harness&fieldValidation=Strict&dryRun=All\
         &timeout=18000ms"
    );
    assert_eq!(create["body"], "{\"a\":1}");
    assert_eq!(create["headers"]["host"], "localhost");
    assert_eq!(create["headers"]["content-type"], "application/json");
    assert_eq!(create["headers"]["accept"], "application/json");
    assert_eq!(create["headers"]["accept-encoding"], "identity");
    assert_eq!(delete["method"], "DELETE");
    assert_eq!(delete["target"], "/apis/batch/v1/namespaces/lab/jobs/j1?timeout=27000ms");
    let options: Value = serde_json::from_str(delete["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        options,
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": { "uid": "u-2", "resourceVersion": "7" },
        })
    );
    assert_eq!(patch["method"], "PATCH");
    assert_eq!(patch["headers"]["content-type"], "application/merge-patch+json");
}

#[test]
fn a_name_that_changes_the_path_is_not_sent() {
    let fake = Fake::answering(json!({ "body": job("j1") }));
    let connection = fake.connect();
    for name in ["", "a/b", "..", "a?x=1", "a b", "%2e%2e", "a#b"] {
        let Outcome::Unknown(unknown) = connection.send(&requests().read_job(name)) else {
            panic!("{name:?} was sent")
        };
        assert!(matches!(unknown.why, Why::NotSent(NotSent::Malformed { .. })), "{unknown:?}");
        assert!(unknown.certainly_not_sent());
    }
    assert!(fake.requests().is_empty());
}

#[test]
fn absence_is_proven_only_in_full() {
    let missing = |details: Value| status(404, "NotFound", "not found", details);
    let request = requests().read_job("j1");
    let proof = json!({ "name": "j1", "group": "batch", "kind": "jobs" });
    let answer = refusal(&request, json!({ "status": 404, "body": missing(proof) }));
    assert!(answer.is_absence_of(Resource::Jobs, "j1"));
    assert!(!answer.is_absence_of(Resource::Jobs, "j2"));
    assert!(!answer.is_absence_of(Resource::Secrets, "j1"));
    for weaker in [
        json!({}),
        json!({ "name": "lab", "kind": "namespaces" }),
        json!({ "name": "j1", "group": "other", "kind": "jobs" }),
    ] {
        let answer = refusal(&request, json!({ "status": 404, "body": missing(weaker) }));
        assert!(!answer.is_absence_of(Resource::Jobs, "j1"), "{answer:?}");
    }
    let text = json!({ "status": 404, "content_type": "text/plain", "body": "404 not found" });
    assert!(matches!(why(&request, text), Why::Foreign { status: 404, .. }));
}

#[test]
fn patience_is_asked_for() {
    let body = status(429, "TooManyRequests", "slow down", json!({ "retryAfterSeconds": 9 }));
    let rule = json!({ "status": 429, "headers": [["Retry-After", "7"]], "body": body });
    let answer = refusal(&requests().read_job("j1"), rule);
    assert_eq!(answer.retry_after, Some(Duration::from_secs(7)));
    let answer = refusal(&requests().read_job("j1"), json!({ "status": 429, "body": body }));
    assert_eq!(answer.retry_after, Some(Duration::from_secs(9)));
}

#[test]
fn every_server_failure_is_unknown() {
    for code in [500, 502, 503, 504] {
        let body = status(code, "InternalError", "etcdserver: request timed out", json!({}));
        let rule = json!({ "status": code, "headers": [["Retry-After", "3"]], "body": body });
        let Outcome::Unknown(unknown) = ask(&requests().read_job("j1"), rule) else { panic!() };
        assert_eq!(unknown.retry_after, Some(Duration::from_secs(3)));
        let message = "etcdserver: request timed out".to_owned();
        assert_eq!(unknown.why, Why::ServerError { status: code, message });
    }
    let html = json!({ "status": 502, "content_type": "text/html", "body": "<html>" });
    let found = why(&requests().read_job("j1"), html);
    assert_eq!(found, Why::ServerError { status: 502, message: String::new() });
}

#[test]
fn kubectl_says_when_it_reached_nobody() {
    for (text, never_sent) in [
        ("dial tcp 127.0.0.1:1: connect: connection refused", true),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", true),
        ("getting credentials: exec: executable login failed with exit code 1", true),
        ("dial tcp: lookup api.test on 10.0.0.1:53: no such host", true),
        ("EOF", false),
        ("read tcp 127.0.0.1:1: read: connection reset by peer", false),
        ("http2: client connection lost", false),
    ] {
        let rule =
            json!({ "status": 500, "content_type": "text/plain; charset=utf-8", "body": text });
        let Outcome::Unknown(unknown) = ask(&create_secret(), rule) else { panic!() };
        assert_eq!(unknown.certainly_not_sent(), never_sent, "{text}");
    }
}

#[test]
fn a_success_about_something_else_is_unknown() {
    let request = requests().read_job("j1");
    let foreign = |rule| matches!(why(&request, rule), Why::Foreign { status: 200, .. });
    assert!(foreign(json!({ "content_type": "text/html", "body": "<html>log in</html>" })));
    assert!(foreign(json!({ "content_type": "-", "body": job("j1") })));
    assert!(foreign(json!({ "content_type": "application/yaml", "body": job("j1") })));
    let unreadable = |rule| matches!(why(&request, rule), Why::Unreadable { status: 200, .. });
    assert!(unreadable(json!({ "body": "" })));
    assert!(unreadable(json!({ "body": "{\"kind\":" })));
    let mut elsewhere = job("j1");
    elsewhere["metadata"]["namespace"] = json!("other");
    let mut older = job("j1");
    older["apiVersion"] = json!("batch/v1beta1");
    for body in [
        job("j2"),
        elsewhere,
        older,
        namespace(),
        json!({ "kind": "JobList", "apiVersion": "batch/v1", "items": [] }),
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" }),
        json!([]),
        json!(null),
        json!("text"),
    ] {
        let found = why(&request, json!({ "body": body.to_string() }));
        assert!(matches!(found, Why::Unexpected { .. }), "{body}: {found:?}");
    }
    let redirect = json!({ "status": 302, "headers": [["Location", "http://localhost/x"]] });
    assert!(matches!(why(&request, redirect), Why::Foreign { status: 302, .. }));
}

#[test]
fn a_refusal_that_is_not_the_api_servers_is_unknown() {
    let request = requests().read_job("j1");
    let other_code = status(409, "Conflict", "", json!({}));
    let made_up = json!({ "causes": [{ "reason": "UnexpectedServerResponse", "message": "x" }] });
    for body in [other_code, status(403, "Forbidden", "no", made_up), job("j1"), json!({})] {
        let found = why(&request, json!({ "status": 403, "body": body }));
        assert!(matches!(found, Why::Foreign { status: 403, .. }), "{found:?}");
    }
}

#[test]
fn deletion_ends_in_two_ways() {
    let preconditions = Preconditions { uid: "u-2".to_owned(), resource_version: None };
    let request = requests().delete_job("j1", &preconditions);
    let gone = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Success",
        "details": { "name": "j1", "group": "batch", "kind": "jobs", "uid": "u-2" },
    });
    for body in [gone.clone(), job("j1")] {
        assert!(matches!(ask(&request, json!({ "body": body })), Outcome::Done(_)));
    }
    let mut other = gone;
    other["details"]["name"] = json!("j2");
    assert!(matches!(why(&request, json!({ "body": other })), Why::Unexpected { .. }));
}

#[test]
fn a_broken_connection_is_unknown_and_nothing_is_sent_twice() {
    for manner in ["close", "cut"] {
        let fake = Fake::new(json!({ "answers": [
            { "method": "GET", "body": namespace() },
            { "manner": manner, "status": 201, "body": job("j1") },
        ] }));
        let connection = fake.connect();
        // So that the request goes over a kept connection, which a client might think stale.
        assert!(matches!(connection.send(&requests().read_namespace()), Outcome::Done(_)));
        let request = requests().create_job("j1", b"{}".to_vec(), DryRun::No);
        let Outcome::Unknown(Unknown { why: Why::Cut { .. }, .. }) = connection.send(&request)
        else {
            panic!("{manner}")
        };
        let posts = fake.requests().iter().filter(|asked| asked["method"] == "POST").count();
        assert_eq!(posts, 1, "{manner}");
        // The connection as a whole is not spoilt.
        assert!(matches!(connection.send(&requests().read_namespace()), Outcome::Done(_)));
    }
}

#[test]
fn late_answers_end_at_the_deadline() {
    for rule in [
        json!({ "manner": "hang" }),
        json!({ "manner": "drip", "body": job("j1") }),
        json!({ "delay": 60_000, "body": job("j1") }),
    ] {
        let connection = Fake::answering(rule.clone());
        let connection = connection.connect();
        let mut request = requests().read_job("j1");
        request.timeout = SHORT;
        let (outcome, taken) = time(|| connection.send(&request));
        let Outcome::Unknown(unknown) = outcome else { panic!("{rule}: {outcome:?}") };
        assert_eq!(unknown.why, Why::Late { allowed: SHORT }, "{rule}");
        assert!(taken >= SHORT && taken < SHORT + AT_ONCE, "{rule}: {taken:?}");
        // What hangs does not hold up the end.
        let ((), taken) = time(|| drop(connection));
        assert!(taken < AT_ONCE, "{taken:?}");
    }
}

#[test]
fn a_flood_is_cut_off() {
    let rule = json!({ "body": job("j1"), "flood": 50_000_000 });
    let limit = 8 * 1024 * 1024;
    assert_eq!(why(&requests().read_job("j1"), rule), Why::TooLarge { limit });
    let long = "x".repeat(10_000);
    let body = status(
        422,
        &long,
        &long,
        json!({ "name": long, "causes": vec![json!({ "field": long }); 99] }),
    );
    let answer = refusal(&requests().read_job("j1"), json!({ "status": 422, "body": body }));
    assert!(format!("{answer:?}").len() < 50_000);
    assert_eq!(answer.details.causes.len(), 32);
}

#[test]
fn a_secret_is_in_no_outcome() {
    let echo = format!("cannot decode {{\"data\":{{\"mission_url\":\"{CANARY}\"}}}}");
    let webhook = format!("admission webhook \"w\" denied the request: {CANARY}");
    let warning = format!("299 - \"odd: {CANARY}\"");
    let causes = json!({ "causes": [{ "reason": "FieldValueInvalid", "message": echo }] });
    let mut stored = job("s1");
    stored["kind"] = json!("Secret");
    stored["apiVersion"] = json!("v1");
    stored["data"] = json!({ "mission_url": CANARY });
    for rule in [
        json!({ "status": 201, "body": stored, "headers": [["Warning", warning]] }),
        json!({ "status": 400, "body": status(400, "BadRequest", &echo, causes.clone()) }),
        json!({ "status": 422, "body": status(422, "Invalid", &echo, causes) }),
        json!({ "status": 403, "body": status(403, "Forbidden", &webhook, json!({})) }),
        json!({ "status": 409, "body": status(409, "AlreadyExists", &webhook, json!({})) }),
        json!({ "status": 500, "body": status(500, "InternalError", &echo, json!({})) }),
        json!({ "status": 502, "content_type": "text/plain", "body": echo }),
        json!({ "status": 200, "content_type": "text/plain", "body": echo }),
        json!({ "status": 200, "body": echo }),
    ] {
        let outcome = ask(&create_secret(), rule);
        assert!(!matches!(&outcome, Outcome::Done(answer) if answer.warnings.is_empty()));
        assert!(!format!("{outcome:?}").contains(CANARY), "{outcome:?}");
        if let Outcome::Unknown(unknown) = outcome {
            assert!(!unknown.to_string().contains(CANARY));
        }
    }
    assert!(!format!("{:?}", create_secret()).contains(CANARY));
}

#[test]
fn a_secret_is_on_no_command_line() {
    let fake = Fake::answering(json!({ "status": 409, "body": {} }));
    let connection = fake.connect();
    connection.send(&create_secret());
    assert!(fake.requests()[0]["body"].as_str().unwrap().contains(CANARY));
    let record = fake.record();
    for process in ["process", "parent"] {
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{}/{file}", record[process])).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "{process} {file}");
        }
    }
    assert!(!connection.stderr_tail().contains(CANARY));
}

#[test]
fn a_refused_secret_still_says_why() {
    for (code, reason, message) in [
        (409, "AlreadyExists", "secrets \"s1\" already exists"),
        (404, "NotFound", "namespaces \"lab\" not found"),
        (
            403,
            "Forbidden",
            "secrets is forbidden: User \"dev\" cannot create resource \"secrets\" in API group \
             \"\" in the namespace \"lab\"",
        ),
        (403, "Forbidden", "secrets \"s1\" is forbidden: exceeded quota: q, requested: count=1"),
    ] {
        let body = status(code, reason, message, json!({}));
        let answer = refusal(&create_secret(), json!({ "status": code, "body": body }));
        assert_eq!(answer.message, message);
        assert_eq!(
            answer.to_string(),
            format!("the API server refused with {code} {reason}: {message}")
        );
    }
}

#[test]
fn many_threads_share_one_connection() {
    let fake = Fake::answering(json!({ "body": namespace(), "delay": 5 }));
    let connection = fake.connect();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let outcome = connection.send(&requests().read_namespace());
                    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
                }
            });
        }
    });
    assert_eq!(fake.requests().len(), 16 * 25);
}
