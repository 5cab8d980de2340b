//! The arguments that name a cluster and say how to reach it: required by most commands, a choice for some.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::values::{parse_namespace, parse_seconds};
use crate::submission::Namespace;

/// Which cluster, and as whom
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("cluster").required(true).args(["context", "in_cluster"]))]
pub struct ClusterArgs {
    /// The context of the kubeconfig; the current context is never followed
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Use the service account of the pod that this runs in
    #[arg(long)]
    pub in_cluster: bool,
    /// The namespace
    #[arg(short, long, value_parser = parse_namespace)]
    pub namespace: Namespace,
    /// How it is reached
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Which cluster, if any, and as whom
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("cluster").args(["context", "in_cluster"]).requires("namespace"))]
pub struct OptionalClusterArgs {
    /// The context of the kubeconfig, to ask its cluster as well; the current context is never followed
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Ask the cluster that this runs in, with the service account of its pod
    #[arg(long)]
    pub in_cluster: bool,
    /// The namespace
    #[arg(short, long, value_parser = parse_namespace, requires = "cluster")]
    pub namespace: Option<Namespace>,
    /// How it is reached
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// How a cluster is reached
#[derive(Debug, Clone, Args)]
pub struct ReachArgs {
    /// The kubeconfig; KUBECONFIG or ~/.kube/config by default
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Act as this user
    #[arg(long = "as", value_name = "USER", requires = "cluster")]
    pub impersonate_user: Option<String>,
    /// Act as a member of this group; may be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate_user")]
    pub impersonate_groups: Vec<String>,
    /// The kubectl to use; looked up in PATH by default
    #[arg(long, value_name = "PATH", env = "HARNESS_KUBECTL", default_value = "kubectl")]
    pub kubectl: PathBuf,
    /// How long one request may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = parse_seconds)]
    pub request_timeout: Duration,
}

impl OptionalClusterArgs {
    /// The cluster, where one was named.
    pub fn named(&self) -> Option<ClusterArgs> {
        let is_named = self.in_cluster || self.context.is_some();
        let namespace = self.namespace.clone().filter(|_| is_named)?;
        Some(ClusterArgs {
            context: self.context.clone(),
            in_cluster: self.in_cluster,
            namespace,
            reach: self.reach.clone(),
        })
    }
}
