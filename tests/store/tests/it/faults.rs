//! What rules do to requests.

use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use harness_test_store::{Action, Answer, Requests, Store, send};

use crate::{get, put};

/// A store with one object of 26 bytes, whose `GET`s are treated so.
fn store(action: Action) -> Store {
    let store = Store::start().unwrap();
    store.put("inputs/a", "abcdefghijklmnopqrstuvwxyz").unwrap();
    store.when(Requests::new("GET", "/inputs/"), action);
    store
}

#[test]
fn the_nth_request_only() {
    let store = Store::start().unwrap();
    store.put("inputs/a", "a").unwrap();
    store.when(
        Requests::new("GET", "/inputs/").nth(2),
        Action::Replace(Answer::error(503, "SlowDown").header("Retry-After", "7")),
    );
    assert_eq!(get(&store, "inputs/a").unwrap().status, 200);
    let answer = get(&store, "inputs/a").unwrap();
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("7")));
    assert!(answer.text().contains("<Code>SlowDown</Code>"), "{}", answer.text());
    assert_eq!(store.exchanges()[1].answered, None);
    assert_eq!(get(&store, "inputs/a").unwrap().status, 200);
    store.when(Requests::new("", ""), Action::DropRequest);
    get(&store, "inputs/a").unwrap_err();
    store.clear_rules();
    assert_eq!(get(&store, "inputs/a").unwrap().status, 200);
}

#[test]
fn redirects_lead_anywhere() {
    let other = Store::start().unwrap().other_host();
    for location in ["/inputs/a", "http://127.0.0.1/a", &format!("https://{other}/inputs/a")] {
        let store = store(Action::Replace(Answer::redirect(307, location)));
        let answer = get(&store, "inputs/a").unwrap();
        assert_eq!((answer.status, answer.header("location")), (307, Some(location)));
    }
}

#[test]
fn a_lost_response_is_one_of_a_request_that_was_done() {
    let store = Store::start().unwrap();
    store.when(Requests::new("PUT", "/results/").nth(1), Action::LoseResponse);
    put(&store, "results/a", "1").unwrap_err();
    assert_eq!(store.get("results/a").unwrap().unwrap(), b"1");
    assert_eq!(put(&store, "results/a", "1").unwrap().status, 412);
    let exchanges = store.exchanges();
    assert_eq!((exchanges[0].answered, exchanges[0].sent), (Some(200), None));

    store.when(
        Requests::new("PUT", "/results/b"),
        Action::ReplaceResponse(Answer::error(500, "InternalError")),
    );
    assert_eq!(put(&store, "results/b", "1").unwrap().status, 500);
    assert_eq!(store.get("results/b").unwrap().unwrap(), b"1");
}

#[test]
fn a_dropped_or_cut_request_is_not_done() {
    let store = Store::start().unwrap();
    store.when(Requests::new("PUT", "/results/").nth(1), Action::DropRequest);
    store.when(Requests::new("PUT", "/results/").nth(2), Action::CutRequest(3));
    put(&store, "results/a", "12345").unwrap_err();
    put(&store, "results/a", "12345").unwrap_err();
    assert_eq!(store.get("results/a").unwrap(), None);
    let exchanges = store.exchanges();
    assert!(exchanges.iter().all(|exchange| exchange.answered.is_none()), "{exchanges:?}");
    assert_eq!(exchanges[1].received, 3);
}

#[test]
fn bodies_end_early() {
    let answer = get(&store(Action::CutResponse(10)), "inputs/a").unwrap();
    assert_eq!(answer.header("content-length"), Some("26"));
    assert_eq!(
        (answer.text().as_str(), answer.end),
        ("abcdefghij", Some(ErrorKind::UnexpectedEof))
    );
    let answer = get(&store(Action::AnnounceLength(30)), "inputs/a").unwrap();
    assert_eq!((answer.body.len(), answer.end), (26, Some(ErrorKind::UnexpectedEof)));
    let answer = get(&store(Action::AnnounceLength(5)), "inputs/a").unwrap();
    assert_eq!((answer.text().as_str(), answer.end), ("abcde", None));
}

#[test]
fn bodies_come_without_a_length() {
    let answer = get(&store(Action::Chunked), "inputs/a").unwrap();
    assert_eq!((answer.header("content-length"), answer.body.len()), (None, 26));
}

#[test]
fn bodies_are_compressed_unasked() {
    let answer = get(&store(Action::Gzip), "inputs/a").unwrap();
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    GzDecoder::new(answer.body.as_slice()).read_to_string(&mut text).unwrap();
    assert_eq!(text, "abcdefghijklmnopqrstuvwxyz");
}

#[test]
fn bodies_drip() {
    let store = store(Action::Trickle(Duration::from_millis(10)));
    let start = Instant::now();
    assert_eq!(get(&store, "inputs/a").unwrap().body.len(), 26);
    // Nobody waits for the pause behind the last byte: the length says that it was the last.
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
}

#[test]
fn stalls_last() {
    // The client gives up after three seconds of silence.
    let answer = get(&store(Action::Stall(4)), "inputs/a").unwrap();
    assert_eq!((answer.text().as_str(), answer.end), ("abcd", Some(ErrorKind::WouldBlock)));
    let error = get(&store(Action::NeverAnswer), "inputs/a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    // The end of a store does not wait for whoever stalls.
    let store = store(Action::NeverAnswer);
    std::thread::scope(|scope| {
        let (host, url) = (store.host(), store.sign("GET", "inputs/a").url());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::copy(store.authority(), file.path()).unwrap();
        let waiting = scope.spawn(move || send(&host, file.path(), "GET", &url, &[], b""));
        while store.exchanges().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(store);
        let error = waiting.join().unwrap().unwrap_err();
        assert_ne!(error.kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn delays() {
    for action in [Action::DelayRequest, Action::DelayResponse] {
        let store = store(action(Duration::from_millis(300)));
        let start = Instant::now();
        assert_eq!(get(&store, "inputs/a").unwrap().status, 200);
        assert!(start.elapsed() >= Duration::from_millis(300));
    }
}

#[test]
fn headers_are_set() {
    let store = store(Action::SetHeaders(vec![("ETag".to_owned(), "\"other\"".to_owned())]));
    let answer = get(&store, "inputs/a").unwrap();
    assert_eq!((answer.header("etag"), answer.body.len()), (Some("\"other\""), 26));
}

#[test]
fn a_range_is_not_seen() {
    let store = store(Action::IgnoreRange);
    let url = store.sign("GET", "inputs/a").url();
    let answer = store.send("GET", &url, &[("Range", "bytes=4-")], b"").unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 26));
}

#[test]
fn what_is_missing_is_forbidden() {
    let store = store(Action::HideMissing);
    assert_eq!(get(&store, "inputs/a").unwrap().status, 200);
    let answer = get(&store, "inputs/b").unwrap();
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("<Code>AccessDenied</Code>"), "{}", answer.text());
    assert_eq!(store.exchanges()[1].answered, Some(404));
}
