//! How requests to a store end: done, refused, unknown.
//!
//! A refusal is the store's word and stays; what is unknown may be asked again by whoever knows how long.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use super::trouble::trouble;

/// The store said no, and would say so again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The store's own error code, such as `AccessDenied`; at most 64 letters, digits, dots, dashes and underscores.
    pub code: Option<String>,
    /// Whether the answer says that the signature has expired.
    pub expired: bool,
    /// For a redirect that is not followed: where it leads, without a query.
    pub redirect: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.status)?;
        if let Some(code) = &self.code {
            write!(formatter, " {code}")?;
        }
        if self.expired {
            formatter.write_str(", the signature has expired")?;
        }
        match &self.redirect {
            Some(place) => write!(formatter, ", a redirect to {place}, which is not followed"),
            None => Ok(()),
        }
    }
}

/// Nobody knows what the store did or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What happened, as a fragment without a query.
    pub what: String,
    /// When to ask again, where the store says so.
    pub retry_after: Option<Duration>,
    /// Asking again changes nothing: the certificate is not trusted, or the request cannot be sent.
    pub lasting: bool,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

/// How a GET ended.
#[derive(Debug)]
pub enum Download {
    /// The store sends.
    Opened(Opened),
    /// The store refused for good.
    Refused(Refusal),
    /// No answer, or one that may be another next time: 408, 429, 5xx.
    Unknown(Trouble),
}

/// An answer whose body is being read.
pub struct Opened {
    /// Where in the object the body begins: 0 unless the store honoured the range.
    pub start: u64,
    /// The size of the whole object in bytes, where the store tells.
    pub total: Option<u64>,
    /// A strong validator of this state of the object.
    pub etag: Option<String>,
    /// `Content-Encoding`, where there is one other than `identity`; nothing was decoded.
    pub encoding: Option<String>,
    pub(super) body: Box<dyn Read + Send>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Opened")
            .field("start", &self.start)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl Opened {
    /// Reads some of the body; 0 is its end, which comes only after as many bytes as the store announced.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        loop {
            match self.body.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| trouble(ureq::Error::from(error))),
            }
        }
    }
}

/// Whether an object is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Existence {
    /// 200 or 206: it is (416, too: an object of no bytes).
    Exists,
    /// 404: it is not.
    Absent,
    /// 403 (a signer that may not list gets it for a missing object), or anything else; the text says what.
    CannotTell(String),
}

/// How a PUT ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// The store has the object.
    Done,
    /// The guard: an object of this name is there already, maybe from a PUT whose answer was lost.
    Exists,
    /// The store refused for good.
    Refused(Refusal),
    /// Nobody knows; a guarded PUT may be sent again.
    Unknown(Trouble),
}
