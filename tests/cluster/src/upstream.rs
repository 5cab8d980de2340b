//! HTTPS to the API server: one connection for each request, so nothing is ever sent twice unseen.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::http::{Body, Headers, ResponseHead, end_to_end, head, set};

/// How long the API server may stay silent, unless the request is a watch: longer than its own 60 s.
const SILENCE: Duration = Duration::from_secs(75);

type Connection = StreamOwned<ClientConnection, TcpStream>;

/// Where the API server is and how its certificate is judged.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    port: u16,
    tls: Arc<ClientConfig>,
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: ResponseHead,
    pub(crate) body: Body<BufReader<Connection>>,
}

impl Upstream {
    pub(crate) fn new(port: u16, authority: &Path) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { port, tls: Arc::new(tls) })
    }

    /// Sends a request in the name of the token's owner and reads the head of the answer.
    ///
    /// `opened` gets the connection before anything is sent, for whoever may want to shut it down.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &Headers,
        body: &[u8],
        token: &str,
        opened: impl FnOnce(&TcpStream),
    ) -> Result<Response> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let stream = TcpStream::connect(address)
            .with_context(|| format!("the API server at {address} cannot be reached"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        opened(&stream);
        let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
        let mut connection =
            StreamOwned::new(ClientConnection::new(self.tls.clone(), name)?, stream);

        let mut headers = end_to_end(headers);
        set(&mut headers, "Host", &address.to_string());
        set(&mut headers, "Authorization", &format!("Bearer {token}"));
        set(&mut headers, "Content-Length", &body.len().to_string());
        set(&mut headers, "Connection", "close");
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("expect"));
        let mut bytes = head(&format!("{method} {target} HTTP/1.1"), &headers).into_bytes();
        bytes.extend_from_slice(body);
        connection.write_all(&bytes).context("the request could not be sent to the API server")?;
        connection.flush()?;

        let mut reader = BufReader::new(connection);
        let head = ResponseHead::read(&mut reader).context("the API server did not answer")?;
        if target.contains("watch=") {
            reader.get_ref().sock.set_read_timeout(None)?;
        }
        let framing = head.framing(method);
        Ok(Response { head, body: Body::new(reader, framing) })
    }
}

impl Response {
    /// Reads the whole body.
    pub(crate) fn read_body(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes).context("the answer of the API server broke off")?;
        Ok(bytes)
    }
}
