//! The administrator's own way to the API server, past kubectl: for counting and for changing by hand.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::http::Headers;
use crate::upstream::Upstream;

/// The type of a merge patch ([RFC 7386](https://www.rfc-editor.org/rfc/rfc7386)).
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A client that may do everything.
#[derive(Debug)]
pub(crate) struct Admin {
    upstream: Upstream,
    token: String,
}

impl Admin {
    pub(crate) fn new(upstream: Upstream, token: String) -> Self {
        Self { upstream, token }
    }

    /// Sends one request; gives the status and the JSON of the answer, or its text as a JSON string.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let kind = if method == "PATCH" { MERGE_PATCH } else { "application/json" };
        let mut headers: Headers = vec![("Accept".to_owned(), "application/json".to_owned())];
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), kind.to_owned()));
        }
        let mut response =
            self.upstream.send(method, path, &headers, bytes.as_bytes(), &self.token, |_| ())?;
        let bytes = response.read_body()?;
        let value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok((response.head.status, value))
    }

    /// GET of something that is not JSON.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        let headers = Headers::new();
        let mut response = self.upstream.send("GET", path, &headers, b"", &self.token, |_| ())?;
        let bytes = response.read_body()?;
        (response.head.status == 200).then_some(()).with_context(|| {
            let text = String::from_utf8_lossy(&bytes);
            format!("GET {}: {}, {text}", without_query(path), response.head.status)
        })?;
        Ok(bytes)
    }

    /// As [`send`](Self::send), and anything but a 2xx answer is an error.
    pub(crate) fn must(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let (status, value) = self.send(method, path, body)?;
        let message = || value["message"].as_str().unwrap_or("no message").to_owned();
        (200..300).contains(&status).then_some(()).with_context(|| {
            format!("{method} {}: {status}, {}", without_query(path), message())
        })?;
        Ok(value)
    }
}

/// A query may hold what no message may show.
pub(crate) fn without_query(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}
