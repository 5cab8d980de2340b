//! One connection of a client: reads requests, lets the rules befall them, passes answers on.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context as _, Result, bail};

use super::exchange::{Entry, Exchange};
use super::hold::Gate;
use super::proxy::Shared;
use super::rule::{Action, Answer, Effect};
use super::stop::Watched;
use crate::http::{Body, Framing, Headers, RequestHead, end_to_end, find, head, set};
use crate::upstream::Response;

/// A request that was read whole.
struct Request {
    head: RequestHead,
    body: Vec<u8>,
}

/// The API server's answer, while its connection lives.
struct Answered {
    response: Response,
    _watched: Option<Watched>,
}

/// How the body of an answer reaches the client.
#[derive(Default)]
struct Manner {
    cut_after: Option<usize>,
    pause: Option<std::time::Duration>,
    headers: Headers,
}

/// Serves a connection until the client closes it, or a rule does.
pub(super) fn connection(shared: &Shared, stream: &TcpStream) -> Result<()> {
    let _watched = shared.stop.watch(stream)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader, stream)? {
        let Request { head, body } = &request;
        let entry = shared.record.add(Exchange::new(&head.method, &head.target, body.clone()));
        let effect = shared.effect(&head.method, &head.target);
        Serving { shared, client: stream, request: &request, entry }.respond(effect)?;
        let last = find(&head.headers, "connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if last {
            break;
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<&TcpStream>, mut stream: &TcpStream) -> Result<Option<Request>> {
    let Some(head) = RequestHead::read(reader)? else { return Ok(None) };
    if find(&head.headers, "expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    Body::new(reader, head.framing()).read_to_end(&mut body)?;
    Ok(Some(Request { head, body }))
}

/// One request and all that is needed to answer it. An error closes the connection to the client.
struct Serving<'a> {
    shared: &'a Shared,
    client: &'a TcpStream,
    request: &'a Request,
    entry: Entry,
}

impl Serving<'_> {
    fn respond(&self, effect: Option<Effect>) -> Result<()> {
        let action = match effect {
            None => return self.pass(&Manner::default()),
            Some(Effect::Hold(gate)) => return self.hold(&gate),
            Some(Effect::Act(action)) => action,
        };
        match action {
            Action::DropRequest => bail!("dropped by a rule"),
            Action::LoseResponse => {
                self.forward_whole()?;
                bail!("lost by a rule")
            }
            Action::CutResponse(after) => {
                self.pass(&Manner { cut_after: Some(after), ..Manner::default() })
            }
            Action::Replace(answer) => self.replace(&answer, None),
            Action::ReplaceResponse(answer) => {
                let response = self.forward_whole()?;
                self.replace(&answer, response.head.header("date"))
            }
            Action::SetHeaders(headers) => self.pass(&Manner { headers, ..Manner::default() }),
            Action::DelayRequest(duration) => {
                self.shared.stop.sleep(duration);
                self.pass(&Manner::default())
            }
            Action::DelayResponse(duration) => {
                let answered = self.forward()?;
                self.shared.stop.sleep(duration);
                self.send(answered, &Manner::default())
            }
            Action::Trickle(pause) => {
                self.pass(&Manner { pause: Some(pause), ..Manner::default() })
            }
        }
    }

    fn hold(&self, gate: &Gate) -> Result<()> {
        if !gate.pass() {
            bail!("the proxy ended before the request was released");
        }
        let answered = self.forward();
        gate.answered(answered.as_ref().ok().map(|answered| answered.response.head.status));
        self.send(answered?, &Manner::default())
    }

    fn pass(&self, manner: &Manner) -> Result<()> {
        match self.forward() {
            Ok(answered) => self.send(answered, manner),
            // As a gateway does when nobody is behind it.
            Err(error) => {
                let answer = Answer::new(502, "text/plain", format!("{error:#}\n"));
                self.replace(&answer, None)
            }
        }
    }

    /// Sends the request to the API server and reads the head of its answer.
    fn forward(&self) -> Result<Answered> {
        let Request { head, body } = self.request;
        let mut watched = None;
        let response = self.shared.upstream.send(
            &head.method,
            &head.target,
            &head.headers,
            body,
            &self.shared.token,
            |stream| watched = self.shared.stop.watch(stream).ok(),
        )?;
        self.entry.answered(response.head.status);
        Ok(Answered { response, _watched: watched })
    }

    /// As [`forward`](Self::forward), to the end of the answer: what was asked is then done.
    fn forward_whole(&self) -> Result<Response> {
        let mut answered = self.forward()?;
        answered.response.read_body()?;
        Ok(answered.response)
    }

    fn replace(&self, answer: &Answer, date: Option<&str>) -> Result<()> {
        let mut headers = Headers::new();
        if let Some(date) = date {
            set(&mut headers, "Date", date);
        }
        for (name, value) in &answer.headers {
            set(&mut headers, name, value);
        }
        set(&mut headers, "Content-Length", &answer.body.len().to_string());
        let mut client = self.client;
        client.write_all(head(&format!("HTTP/1.1 {} ", answer.status), &headers).as_bytes())?;
        self.entry.sent(answer.status);
        Ok(client.write_all(&answer.body)?)
    }

    /// Passes an answer on as it comes, so that a watch works.
    fn send(&self, answered: Answered, manner: &Manner) -> Result<()> {
        let Response { head: response, mut body } = answered.response;
        let framing = response.framing(&self.request.head.method);
        let mut headers = end_to_end(&response.headers);
        for (name, value) in &manner.headers {
            set(&mut headers, name, value);
        }
        let chunked = framing == Framing::UntilEnd || framing == Framing::Chunked(None);
        if chunked {
            set(&mut headers, "Transfer-Encoding", "chunked");
        } else if let Some(length) = response.header("content-length") {
            set(&mut headers, "Content-Length", length);
        }
        let mut client = self.client;
        let first_line = format!("HTTP/1.1 {} {}", response.status, response.reason);
        client.write_all(head(&first_line, &headers).as_bytes())?;
        self.entry.sent(response.status);
        self.send_body(&mut body, chunked, manner)
    }

    fn send_body(&self, body: &mut impl Read, chunked: bool, manner: &Manner) -> Result<()> {
        let mut client = self.client;
        let mut left = manner.cut_after.unwrap_or(usize::MAX);
        let mut buffer = [0; 16 * 1024];
        let piece = if manner.pause.is_some() { 1 } else { buffer.len() };
        loop {
            if left == 0 {
                bail!("cut by a rule");
            }
            let wanted = piece.min(left);
            let count = body.read(&mut buffer[..wanted]).context("the answer broke off")?;
            if count == 0 {
                break;
            }
            left -= count;
            if chunked {
                write!(client, "{count:x}\r\n")?;
            }
            client.write_all(&buffer[..count])?;
            if chunked {
                client.write_all(b"\r\n")?;
            }
            if let Some(pause) = manner.pause {
                self.shared.stop.sleep(pause);
            }
        }
        if chunked {
            client.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    }
}
