//! A proxy between kubectl and the API server that does to single requests what networks and crashes do.
//!
//! kubectl speaks plain HTTP/1.1 to it (a kubeconfig with `server: http://127.0.0.1:PORT`), so it sends no
//! credentials; the proxy adds a token and speaks HTTPS to the API server. Rules say what happens to which
//! request; everything that was asked and answered is kept for the test to look at.
//!
//! ```no_run
//! use harness_test_cluster::fault::{Action, FaultProxy, Requests};
//!
//! let cluster = harness_test_cluster::shared();
//! let proxy = FaultProxy::start(cluster, cluster.admin_token())?;
//! proxy.when(Requests::new("POST", "/jobs").without("dryRun").nth(1), Action::LoseResponse);
//! // kubectl --kubeconfig proxy.kubeconfig() --context test-admin create --raw ...
//! assert!(proxy.exchanges().iter().any(|exchange| exchange.answered == Some(201)));
//! # anyhow::Ok(())
//! ```
//!
//! Go's HTTP client, and so kubectl, sends a GET again by itself when a connection that was used before ends
//! without an answer: a dropped first GET may be followed by a second one that nobody asked for.

mod exchange;
mod hold;
mod proxy;
mod rule;
mod serve;
pub mod stop;

pub use exchange::Exchange;
pub use hold::Held;
pub use proxy::FaultProxy;
pub use rule::{Action, Answer, Requests, Rules};
