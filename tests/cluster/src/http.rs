//! The framing of HTTP/1.1 ([RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)): heads and bodies.
//!
//! The fault proxy, and that of the test store, must see and cut single bytes of an answer, which no client or
//! server library allows.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read};

/// Header names as they were sent, in their order.
pub type Headers = Vec<(String, String)>;

const MAXIMUM_HEAD: u64 = 256 * 1024;
const MAXIMUM_HEADERS: usize = 128;
const MAXIMUM_CHUNK_LINE: u64 = 4096;

/// Headers that speak about one connection only (RFC 9110, section 7.6.1), and those that frame a body.
const OF_THE_CONNECTION: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "content-length",
    "upgrade",
];

/// The first line and the headers of a request.
#[derive(Debug)]
pub struct RequestHead {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// All headers.
    pub headers: Headers,
}

/// The first line and the headers of an answer.
#[derive(Debug)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The reason phrase, which may be empty.
    pub reason: String,
    /// All headers.
    pub headers: Headers,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// So many bytes are left of this chunk; `None` before the first one.
    Chunked(Option<u64>),
    /// The connection ends with it.
    UntilEnd,
}

impl RequestHead {
    /// Reads a head; `None` when the client has closed the connection instead.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let bytes = head_bytes(reader)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut headers = [httparse::EMPTY_HEADER; MAXIMUM_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(&bytes).map_err(io::Error::other)?;
        Ok(Some(Self {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            headers: owned(request.headers),
        }))
    }

    /// How the body ends.
    pub fn framing(&self) -> Framing {
        framing(&self.headers).unwrap_or(Framing::Length(0))
    }
}

impl ResponseHead {
    /// Reads a head; an end before it is an error.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let bytes = head_bytes(reader)?;
        let mut headers = [httparse::EMPTY_HEADER; MAXIMUM_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&bytes).map_err(io::Error::other)? {
            httparse::Status::Complete(_) => {}
            httparse::Status::Partial => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(Self {
            status: response.code.unwrap_or_default(),
            reason: response.reason.unwrap_or_default().to_owned(),
            headers: owned(response.headers),
        })
    }

    /// How the body ends that answers a request with `method`.
    pub fn framing(&self, method: &str) -> Framing {
        match self.status {
            204 | 304 => Framing::Length(0),
            _ if method == "HEAD" => Framing::Length(0),
            _ => framing(&self.headers).unwrap_or(Framing::UntilEnd),
        }
    }

    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// The value of the first header with this name.
pub fn find<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    let header = headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    header.map(|(_, value)| value.as_str())
}

/// Leaves out what speaks about one connection only, so that the rest can be passed on.
pub fn end_to_end(headers: &Headers) -> Headers {
    let passes =
        |name: &str| !OF_THE_CONNECTION.iter().any(|other| name.eq_ignore_ascii_case(other));
    headers.iter().filter(|(name, _)| passes(name)).cloned().collect()
}

/// Sets a header in place of all with its name.
pub fn set(headers: &mut Headers, name: &str, value: &str) {
    headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value.to_owned()));
}

/// A head as it is sent, with the empty line that ends it.
pub fn head(first_line: &str, headers: &Headers) -> String {
    let mut text = format!("{first_line}\r\n");
    for (name, value) in headers {
        // Writing to a string does not fail.
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text
}

/// A body without its framing; too early an end is an error.
#[derive(Debug)]
pub struct Body<R> {
    reader: R,
    framing: Framing,
}

impl<R: BufRead> Body<R> {
    /// The body that follows in `reader`.
    pub fn new(reader: R, framing: Framing) -> Self {
        Self { reader, framing }
    }

    /// Goes to the next chunk if this one has ended; how many bytes may be read at once.
    fn available(&mut self) -> io::Result<u64> {
        match self.framing {
            Framing::Length(left) => Ok(left),
            Framing::UntilEnd => Ok(u64::MAX),
            Framing::Chunked(Some(left)) if left > 0 => Ok(left),
            Framing::Chunked(before) => {
                if before.is_some() {
                    line(&mut self.reader, 2)?;
                }
                let size = chunk_size(&line(&mut self.reader, MAXIMUM_CHUNK_LINE)?)?;
                if size == 0 {
                    while !line(&mut self.reader, MAXIMUM_CHUNK_LINE)?.trim_ascii().is_empty() {}
                    self.framing = Framing::Length(0);
                } else {
                    self.framing = Framing::Chunked(Some(size));
                }
                Ok(size)
            }
        }
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.available()?;
        let wanted = buffer.len().min(usize::try_from(available).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let count = match (self.reader.read(&mut buffer[..wanted]), self.framing) {
            // A TLS connection that was closed without its goodbye.
            (Err(error), Framing::UntilEnd) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            (result, _) => result?,
        };
        match &mut self.framing {
            Framing::Length(_) | Framing::Chunked(_) if count == 0 => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Framing::Length(left) | Framing::Chunked(Some(left)) => *left -= count as u64,
            Framing::UntilEnd | Framing::Chunked(None) => {}
        }
        Ok(count)
    }
}

fn head_bytes(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut limited = reader.take(MAXIMUM_HEAD);
    loop {
        let before = bytes.len();
        limited.read_until(b'\n', &mut bytes)?;
        match &bytes[before..] {
            // RFC 9112, section 2.2: an empty line before a head is skipped.
            b"\r\n" | b"\n" if before == 0 => bytes.clear(),
            b"\r\n" | b"\n" => return Ok(bytes),
            [] if before == 0 => return Ok(bytes),
            [.., b'\n'] => {}
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    let text = |value| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(|header| (header.name.to_owned(), text(header.value))).collect()
}

fn framing(headers: &Headers) -> Option<Framing> {
    if let Some(coding) = find(headers, "transfer-encoding")
        && coding.to_ascii_lowercase().ends_with("chunked")
    {
        return Some(Framing::Chunked(None));
    }
    find(headers, "content-length").and_then(|length| length.parse().ok()).map(Framing::Length)
}

fn line(reader: &mut impl BufRead, maximum: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(maximum).read_until(b'\n', &mut bytes)?;
    if bytes.last() == Some(&b'\n') { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn chunk_size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let text = str::from_utf8(digits).map_err(io::Error::other)?;
    u64::from_str_radix(text, 16).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: &[u8], framing: Framing) -> io::Result<String> {
        let mut text = String::new();
        Body::new(bytes, framing).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn bodies() {
        assert_eq!(body(b"abcdef", Framing::Length(3)).unwrap(), "abc");
        assert_eq!(body(b"abc", Framing::UntilEnd).unwrap(), "abc");
        let chunks = b"3\r\nabc\r\n2;extension\r\nde\r\n0\r\nTrailer: x\r\n\r\nGET";
        assert_eq!(body(chunks, Framing::Chunked(None)).unwrap(), "abcde");
    }

    #[test]
    fn bodies_cut_short() {
        for (bytes, framing) in [
            (&b"ab"[..], Framing::Length(3)),
            (b"3\r\nab", Framing::Chunked(None)),
            (b"3\r\nabc\r\n", Framing::Chunked(None)),
            (b"2\r\nab\r\n0\r\n", Framing::Chunked(None)),
        ] {
            let error = body(bytes, framing).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{bytes:?}");
        }
    }

    #[test]
    fn a_request_after_another() {
        let mut bytes =
            &b"POST /a?b=c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n\
            GET /d HTTP/1.1\r\nHost: e\r\n\r\n"[..];
        let first = RequestHead::read(&mut bytes).unwrap().unwrap();
        assert_eq!((first.method.as_str(), first.target.as_str()), ("POST", "/a?b=c"));
        let mut text = String::new();
        Body::new(&mut bytes, first.framing()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        let second = RequestHead::read(&mut bytes).unwrap().unwrap();
        assert_eq!((second.target.as_str(), second.framing()), ("/d", Framing::Length(0)));
        assert!(RequestHead::read(&mut bytes).unwrap().is_none());
    }

    #[test]
    fn answers() {
        let mut bytes = &b"HTTP/1.1 409 Conflict\r\nDate: now\r\nContent-Length: 2\r\n\r\n{}"[..];
        let head = ResponseHead::read(&mut bytes).unwrap();
        assert_eq!((head.status, head.header("date")), (409, Some("now")));
        assert_eq!(head.framing("POST"), Framing::Length(2));
        assert_eq!(head.framing("HEAD"), Framing::Length(0));
        assert_eq!(end_to_end(&head.headers), [("Date".to_owned(), "now".to_owned())]);
    }
}
