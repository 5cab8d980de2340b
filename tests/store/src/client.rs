//! An HTTPS client that repairs nothing: what the store sent is what a test sees.

use std::fmt::Write as _;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_test_cluster::http::{Body, Headers, ResponseHead, find};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long the store may be silent.
const SILENCE: Duration = Duration::from_secs(3);

/// An answer, or as much of it as came.
#[derive(Debug)]
pub struct Received {
    /// The status code.
    pub status: u16,
    /// Names and values as they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How the body ended, if not as its framing says; `WouldBlock` is a silence of three seconds.
    pub end: Option<io::ErrorKind>,
}

impl Received {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends one request to `address`, `HOST:PORT`, whatever host the URL names; the certificate must be for that host.
///
/// An error is a connection that brought no head of an answer. `authority` is a PEM file.
pub fn send(
    address: &str,
    authority: &Path,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Received> {
    let rest = url.strip_prefix("https://").unwrap_or(url);
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    let mut request = format!("{method} /{target} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    // Writing to a string does not fail.
    let _ = write!(request, "Content-Length: {}\r\n\r\n", body.len());
    let mut connection = connect(address, host, authority)?;
    connection.write_all(request.as_bytes())?;
    // A rule may have closed the connection before the end of the body.
    let _ = connection.write_all(body);
    let mut reader = BufReader::new(connection);
    let head = ResponseHead::read(&mut reader)?;
    let framing = head.framing(method);
    let mut bytes = Vec::new();
    let end = Body::new(reader, framing).read_to_end(&mut bytes).err().map(|error| error.kind());
    let headers: Headers = head.headers;
    Ok(Received { status: head.status, headers, body: bytes, end })
}

fn connect(
    address: &str,
    host: &str,
    authority: &Path,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(authority).map_err(io::Error::other)?;
    roots.add(certificate).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.split(':').next().unwrap_or_default().to_owned();
    let name = ServerName::try_from(name).map_err(io::Error::other)?;
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let session = ClientConnection::new(Arc::new(tls), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(session, stream))
}
