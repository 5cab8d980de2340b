//! Plain HTTP/1.1 over the proxy's Unix socket: one request, one answer, one deadline.
//!
//! The deadline covers everything from the connection to the last byte of the answer, so that an
//! answer that trickles ends too. ureq 3.5 repeats no request, not even on a kept connection that
//! turns out to be dead (`run.rs`: every error of a call is returned); redirects are switched off,
//! and decompression is not compiled in.

use std::fmt;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::RecvFlags;
use ureq::http::{self, header};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error, Timeout};

use super::classify::{RawAnswer, classify};
use super::headers;
use super::outcome::{NotSent, Outcome, Unknown, Why};
use super::request::{Method, Request};
use crate::clock::Clock;

/// The longest answer that is read. A list page of 100 Jobs is about 1 MiB.
pub(super) const LONGEST_ANSWER: u64 = 8 * 1024 * 1024;

/// Bytes of a connection's buffers, one for each direction. The head of an answer must fit; ureq's own
/// 128 KiB take longer to clear than a whole request takes.
const BUFFER: usize = 32 * 1024;

/// Kept connections: the usual 16 submissions send up to three requests each side by side.
const IDLE_CONNECTIONS: usize = 64;

/// Speaks HTTP over one socket, from many threads at once.
pub(super) struct Http {
    agent: Agent,
}

impl Http {
    pub(super) fn new(socket: &Path, clock: Arc<dyn Clock>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The environment's proxies are kubectl's business.
            .proxy(None)
            .user_agent(concat!("harness/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_idle_connections(IDLE_CONNECTIONS)
            .max_idle_connections_per_host(IDLE_CONNECTIONS)
            .build();
        let connector = SocketConnector { socket: socket.to_owned(), clock };
        Self { agent: Agent::with_parts(config, connector, NoResolver) }
    }

    /// Sends `request` once and says how it ended.
    pub(super) fn send(&self, request: &Request) -> Outcome {
        let message = match to_message(request) {
            Ok(message) => message,
            Err(reason) => {
                return unknown(Why::NotSent(NotSent::Malformed { reason }));
            }
        };
        let answer = match &request.body {
            Some(body) => self.run(message.map(|()| &body[..]), request.timeout),
            None => self.run(message, request.timeout),
        };
        match answer {
            Ok(answer) => classify(request, answer),
            Err(error) => unknown(why(error, request.timeout)),
        }
    }

    /// Sends `request` once and hands on the bytes of the answer as they come, until `piece` has heard enough; the
    /// first piece is empty and says that the server has begun.
    ///
    /// The whole may take as long as the request allows. `Ok` is the end of the stream, `Err` how the request ended
    /// instead.
    pub(super) fn stream(
        &self,
        request: &Request,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Box<Outcome>> {
        let failed = |error| Box::new(unknown(why(error, request.timeout)));
        let message = to_message(request)
            .map_err(|reason| Box::new(unknown(Why::NotSent(NotSent::Malformed { reason }))))?;
        let timeout = Some(request.timeout);
        let message = self.agent.configure_request(message).timeout_global(timeout).build();
        let mut response = self.agent.run(message).map_err(failed)?;
        if response.status() != http::StatusCode::OK {
            let answer = read_whole(&mut response).map_err(failed)?;
            return Err(Box::new(classify(request, answer)));
        }
        if piece(b"").is_break() {
            return Ok(());
        }
        let mut reader = response.body_mut().as_reader();
        let mut buffer = vec![0; BUFFER];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) if piece(&buffer[..count]).is_break() => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Box::new(unknown(Why::Cut { reason: error.to_string() })));
                }
            }
        }
    }

    fn run(
        &self,
        message: http::Request<impl ureq::AsSendBody>,
        timeout: Duration,
    ) -> Result<RawAnswer, Error> {
        let message = self.agent.configure_request(message).timeout_global(Some(timeout)).build();
        let mut response = self.agent.run(message)?;
        read_whole(&mut response)
    }
}

fn read_whole(response: &mut http::Response<ureq::Body>) -> Result<RawAnswer, Error> {
    let field = |name| {
        let value: Option<&http::HeaderValue> = response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let mut answer = RawAnswer {
        status: response.status().as_u16(),
        media_type: headers::media_type(field(header::CONTENT_TYPE)),
        retry_after: headers::retry_after(field(header::RETRY_AFTER)),
        date: headers::date(field(header::DATE)),
        warnings: headers::warnings(
            response.headers().get_all(header::WARNING).iter().map(http::HeaderValue::as_bytes),
        ),
        body: Vec::new(),
    };
    answer.body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec()?;
    Ok(answer)
}

fn unknown(why: Why) -> Outcome {
    Outcome::Unknown(Unknown { why, retry_after: None, date: None })
}

fn to_message(request: &Request) -> Result<http::Request<()>, String> {
    check_path(&request.path)?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in &request.query {
        query.append_pair(name, value);
    }
    query.append_pair("timeout", &server_timeout(request.timeout));
    let method = match request.method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    };
    // kubectl takes requests only for localhost, on a Unix socket too.
    let mut builder = http::Request::builder()
        .method(method)
        .uri(format!("http://localhost{}?{}", request.path, query.finish()))
        .header(header::ACCEPT_ENCODING, "identity");
    if request.body.is_some() {
        let media_type = match request.method {
            Method::Patch => "application/merge-patch+json",
            Method::Get | Method::Post | Method::Delete => "application/json",
        };
        builder = builder.header(header::CONTENT_TYPE, media_type);
    }
    // The error would show the query.
    builder.body(()).map_err(|_| "its path or its parameters are too long".to_owned())
}

/// An empty name in a path would be a list, and two dots another path.
fn check_path(path: &str) -> Result<(), String> {
    let is_plain = |segment: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !segment.is_empty() && segment != "." && segment != ".." && segment.bytes().all(plain)
    };
    match path.strip_prefix('/') {
        Some(segments) if segments.split('/').all(is_plain) => Ok(()),
        _ => Err(format!("the path {path:?} has an empty or an odd segment")),
    }
}

/// The time that the server gives itself: a little less than ours, so that its own answer about
/// it, which is more than silence, still arrives.
fn server_timeout(timeout: Duration) -> String {
    format!("{}ms", timeout.saturating_sub(timeout / 10).as_millis().max(1))
}

fn why(error: Error, allowed: Duration) -> Why {
    match error {
        Error::Timeout(_) => Why::Late { allowed },
        Error::BodyExceedsLimit(limit) => Why::TooLarge { limit },
        Error::Other(error) => match error.downcast::<ConnectFailed>() {
            Ok(failed) => {
                let reason = failed.0.to_string();
                Why::NotSent(NotSent::ProxyUnreachable { reason })
            }
            Err(error) => Why::Cut { reason: error.to_string() },
        },
        // These two hold the address with its query; they come before anything is sent.
        Error::BadUri(_) | Error::Http(_) => {
            Why::NotSent(NotSent::Malformed { reason: "it is not valid HTTP".to_owned() })
        }
        error => Why::Cut { reason: error.to_string() },
    }
}

/// The proxy took no connection, so nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to kubectl: {0}")]
struct ConnectFailed(io::Error);

#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _: &http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        // ureq wants one address; the connector does not look at it.
        let mut addresses = self.empty();
        addresses.push(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
        Ok(addresses)
    }
}

struct SocketConnector {
    socket: PathBuf,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for SocketConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SocketConnector").field(&self.socket).finish()
    }
}

impl Connector for SocketConnector {
    type Out = SocketTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<SocketTransport>, Error> {
        let stream = UnixStream::connect(&self.socket)
            .and_then(|stream| stream.set_nonblocking(true).map(|()| stream))
            .map_err(|error| Error::Other(Box::new(ConnectFailed(error))))?;
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(SocketTransport { stream, buffers, clock: Arc::clone(&self.clock) }))
    }
}

/// One connection. Its socket does not block; every wait ends at the deadline.
struct SocketTransport {
    stream: UnixStream,
    buffers: LazyBuffers,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for SocketTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SocketTransport")
    }
}

/// The moment when a wait ends, on the boot-time clock; `None` never comes.
#[derive(Clone, Copy)]
struct Deadline {
    at: Option<Duration>,
    reason: Timeout,
}

impl SocketTransport {
    fn deadline(&self, timeout: NextTimeout) -> Deadline {
        let at = if timeout.after.is_not_happening() {
            None
        } else {
            self.clock.boottime().checked_add(*timeout.after)
        };
        Deadline { at, reason: timeout.reason }
    }

    /// Waits until the socket can be read or written, or is closed.
    fn wait(&self, what: PollFlags, deadline: Deadline) -> Result<(), Error> {
        loop {
            let left = deadline.at.map(|at| at.saturating_sub(self.clock.boottime()));
            if left == Some(Duration::ZERO) {
                return Err(Error::Timeout(deadline.reason));
            }
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut sockets = [PollFd::new(&self.stream, what)];
            match rustix::event::poll(&mut sockets, left.as_ref()) {
                Ok(0) => return Err(Error::Timeout(deadline.reason)),
                Ok(_) => return Ok(()),
                // A signal is no end of the wait; what is left of it is counted again.
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::Io(error.into())),
            }
        }
    }
}

impl Transport for SocketTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let deadline = self.deadline(timeout);
        let mut sent = 0;
        while sent < amount {
            match self.stream.write(&self.buffers.output()[sent..amount]) {
                Ok(0) => return Err(Error::Io(io::ErrorKind::WriteZero.into())),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io(error)),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let deadline = self.deadline(timeout);
        loop {
            self.wait(PollFlags::IN, deadline)?;
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(count) => {
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(Error::Io(error)),
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // A kept connection is fit for use if it is neither closed nor holds what nobody asked for.
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = rustix::net::recv(&self.stream, &mut [0u8; 1][..], flags);
        matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }
}

#[cfg(test)]
mod tests;
