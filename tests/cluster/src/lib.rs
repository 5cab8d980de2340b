//! A real Kubernetes control plane on loopback, for tests: etcd, API server, controllers and kubectl; and a real node.
//!
//! ```no_run
//! let cluster = harness_test_cluster::shared();
//! let namespace = cluster.namespace("example")?;
//! assert_eq!(cluster.count_jobs(&namespace.name), 0);
//! # anyhow::Ok(())
//! ```
//!
//! The programs are built once from the Go module proxy and cached ([`Programs`]); needed are `go`, a POSIX
//! shell and no root. Nothing outlives the process that started it, whatever its end: a small shell holds the
//! programs and watches a pipe (`supervisor.sh`). There is no kubelet, so pods are made and stay pending, unless a
//! test asks for a [`node`], which needs root.
//!
//! [`fault`] has a proxy that loses, cuts, delays and replaces answers between kubectl and the API server.

#![expect(
    clippy::disallowed_methods,
    reason = "a test kit starts programs, waits for them and looks into its environment"
)]

mod access;
mod admin;
mod build;
mod components;
mod control_plane;
mod credentials;
pub mod fault;
pub mod http;
mod kubeconfig;
mod network;
mod node;
mod objects;
mod queue;
mod recipe;
mod supervisor;
mod upstream;
mod wait;

use std::sync::OnceLock;

pub use access::{Grant, User};
pub use build::Programs;
pub use components::{Component, Options};
pub use control_plane::ControlPlane;
pub use credentials::USERS;
pub use kubeconfig::{ADMIN_CONTEXT, Authority};
pub use network::ADDRESS;
pub use node::{Container, Image, ImageBuilder, Names, Node, REGISTRY, Relay, SlowRegistry, node};
pub use objects::Namespace;
pub use supervisor::{end_detached, is_running};
pub use wait::until;

/// The control plane that all tests of this process share; started by the first call.
///
/// Under a runner that gives each test its own process, each has its own control plane.
/// A test that stops or pauses a component starts its own with [`ControlPlane::start`].
///
/// # Panics
///
/// When it cannot be started, in every test that asks for it.
pub fn shared() -> &'static ControlPlane {
    static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
    let start = || ControlPlane::start(&Options::default()).map_err(|error| format!("{error:#}"));
    match SHARED.get_or_init(start) {
        Ok(control_plane) => control_plane,
        Err(error) => panic!("no control plane could be started: {error}"),
    }
}
