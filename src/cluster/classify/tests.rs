//! Properties of the classification; `tests/transport` has the single cases.

use proptest::prelude::*;
use serde_json::json;

use super::super::api::Requests;
use super::super::request::DryRun;
use super::*;

const CANARY: &str = "c2lnbmF0dXJlLWNhbmFyeQ==";

fn requests() -> Requests {
    Requests::new("lab", Duration::from_secs(1))
}

fn answer(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> RawAnswer {
    RawAnswer {
        status,
        media_type: media_type.to_owned(),
        retry_after: None,
        date: None,
        warnings: Vec::new(),
        body: body.into(),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["v1", "Status", "Failure", "Success", "Job", "batch/v1", "j1"])
            .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "kind",
        "apiVersion",
        "status",
        "code",
        "details",
        "metadata",
        "name",
        "causes",
        "reason",
    ]);
    leaf.prop_recursive(3, 32, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn only_the_object_that_was_asked_for_is_done(status in 100u16..1000, body in any_json()) {
        let outcome =
            classify(&requests().read_job("j1"), answer(status, "application/json", body.to_string()));
        let is_job = body["kind"] == "Job" && body["apiVersion"] == "batch/v1";
        if let Outcome::Done(_) = outcome {
            prop_assert!(is_job && body["metadata"]["name"] == "j1" && status / 100 == 2);
        }
    }

    #[test]
    fn only_a_status_of_the_same_code_is_refused(status in 100u16..1000, body in any_json()) {
        let outcome =
            classify(&requests().read_job("j1"), answer(status, "application/json", body.to_string()));
        if let Outcome::Refused(refused) = outcome {
            prop_assert!(body["kind"] == "Status" && body["code"] == status && status / 100 == 4);
            prop_assert_eq!(refused.code, status);
        }
    }

    #[test]
    fn any_bytes_are_unknown(
        status in 100u16..1000,
        media_type in "application/json|text/plain|text/html|",
        body: Vec<u8>,
    ) {
        let outcome = classify(&requests().read_job("j1"), answer(status, &media_type, body));
        prop_assert!(matches!(outcome, Outcome::Unknown(_)));
    }

    #[test]
    fn no_reason_leaks_a_secret(
        status in 400u16..600,
        reason in "BadRequest|Invalid|Forbidden|InternalError|Conflict|[A-Z][a-z]{0,8}",
        media_type in "application/json|text/plain",
    ) {
        let request = requests().create_secret("s1", CANARY.into(), DryRun::Yes);
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
            "reason": reason, "message": format!("cannot decode {CANARY}"),
            "details": { "causes": [{ "message": CANARY }] },
        });
        let outcome = classify(&request, answer(status, &media_type, body.to_string()));
        let shown = format!("{outcome:?}");
        prop_assert!(!shown.contains(CANARY));
    }
}

#[test]
fn a_create_is_believed_only_with_201() {
    let request = requests().create_job("j1", b"{}".to_vec(), DryRun::No);
    let job = json!({
        "kind": "Job", "apiVersion": "batch/v1", "metadata": { "name": "j1", "namespace": "lab" },
    });
    for status in 200..=204 {
        let outcome = classify(&request, answer(status, "application/json", job.to_string()));
        assert_eq!(matches!(outcome, Outcome::Done(_)), status == 201, "{status}");
        assert_eq!(matches!(outcome, Outcome::Unknown(_)), status != 201, "{status}");
    }
}

#[test]
fn a_list_is_believed_only_as_a_list() {
    let request = requests().list(Resource::Jobs, "a=b", 500, None);
    let list = json!({ "kind": "JobList", "apiVersion": "batch/v1", "items": [] });
    let done = classify(&request, answer(200, "application/json", list.to_string()));
    assert!(matches!(done, Outcome::Done(_)));
    for other in [
        json!({ "kind": "JobList", "apiVersion": "batch/v1" }),
        json!({ "kind": "Job", "apiVersion": "batch/v1", "items": [] }),
        json!({ "kind": "PodList", "apiVersion": "v1", "items": [] }),
    ] {
        let unknown = classify(&request, answer(200, "application/json", other.to_string()));
        assert!(matches!(unknown, Outcome::Unknown(_)), "{other}");
    }
}

#[test]
fn a_review_has_no_name() {
    let request = requests().review_self();
    assert_eq!(request.path, "/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let review = json!({ "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1" });
    let done = classify(&request, answer(201, "application/json", review.to_string()));
    assert!(matches!(done, Outcome::Done(_)));
}

#[test]
fn the_output_of_a_container_is_text() {
    let request = requests().read_log("p1", "run", 100, 4096);
    assert_eq!(request.path, "/api/v1/namespaces/lab/pods/p1/log");
    let Outcome::Done(done) = classify(&request, answer(200, "text/plain", b"a\xffb\n".to_vec()))
    else {
        panic!()
    };
    assert_eq!(done.body, "a\u{fffd}b\n");
    for media_type in ["text/html", "application/json", ""] {
        let unknown = classify(&request, answer(200, media_type, "{}"));
        assert!(matches!(unknown, Outcome::Unknown(_)), "{media_type}");
    }
}

#[test]
fn events_are_selected_by_their_object() {
    let request = requests().list_events("u-1", 500);
    assert_eq!(request.path, "/api/v1/namespaces/lab/events");
    let selector = ("fieldSelector", "involvedObject.uid=u-1".to_owned());
    assert_eq!(request.query, [("limit", "500".to_owned()), selector]);
}

#[test]
fn a_webhook_that_cannot_be_called_is_named_and_nothing_else_of_the_sentence() {
    let message = |name: &str| {
        format!(
            "Internal error occurred: failed calling webhook \"{name}\": failed to call webhook: Post \"https://{CANARY}\""
        )
    };
    let shown = |message: String| {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500,
            "reason": "InternalError", "message": message,
        });
        let answer = answer(500, "application/json", body.to_string());
        format!(
            "{:?}",
            classify(&requests().create_secret("s1", CANARY.into(), DryRun::No), answer)
        )
    };
    let named = shown(message("deny.example.org"));
    assert!(named.contains("deny.example.org") && !named.contains(CANARY), "{named}");
    for name in ["", CANARY, "a b", &"a".repeat(254)] {
        let withheld = shown(message(name));
        assert!(withheld.contains("withheld") && !withheld.contains(CANARY), "{withheld}");
    }
}

#[test]
fn an_unreachable_server_repeats_no_secret() {
    let text = format!("proxying {CANARY}: dial tcp 127.0.0.1:1: connect: connection refused");
    let of = |request: &Request| match classify(request, answer(500, "text/plain", text.clone())) {
        Outcome::Unknown(unknown) if unknown.certainly_not_sent() => unknown.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(of(&requests().read_job("j1")).contains(CANARY));
    let shown = of(&requests().create_secret("s1", b"{}".to_vec(), DryRun::No));
    assert_eq!(shown, "kubectl does not reach the API server: connect: connection refused");
}
