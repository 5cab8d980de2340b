//! Whatever bytes come back, there is an outcome: no panic, no hang, no second request.

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::api::Requests;
use super::super::request::DryRun;
use super::*;
use crate::clock::SystemClock;

/// A server that gives the next answer of a queue to each connection, and then closes it.
struct Server {
    folder: TempDir,
    answers: std::sync::mpsc::Sender<Vec<u8>>,
    served: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let (sender, answers) = channel();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        std::thread::spawn(move || serve(&listener, &answers, &count));
        Self { folder, answers: sender, served }
    }

    fn answer(&self, bytes: &[u8]) -> Outcome {
        let http = Http::new(&self.folder.path().join("s"), Arc::new(SystemClock));
        let before = self.served.load(Ordering::SeqCst);
        self.answers.send(bytes.to_vec()).unwrap();
        let requests = Requests::new("lab", Duration::from_secs(10));
        let outcome = http.send(&requests.create_job("j1", b"{}".to_vec(), DryRun::No));
        assert_eq!(self.served.load(Ordering::SeqCst), before + 1);
        outcome
    }
}

fn serve(listener: &UnixListener, answers: &Receiver<Vec<u8>>, served: &AtomicUsize) {
    for connection in listener.incoming() {
        let connection = connection.unwrap();
        let mut reader = BufReader::new(&connection);
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        // The body of every request here.
        reader.read_exact(&mut [0; 2]).unwrap();
        served.fetch_add(1, Ordering::SeqCst);
        let Ok(answer) = answers.recv() else { return };
        // The client may have had enough of it.
        let _ = (&connection).write_all(&answer);
    }
}

const JOB: &str =
    r#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j1","namespace":"lab"}}"#;

fn with_body(head: &str, body: &str) -> Vec<u8> {
    format!(
        "{head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[test]
fn odd_but_complete_answers() {
    let server = Server::start();
    let good = with_body("HTTP/1.1 201 Created", JOB);
    assert!(matches!(server.answer(&good), Outcome::Done(_)));
    // Interim answers come before the real one.
    for interim in ["100 Continue", "103 Early Hints"] {
        let both = [format!("HTTP/1.1 {interim}\r\n\r\n").into_bytes(), good.clone()].concat();
        let outcome = server.answer(&both);
        assert!(matches!(outcome, Outcome::Done(_)), "{interim}: {outcome:?}");
    }
    let old = with_body("HTTP/1.0 201 Created", JOB);
    assert!(matches!(server.answer(&old), Outcome::Done(_)));
}

#[test]
fn answers_that_are_none() {
    let server = Server::start();
    let huge_head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1_000_000));
    let many_heads = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(10_000));
    for answer in [
        "",
        "\r\n\r\n",
        "HTTP/1.1",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 302 Found\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://localhost/\r\n\r\n",
        "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        &huge_head,
        &many_heads,
    ] {
        let outcome = server.answer(answer.as_bytes());
        let short = &answer[..answer.len().min(80)];
        assert!(matches!(outcome, Outcome::Unknown(_)), "{short:?}: {outcome:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_have_an_outcome(bytes: Vec<u8>) {
        let outcome = Server::start().answer(&bytes);
        prop_assert!(matches!(outcome, Outcome::Unknown(_)));
    }

    #[test]
    fn a_damaged_answer_has_an_outcome(
        at in 0usize..160,
        replacement in prop::collection::vec(any::<u8>(), 0..3),
        removed in 0usize..4,
    ) {
        let mut answer = with_body("HTTP/1.1 201 Created", JOB);
        let at = at.min(answer.len());
        let end = (at + removed).min(answer.len());
        answer.splice(at..end, replacement);
        let outcome = Server::start().answer(&answer);
        prop_assert!(!matches!(outcome, Outcome::Refused(_)));
    }
}

#[test]
fn nobody_listens() {
    let folder = tempfile::tempdir().unwrap();
    let http = Http::new(&folder.path().join("s"), Arc::new(SystemClock));
    let request = Requests::new("lab", Duration::from_secs(10)).read_namespace();
    let Outcome::Unknown(unknown) = http.send(&request) else { panic!() };
    assert!(matches!(unknown.why, Why::NotSent(NotSent::ProxyUnreachable { .. })));
}

#[test]
fn the_server_has_a_little_less_time() {
    assert_eq!(server_timeout(Duration::from_secs(30)), "27000ms");
    assert_eq!(server_timeout(Duration::ZERO), "1ms");
    assert!(server_timeout(Duration::MAX).ends_with("ms"));
}
