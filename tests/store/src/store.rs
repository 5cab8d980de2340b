//! A running store: the S3 server, TLS and rules in front of it, two addresses.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};
use harness_test_cluster::fault::stop::Stop;
use jiff::Timestamp;
use rustls::ServerConfig;

use crate::client::{self, Received};
use crate::exchange::{Exchange, Record};
use harness_test_cluster::fault::{Requests, Rules};

use crate::rule::Action;
use crate::serve;
use crate::server::Server;
use crate::sign::Signing;
use crate::tls;

/// Where a store listens and which names it takes for buckets.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address of the store, with a free port.
    pub address: IpAddr,
    /// The address of the other host, with a free port.
    pub other_address: IpAddr,
    /// Domains below which the first label is a bucket; every other host is path style.
    pub domains: Vec<String>,
}

impl Options {
    /// A store on a free port of this address, such as that of a node.
    pub fn at(address: IpAddr) -> Self {
        Self { address, ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            other_address: Ipv4Addr::LOCALHOST.into(),
            domains: Vec::new(),
        }
    }
}

/// A store; dropping it closes all its connections and removes what it holds.
#[derive(Debug)]
pub struct Store {
    // The doors close before the server behind them ends.
    doors: Vec<Door>,
    shared: Arc<Shared>,
    server: Mutex<Server>,
    domains: Vec<String>,
    authority: PathBuf,
    wrong_authority: PathBuf,
    pub(crate) folder: PathBuf,
}

/// What the threads of all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) server_port: AtomicU16,
    pub(crate) record: Record,
    pub(crate) stop: Stop,
    rules: Mutex<Rules<Action>>,
    puts: Mutex<()>,
}

/// One listening address.
#[derive(Debug)]
struct Door {
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Store {
    /// Starts a store on 127.0.0.1 with the empty buckets `inputs` and `results`, without any rule.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::default())
    }

    /// Starts a store as the options say.
    pub fn start_with(options: &Options) -> Result<Self> {
        let temporary = tempfile::Builder::new().prefix("harness-test-store.").tempdir()?;
        let folder = temporary.path().to_owned();
        let objects = folder.join("objects");
        for bucket in ["inputs", "results"] {
            fs::create_dir_all(objects.join(bucket))?;
        }
        let server = Server::start(&folder, &options.domains)?;
        // From here on the server removes it.
        let _ = temporary.keep();
        let authority = folder.join("authority.pem");
        let wrong_authority = folder.join("wrong-authority.pem");
        let addresses = [options.address, options.other_address];
        let shared = Arc::new(Shared {
            tls: tls::server(&authority, &wrong_authority, &addresses)?,
            server_port: server.port.into(),
            record: Record::default(),
            stop: Stop::default(),
            rules: Mutex::default(),
            puts: Mutex::default(),
        });
        let doors = addresses
            .into_iter()
            .map(|address| Door::open(address, &shared))
            .collect::<Result<_>>()?;
        let (server, domains) = (Mutex::new(server), options.domains.clone());
        Ok(Self { doors, shared, server, domains, authority, wrong_authority, folder })
    }

    /// Where it listens, as `ADDRESS:PORT`.
    pub fn host(&self) -> String {
        self.doors[0].address.to_string()
    }

    /// A second host that leads to the same store, for redirects: another name, `localhost`, where it is on loopback,
    /// and another port in any case. Its requests are in [`exchanges`](Self::exchanges) with that `host`.
    pub fn other_host(&self) -> String {
        let address = self.doors[1].address;
        if address.ip().is_loopback() {
            return format!("localhost:{}", address.port());
        }
        address.to_string()
    }

    /// The folder of all objects; a bucket is a folder in it.
    pub fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// The certificate of its authority, PEM: for `SSL_CERT_FILE`.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// The certificate of an authority that has signed nothing, PEM.
    pub fn wrong_authority(&self) -> &Path {
        &self.wrong_authority
    }

    /// The process of the S3 server behind it, which ends with this one.
    pub fn server_process(&self) -> u32 {
        self.server().process()
    }

    /// Kills the S3 server in whatever it does. Until it is started again, every request is answered with 502.
    pub fn kill_server(&self) -> Result<()> {
        self.server().kill()
    }

    /// Starts the S3 server again, with what its objects' folder holds.
    pub fn start_server(&self) -> Result<()> {
        let new = Server::start(&self.folder, &self.domains)?;
        self.shared.server_port.store(new.port, Ordering::SeqCst);
        *self.server() = new;
        Ok(())
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A URL for a method and an object, `BUCKET/KEY`, to be signed.
    pub fn sign(&self, method: &str, object: &str) -> Signing {
        Signing::new(method, &self.host(), object, Timestamp::now())
    }

    /// Sends a request here, whatever host its URL names; see [`send`](crate::send).
    pub fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Received> {
        client::send(&self.host(), &self.authority, method, url, headers, body)
    }

    /// Lets `action` befall these requests; of several rules that apply, the oldest does.
    pub fn when(&self, requests: Requests, action: Action) {
        self.shared.rules().add(requests, action);
    }

    /// Forgets all rules.
    pub fn clear_rules(&self) {
        self.shared.rules().clear();
    }

    /// All requests so far and their answers, in the order in which the requests were read.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.record.all()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.stop.stop();
    }
}

impl Shared {
    pub(crate) fn rules(&self) -> MutexGuard<'_, Rules<Action>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held during each PUT.
    pub(crate) fn puts(&self) -> MutexGuard<'_, ()> {
        self.puts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door {
    fn open(address: IpAddr, shared: &Arc<Shared>) -> Result<Self> {
        let listener = TcpListener::bind((address, 0))
            .with_context(|| format!("the store cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let shared = shared.clone();
        let acceptor = thread::spawn(move || accept(&listener, &shared));
        Ok(Self { address, acceptor: Some(acceptor) })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Wakes the acceptor, which then sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
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
            drop(serve::connection(&shared, stream));
        });
    }
}
