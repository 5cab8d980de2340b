//! The store's certificates: an authority of its own, and a certificate for whatever name is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Signs a certificate for each name at its first handshake, so that a client may be sent here in place of any host.
#[derive(Debug)]
struct Certificates {
    issuer: Issuer<'static, KeyPair>,
    key: KeyPair,
    /// What a client gets that names no host, as one does that asks for an address (RFC 6066, section 3).
    addresses: Arc<CertifiedKey>,
    names: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let Some(name) = hello.server_name() else { return Some(self.addresses.clone()) };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Some(known.clone());
        }
        let parameters = CertificateParams::new(vec![name.to_owned()]).ok()?;
        let certified = Arc::new(certify(&parameters, &self.issuer, &self.key).ok()?);
        names.insert(name.to_owned(), certified.clone());
        Some(certified)
    }
}

/// Makes an authority, writes its certificate to `authority` (PEM) and that of a stranger to `wrong_authority`.
pub(crate) fn server(
    authority: &Path,
    wrong_authority: &Path,
    addresses: &[IpAddr],
) -> Result<Arc<ServerConfig>> {
    let authority_key = KeyPair::generate()?;
    let parameters = authority_parameters("harness test store");
    fs::write(authority, parameters.self_signed(&authority_key)?.pem())?;
    let stranger = authority_parameters("stranger").self_signed(&KeyPair::generate()?)?;
    fs::write(wrong_authority, stranger.pem())?;

    let issuer = Issuer::new(parameters, authority_key);
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::<String>::new())?;
    parameters.subject_alt_names = addresses.iter().copied().map(SanType::IpAddress).collect();
    let addresses = Arc::new(certify(&parameters, &issuer, &key)?);
    let certificates = Certificates { issuer, key, addresses, names: Mutex::default() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificates));
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(configuration))
}

fn authority_parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

fn certify(
    parameters: &CertificateParams,
    issuer: &Issuer<'static, KeyPair>,
    key: &KeyPair,
) -> Result<CertifiedKey> {
    let certificate = parameters.signed_by(key, issuer)?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let signer = rustls::crypto::ring::sign::any_supported_type(&private)?;
    Ok(CertifiedKey::new(vec![certificate.der().clone()], signer))
}
