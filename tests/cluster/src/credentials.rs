//! What proves who is who in one control plane: its certificates, the key of service accounts, the tokens.
//!
//! All of it is made afresh for each control plane and lies in its state folder only.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};

use crate::network::API_SERVICE;
use crate::wait;

/// How many users beside the administrator a control plane knows.
pub const USERS: usize = 256;

/// The name of the only node.
pub(crate) const NODE: &str = "node";

/// The files and tokens of one control plane.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// The certificate of the authority that signed `server_certificate`, PEM.
    pub(crate) authority: PathBuf,
    /// The certificate of an authority that has signed nothing, PEM.
    pub(crate) wrong_authority: PathBuf,
    pub(crate) server_certificate: PathBuf,
    pub(crate) server_key: PathBuf,
    /// Signs the tokens of service accounts.
    pub(crate) service_account_key: PathBuf,
    /// Verifies them.
    pub(crate) service_account_public_key: PathBuf,
    /// For `--token-auth-file`.
    pub(crate) tokens: PathBuf,
    pub(crate) admin_token: String,
    pub(crate) controller_manager_token: String,
    pub(crate) scheduler_token: String,
    /// Of the kubelet of the node [`NODE`].
    pub(crate) kubelet_token: String,
    user_tokens: Vec<String>,
}

impl Credentials {
    /// Makes all of it and writes the files into `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let authority_key = KeyPair::generate()?;
        let authority = authority("harness test cluster");
        let authority_certificate = authority.self_signed(&authority_key)?;
        let server_key = KeyPair::generate()?;
        let server_certificate =
            server()?.signed_by(&server_key, &Issuer::from_params(&authority, &authority_key))?;
        let service_account_key = KeyPair::generate()?;
        let wrong = wrong_authority()?;

        let token = || format!("{}{}", wait::random_name(), wait::random_name());
        let this = Self {
            authority: folder.join("authority.crt"),
            wrong_authority: folder.join("wrong-authority.crt"),
            server_certificate: folder.join("server.crt"),
            server_key: folder.join("server.key"),
            service_account_key: folder.join("service-account.key"),
            service_account_public_key: folder.join("service-account.pub"),
            tokens: folder.join("tokens.csv"),
            admin_token: token(),
            controller_manager_token: token(),
            scheduler_token: token(),
            kubelet_token: token(),
            user_tokens: (0..USERS).map(|_| token()).collect(),
        };
        fs::write(&this.authority, authority_certificate.pem())?;
        fs::write(&this.wrong_authority, wrong)?;
        fs::write(&this.server_certificate, server_certificate.pem())?;
        fs::write(&this.server_key, server_key.serialize_pem())?;
        fs::write(&this.service_account_key, service_account_key.serialize_pem())?;
        fs::write(&this.service_account_public_key, service_account_key.public_key_pem())?;
        fs::write(&this.tokens, this.token_file())?;
        Ok(this)
    }

    /// The token of `user_name(number)`.
    pub(crate) fn user_token(&self, number: usize) -> Option<&str> {
        self.user_tokens.get(number).map(String::as_str)
    }

    /// One line for each user: token, name, uid and, for those that are more than a user, the group.
    fn token_file(&self) -> String {
        let mut lines = format!(
            "{},admin,admin,\"system:masters\"\n\
             {},system:kube-controller-manager,controller-manager\n\
             {},system:kube-scheduler,scheduler\n\
             {},system:node:{NODE},node,\"system:nodes\"\n",
            self.admin_token,
            self.controller_manager_token,
            self.scheduler_token,
            self.kubelet_token
        );
        for (number, token) in self.user_tokens.iter().enumerate() {
            let name = user_name(number);
            let _ = writeln!(lines, "{token},{name},{name}");
        }
        lines
    }
}

/// The name of a user, as RBAC and messages of the API server have it.
pub(crate) fn user_name(number: usize) -> String {
    format!("user-{number}")
}

fn authority(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

fn wrong_authority() -> Result<String> {
    Ok(authority("stranger").self_signed(&KeyPair::generate()?)?.pem())
}

fn server() -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
    for address in [Ipv4Addr::LOCALHOST, API_SERVICE] {
        parameters.subject_alt_names.push(SanType::IpAddress(address.into()));
    }
    parameters.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    Ok(parameters)
}
