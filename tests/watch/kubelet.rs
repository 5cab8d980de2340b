//! A stand-in for a kubelet: a node whose containers write what a test says, and whose connections break when it says so.
//!
//! The API server asks it as it asks a kubelet, over TLS; times, `sinceTime`, `tailLines` and `follow` are those of the
//! kubelet (pkg/kubelet/kuberuntime/logs of Kubernetes).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use harness_test_cluster::http::RequestHead;
use harness_test_cluster::{ControlPlane, shared};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::hands;
use crate::kit::Place;

/// The name that [`hands::bind`] gives pods to.
const NODE: &str = "by-hand";

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As that of a container that has ended, and of a kubelet that is restarted: the API server says no difference.
    Clean,
    /// In the middle of a piece.
    Torn,
}

/// The node of one control plane.
#[derive(Clone)]
pub(crate) struct Kubelet(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    containers: BTreeMap<String, Container>,
    /// How often streams were ended, and how the last time.
    ends: u32,
    how: Option<End>,
    /// The namespaces whose requests are refused.
    down: BTreeSet<String>,
    asked: Vec<String>,
}

#[derive(Default)]
struct Container {
    lines: Vec<(Timestamp, Vec<u8>)>,
    has_ended: bool,
}

impl Kubelet {
    /// That of the control plane that all tests share.
    pub(crate) fn shared() -> Self {
        static SHARED: OnceLock<Kubelet> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(shared())).clone()
    }

    /// Starts one, and the node that leads to it.
    pub(crate) fn start(cluster: &ControlPlane) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}});
        let (status, answer) = cluster.admin_post("/api/v1/nodes", &node);
        assert_eq!(status, 201, "{answer:#}");
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }});
        let path = format!("/api/v1/nodes/{NODE}/status");
        let (status, answer) = cluster.admin_patch(&path, &status);
        assert_eq!(status, 200, "{answer:#}");
        let certificate = CertificateDer::from_pem_file(cluster.state().join("server.crt"));
        let key = PrivateKeyDer::from_pem_file(cluster.state().join("server.key"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let settings = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap()], key.unwrap());
        let settings = Arc::new(settings.unwrap());
        let this = Self(Arc::default());
        let kubelet = this.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kubelet, settings) = (kubelet.clone(), settings.clone());
                std::thread::spawn(move || {
                    let tls = ServerConnection::new(settings).unwrap();
                    // A client that has left is the usual end.
                    let _ = kubelet.serve(StreamOwned::new(tls, stream));
                });
            }
        });
        this
    }

    /// A container writes a line, or the begin of one, with a time a microsecond after the one before it.
    pub(crate) fn write(&self, place: &Place, container: &str, lines: &[&[u8]]) {
        self.change(|state| {
            let known = state.containers.entry(key(place, container)).or_default();
            for line in lines {
                let first = "2026-11-30T10:00:00.9Z".parse::<Timestamp>().unwrap();
                let time =
                    known.lines.last().map_or(first, |(time, _)| *time + Duration::from_micros(1));
                known.lines.push((time, line.to_vec()));
            }
        });
    }

    /// The container has ended, and its streams end.
    pub(crate) fn end_container(&self, place: &Place, container: &str) {
        self.change(|state| {
            state.containers.entry(key(place, container)).or_default().has_ended = true;
        });
    }

    /// The node keeps only the last so many lines.
    pub(crate) fn forget(&self, place: &Place, container: &str, kept: usize) {
        self.change(|state| {
            let lines = &mut state.containers.entry(key(place, container)).or_default().lines;
            lines.drain(..lines.len() - kept);
        });
    }

    /// Ends all streams that there are now.
    pub(crate) fn end_streams(&self, how: End) {
        self.change(|state| {
            state.ends += 1;
            state.how = Some(how);
        });
    }

    /// From now on the node does not answer for the pods of this namespace.
    pub(crate) fn go_down(&self, place: &Place) {
        self.change(|state| {
            state.down.insert(place.namespace.name.clone());
        });
        self.end_streams(End::Torn);
    }

    /// What was asked, with the queries.
    pub(crate) fn asked(&self, place: &Place) -> Vec<String> {
        let part = format!("/{}/", place.namespace.name);
        let asked = self.lock().asked.clone();
        asked.into_iter().filter(|target| target.contains(&part)).collect()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: StreamOwned<ServerConnection, TcpStream>) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let Some(head) = RequestHead::read(&mut reader)? else { return Ok(()) };
        let mut stream = reader.into_inner();
        let url = url::Url::parse(&format!("https://node{}", head.target)).unwrap();
        let query: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        let parts: Vec<&str> = url.path().split('/').collect();
        let ends = {
            let mut state = self.lock();
            state.asked.push(head.target.clone());
            if state.down.contains(parts[2]) {
                return Ok(());
            }
            state.ends
        };
        let key = format!("{}/{}", parts[2], parts[4]);
        let since = query.get("sinceTime").map(|time| time.parse::<Timestamp>().unwrap());
        let wants_times = query.get("timestamps").is_some_and(|it| it == "true");
        let follows = query.get("follow").is_some_and(|it| it == "true");
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n",
        )?;
        let mut sent: Option<Timestamp> = None;
        let (mut is_first, mut begins_a_line) = (true, true);
        loop {
            let (text, has_ended, how) = {
                let mut state = self.lock();
                loop {
                    let container = state.containers.entry(key.clone()).or_default();
                    let mut text = Vec::new();
                    let tail = query.get("tailLines").filter(|_| is_first);
                    let tail = tail.map_or(usize::MAX, |tail| tail.parse().unwrap());
                    let first = container.lines.len().saturating_sub(tail);
                    for (time, line) in &container.lines[first..] {
                        let is_new = sent.is_none_or(|last| *time > last);
                        if is_new && since.is_none_or(|since| *time >= since) {
                            if wants_times && begins_a_line {
                                write!(text, "{time:.9} ")?;
                            }
                            begins_a_line = line.ends_with(b"\n");
                            text.extend_from_slice(line);
                            sent = Some(*time);
                        }
                    }
                    let has_ended = container.has_ended || !follows;
                    let how = state.how.filter(|_| state.ends != ends);
                    if !text.is_empty() || has_ended || how.is_some() {
                        break (text, has_ended, how);
                    }
                    state = self.0.1.wait(state).unwrap();
                }
            };
            is_first = false;
            if !text.is_empty() {
                write!(stream, "{:x}\r\n", text.len())?;
                stream.write_all(&text)?;
                stream.write_all(b"\r\n")?;
                stream.flush()?;
            }
            match how {
                Some(End::Torn) => {
                    stream.write_all(b"fff\r\n")?;
                    stream.flush()?;
                    return stream.get_ref().shutdown(std::net::Shutdown::Both);
                }
                Some(End::Clean) => break,
                None if has_ended => break,
                None => {}
            }
        }
        stream.write_all(b"0\r\n\r\n")?;
        stream.conn.send_close_notify();
        stream.flush()?;
        // What is still on its way must not turn the end into a reset.
        let _ = stream.get_ref().set_read_timeout(Some(Duration::from_secs(1)));
        let _ = stream.read(&mut [0; 64]);
        Ok(())
    }
}

fn key(place: &Place, container: &str) -> String {
    format!("{}/{container}", place.namespace.name)
}

/// How far a pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    Staging,
    Running,
    Succeeded,
    RunnerFailed,
}

/// What a kubelet says of the only pod of a Job that stands so far; the pod gets its node first.
#[track_caller]
pub(crate) fn stand(place: &Place, job: &str, stands: Stands) {
    let pod = hands::pod(place, job);
    if pod["spec"]["nodeName"].is_null() {
        hands::bind(place, &pod);
    }
    let time = pod["metadata"]["creationTimestamp"].clone();
    let waiting = json!({"waiting": {"reason": "PodInitializing"}});
    let running = json!({"running": {"startedAt": time}});
    let ended = |code: i32| json!({"terminated": {"exitCode": code, "reason": if code == 0 {"Completed"} else {"Error"}, "startedAt": time, "finishedAt": time, "containerID": "containerd://c1"}});
    let (stage, run, publish, phase) = match stands {
        Stands::Staging => (running.clone(), waiting.clone(), waiting.clone(), "Pending"),
        Stands::Running => (ended(0), running.clone(), running.clone(), "Running"),
        Stands::Succeeded => (ended(0), ended(0), ended(0), "Succeeded"),
        Stands::RunnerFailed => (ended(0), ended(22), ended(22), "Failed"),
    };
    let container = |name: &str, state: &serde_json::Value| {
        json!({
            "name": name, "image": "i", "imageID": format!("i@sha256:{}", "7".repeat(64)), "ready": false, "restartCount": 0,
            "containerID": if state["waiting"].is_object() { "" } else { "containerd://c1" }, "state": state,
        })
    };
    hands::set_status(place, "pods", pod["metadata"]["name"].as_str().unwrap(), |_| {
        json!({
            "phase": phase, "startTime": time,
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "initContainerStatuses": [container("stage", &stage)],
            "containerStatuses": [container("run", &run), container("publish", &publish)],
        })
    });
}
