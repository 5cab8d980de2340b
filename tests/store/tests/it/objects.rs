//! What the store itself does.

use std::thread;

use harness_test_store::{Options, Store, send};

use crate::{get, put};

#[test]
fn objects_come_and_go_by_disk_and_by_request() {
    let store = Store::start().unwrap();
    assert!(store.list().unwrap().is_empty());
    store.put("inputs/missions/m 17+ü.json", "{}").unwrap();
    let answer = get(&store, "inputs/missions/m 17+ü.json").unwrap();
    assert_eq!((answer.status, answer.text().as_str(), answer.end), (200, "{}", None));
    assert_eq!(put(&store, "results/a", "1").unwrap().status, 200);
    assert_eq!(store.get("results/a").unwrap().unwrap(), b"1");
    assert_eq!(store.get("results/b").unwrap(), None);
    assert_eq!(store.list().unwrap(), ["inputs/missions/m 17+ü.json", "results/a"]);
    let answer = get(&store, "results/b").unwrap();
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("<Code>NoSuchKey</Code>"), "{}", answer.text());
}

#[test]
fn an_object_is_created_once() {
    let store = Store::start().unwrap();
    assert_eq!(put(&store, "results/a", "1").unwrap().status, 200);
    let answer = put(&store, "results/a", "2").unwrap();
    assert_eq!(answer.status, 412);
    assert!(answer.text().contains("<Code>PreconditionFailed</Code>"), "{}", answer.text());
    assert_eq!(store.get("results/a").unwrap().unwrap(), b"1");

    // The header binds whether or not it was signed, and without it the object is overwritten.
    let url = store.sign("PUT", "results/a").url();
    let send = |headers: &[(&str, &str)]| store.send("PUT", &url, headers, b"3").unwrap().status;
    assert_eq!(send(&[("if-none-match", "*")]), 412);
    assert_eq!(send(&[]), 200);
    assert_eq!(store.get("results/a").unwrap().unwrap(), b"3");
}

#[test]
fn of_many_at_a_time_one_creates() {
    let store = Store::start().unwrap();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                scope.spawn({
                    let store = &store;
                    move || put(store, "results/a", &number.to_string()).unwrap().status
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 15, "{statuses:?}");
}

#[test]
fn signatures_count() {
    let store = Store::start().unwrap();
    store.put("inputs/a", "a").unwrap();
    let refused = |method: &str, url: &str, headers: &[(&str, &str)]| {
        let answer = store.send(method, url, headers, b"").unwrap();
        assert_eq!(answer.status, 403, "{}", answer.text());
        answer.text()
    };
    // A header that was signed is missing, or has another value.
    let guarded = store.sign("PUT", "results/a").create_only().url();
    assert!(refused("PUT", &guarded, &[]).contains("SignatureDoesNotMatch"));
    refused("PUT", &guarded, &[("if-none-match", "\"x\"")]);
    // Another method, another object, no signature, past its end.
    refused("PUT", &store.sign("GET", "inputs/a").url(), &[]);
    refused("GET", &store.sign("GET", "inputs/b").url().replace("/b?", "/a?"), &[]);
    refused("GET", &store.sign("GET", "inputs/a").unsigned(), &[]);
    let expired = refused("GET", &store.sign("GET", "inputs/a").expired().url(), &[]);
    assert!(expired.contains("<Code>AccessDenied</Code>"), "{expired}");
    assert_eq!(store.get("inputs/a").unwrap().unwrap(), b"a");
    assert_eq!(store.list().unwrap(), ["inputs/a"]);
}

#[test]
fn ranges_continue() {
    let store = Store::start().unwrap();
    store.put("inputs/a", "0123456789").unwrap();
    let url = store.sign("GET", "inputs/a").url();
    let answer = store.send("GET", &url, &[("Range", "bytes=4-")], b"").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (206, "456789"));
    assert_eq!(answer.header("content-range"), Some("bytes 4-9/10"));
    assert!(answer.header("etag").is_some());
    let answer = store.send("GET", &url, &[("Range", "bytes=10-")], b"").unwrap();
    assert_eq!(answer.status, 416);
}

#[test]
fn its_certificate_is_that_of_its_authority_only() {
    let store = Store::start().unwrap();
    store.put("inputs/a", "a").unwrap();
    let url = store.sign("GET", "inputs/a").url();
    let error = send(&store.host(), store.wrong_authority(), "GET", &url, &[], b"").unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(store.exchanges().is_empty());
    // The other host has another name.
    let other = store.other_host();
    let url = store.sign("GET", "inputs/a").host(&other).url();
    assert!(url.starts_with("https://localhost:"), "{url}");
    let answer = send(&other, store.authority(), "GET", &url, &[], b"").unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(store.exchanges()[0].host, other);
}

#[test]
fn buckets_may_be_in_the_host() {
    let options = Options { domains: vec!["s3.example".to_owned()], ..Options::default() };
    let store = Store::start_with(&options).unwrap();
    store.put("bucket/key", "a").unwrap();
    let url = store.sign("GET", "key").host("bucket.s3.example").url();
    // Asked at the store's own address, as a client with a name server of its own would.
    let answer = store.send("GET", &url, &[], b"").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "a"));
}

#[test]
fn the_record_shows_requests_without_their_signatures() {
    let store = Store::start().unwrap();
    put(&store, "results/a", "12345").unwrap();
    get(&store, "results/a").unwrap();
    let exchanges = store.exchanges();
    let [put, get] = exchanges.as_slice() else { panic!("{exchanges:?}") };
    assert_eq!((put.method.as_str(), put.path.as_str(), put.received), ("PUT", "/results/a", 5));
    assert_eq!((put.answered, put.sent), (Some(200), Some(200)));
    assert_eq!(put.headers["if-none-match"], "*");
    assert_eq!((get.host.as_str(), get.sent_bytes), (store.host().as_str(), 5));
    assert!(!format!("{exchanges:?}").contains("X-Amz"), "{exchanges:?}");
}
