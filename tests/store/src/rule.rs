//! What befalls a request; which ones, a choice of `harness_test_cluster::fault::Requests` says, by the path without its query.

use std::time::Duration;

/// What happens to a request.
///
/// Where nothing else is said, the store is asked and what is named here is done to its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The connection is closed and nothing reaches the store.
    DropRequest,
    /// The connection is closed after so many bytes of the request's body, and nothing reaches the store.
    CutRequest(u64),
    /// The store does what was asked; the connection is closed without a word of it.
    LoseResponse,
    /// The client gets this answer, and nothing reaches the store.
    Replace(Answer),
    /// The store does what was asked, and the client gets this answer.
    ReplaceResponse(Answer),
    /// These headers stand in place of those of the same names.
    SetHeaders(Vec<(String, String)>),
    /// `Content-Length` announces so many bytes; the body comes as it is and the connection is closed after it.
    AnnounceLength(u64),
    /// No `Content-Length`: the body comes in chunks.
    Chunked,
    /// The connection is closed after the head and so many bytes of the body.
    CutResponse(u64),
    /// After the head and so many bytes of the body nothing more comes; the connection stays open.
    Stall(u64),
    /// The request is read and never answered; the connection stays open. Nothing reaches the store.
    NeverAnswer,
    /// The body comes byte by byte, with this pause after each.
    Trickle(Duration),
    /// The body is compressed and `Content-Encoding: gzip` says so, although nobody asked for it.
    Gzip,
    /// The request's `Range` is not seen, so a client that goes on gets everything.
    IgnoreRange,
    /// 404 becomes 403 `AccessDenied`, as S3 answers a signer that may not list the bucket.
    HideMissing,
    /// The request reaches the store so much later.
    DelayRequest(Duration),
    /// After so many bytes of the request's body have reached the store comes a pause, and then the rest.
    PauseRequest(u64, Duration),
    /// The answer reaches the client so much later.
    DelayResponse(Duration),
}

/// A made-up answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Headers beside `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer with this body and no headers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// An error as S3 writes it, such as `Answer::error(503, "SlowDown")`.
    pub fn error(status: u16, code: &str) -> Self {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code><Message>made up by a rule</Message></Error>"
        );
        Self::new(status, body).header("Content-Type", "application/xml")
    }

    /// A redirect; a location that is only a path stays on the same host.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, "").header("Location", location)
    }

    /// The same with one more header, such as `Retry-After`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

#[cfg(test)]
mod tests {
    use harness_test_cluster::fault::{Requests, Rules};

    use super::*;

    #[test]
    fn the_nth_request_that_fits() {
        let mut rules = Rules::default();
        rules.add(Requests::new("PUT", "/result").nth(2), Action::LoseResponse);
        rules.add(Requests::new("", "/results/"), Action::DropRequest);
        assert_eq!(rules.choose("GET", "/inputs/a"), None);
        assert_eq!(rules.choose("PUT", "/results/a"), Some(Action::DropRequest));
        assert_eq!(rules.choose("GET", "/results/a"), Some(Action::DropRequest));
        assert_eq!(rules.choose("PUT", "/results/a"), Some(Action::LoseResponse));
        assert_eq!(rules.choose("PUT", "/results/a"), Some(Action::DropRequest));
    }
}
