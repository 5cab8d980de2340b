//! What was asked and what was answered, kept for assertions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use harness_test_cluster::http::RequestHead;

/// Headers whose values are credentials.
const SECRET: [&str; 2] = ["authorization", "x-amz-security-token"];

/// One request that reached the store's door.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The `Host` that was asked, with its port.
    pub host: String,
    /// The method.
    pub method: String,
    /// The path as it was sent, without the query, which holds the signature.
    pub path: String,
    /// Headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// How many bytes of a body were read.
    pub received: u64,
    /// The status that the store has answered; `None` when it was not asked or has not answered (yet).
    pub answered: Option<u16>,
    /// The status that was sent to the client; `None` when the connection was closed instead, or not yet.
    pub sent: Option<u16>,
    /// How many bytes of the answer's body were sent.
    pub sent_bytes: u64,
}

impl Exchange {
    pub(crate) fn new(head: &RequestHead) -> Self {
        let headers: BTreeMap<String, String> = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .map(|(name, value)| {
                let value = if SECRET.contains(&name.as_str()) { "(masked)" } else { value };
                (name, value.to_owned())
            })
            .collect();
        let path = head.target.split('?').next().unwrap_or_default();
        Self {
            host: headers.get("host").cloned().unwrap_or_default(),
            method: head.method.clone(),
            path: path.to_owned(),
            headers,
            received: 0,
            answered: None,
            sent: None,
            sent_bytes: 0,
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, method, path, received, answered, sent, sent_bytes, .. } = self;
        let names: Vec<&str> = self.headers.keys().map(String::as_str).collect();
        write!(
            formatter,
            "{method} {host} {path} ({}; {received} bytes; answered {answered:?}, sent {sent:?} and {sent_bytes} bytes)",
            names.join(" ")
        )
    }
}

/// All exchanges of a store, in the order in which the requests were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Exchange>>>);

/// The place of one exchange in the record.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    record: Record,
    index: usize,
}

impl Record {
    pub(crate) fn add(&self, exchange: Exchange) -> Entry {
        let mut exchanges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.push(exchange);
        Entry { record: self.clone(), index: exchanges.len() - 1 }
    }

    pub(crate) fn all(&self) -> Vec<Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Entry {
    pub(crate) fn change(&self, change: impl FnOnce(&mut Exchange)) {
        let mut exchanges = self.record.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exchange) = exchanges.get_mut(self.index) {
            change(exchange);
        }
    }
}
