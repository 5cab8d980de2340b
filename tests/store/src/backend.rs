//! Plain HTTP to the S3 server: one connection for each request, so nothing is ever sent twice unseen.

use std::io::{self, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, TcpStream};

use anyhow::{Context as _, Result};
use harness_test_cluster::fault::stop::{Stop, Watched};
use harness_test_cluster::http::{Body, Framing, RequestHead, ResponseHead, end_to_end, head, set};

const PIECE: usize = 256 * 1024;

/// An answer whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: ResponseHead,
    pub(crate) framing: Framing,
    pub(crate) body: Body<BufReader<TcpStream>>,
    _watched: Watched,
}

/// Sends a request with its body as it comes and reads the head of the answer.
pub(crate) fn send(
    port: u16,
    request: &RequestHead,
    body: &mut impl Read,
    stop: &Stop,
) -> Result<Response> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .context("the S3 server cannot be reached")?;
    stream.set_nodelay(true)?;
    let watched = stop.watch(&stream)?;
    let mut headers = end_to_end(&request.headers);
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("expect"));
    set(&mut headers, "Connection", "close");
    let chunked = match request.framing() {
        Framing::Length(length) => {
            set(&mut headers, "Content-Length", &length.to_string());
            false
        }
        Framing::Chunked(_) | Framing::UntilEnd => {
            set(&mut headers, "Transfer-Encoding", "chunked");
            true
        }
    };
    let first_line = format!("{} {} HTTP/1.1", request.method, request.target);
    (&stream).write_all(head(&first_line, &headers).as_bytes())?;
    pass_on(body, &stream, chunked)?;
    let mut reader = BufReader::with_capacity(PIECE, stream);
    let head = ResponseHead::read(&mut reader).context("the S3 server did not answer")?;
    let framing = head.framing(&request.method);
    Ok(Response { head, framing, body: Body::new(reader, framing), _watched: watched })
}

/// The whole body is read even when the server has answered already and takes no more, so that the client hears it.
fn pass_on(body: &mut impl Read, mut stream: &TcpStream, chunked: bool) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut open = true;
    loop {
        let count = body.read(&mut buffer)?;
        if count == 0 {
            if chunked && open {
                // What the server has to say about it is in its answer.
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            return Ok(());
        }
        if chunked && open {
            open = write!(stream, "{count:x}\r\n").is_ok();
        }
        open = open && stream.write_all(&buffer[..count]).is_ok();
        if chunked && open {
            open = stream.write_all(b"\r\n").is_ok();
        }
    }
}
