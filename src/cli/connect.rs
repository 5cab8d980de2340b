//! From the command line to the options of a connection.

use std::sync::{Arc, Mutex, PoisonError};

use super::args::ClusterArgs;
use super::{input, neutral, terminal};
use crate::cluster::{self, Access, ConnectOptions};

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
