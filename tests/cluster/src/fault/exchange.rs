//! What was asked and what was answered, kept for assertions.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use serde_json::Value;

/// One request that reached the proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without `?`; empty if there is none.
    pub query: String,
    /// The whole body.
    pub body: Vec<u8>,
    /// The status that the API server has answered; `None` when it was not asked or has not answered (yet).
    pub answered: Option<u16>,
    /// The status that was sent to the client; `None` when the connection was closed instead, or not yet.
    pub sent: Option<u16>,
}

impl Exchange {
    pub(super) fn new(method: &str, target: &str, body: Vec<u8>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        Self { method, path, query, body, answered: None, sent: None }
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

/// Bodies and queries may hold secrets, and an assertion that fails prints this.
impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {} ({} bytes; answered {:?}, sent {:?})",
            self.method,
            self.path,
            self.body.len(),
            self.answered,
            self.sent
        )
    }
}

/// All exchanges of a proxy, in the order in which the requests were read.
#[derive(Debug, Clone, Default)]
pub(super) struct Record(Arc<Mutex<Vec<Exchange>>>);

/// The place of one exchange in the record.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    record: Record,
    index: usize,
}

impl Record {
    pub(super) fn add(&self, exchange: Exchange) -> Entry {
        let mut exchanges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.push(exchange);
        Entry { record: self.clone(), index: exchanges.len() - 1 }
    }

    pub(super) fn all(&self) -> Vec<Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Entry {
    pub(super) fn answered(&self, status: u16) {
        self.change(|exchange| exchange.answered = Some(status));
    }

    pub(super) fn sent(&self, status: u16) {
        self.change(|exchange| exchange.sent = Some(status));
    }

    fn change(&self, change: impl FnOnce(&mut Exchange)) {
        let mut exchanges = self.record.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exchange) = exchanges.get_mut(self.index) {
            change(exchange);
        }
    }
}
