//! The store: what is sent, what is lost on the way, and what lies there already.

use std::fs;

use harness::execution::{Category, Ending};
use harness_test_store::{Action, Answer, Requests};

use crate::kit::{Pod, assert_ended, store, verify};

const FINE: Ending = Ending::Exited { code: 0 };

fn befall(pod: &Pod, method: &str, nth: u32, action: Action) {
    store().when(Requests::new(method, &pod.object).nth(nth), action);
}

#[test]
fn a_lost_answer_is_settled_by_reading_back() {
    let pod = Pod::new();
    befall(&pod, "PUT", 1, Action::LoseResponse);
    assert_ended(&pod.run(FINE), Category::Succeeded, "read back and found the same");
    pod.published();
}

#[test]
fn a_lost_answer_without_read_back_is_told_as_it_is() {
    let pod = Pod::new().without_readback();
    befall(&pod, "PUT", 1, Action::LoseResponse);
    let ended = pod.run(FINE);
    assert_ended(&ended, Category::PublicationFailed, "nobody can tell");
    assert_eq!(pod.published()["result_digest"], ended.reason.digests["result"].as_str());
}

#[test]
fn without_read_back_the_store_is_believed() {
    let pod = Pod::new().without_readback();
    assert_ended(&pod.run(FINE), Category::Succeeded, "no result_readback_url");
    pod.published();
}

#[test]
fn another_run_s_result_is_never_touched() {
    let first = Pod::new();
    let theirs = first.run(FINE).reason;
    let bytes = store().get(&first.object).unwrap().unwrap();
    let mut second = Pod::new();
    store().put(&second.object, &bytes).unwrap();
    let ended = second.run(FINE);
    assert_ended(&ended, Category::AlreadyPublished, "another run's result");
    assert_eq!(ended.reason.digests["found_evidence"], theirs.digests["evidence"]);
    assert_ne!(ended.reason.digests["result"], theirs.digests["result"]);
    assert_eq!(store().get(&second.object).unwrap().unwrap(), bytes);

    // The same Job published it, from an earlier pod.
    second = Pod::new();
    second.job_uid = first.job_uid;
    store().put(&second.object, &bytes).unwrap();
    fs::write(second.path("output/more"), "more").unwrap();
    let ended = second.run(FINE);
    assert_ended(&ended, Category::Succeeded, "published its result before");
}

#[test]
fn an_object_of_anybody_is_never_touched() {
    for (content, readback) in [("", true), ("something", true), ("something", false)] {
        let pod = Pod::new();
        let pod = if readback { pod } else { pod.without_readback() };
        store().put(&pod.object, content).unwrap();
        let ended = pod.run(FINE);
        assert_ended(&ended, Category::AlreadyPublished, "was not touched");
        assert_eq!(store().get(&pod.object).unwrap().unwrap(), content.as_bytes());
    }
}

#[test]
fn a_store_that_comes_back_gets_the_result() {
    let pod = Pod::new();
    befall(&pod, "PUT", 1, Action::DropRequest);
    befall(&pod, "PUT", 2, Action::Replace(Answer::error(503, "SlowDown")));
    befall(&pod, "GET", 1, Action::Replace(Answer::error(500, "InternalError")));
    befall(&pod, "GET", 2, Action::CutResponse(10));
    assert_ended(&pod.run(FINE), Category::Succeeded, "read back and found the same");
    pod.published();
}

#[test]
fn a_store_that_stays_away_is_given_up_in_time() {
    let pod = Pod { deadlines: (14, 8), max_seconds: 1, ..Pod::new() };
    store().when(Requests::new("", &pod.object), Action::DropRequest);
    let ended = pod.run(FINE);
    assert_ended(&ended, Category::PublicationFailed, "the runner succeeded");
}

#[test]
fn a_store_that_never_answers_does_not_keep_the_last_words() {
    let pod = Pod { deadlines: (12, 8), max_seconds: 1, ..Pod::new() };
    store().when(Requests::new("PUT", &pod.object), Action::NeverAnswer);
    assert_ended(&pod.run(FINE), Category::PublicationFailed, "the time for publication ended");
}

#[test]
fn what_the_store_refuses_for_good_is_said_with_its_own_code() {
    for (answer, part) in [
        (Answer::error(403, "AccessDenied"), "403 AccessDenied"),
        (Answer::error(404, "NoSuchBucket"), "404 NoSuchBucket"),
        (
            Answer::redirect(307, "https://elsewhere.example.org/a?X-Amz-Signature=x"),
            "elsewhere.example.org",
        ),
    ] {
        let pod = Pod::new();
        befall(&pod, "PUT", 1, Action::Replace(answer));
        let ended = pod.run(FINE);
        assert_ended(&ended, Category::PublicationFailed, part);
        assert_eq!(store().get(&pod.object).unwrap(), None);
    }
}

#[test]
fn a_store_without_conditional_writes_is_tried_in_vain() {
    let pod = Pod { deadlines: (12, 8), max_seconds: 1, ..Pod::new() };
    store().when(
        Requests::new("PUT", &pod.object),
        Action::Replace(Answer::error(501, "NotImplemented")),
    );
    assert_ended(&pod.run(FINE), Category::PublicationFailed, "501");
}

#[test]
fn other_bytes_than_were_sent_are_noticed() {
    let pod = Pod::new();
    befall(&pod, "GET", 1, Action::Replace(Answer::new(200, "other bytes")));
    assert_ended(&pod.run(FINE), Category::PublicationFailed, "other bytes");
}

#[test]
fn a_part_of_what_was_sent_is_no_other_object() {
    for range in ["bytes 0-9/4000", "bytes 0-9/*"] {
        let pod = Pod::new();
        let part = Answer::new(206, "first byte").header("Content-Range", range);
        befall(&pod, "GET", 1, Action::ReplaceResponse(part));
        assert_ended(&pod.run(FINE), Category::Succeeded, "read back and found the same");
        pod.published();
    }
}

#[test]
fn a_read_back_that_is_refused_does_not_undo_the_publication() {
    let pod = Pod::new();
    store().when(
        Requests::new("GET", &pod.object),
        Action::Replace(Answer::error(403, "AccessDenied")),
    );
    assert_ended(&pod.run(FINE), Category::Succeeded, "could not be read back: 403");
}

#[test]
fn it_is_one_request_with_the_guard_and_its_length() {
    let pod = Pod::new();
    pod.run(FINE);
    let puts: Vec<_> = store()
        .exchanges()
        .into_iter()
        .filter(|exchange| exchange.method == "PUT" && exchange.path.contains(&pod.object))
        .collect();
    assert_eq!(puts.len(), 1);
    let bytes = store().get(&pod.object).unwrap().unwrap();
    assert_eq!(puts[0].headers.get("if-none-match").map(String::as_str), Some("*"));
    assert_eq!(
        puts[0].headers.get("content-length").map(String::as_str),
        Some(bytes.len().to_string().as_str())
    );
    assert_eq!(puts[0].headers.get("content-type").map(String::as_str), None);
    verify(&bytes);
}

#[test]
fn urls_that_cannot_be_used_let_nothing_start() {
    for (name, text, part) in [
        ("result_put_url", "https://store.example.org/results/attempt-1/r.tar", "not signed"),
        ("result_put_url", "http://store.example.org/results/attempt-1/r.tar", "result_put_url"),
        ("result_put_headers", "[]", "result_put_headers"),
        ("result_readback_url", "nonsense", "result_readback_url"),
    ] {
        let pod = Pod::new();
        fs::write(pod.path("urls").join(name), text).unwrap();
        assert_ended(&pod.end(pod.start()), Category::Environment, part);
        assert!(!pod.path("control/run.sock").exists());
    }
}
