//! A real S3 store behind TLS on loopback, for tests, which does to single requests what networks and stores do.
//!
//! ```no_run
//! use harness_test_store::{Action, Requests, Store};
//!
//! let store = Store::start()?;
//! store.put("inputs/mission.json", "{}")?;
//! let mission = store.sign("GET", "inputs/mission.json").url();
//! let result = store.sign("PUT", "results/attempt-1.tar").create_only().url();
//! store.when(Requests::new("PUT", "/results/").nth(1), Action::LoseResponse);
//! // SSL_CERT_FILE=store.authority() harness prediction stage ... mission ... result
//! assert_eq!(store.list()?, ["inputs/mission.json", "results/attempt-1.tar"]);
//! assert!(store.exchanges().iter().any(|exchange| exchange.answered == Some(200)));
//! # anyhow::Ok(())
//! ```
//!
//! The store is s3s-fs, built once and cached; signatures, conditional PUT and ranges are its own. In front of it
//! this crate ends TLS, lets rules befall requests and keeps a record. Nothing outlives the process that started it,
//! whatever its end.

#![expect(
    clippy::disallowed_methods,
    reason = "a test kit starts programs, knows the time and looks into its environment"
)]

mod backend;
mod client;
mod exchange;
mod files;
mod objects;
mod rule;
mod serve;
mod server;
mod sign;
mod store;
mod tls;

pub use client::{Received, send};
pub use exchange::Exchange;
pub use files::FileServer;
pub use harness_test_cluster::fault::Requests;
pub use rule::{Action, Answer};
pub use server::program;
pub use sign::{ACCESS_KEY, REGION, SECRET_KEY, Signing};
pub use store::{Options, Store};
