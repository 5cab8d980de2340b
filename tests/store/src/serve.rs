//! One connection of a client: reads requests, lets the rules befall them, passes answers on.

use std::io::{self, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::read::GzEncoder;
use harness_test_cluster::fault::stop::Stop;
use harness_test_cluster::http::{
    Body, Framing, Headers, RequestHead, ResponseHead, end_to_end, find, head, set,
};
use rustls::{ServerConnection, StreamOwned};

use crate::backend::{self, Response};
use crate::exchange::{Entry, Exchange};
use crate::rule::{Action, Answer};
use crate::store::Shared;

const PIECE: usize = 64 * 1024;

/// Longer than any test waits: the connection ends with the client or with the store.
const FOR_EVER: Duration = Duration::from_hours(24);

/// A sender that is silent for so long in the middle of a body will not come back.
const GONE: Duration = Duration::from_secs(10);

type Client = BufReader<StreamOwned<ServerConnection, TcpStream>>;

/// How an answer reaches the client.
#[derive(Default)]
struct Manner {
    headers: Headers,
    announced: Option<u64>,
    chunked: bool,
    cut_after: Option<u64>,
    stall_after: Option<u64>,
    pause: Option<Duration>,
    gzip: bool,
    hide_missing: bool,
}

/// Serves a connection until the client closes it, or a rule does.
pub(crate) fn connection(shared: &Shared, stream: TcpStream) -> Result<()> {
    let _watched = shared.stop.watch(&stream)?;
    stream.set_nodelay(true)?;
    let tls = ServerConnection::new(shared.tls.clone())?;
    let mut client = BufReader::with_capacity(PIECE, StreamOwned::new(tls, stream));
    while let Some(head) = RequestHead::read(&mut client)? {
        let entry = shared.record.add(Exchange::new(&head));
        let last = find(&head.headers, "connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if find(&head.headers, "expect").is_some() {
            client.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Serving { shared, client: &mut client, head, entry, pause: None }.respond()?;
        if last {
            break;
        }
    }
    client.get_mut().conn.send_close_notify();
    Ok(client.get_mut().flush()?)
}

/// One request and all that is needed to answer it. An error closes the connection to the client.
struct Serving<'a> {
    shared: &'a Shared,
    client: &'a mut Client,
    head: RequestHead,
    entry: Entry,
    /// Behind how much of the request's body comes a pause, and how long it is.
    pause: Option<(u64, Duration)>,
}

impl Serving<'_> {
    fn respond(&mut self) -> Result<()> {
        let path = self.head.target.split('?').next().unwrap_or_default();
        let Some(action) = self.shared.rules().choose(&self.head.method, path) else {
            return self.pass(&Manner::default());
        };
        match action {
            Action::DropRequest => bail!("dropped by a rule"),
            Action::CutRequest(after) => {
                self.read_request(after)?;
                bail!("cut by a rule")
            }
            Action::LoseResponse => {
                self.forward_whole()?;
                bail!("lost by a rule")
            }
            Action::Replace(answer) => {
                self.read_request(u64::MAX)?;
                self.replace(&answer)
            }
            Action::ReplaceResponse(answer) => {
                self.forward_whole()?;
                self.replace(&answer)
            }
            Action::NeverAnswer => {
                self.read_request(u64::MAX)?;
                self.stall()
            }
            Action::IgnoreRange => {
                self.head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("range"));
                self.pass(&Manner::default())
            }
            Action::DelayRequest(duration) => {
                self.shared.stop.sleep(duration);
                self.pass(&Manner::default())
            }
            Action::PauseRequest(after, duration) => {
                self.pause = Some((after, duration));
                // Whose whole machine is gone by then closes nothing.
                self.client.get_mut().sock.set_read_timeout(Some(GONE))?;
                let passed = self.pass(&Manner::default());
                self.client.get_mut().sock.set_read_timeout(None)?;
                passed
            }
            Action::DelayResponse(duration) => {
                let response = self.forward()?;
                self.shared.stop.sleep(duration);
                self.send(response, &Manner::default())
            }
            action => self.pass(&manner(action)),
        }
    }

    fn pass(&mut self, manner: &Manner) -> Result<()> {
        match self.forward() {
            Ok(response) => self.send(response, manner),
            // As a gateway does when nobody is behind it.
            Err(error) => self.replace(&Answer::new(502, format!("{error:#}\n"))),
        }
    }

    /// Sends the request to the store and reads the head of its answer.
    fn forward(&mut self) -> Result<Response> {
        // s3s-fs looks whether an object exists and writes it then; a store decides in one step.
        let _one_at_a_time = (self.head.method == "PUT").then(|| self.shared.puts());
        let stop = &self.shared.stop;
        let body = Body::new(&mut *self.client, self.head.framing());
        let body = Counted { body, entry: &self.entry };
        let port = self.shared.server_port.load(Ordering::SeqCst);
        let response = match self.pause {
            None => backend::send(port, &self.head, &mut { body }, stop)?,
            Some((after, duration)) => {
                let mut body = Paused { body, left: after, pause: Some(duration), stop };
                backend::send(port, &self.head, &mut body, stop)?
            }
        };
        self.entry.change(|exchange| exchange.answered = Some(response.head.status));
        Ok(response)
    }

    /// As [`forward`](Self::forward), to the end of the answer: what was asked is then done.
    fn forward_whole(&mut self) -> Result<()> {
        let mut response = self.forward()?;
        io::copy(&mut response.body, &mut io::sink())?;
        Ok(())
    }

    /// Reads at most so much of the request's body.
    fn read_request(&mut self, most: u64) -> Result<()> {
        let body =
            Counted { body: Body::new(&mut *self.client, self.head.framing()), entry: &self.entry };
        io::copy(&mut body.take(most), &mut io::sink())?;
        Ok(())
    }

    /// Sends nothing more and waits until the client has left.
    fn stall(&mut self) -> Result<()> {
        let connection = self.client.get_mut();
        connection.flush()?;
        connection.sock.set_read_timeout(Some(FOR_EVER))?;
        let read = connection.read(&mut [0])?;
        bail!("stalled by a rule until the client left ({read})")
    }

    fn replace(&mut self, answer: &Answer) -> Result<()> {
        let mut headers = answer.headers.clone();
        set(&mut headers, "Content-Length", &answer.body.len().to_string());
        self.send_head(answer.status, "", &headers)?;
        if self.head.method != "HEAD" {
            self.entry.change(|exchange| exchange.sent_bytes = answer.body.len() as u64);
            self.client.get_mut().write_all(&answer.body)?;
        }
        Ok(self.client.get_mut().flush()?)
    }

    fn send_head(&mut self, status: u16, reason: &str, headers: &Headers) -> Result<()> {
        let head = head(&format!("HTTP/1.1 {status} {reason}"), headers);
        // Before it is sent: whoever has received it may look into the record at once.
        self.entry.change(|exchange| exchange.sent = Some(status));
        Ok(self.client.get_mut().write_all(head.as_bytes())?)
    }

    fn send(&mut self, response: Response, manner: &Manner) -> Result<()> {
        let Response { head: response_head, framing, .. } = &response;
        if manner.hide_missing && response_head.status == 404 {
            return self.replace(&Answer::error(403, "AccessDenied"));
        }
        let chunked = manner.chunked
            || (manner.gzip && manner.announced.is_none())
            || matches!(framing, Framing::UntilEnd | Framing::Chunked(_));
        let headers = answer_headers(response_head, manner, chunked);
        self.send_head(response_head.status, &response_head.reason, &headers)?;
        let chunked = chunked && manner.announced.is_none();
        if manner.gzip {
            self.send_body(&mut GzEncoder::new(response.body, Compression::fast()), chunked, manner)
        } else {
            let mut body = response.body;
            self.send_body(&mut body, chunked, manner)
        }
    }

    fn send_body(&mut self, body: &mut impl Read, chunked: bool, manner: &Manner) -> Result<()> {
        let most = manner.cut_after.or(manner.stall_after).unwrap_or(u64::MAX);
        let mut buffer = vec![0; if manner.pause.is_some() { 1 } else { PIECE }];
        let mut sent = 0;
        loop {
            let wanted = buffer.len().min(usize::try_from(most - sent).unwrap_or(usize::MAX));
            if wanted == 0 {
                break;
            }
            let count = body.read(&mut buffer[..wanted]).context("the answer broke off")?;
            if count == 0 {
                break;
            }
            sent += count as u64;
            self.entry.change(|exchange| exchange.sent_bytes = sent);
            self.send_piece(&buffer[..count], chunked)?;
            if let Some(pause) = manner.pause {
                self.shared.stop.sleep(pause);
            }
        }
        if manner.stall_after.is_some() {
            return self.stall();
        }
        if manner.cut_after.is_some() {
            bail!("cut by a rule");
        }
        if chunked {
            self.client.get_mut().write_all(b"0\r\n\r\n")?;
        }
        self.client.get_mut().flush()?;
        if manner.announced.is_some() {
            bail!("closed after the body, whose length was announced wrongly");
        }
        Ok(())
    }

    fn send_piece(&mut self, piece: &[u8], chunked: bool) -> io::Result<()> {
        let client = self.client.get_mut();
        if chunked {
            write!(client, "{:x}\r\n", piece.len())?;
        }
        client.write_all(piece)?;
        if chunked {
            client.write_all(b"\r\n")?;
        }
        client.flush()
    }
}

fn manner(action: Action) -> Manner {
    let mut manner = Manner::default();
    match action {
        Action::SetHeaders(headers) => manner.headers = headers,
        Action::AnnounceLength(length) => manner.announced = Some(length),
        Action::Chunked => manner.chunked = true,
        Action::CutResponse(after) => manner.cut_after = Some(after),
        Action::Stall(after) => manner.stall_after = Some(after),
        Action::Trickle(pause) => manner.pause = Some(pause),
        Action::Gzip => manner.gzip = true,
        Action::HideMissing => manner.hide_missing = true,
        // The others do not change how an answer is passed on.
        _ => {}
    }
    manner
}

fn answer_headers(response: &ResponseHead, manner: &Manner, chunked: bool) -> Headers {
    let mut headers = end_to_end(&response.headers);
    if manner.gzip {
        set(&mut headers, "Content-Encoding", "gzip");
    }
    for (name, value) in &manner.headers {
        set(&mut headers, name, value);
    }
    if let Some(length) = manner.announced {
        set(&mut headers, "Content-Length", &length.to_string());
    } else if chunked {
        set(&mut headers, "Transfer-Encoding", "chunked");
    } else if let Some(length) = response.header("content-length") {
        set(&mut headers, "Content-Length", length);
    }
    headers
}

/// Counts the bytes of a request's body in the record.
struct Counted<'a, R> {
    body: R,
    entry: &'a Entry,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        self.entry.change(|exchange| exchange.received += count as u64);
        Ok(count)
    }
}

/// Rests once, after so much of the body was read.
struct Paused<'a, R> {
    body: R,
    left: u64,
    pause: Option<Duration>,
    stop: &'a Stop,
}

impl<R: Read> Read for Paused<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0
            && let Some(pause) = self.pause.take()
        {
            self.stop.sleep(pause);
        }
        let most = match self.pause {
            Some(_) => buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX)),
            None => buffer.len(),
        };
        let count = self.body.read(&mut buffer[..most])?;
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}
