//! Each fault, as kubectl sees it and as the API server does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use harness_test_cluster::fault::{Action, Answer, Exchange, FaultProxy, Requests};
use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, shared};
use serde_json::{Value, json};

use crate::{create_raw, kubectl, secret, secrets, stderr};

/// The shared control plane, a proxy to it and a namespace.
fn set_up() -> (&'static ControlPlane, FaultProxy, String) {
    let cluster = shared();
    let proxy = FaultProxy::start(cluster, cluster.admin_token()).unwrap();
    (cluster, proxy, cluster.namespace("fault").unwrap().name)
}

/// Creates the Secret `one` through the proxy.
fn create(proxy: &FaultProxy, namespace: &str) -> std::process::Output {
    create_raw(shared(), proxy.kubeconfig(), &secrets(namespace), &secret("one"))
}

fn posts(proxy: &FaultProxy) -> Vec<Exchange> {
    proxy.exchanges().into_iter().filter(|exchange| exchange.method == "POST").collect()
}

/// One GET on a connection of its own, byte for byte.
fn get(proxy: &FaultProxy, path: &str) -> String {
    let mut stream = TcpStream::connect(proxy.url().strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn without_rules_it_is_not_felt() {
    let (cluster, proxy, namespace) = set_up();
    let output = create(&proxy, &namespace);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(cluster.count_secrets(&namespace), 1);

    let exchanges = posts(&proxy);
    assert_eq!(exchanges.len(), 1);
    assert_eq!(exchanges[0].path, secrets(&namespace));
    assert_eq!(exchanges[0].json().unwrap(), secret("one"));
    assert_eq!((exchanges[0].answered, exchanges[0].sent), (Some(201), Some(201)));

    let again = create(&proxy, &namespace);
    assert!(stderr(&again).contains("(AlreadyExists)"), "{}", stderr(&again));
    let arguments = ["get", "secrets", "-n", &namespace, "-o", "name"];
    let list = kubectl(cluster, proxy.kubeconfig(), ADMIN_CONTEXT, &arguments, &Value::Null);
    assert_eq!(String::from_utf8(list.stdout).unwrap(), "secret/one\n");
}

#[test]
fn a_dropped_request_does_nothing() {
    let (cluster, proxy, namespace) = set_up();
    proxy.when(Requests::new("POST", "/secrets"), Action::DropRequest);
    let output = create(&proxy, &namespace);
    assert!(stderr(&output).contains("EOF"), "{}", stderr(&output));
    assert_eq!(cluster.count_secrets(&namespace), 0);
    assert_eq!(posts(&proxy)[0].answered, None);
}

#[test]
fn a_lost_response_leaves_the_object() {
    let (cluster, proxy, namespace) = set_up();
    proxy.when(Requests::new("POST", "/secrets").nth(1), Action::LoseResponse);
    let output = create(&proxy, &namespace);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("EOF"), "{}", stderr(&output));
    assert_eq!(cluster.count_secrets(&namespace), 1);
    let exchanges = posts(&proxy);
    assert_eq!(exchanges.len(), 1);
    assert_eq!((exchanges[0].answered, exchanges[0].sent), (Some(201), None));
    assert!(stderr(&create(&proxy, &namespace)).contains("(AlreadyExists)"));
}

#[test]
fn a_held_create_lands_late() {
    let (cluster, proxy, namespace) = set_up();
    let held = proxy.hold(Requests::new("POST", "/secrets").nth(1));
    let path = format!("{}?timeout=9s", secrets(&namespace));
    let arguments = ["create", "--request-timeout=1s", "--raw", &path, "-f", "-"];
    let output = kubectl(cluster, proxy.kubeconfig(), ADMIN_CONTEXT, &arguments, &secret("one"));
    assert!(!output.status.success());
    held.wait_until_read().unwrap();
    assert_eq!(cluster.count_secrets(&namespace), 0);
    assert_eq!(held.release_and_wait().unwrap(), 201);
    assert_eq!(cluster.count_secrets(&namespace), 1);
}

#[test]
fn an_unreleased_create_never_lands() {
    let (cluster, proxy, namespace) = set_up();
    let held = proxy.hold(Requests::new("POST", "/secrets"));
    let client = thread::spawn({
        let (kubeconfig, path) = (proxy.kubeconfig().to_owned(), secrets(&namespace));
        move || create_raw(shared(), &kubeconfig, &path, &secret("one"))
    });
    held.wait_until_read().unwrap();
    drop(proxy);
    assert!(!client.join().unwrap().status.success());
    assert_eq!(cluster.count_secrets(&namespace), 0);
}

#[test]
fn a_cut_response_has_so_many_bytes() {
    let (_, proxy, namespace) = set_up();
    proxy.when(Requests::new("POST", "/secrets"), Action::CutResponse(10));
    let output = create(&proxy, &namespace);
    assert!(!output.status.success());
    assert_eq!(output.stdout, br#"{"kind":"S"#, "{}", stderr(&output));
    assert_eq!(posts(&proxy)[0].sent, Some(201));
}

#[test]
fn answers_are_replaced_with_and_without_the_effect() {
    let (cluster, proxy, namespace) = set_up();
    let answer = || Answer::new(502, "text/html", "<html>bad</html>").header("Retry-After", "1");
    proxy.when(Requests::new("POST", "/secrets").nth(1), Action::Replace(answer()));
    proxy.when(Requests::new("POST", "/secrets").nth(2), Action::ReplaceResponse(answer()));
    for (count, answered) in [(0, None), (1, Some(201))] {
        let output = create(&proxy, &namespace);
        assert!(stderr(&output).contains("<html>bad</html>"), "{}", stderr(&output));
        assert_eq!(cluster.count_secrets(&namespace), count);
        let last = posts(&proxy).pop().unwrap();
        assert_eq!((last.answered, last.sent), (answered, Some(502)));
    }
}

#[test]
fn headers_and_the_date() {
    let (_, proxy, _) = set_up();
    let plain = get(&proxy, "/readyz");
    assert!(plain.contains("\r\nDate: ") && plain.ends_with("\r\n\r\nok"), "{plain}");
    let date = ("Date".to_owned(), "Thu, 01 Jan 1970 00:00:00 GMT".to_owned());
    proxy.when(Requests::new("GET", "/readyz"), Action::SetHeaders(vec![date]));
    let changed = get(&proxy, "/readyz");
    assert_eq!(changed.matches("Date: ").count(), 1, "{changed}");
    assert!(changed.contains("\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"), "{changed}");
}

#[test]
fn delays_and_trickles() {
    let (_, proxy, _) = set_up();
    let pause = Duration::from_millis(300);
    proxy.when(Requests::new("GET", "/readyz").nth(1), Action::DelayRequest(pause));
    proxy.when(Requests::new("GET", "/readyz").nth(2), Action::DelayResponse(pause));
    proxy.when(Requests::new("GET", "/readyz").nth(3), Action::Trickle(pause / 2));
    for _ in 0..3 {
        let start = Instant::now();
        assert!(get(&proxy, "/readyz").ends_with("ok"));
        assert!(start.elapsed() >= pause, "{:?}", start.elapsed());
    }
}

#[test]
fn a_watch_passes_through() {
    let (cluster, proxy, namespace) = set_up();
    let stream = TcpStream::connect(proxy.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = format!("{}?watch=true", secrets(&namespace));
    write!(&stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "HTTP/1.1 200 OK");
    assert_eq!(cluster.admin_post(&secrets(&namespace), &secret("one")).0, 201);
    let event = lines.find(|line| line.starts_with('{')).unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("one"))
    );
}

#[test]
fn a_dead_api_server_is_a_bad_gateway() {
    let cluster = ControlPlane::start(&harness_test_cluster::Options::default()).unwrap();
    let proxy = FaultProxy::start(&cluster, cluster.admin_token()).unwrap();
    cluster.stop_api_server().unwrap();
    let answer = get(&proxy, "/readyz");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}
