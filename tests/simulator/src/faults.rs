//! What befalls a request on its way.

use std::time::Duration;

use harness::cluster::{NotSent, Outcome, Request, Unknown, Why};

use crate::chance::Random;
use crate::refusals::refused;
use crate::server::{is_effect, resource_of};

/// What befalls a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The connection is cut before it arrives.
    CutBefore,
    /// It arrives, and the answer is cut.
    CutAfter,
    /// The server fails before it has done anything.
    ErrorBefore,
    /// The server fails after it has done it.
    ErrorAfter,
    /// Nobody waits any more when it arrives.
    Late,
    /// kubectl cannot reach the server.
    NotSent,
    /// Something else answers.
    Foreign,
    /// Too many requests, with `Retry-After`.
    TooMany,
    /// A role or an admission policy says no.
    Forbidden,
    /// Another write came in between.
    Conflict,
    /// An admission policy finds it invalid.
    Invalid,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::CutBefore,
        Self::CutAfter,
        Self::ErrorBefore,
        Self::ErrorAfter,
        Self::Late,
        Self::NotSent,
        Self::Foreign,
        Self::TooMany,
        Self::Forbidden,
        Self::Conflict,
        Self::Invalid,
    ];

    /// One that may befall this request.
    pub fn draw(random: &mut Random, request: &Request) -> Self {
        let fault = random.pick(&Self::ALL);
        // A read that arrives late changes nothing, and is found neither invalid nor in conflict.
        let is_read = matches!(fault, Self::Late | Self::Conflict | Self::Invalid);
        if is_read && !is_effect(request) { Self::CutBefore } else { fault }
    }

    /// Whether the server does what is asked.
    pub fn arrives(self) -> bool {
        matches!(self, Self::CutAfter | Self::ErrorAfter)
    }

    /// What the sender hears.
    pub fn heard(self, request: &Request, random: &mut Random) -> Outcome {
        let resource = resource_of(request);
        match self {
            Self::CutBefore | Self::CutAfter => {
                unknown(Why::Cut { reason: "end of file".to_owned() })
            }
            Self::ErrorBefore | Self::ErrorAfter => {
                unknown(Why::ServerError { status: 503, message: "etcd has no leader".to_owned() })
            }
            Self::Late => unknown(Why::Late { allowed: request.timeout }),
            Self::NotSent => {
                let message = "connection refused".to_owned();
                unknown(Why::NotSent(NotSent::ServerUnreachable { message }))
            }
            Self::Foreign => {
                unknown(Why::Foreign { status: 200, media_type: "text/html".to_owned() })
            }
            Self::TooMany => {
                let mut outcome = refused(429, "TooManyRequests", resource, "it");
                if let Outcome::Refused(status) = &mut outcome {
                    let seconds = u64::try_from(random.below(20)).unwrap_or_default();
                    status.retry_after = Some(Duration::from_secs(seconds));
                }
                outcome
            }
            Self::Forbidden => refused(403, "Forbidden", resource, "it"),
            Self::Conflict => refused(409, "Conflict", resource, "it"),
            Self::Invalid => refused(422, "Invalid", resource, "it"),
        }
    }
}

fn unknown(why: Why) -> Outcome {
    Outcome::Unknown(Unknown { why, retry_after: None, date: None })
}
