//! The proxy as a test sees it.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Result;

use super::exchange::{Exchange, Record};
use super::hold::{Gate, Held};
use super::rule::{Action, Effect, Requests, Rules};
use super::serve;
use super::stop::Stop;
use crate::control_plane::ControlPlane;
use crate::kubeconfig::Authority;
use crate::upstream::Upstream;

/// A proxy on a free port of 127.0.0.1; dropping it closes all its connections.
///
/// A held request that was not released by then never reaches the API server.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    kubeconfig: PathBuf,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) upstream: Upstream,
    /// In whose name requests are forwarded.
    pub(super) token: String,
    pub(super) record: Record,
    pub(super) stop: Stop,
    rules: Mutex<Rules<Effect>>,
    gates: Mutex<Vec<Gate>>,
}

impl FaultProxy {
    /// Starts a proxy that forwards in the name of the token's owner, without any rule.
    pub fn start(control_plane: &ControlPlane, token: &str) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let kubeconfig = control_plane.kubeconfig_with(&url, token, Authority::None)?;
        let shared = Arc::new(Shared {
            upstream: control_plane.upstream()?,
            token: token.to_owned(),
            record: Record::default(),
            stop: Stop::default(),
            rules: Mutex::default(),
            gates: Mutex::default(),
        });
        let acceptor = thread::spawn({
            let shared = shared.clone();
            move || accept(&listener, &shared)
        });
        Ok(Self { port, kubeconfig, shared, acceptor: Some(acceptor) })
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A kubeconfig that leads here, in its only context, [`ADMIN_CONTEXT`](crate::ADMIN_CONTEXT).
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Lets `action` befall these requests; of several rules that apply, the oldest does.
    pub fn when(&self, requests: Requests, action: Action) {
        self.shared.rules().add(requests, Effect::Act(action));
    }

    /// Reads these requests and keeps them from the API server until the test releases them.
    ///
    /// They are forwarded even when the client has left by then, as a slow network does.
    pub fn hold(&self, requests: Requests) -> Held {
        let gate = Gate::default();
        self.shared.gates().push(gate.clone());
        self.shared.rules().add(requests, Effect::Hold(gate.clone()));
        Held::new(gate)
    }

    /// Forgets all rules; what is held stays held.
    pub fn clear_rules(&self) {
        self.shared.rules().clear();
    }

    /// All requests so far and their answers, in the order in which the requests were read.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.record.all()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.stop.stop();
        for gate in self.shared.gates().iter() {
            gate.abandon();
        }
        // Wakes the acceptor, which then sees that it is over.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

impl Shared {
    pub(super) fn effect(&self, method: &str, target: &str) -> Option<Effect> {
        self.rules().choose(method, target)
    }

    fn rules(&self) -> MutexGuard<'_, Rules<Effect>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gates(&self) -> MutexGuard<'_, Vec<Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.is_stopped() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = shared.clone();
        thread::spawn(move || {
            // A client that has left, in any way, is the usual end of a connection.
            drop(serve::connection(&shared, &stream));
        });
    }
}
