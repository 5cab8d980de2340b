//! A server of files for measurements: the least that lies between a file and TLS.
//!
//! The store itself asks s3s-fs, copies twice and follows rules, so it would be measured instead of the client.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use harness_test_cluster::http::{Body, Headers, RequestHead, find, head, set};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::tls;

/// Many TLS records at a time; more of them no longer makes it faster.
const PIECE: usize = 1024 * 1024;

/// Serves `GET` of files, whole or from an offset, and takes and forgets what is `PUT` anywhere, on a free port of
/// 127.0.0.1 until the process ends.
#[derive(Debug)]
pub struct FileServer {
    address: SocketAddr,
    files: usize,
    authority: PathBuf,
    _folder: TempDir,
}

impl FileServer {
    /// Starts it; the number of a file is its path in the URL.
    pub fn start(files: &[PathBuf]) -> Result<Self> {
        for file in files {
            File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
        }
        let folder = tempfile::Builder::new().prefix("harness-test-store.").tempdir()?;
        let authority = folder.path().join("authority.pem");
        let stranger = folder.path().join("stranger.pem");
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        let configuration = tls::server(&authority, &stranger, &[address])?;
        fs::remove_file(stranger)?;
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let served: Arc<[PathBuf]> = files.into();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, configuration) = (served.clone(), configuration.clone());
                thread::spawn(move || {
                    // A client that has left, in any way, is the usual end of a connection.
                    drop(connection(&served, configuration, stream));
                });
            }
        });
        Ok(Self { address, files: files.len(), authority, _folder: folder })
    }

    /// The certificate of its authority, PEM: for `SSL_CERT_FILE`.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// The URL of each file, in their order.
    pub fn urls(&self) -> Vec<String> {
        (0..self.files).map(|number| format!("https://{}/{number}", self.address)).collect()
    }
}

fn connection(files: &[PathBuf], tls: Arc<ServerConfig>, stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut tls = ServerConnection::new(tls)?;
    tls.set_buffer_limit(Some(2 * PIECE));
    let mut client = BufReader::new(StreamOwned::new(tls, stream));
    while let Some(request) = RequestHead::read(&mut client)? {
        if request.method == "PUT" {
            take(&mut client, &request)?;
            continue;
        }
        let path = request.target.split('?').next().unwrap_or_default();
        let file =
            path.trim_start_matches('/').parse().ok().and_then(|index: usize| files.get(index));
        let output = client.get_mut();
        match file {
            Some(file) => answer(output, File::open(file)?, &request)?,
            None => output.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
        }
        output.flush()?;
    }
    Ok(())
}

/// Reads a body to its end and says that all is well.
fn take(
    client: &mut BufReader<StreamOwned<ServerConnection, TcpStream>>,
    request: &RequestHead,
) -> Result<()> {
    if find(&request.headers, "expect").is_some() {
        client.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        client.get_mut().flush()?;
    }
    let body = &mut Body::new(&mut *client, request.framing());
    let mut piece = vec![0; PIECE];
    while body.read(&mut piece)? > 0 {}
    let output = client.get_mut();
    output.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    Ok(output.flush()?)
}

fn answer(
    output: &mut StreamOwned<ServerConnection, TcpStream>,
    mut file: File,
    request: &RequestHead,
) -> Result<()> {
    let length = file.metadata()?.len();
    let offset = offset(&request.headers).filter(|offset| *offset < length);
    let mut headers = Headers::new();
    set(&mut headers, "ETag", "\"file\"");
    set(&mut headers, "Accept-Ranges", "bytes");
    let start = offset.unwrap_or(0);
    set(&mut headers, "Content-Length", &(length - start).to_string());
    let first_line = if offset.is_some() {
        set(&mut headers, "Content-Range", &format!("bytes {start}-{}/{length}", length - 1));
        "HTTP/1.1 206 Partial Content"
    } else {
        "HTTP/1.1 200 OK"
    };
    output.write_all(head(first_line, &headers).as_bytes())?;
    file.seek(SeekFrom::Start(start))?;
    let mut piece = vec![0; PIECE];
    let mut left = length - start;
    while left > 0 {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        output.write_all(&piece[..count])?;
        left -= count as u64;
    }
    Ok(())
}

/// Of `Range: bytes=OFFSET-`; other forms get the whole file, as RFC 9110, section 14.2 allows.
fn offset(headers: &Headers) -> Option<u64> {
    find(headers, "range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
}
