//! From the command line to a connection, or to why there is none.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use super::args::ClusterArgs;
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{input, neutral};
use crate::clock::Clock;
use crate::cluster::{self, Access, ConnectOptions, Connection};

/// How to reach the cluster with what a command needs there; credential plugins may read standard input if it is free.
pub(super) fn options(
    cluster: &ClusterArgs,
    access: Access,
    stdin_is_free: bool,
) -> ConnectOptions {
    let context = match &cluster.context {
        Some(name) => cluster::Context::Named(name.clone()),
        None => cluster::Context::InCluster { token: cluster::SERVICE_ACCOUNT_TOKEN.into() },
    };
    let reach = &cluster.reach;
    let stderr = Mutex::new(neutral::Stream::default());
    ConnectOptions {
        kubectl: reach.kubectl.clone(),
        kubeconfig: reach.kubeconfig.clone(),
        impersonate_user: reach.impersonate_user.clone(),
        impersonate_groups: reach.impersonate_groups.clone(),
        request_timeout: reach.request_timeout,
        stdin_is_free,
        folders: input::temporary_folders(),
        on_stderr: Some(Arc::new(move |bytes: &[u8]| {
            let said = String::from_utf8_lossy(bytes);
            // The error that the command ends with says it, and what to do.
            if said.lines().all(cluster::says_context_is_missing) {
                return;
            }
            let mut stream = stderr.lock().unwrap_or_else(PoisonError::into_inner);
            terminal::pass_on(&stream.piece(&said));
        })),
        ..ConnectOptions::new(context, cluster.namespace.as_str(), access)
    }
}

/// A connection, or in words why the cluster cannot be reached; wrong usage is an error of the call.
pub(super) fn open(
    options: &ConnectOptions,
    clock: &Arc<dyn Clock>,
) -> Result<Result<Connection, String>> {
    match Connection::open(options, clock) {
        Ok(connection) => Ok(Ok(connection)),
        Err(error) if error.is_usage() => Err(error.into()),
        Err(error) => Ok(Err(super::chain(&error.into()))),
    }
}

/// The end of a command that only reads, when there is nothing to read from.
pub(super) fn unreachable(why: &str) -> Exit {
    terminal::say(Tone::Error, &format!("the cluster cannot be reached: {why}"));
    Exit::Unknown
}
