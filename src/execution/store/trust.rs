//! Whom to believe: the certificates of authorities, from `SSL_CERT_FILE` or where systems keep them.
//!
//! One file of PEM, as OpenSSL and Go read it, so that an image that holds only this binary needs one file more.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use thiserror::Error;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// Where systems keep the file: Debian and Alpine, Fedora, SUSE, RHEL, the BSDs and macOS.
const SYSTEM_FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The largest file of certificates that is read; Mozilla's is 220 KiB.
const LARGEST: u64 = 16 << 20;

/// Why no store can be asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// Nothing names certificates, and none are where systems keep them.
    #[error(
        "there are no certificates of authorities: SSL_CERT_FILE is not set, and the image has none of the usual files"
    )]
    NoCertificates,
    /// The file cannot be read.
    #[error("the certificates in {} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The file holds no certificate that can be used.
    #[error("{} holds no certificate that can be used: {found}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// The proxy cannot be used.
    #[error("the proxy in HTTPS_PROXY cannot be used: {cause}")]
    Proxy {
        /// Why not; never the text, which may hold a password.
        cause: &'static str,
    },
}

impl SetupError {
    /// What to do next.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Proxy { .. } => "write it as http://HOST:PORT in the profile's `proxy`",
            Self::NoCertificates | Self::Unreadable { .. } | Self::Unusable { .. } => {
                "name a file of PEM certificates in the profile's `ca_config_map` (outside of a pod: in SSL_CERT_FILE), or use an image that has ca-certificates"
            }
        }
    }
}

/// The certificates of `file`, or else of the first system file that is there.
pub(super) fn roots(file: Option<&Path>) -> Result<RootCerts, SetupError> {
    roots_of(file, &SYSTEM_FILES.map(Path::new))
}

fn roots_of(file: Option<&Path>, system: &[&Path]) -> Result<RootCerts, SetupError> {
    let path = match file {
        Some(file) => file,
        None => *system
            .iter()
            .find(|path| fs::metadata(path).is_ok())
            .ok_or(SetupError::NoCertificates)?,
    };
    let unusable =
        |found: &str| SetupError::Unusable { path: path.to_owned(), found: found.to_owned() };
    let pem = read(path)?;
    if pem.is_empty() {
        return Err(unusable("it is empty"));
    }
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(unusable("its PEM is broken")),
        }
    }
    if certificates.is_empty() {
        return Err(unusable("no `BEGIN CERTIFICATE` stands in it"));
    }
    let ders = certificates.iter().map(|certificate| certificate.der().to_vec().into());
    let (usable, _) = RootCertStore::empty().add_parsable_certificates(ders);
    if usable == 0 {
        return Err(unusable("none of its certificates can be parsed"));
    }
    Ok(certificates.into())
}

fn read(path: &Path) -> Result<Vec<u8>, SetupError> {
    let unreadable = |cause: String| SetupError::Unreadable { path: path.to_owned(), cause };
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut pem = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut pem).map_err(|error| unreadable(error.to_string()))?;
    if pem.len() as u64 > LARGEST {
        return Err(unreadable("it is larger than 16 MiB".to_owned()));
    }
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        fs::write(&path, text).unwrap();
        let error = roots_of(Some(&path), &[]).unwrap_err();
        assert!(error.remedy().contains("ca_config_map"));
        error.to_string().replace(path.to_str().unwrap(), "FILE")
    }

    #[test]
    fn files_without_certificates_are_named() {
        assert_eq!(error_of(""), "FILE holds no certificate that can be used: it is empty");
        assert!(error_of("hello\n").ends_with("no `BEGIN CERTIFICATE` stands in it"));
        let broken = "-----BEGIN CERTIFICATE-----\n@@@\n-----END CERTIFICATE-----\n";
        assert!(error_of(broken).ends_with("its PEM is broken"), "{}", error_of(broken));
        let odd = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert!(error_of(odd).ends_with("none of its certificates can be parsed"));
    }

    #[test]
    fn an_image_without_any_is_told_what_to_name() {
        let error = roots_of(None, &[Path::new("/nonexistent/ca.crt")]).unwrap_err();
        assert_eq!(error, SetupError::NoCertificates);
        assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
        let missing = roots_of(Some(Path::new("/nonexistent/ca.crt")), &[]).unwrap_err();
        assert!(missing.to_string().contains("/nonexistent/ca.crt"), "{missing}");
    }
}
