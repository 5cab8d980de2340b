//! Through a real CONNECT proxy, and around it.

use std::io::{self, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use harness_test_store::{REGION, Signing};
use jiff::Timestamp;

use crate::kit::Pod;

/// A proxy on 127.0.0.1 that lasts as long as the test program.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Leads every tunnel to `target`, or gives every request this answer.
    fn start(target: Result<String, &'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let record = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (record, target) = (Arc::clone(&record), target.clone());
                thread::spawn(move || serve(client, &record, target));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(
    mut client: TcpStream,
    record: &Mutex<Vec<String>>,
    target: Result<String, &'static str>,
) -> io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    record.lock().unwrap().push(String::from_utf8(head).unwrap());
    let target = match target {
        Ok(target) => target,
        Err(answer) => {
            return client
                .write_all(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").as_bytes());
        }
    };
    let server = TcpStream::connect(target)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut up, mut down) = (client.try_clone()?, server.try_clone()?);
    let upwards = thread::spawn(move || {
        let ended = io::copy(&mut up, &mut down);
        let _ = down.shutdown(Shutdown::Write);
        ended
    });
    let (mut server, mut client) = (server, client);
    let _ = io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = upwards.join();
    Ok(())
}

fn run(pod: &Pod, environment: &[(&str, &str)]) -> Output {
    pod.command().envs(environment.iter().copied()).output().unwrap()
}

#[test]
fn the_proxy_gets_a_name_and_no_url() {
    let pod = Pod::new();
    // A host that only the proxy can reach.
    for (name, object) in
        [("mission_url", "inputs/mission.json"), ("snapshot_url", "inputs/snapshot")]
    {
        assert_eq!(REGION, "us-east-1");
        pod.url(name, &Signing::new("GET", "localhost:1", object, Timestamp::now()).url());
    }
    let proxy = Proxy::start(Ok(pod.store.host()));
    let at = format!("http://user:p%40ss@{}", proxy.address);
    pod.said(&run(&pod, &[("HTTPS_PROXY", &at)]), 0);
    assert!(pod.is_staged());
    let heads = proxy.heads();
    assert!(!heads.is_empty());
    for head in heads {
        assert!(head.starts_with("CONNECT localhost:1 HTTP/1.1\r\n"), "{head}");
        assert!(!head.contains("X-Amz") && !head.contains("inputs"), "{head}");
        // `user:p@ss`
        assert!(head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"), "{head}");
    }
}

#[test]
fn who_needs_no_proxy_goes_around_it() {
    for (proxied, variables) in [
        (true, &[("NO_PROXY", "")][..]),
        (true, &[("NO_PROXY", "other.example, .internal,127.0.0.2")]),
        (false, &[("NO_PROXY", "other.example, 127.0.0.1")]),
        (false, &[("no_proxy", "127.0.0.1")]),
        (false, &[("NO_PROXY", "*")]),
    ] {
        let pod = Pod::new();
        let proxy = Proxy::start(Ok(pod.store.host()));
        let at = format!("http://{}", proxy.address);
        // Lower case is as good, as with curl.
        let name = if proxied { "https_proxy" } else { "HTTPS_PROXY" };
        let environment = [&[(name, at.as_str())][..], variables].concat();
        pod.said(&run(&pod, &environment), 0);
        assert!(pod.is_staged());
        assert_eq!(!proxy.heads().is_empty(), proxied, "{variables:?}");
    }
    // Of plain HTTP there is none, so its proxy is not asked.
    let pod = Pod::new();
    let proxy = Proxy::start(Err("500 Wrong"));
    let at = format!("http://{}", proxy.address);
    pod.said(&run(&pod, &[("HTTP_PROXY", &at), ("ALL_PROXY", &at), ("HTTPS_PROXY", "")]), 0);
    assert!(proxy.heads().is_empty());
}

#[test]
fn a_proxy_that_refuses_is_named_with_its_word() {
    for (answer, word) in [
        ("407 Proxy Authentication Required", "the proxy refused the connection: 407"),
        ("403 Forbidden", "the proxy refused the connection: 403"),
        ("502 Bad Gateway", "the proxy refused the connection: 502"),
    ] {
        let mut pod = Pod::new();
        pod.staging = 5;
        let proxy = Proxy::start(Err(answer));
        let at = format!("http://user:canary@{}", proxy.address);
        let said = pod.said(&run(&pod, &[("HTTPS_PROXY", &at)]), 12);
        assert!(said.contains(word) && said.contains("proxy, DNS"), "{said}");
        assert!(!said.contains("canary"), "{said}");
        // It may be another answer in a moment.
        assert!(proxy.heads().len() > 1);
    }
}

#[test]
fn a_proxy_that_cannot_be_used_or_reached_is_said() {
    let mut pod = Pod::new();
    pod.staging = 5;
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = pod.said(&run(&pod, &[("HTTPS_PROXY", &format!("http://u:canary@{gone}"))]), 12);
    assert!(said.contains("refused") && !said.contains("canary"), "{said}");
    for wrong in ["socks5://u:canary@127.0.0.1:1", "http://", "::canary::"] {
        pod.empty();
        let said = pod.said(&run(&pod, &[("HTTPS_PROXY", wrong)]), 29);
        assert!(said.contains("the proxy in HTTPS_PROXY cannot be used"), "{said}");
        assert!(said.contains("http://HOST:PORT") && !said.contains("canary"), "{said}");
    }
}
