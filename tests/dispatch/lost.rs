//! Answers that are lost, late or not the API server's own: harness looks at what is there and ends with one Job.

use std::time::Duration;

use harness_test_cluster::fault::{Action, Answer, Exchange, FaultProxy, Requests};
use serde_json::{Value, json};

use crate::kit::{Place, Sample, in_parallel};

/// The first real create of a resource.
fn create(resource: &str) -> Requests {
    Requests::new("POST", &format!("/{resource}?")).without("dryRun").nth(1)
}

/// The first post of a resource, which stores nothing.
fn rehearsal(resource: &str) -> Requests {
    Requests::new("POST", &format!("/{resource}?")).nth(1)
}

fn rehearsals() -> Requests {
    Requests::new("POST", "dryRun=All")
}

/// The read of one Job after so many others.
fn read_of_job(nth: u32) -> Requests {
    Requests::new("GET", "/jobs/").nth(nth)
}

fn html(status: u16) -> Answer {
    Answer::new(status, "text/html", "<!doctype html><title>Log in</title>")
}

fn json_of(status: u16, body: &Value) -> Answer {
    Answer::new(status, "application/json", body.to_string())
}

fn status(code: u16, reason: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "made up", "reason": reason, "code": code,
    });
    json_of(code, &body)
}

fn too_many() -> Answer {
    status(429, "TooManyRequests").header("Retry-After", "1")
}

/// Submits through the faults; whatever is said, the same again finds the one Job.
#[track_caller]
fn converges(what: &str, faults: &[(Requests, Action)], code: i32, outcome: &str) -> Value {
    let place = Place::new("lost");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    for (requests, action) in faults {
        proxy.when(requests.clone(), action.clone());
    }
    let harness = place.harness_through(&proxy).arg("--request-timeout=5");
    let run = harness.submit(&sample);
    assert_eq!(run.outcome(), (code, outcome.to_owned()), "{what}\n{run}");
    assert_fault_befell(what, &proxy);
    place.assert_holds(1, 1);
    let again = place.harness().submit(&sample.signed_again()).expect(0, "already_submitted");
    assert_eq!(again["drift"], json!([]));
    place.assert_holds(1, 1);
    place.assert_hides(&sample);
    run.receipts().remove(0)
}

/// Three reads, the record and two rehearsals, two creates.
const WITHOUT_FAULTS: usize = 8;

/// A fault that meets no request proves nothing.
#[track_caller]
fn assert_fault_befell(what: &str, proxy: &FaultProxy) {
    let exchanges = proxy.exchanges();
    let is_hurt = |one: &Exchange| one.answered.is_none() || one.sent.is_none();
    let befell = exchanges.len() > WITHOUT_FAULTS || exchanges.iter().any(is_hurt);
    assert!(befell, "{what}: {exchanges:?}");
}

#[test]
fn the_answer_about_the_secret() {
    let cases = [
        ("lost", Action::LoseResponse),
        ("cut", Action::CutResponse(100)),
        ("never sent", Action::DropRequest),
        ("a login page in place of the server", Action::Replace(html(200))),
        ("a login page after the server", Action::ReplaceResponse(html(200))),
        ("504 before", Action::Replace(status(504, "Timeout"))),
        ("504 after", Action::ReplaceResponse(status(504, "Timeout"))),
        ("nothing at all", Action::ReplaceResponse(Answer::new(200, "application/json", ""))),
    ];
    in_parallel(cases, |(what, action)| {
        converges(what, &[(create("secrets"), action)], 0, "created");
    });
}

#[test]
fn the_answer_about_the_job_after_the_server_made_it() {
    let cases = [
        ("lost", Action::LoseResponse),
        ("cut", Action::CutResponse(100)),
        ("a login page", Action::ReplaceResponse(html(200))),
        ("a gateway's page", Action::ReplaceResponse(html(502))),
        ("504", Action::ReplaceResponse(status(504, "Timeout"))),
        ("another object", Action::ReplaceResponse(json_of(201, &json!({"kind": "Job"})))),
    ];
    in_parallel(cases, |(what, action)| {
        let receipt = converges(what, &[(create("jobs"), action)], 0, "already_submitted");
        assert!(receipt["remarks"].to_string().contains("was lost"), "{what}: {receipt:#}");
    });
}

#[test]
fn an_answer_about_the_job_that_is_too_long_or_too_slow() {
    let huge = Answer::new(201, "application/json", vec![b' '; 50 << 20]);
    let slow = Action::Trickle(Duration::from_secs(1));
    let late = Action::DelayResponse(Duration::from_secs(20));
    let cases =
        [("50 MB", Action::ReplaceResponse(huge)), ("a byte a second", slow), ("late", late)];
    in_parallel(cases, |(what, action)| {
        let receipt = converges(what, &[(create("jobs"), action)], 0, "already_submitted");
        assert!(receipt["remarks"].to_string().contains("was lost"), "{what}: {receipt:#}");
    });
}

#[test]
fn a_create_of_the_job_that_never_arrived() {
    let cases = [
        ("dropped", Action::DropRequest),
        ("a login page", Action::Replace(html(200))),
        ("a gateway's page", Action::Replace(html(503))),
        ("504", Action::Replace(status(504, "Timeout"))),
        ("500", Action::Replace(status(500, "InternalError"))),
        ("429", Action::Replace(too_many())),
    ];
    in_parallel(cases, |(what, action)| {
        let receipt = converges(what, &[(create("jobs"), action)], 0, "created");
        assert_eq!(receipt["remarks"], json!([]), "{what}");
    });
}

#[test]
fn the_read_after_a_lost_answer_is_lost_too() {
    let lost = (create("jobs"), Action::LoseResponse);
    let read = |nth, action| (read_of_job(nth), action);
    let gateway = || Action::Replace(html(502));
    let receipt = converges(
        "job and two reads",
        &[lost.clone(), read(2, gateway()), read(3, Action::LoseResponse)],
        0,
        "already_submitted",
    );
    assert!(receipt["remarks"].to_string().contains("was lost"), "{receipt:#}");
    converges("429", &[lost.clone(), read(2, Action::Replace(too_many()))], 0, "already_submitted");
    // A read that is refused proves nothing while a create may still land.
    let forbidden = Action::Replace(status(403, "Forbidden"));
    converges("403", &[lost, read(2, forbidden)], 0, "already_submitted");
    let secret = (create("secrets"), Action::LoseResponse);
    let reads = Requests::new("GET", "/secrets/").nth(2);
    converges("secret and read", &[secret, (reads, gateway())], 0, "created");
}

#[test]
fn reads_and_rehearsals_that_fail_for_a_while() {
    let cases = [
        ("namespace", Requests::new("GET", "/namespaces/").without("/prediction-").nth(1)),
        ("job", read_of_job(1)),
        ("secret", Requests::new("GET", "/secrets/").nth(1)),
        ("record", Requests::new("GET", "/configmaps/").nth(1)),
        ("rehearsal of the Secret", rehearsal("secrets")),
        ("rehearsal of the Job", rehearsal("jobs")),
    ];
    in_parallel(cases, |(what, requests)| {
        let gateway = Action::Replace(html(503));
        converges(what, &[(requests.clone(), gateway)], 0, "created");
        converges(what, &[(requests, Action::Replace(too_many()))], 0, "created");
    });
}

/// The API server waits with `Retry-After`; harness waits at least as long.
#[test]
fn retry_after_is_honoured() {
    let patient = status(429, "TooManyRequests").header("Retry-After", "3");
    let receipt = converges("429", &[(create("secrets"), Action::Replace(patient))], 0, "created");
    let took = receipt["timings"]["milliseconds"].as_u64().unwrap();
    assert!((3000..30_000).contains(&took), "{took} ms");
}

/// A webhook that cannot dry-run makes the API server answer 400 to every rehearsal.
#[test]
fn rehearsals_that_are_impossible() {
    let refused = status(400, "BadRequest");
    converges("400", &[(rehearsals(), Action::Replace(refused))], 0, "created");
}

/// As long as nothing can be relied on, nothing is claimed and nothing is created.
#[test]
fn a_cluster_that_never_answers() {
    let cases = [
        ("login page", Action::Replace(html(200))),
        ("empty", Action::Replace(Answer::new(200, "application/json", ""))),
        ("dropped", Action::DropRequest),
        ("429", Action::Replace(too_many())),
    ];
    in_parallel(cases, |(what, action)| {
        let place = Place::new("silent");
        let proxy = place.proxy();
        proxy.when(Requests::new("", ""), action);
        let run = place.harness_through(&proxy).submit(&Sample::new("attempt-1"));
        assert_eq!(run.outcome(), (6, "unknown".to_owned()), "{what}\n{run}");
        let detail = run.receipts()[0]["detail"].to_string();
        assert!(detail.contains("no Job was created by this call"), "{what}: {detail}");
        place.assert_holds(0, 0);
    });
}

/// The Job is made and every later read is lost: the receipt says that it may be running.
#[test]
fn a_job_whose_fate_is_hidden() {
    let place = Place::new("hidden");
    let sample = Sample::new("attempt-1");
    let proxy = place.proxy();
    proxy.when(create("jobs"), Action::LoseResponse);
    for nth in 2..20 {
        proxy.when(read_of_job(nth), Action::Replace(html(502)));
    }
    let receipt = place.harness_through(&proxy).submit(&sample).expect(6, "unknown");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("the Job may have been created"), "{detail}");
    place.assert_holds(1, 1);
    place.harness().submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 1);
}

/// Something changes the Job on its way, and only on its real way.
#[test]
fn an_answer_with_another_job() {
    let place = Place::new("altered");
    let sample = Sample::new("attempt-1");
    let (_, mut job) = place.harness().render(&sample);
    job["spec"]["template"]["spec"]["containers"][1]["image"] = json!("example.org/evil");
    job["metadata"]["uid"] = json!("01234567-89ab-cdef-0123-456789abcdef");
    let proxy = place.proxy();
    proxy.when(create("jobs"), Action::ReplaceResponse(json_of(201, &job)));
    let receipt = place.harness_through(&proxy).submit(&sample).expect(4, "created_altered");
    assert_eq!(receipt["differences"], json!(["spec.template.spec.containers[run].image"]));
    place.assert_holds(1, 1);
}
