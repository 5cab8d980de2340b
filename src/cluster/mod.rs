//! The cluster: the Kubernetes API as three-way outcomes over one supervised `kubectl proxy`.
//!
//! kubectl alone knows kubeconfig, credentials and TLS. One [`Connection`] is one kubectl, on a
//! private socket, narrowed to what the command needs in one namespace; it ends with the connection,
//! whatever ends that. There are no retries, no redirects and no decompression below the protocol
//! that uses it. Nothing here prints, and no request body is ever part of an error.
//!
//! ```text
//! Connection::send(Request) -> Outcome    api.rs, request.rs, outcome.rs, classify.rs: all pure
//!   http.rs       plain HTTP/1.1 over the socket, with a deadline and a limit
//!   proxy.rs      one kubectl from its start to its end
//!   process.rs    the only file that spawns
//!   guard.rs      the parent of kubectl, which outlives a killed harness for as long as it takes to tidy up
//! ```

pub mod access;
pub mod api;
pub mod classify;
pub mod error;
pub mod guard;
pub mod headers;
mod http;
mod lean;
pub mod outcome;
pub mod pages;
mod process;
mod proxy;
pub mod request;
mod text;
pub mod watch;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use access::Access;
pub use api::{LogRange, Requests};
pub use error::ConnectError;
pub use outcome::{Answer, Cause, Details, NotSent, Outcome, Status, Unknown, Why};
pub use proxy::{Preamble, preamble, says_context_is_missing};
pub use request::{DryRun, Expected, Method, Preconditions, Request, Resource};

use self::http::Http;
use self::proxy::Proxy;
pub use self::watch::{Told, WatchEnd, Watcher};
use crate::clock::Clock;

/// Where a pod finds its service account's token.
pub const SERVICE_ACCOUNT_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// How often is looked whether somebody still waits.
const LOOK: Duration = Duration::from_millis(2);

/// Which cluster, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Context {
    /// A context of the kubeconfig; never empty, for that would mean the current one.
    Named(String),
    /// The cluster that this pod runs in, as its service account.
    InCluster {
        /// The token, usually [`SERVICE_ACCOUNT_TOKEN`]; without it kubectl would talk to localhost.
        token: PathBuf,
    },
}

/// Takes what kubectl and its credential plugins write to standard error, as it comes: it may be a
/// prompt without an end of line. It is text that is not ours, to be neutralised before it is shown.
pub type StderrObserver = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// How to reach the cluster.
#[derive(Clone)]
pub struct ConnectOptions {
    /// kubectl: a path, or a name that is looked up in `PATH`.
    pub kubectl: PathBuf,
    /// The executable whose `main` handles [`guard::ARGUMENT`] before anything else; `None` is this
    /// process's own, which then must be harness.
    pub guard: Option<PathBuf>,
    /// `--kubeconfig`; `None` leaves it to kubectl (`KUBECONFIG`, then `~/.kube/config`).
    pub kubeconfig: Option<PathBuf>,
    /// Which cluster, and as whom.
    pub context: Context,
    /// The one namespace that requests may touch: a DNS label.
    pub namespace: String,
    /// `--as`.
    pub impersonate_user: Option<String>,
    /// `--as-group`, each.
    pub impersonate_groups: Vec<String>,
    /// What this command needs.
    pub access: Access,
    /// How long one request of [`Connection::requests`] may take, answer and all.
    ///
    /// kubectl gets its credentials within the first one, so that one needs more time where a person
    /// has to log in.
    pub request_timeout: Duration,
    /// How long kubectl may take to serve.
    pub ready_timeout: Duration,
    /// How long kubectl may take to end before it is killed.
    pub grace: Duration,
    /// Whether kubectl's credential plugins may read standard input.
    pub stdin_is_free: bool,
    /// Folders to try for the private socket, in this order; the path of a socket is limited to
    /// about a hundred bytes.
    pub folders: Vec<PathBuf>,
    /// Who sees kubectl's standard error as it comes.
    pub on_stderr: Option<StderrObserver>,
    /// Becomes true when nobody waits for kubectl to serve any more.
    pub stop: Option<Arc<AtomicBool>>,
}

impl ConnectOptions {
    /// The usual way: kubectl from `PATH`, its own kubeconfig, the socket below `/tmp`.
    pub fn new(context: Context, namespace: impl Into<String>, access: Access) -> Self {
        Self {
            kubectl: PathBuf::from("kubectl"),
            guard: None,
            kubeconfig: None,
            context,
            namespace: namespace.into(),
            impersonate_user: None,
            impersonate_groups: Vec::new(),
            access,
            request_timeout: Duration::from_secs(30),
            ready_timeout: Duration::from_secs(20),
            grace: Duration::from_millis(500),
            stdin_is_free: false,
            folders: vec![PathBuf::from("/tmp")],
            on_stderr: None,
            stop: None,
        }
    }
}

/// A connection to the API server through one kubectl, for many threads at once.
///
/// Dropping it ends kubectl.
pub struct Connection {
    requests: Requests,
    http: Arc<Http>,
    proxy: Proxy,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Starts kubectl and waits until it serves. Nothing is sent to the API server yet.
    pub fn open(options: &ConnectOptions, clock: &Arc<dyn Clock>) -> Result<Self, ConnectError> {
        let proxy = Proxy::start(options, &**clock)?;
        Ok(Self {
            requests: Requests::new(&options.namespace, options.request_timeout),
            http: Arc::new(Http::new(&proxy.socket(), Arc::clone(clock))),
            proxy,
        })
    }

    /// Makes the requests of this connection's namespace.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Sends one request, once, and says how it ended, within the request's timeout.
    pub fn send(&self, request: &Request) -> Outcome {
        self.http.send(request)
    }

    /// What sends watches through this connection.
    pub fn watcher(&self) -> Watcher {
        Watcher { http: Arc::clone(&self.http) }
    }

    /// Ends kubectl at once, and with it every request that is under way; nothing can be sent any more.
    pub fn end(&self) {
        self.proxy.end();
    }

    /// Does what waits for answers, on a thread of its own, and ends kubectl as soon as `has_ended` says that nobody
    /// waits for them any more: without kubectl no answer comes.
    pub fn until<T: Send>(
        &self,
        clock: &dyn Clock,
        has_ended: &dyn Fn() -> bool,
        work: impl FnOnce() -> T + Send,
    ) -> T {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            while !work.is_finished() {
                if has_ended() {
                    self.end();
                }
                clock.sleep(LOOK);
            }
            work.join().expect("what waits for answers does not panic")
        })
    }

    /// Whether kubectl is gone, so that only a new connection can help.
    pub fn has_ended(&self) -> bool {
        self.proxy.has_ended()
    }

    /// The end of what kubectl has written to standard error: text that is not ours.
    pub fn stderr_tail(&self) -> String {
        self.proxy.stderr_tail()
    }
}
