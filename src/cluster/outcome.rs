//! The three ends of a request: done, refused, unknown.
//!
//! What an answer says is a hint; what the API server holds decides. So everything that is not a
//! verified success is followed by a read, and nothing here is ever retried.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::request::Resource;

/// How one request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The server did it, and the answer holds what was asked for.
    Done(Answer),
    /// The API server itself said no.
    Refused(Status),
    /// Nobody knows: read what the server holds before saying or doing anything.
    Unknown(Unknown),
}

impl Outcome {
    /// The server's clock when it answered.
    pub fn date(&self) -> Option<Timestamp> {
        match self {
            Self::Done(answer) => answer.date,
            Self::Refused(status) => status.date,
            Self::Unknown(unknown) => unknown.date,
        }
    }

    /// The server's warnings; text that is not ours.
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Done(answer) => &answer.warnings,
            Self::Refused(status) => &status.warnings,
            Self::Unknown(_) => &[],
        }
    }
}

/// A verified success.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status, 200 to 299.
    pub status: u16,
    /// The object, list or review that was asked for. It may be a Secret.
    pub body: Value,
    /// The server's clock.
    pub date: Option<Timestamp>,
    /// The server's warnings; text that is not ours.
    pub warnings: Vec<String>,
}

impl Answer {
    /// The items of a list.
    pub fn into_items(mut self) -> Vec<Value> {
        match self.body["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }
    }
}

// The body may be a Secret.
impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answer")
            .field("status", &self.status)
            .field("date", &self.date)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// A refusal: `v1.Status` with a code from 400 to 499, all texts bounded in length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty where a webhook gave none.
    pub reason: String,
    /// The server's sentence; text that is not ours. Replaced where it could repeat a Secret.
    pub message: String,
    /// What the refusal is about.
    pub details: Details,
    /// When to ask again, where the server says so.
    pub retry_after: Option<Duration>,
    /// The server's clock.
    pub date: Option<Timestamp>,
    /// The server's warnings; text that is not ours.
    pub warnings: Vec<String>,
}

/// What a refusal is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource in the plural, such as `jobs` (not the object's `kind`).
    pub kind: String,
    /// The object's UID.
    pub uid: String,
    /// The single causes, at most 32.
    pub causes: Vec<Cause>,
}

/// One cause of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
    /// The server's sentence; text that is not ours. Replaced where it could repeat a Secret.
    pub message: String,
    /// The field, such as `spec.template.spec.containers[0].image`.
    pub field: String,
}

impl Status {
    /// Whether this proves that there is no object `name` of this kind.
    ///
    /// A 404 alone does not: a wrong path, a missing API or a missing namespace answer 404 as well.
    pub fn is_absence_of(&self, resource: Resource, name: &str) -> bool {
        self.code == 404
            && self.reason == "NotFound"
            && self.details.kind == resource.plural()
            && self.details.group == resource.group()
            && self.details.name == name
    }

    /// Whether the server says that the name is taken. Only a read tells by what.
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "" => write!(formatter, "the API server refused with {}", self.code)?,
            reason => write!(formatter, "the API server refused with {} {reason}", self.code)?,
        }
        match self.message.as_str() {
            "" => Ok(()),
            message => write!(formatter, ": {message}"),
        }
    }
}

/// Nobody knows what the server did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Why not.
    pub why: Why,
    /// When to ask again, where the answer says so.
    pub retry_after: Option<Duration>,
    /// The server's clock, where there was an answer.
    pub date: Option<Timestamp>,
}

impl Unknown {
    /// Whether the API server certainly never saw the request. Still read back, for who says so is
    /// kubectl, but the sentence to a person may be "unreachable".
    pub fn certainly_not_sent(&self) -> bool {
        matches!(self.why, Why::NotSent(_))
    }
}

/// Why nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The request never reached the API server.
    NotSent(NotSent),
    /// No complete answer within the time allowed.
    Late {
        /// The time allowed.
        allowed: Duration,
    },
    /// The connection ended before the answer was complete.
    Cut {
        /// What the operating system or the HTTP library says.
        reason: String,
    },
    /// The server or something before it failed, with a status from 500 to 599.
    ServerError {
        /// The HTTP status.
        status: u16,
        /// The server's sentence; text that is not ours. Replaced where it could repeat a Secret.
        message: String,
    },
    /// An answer that the API server does not give: text, HTML, a redirect.
    Foreign {
        /// The HTTP status.
        status: u16,
        /// Its media type, or empty.
        media_type: String,
    },
    /// The answer calls itself JSON and is not.
    Unreadable {
        /// The HTTP status.
        status: u16,
        /// Where reading failed; never a part of the answer.
        reason: String,
    },
    /// A success about something else.
    Unexpected {
        /// What was asked for.
        expected: String,
        /// What came.
        found: String,
    },
    /// The answer is longer than harness reads.
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

/// Why a request never reached the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSent {
    /// kubectl is gone or does not take the connection.
    ProxyUnreachable {
        /// What the operating system says.
        reason: String,
    },
    /// kubectl could not connect to the API server, or found no credentials.
    ServerUnreachable {
        /// kubectl's sentence; text that is not ours.
        message: String,
    },
    /// The request itself is malformed.
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(formatter)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(not_sent) => not_sent.fmt(formatter),
            Self::Late { allowed } => {
                write!(formatter, "no complete answer within {} s", allowed.as_secs_f64())
            }
            Self::Cut { reason } => {
                write!(formatter, "the connection ended before the answer was complete: {reason}")
            }
            Self::ServerError { status, message } => {
                write!(formatter, "the server failed with {status}")?;
                if message.is_empty() { Ok(()) } else { write!(formatter, ": {message}") }
            }
            Self::Foreign { status, media_type } => {
                let media_type = if media_type.is_empty() { "no type" } else { media_type };
                write!(
                    formatter,
                    "an answer {status} of {media_type}, which is not from a Kubernetes API server"
                )
            }
            Self::Unreadable { status, reason } => {
                write!(formatter, "an answer {status} that is not readable JSON: {reason}")
            }
            Self::Unexpected { expected, found } => {
                write!(formatter, "an answer about {found} where {expected} was asked for")
            }
            Self::TooLarge { limit } => write!(formatter, "an answer of more than {limit} bytes"),
        }
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProxyUnreachable { reason } => {
                write!(formatter, "kubectl does not take requests any more: {reason}")
            }
            Self::ServerUnreachable { message } => {
                write!(formatter, "kubectl does not reach the API server: {message}")
            }
            Self::Malformed { reason } => write!(formatter, "the request was not sent: {reason}"),
        }
    }
}
