//! The parts of a control plane, where they listen and the arguments that they are started with.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::build::Programs;
use crate::credentials::Credentials;
use crate::network::API_SERVICE;
use crate::wait;

/// A part of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: without them no Job gets a pod and no namespace its service account.
    ControllerManager,
}

impl Component {
    /// All of them, in the order in which they are started.
    pub const ALL: [Self; 3] = [Self::Etcd, Self::ApiServer, Self::ControllerManager];

    /// The name of its program, of its log (`NAME.log`) and of its process id (`NAME.pid`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

/// The choices of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Options {
    /// Let etcd sync to disk, for tests that end it; slower.
    pub fsync: bool,
    /// Further arguments of the API server, such as `--feature-gates=...`.
    pub api_server_arguments: Vec<String>,
}

/// The loopback ports of one control plane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) api_server: u16,
}

/// Chooses ports that are free on loopback now.
pub(crate) fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT]> {
    // Below the ports that systems hand out by themselves (32768 and up on Linux), so that no outgoing
    // connection takes the port of a part while it is stopped.
    const FIRST: u16 = 20_000;
    const RANGE: u16 = 12_000;
    let offset = u16::try_from(wait::random_number() % u64::from(RANGE))?;
    let candidates = (0..RANGE).map(|step| FIRST + (offset + step) % RANGE);
    let free = candidates.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let ports: Vec<u16> = free.take(COUNT).collect();
    ports.try_into().ok().context("no port from 20000 to 31999 is free on 127.0.0.1")
}

impl Ports {
    pub(crate) fn choose() -> Result<Self> {
        let [etcd, etcd_peer, api_server] = free_ports()?;
        Ok(Self { etcd, etcd_peer, api_server })
    }

    pub(crate) fn api_server(self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.api_server).into()
    }

    pub(crate) fn api_server_url(self) -> String {
        format!("https://127.0.0.1:{}", self.api_server)
    }
}

/// The program and the arguments of a component.
pub(crate) fn argv(
    component: Component,
    programs: &Programs,
    state: &Path,
    ports: Ports,
    credentials: &Credentials,
    options: &Options,
) -> Vec<String> {
    let arguments = match component {
        Component::Etcd => etcd(state, ports, options),
        Component::ApiServer => api_server(state, ports, credentials, options),
        Component::ControllerManager => controller_manager(state, credentials),
    };
    let program = programs.path(component.name()).display().to_string();
    std::iter::once(program).chain(arguments).collect()
}

fn etcd(state: &Path, ports: Ports, options: &Options) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let mut arguments = vec![
        format!("--data-dir={}", state.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ];
    if !options.fsync {
        arguments.push("--unsafe-no-fsync".to_owned());
    }
    arguments
}

fn api_server(
    state: &Path,
    ports: Ports,
    credentials: &Credentials,
    options: &Options,
) -> Vec<String> {
    let key = credentials.service_account_key.display();
    let public_key = credentials.service_account_public_key.display();
    let mut arguments = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        "--bind-address=127.0.0.1".to_owned(),
        "--external-hostname=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.api_server),
        // Without it, 1.37 refuses to start: it would have to announce a loopback address.
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--service-cluster-ip-range={API_SERVICE}/16"),
        format!("--cert-dir={}", state.display()),
        format!("--tls-cert-file={}", credentials.server_certificate.display()),
        format!("--tls-private-key-file={}", credentials.server_key.display()),
        "--anonymous-auth=false".to_owned(),
        format!("--token-auth-file={}", credentials.tokens.display()),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-signing-key-file={key}"),
        format!("--service-account-key-file={public_key}"),
    ];
    arguments.extend(options.api_server_arguments.iter().cloned());
    arguments
}

fn controller_manager(state: &Path, credentials: &Credentials) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", controller_manager_kubeconfig(state).display()),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        // Each controller then has its own name and rights, as in real clusters.
        "--use-service-account-credentials=true".to_owned(),
        format!("--service-account-private-key-file={}", credentials.service_account_key.display()),
        format!("--root-ca-file={}", credentials.authority.display()),
        "--kube-api-qps=200".to_owned(),
        "--kube-api-burst=400".to_owned(),
    ]
}

/// Where the controllers find the API server.
pub(crate) fn controller_manager_kubeconfig(state: &Path) -> PathBuf {
    state.join("controller-manager.kubeconfig")
}
