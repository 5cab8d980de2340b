//! A watch: what changes, as the API server tells it, over one long answer.
//!
//! Only who changed is read, not how: whoever watches reads the objects again, so that a lost event costs time and
//! never truth. Memory is one event.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Deserialize;

use super::http::{Http, LONGEST_ANSWER};
use super::outcome::{Outcome, Status};
use super::request::Request;

/// Sends watches. It may outlive its connection, whose end ends them.
#[derive(Clone)]
pub struct Watcher {
    pub(super) http: Arc<Http>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watcher").finish_non_exhaustive()
    }
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The server has begun to watch.
    Open,
    /// Something was added, changed or deleted.
    Changed(Changed),
    /// Nothing changed up to this version.
    Bookmark(String),
}

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.labels`.
    pub labels: std::collections::BTreeMap<String, String>,
}

/// How a watch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEnd {
    /// By whoever watched.
    Stopped,
    /// By the server, as agreed or not: watch again from the last version.
    Closed,
    /// The server does not remember the version any more: watch again without one.
    Expired,
    /// The server said no.
    Refused(Box<Status>),
    /// Nobody knows; watch again a little later.
    Failed(String),
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    object: Object,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
    code: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: String,
    labels: std::collections::BTreeMap<String, String>,
}

impl Watcher {
    /// Watches until `hear` has heard enough, the server ends it, or something breaks.
    pub fn watch(
        &self,
        request: &Request,
        hear: &mut dyn FnMut(Told) -> ControlFlow<()>,
    ) -> WatchEnd {
        let mut end = WatchEnd::Closed;
        let mut held = Vec::new();
        let streamed =
            self.http.stream(request, &mut |piece| match hear_lines(&mut held, piece, hear) {
                Ok(()) => ControlFlow::Continue(()),
                Err(why) => {
                    end = why;
                    ControlFlow::Break(())
                }
            });
        let Err(outcome) = streamed else { return end };
        match *outcome {
            Outcome::Refused(status) if status.code == 410 => WatchEnd::Expired,
            Outcome::Refused(status) => WatchEnd::Refused(Box::new(status)),
            Outcome::Unknown(unknown) => WatchEnd::Failed(unknown.to_string()),
            Outcome::Done(_) => WatchEnd::Failed("no stream".to_owned()),
        }
    }

    /// Hands on the output of a container as it comes, until `piece` has heard enough; the first piece is empty.
    /// `Err` says how the request ended instead.
    pub fn log(
        &self,
        request: &Request,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Box<Outcome>> {
        self.http.stream(request, piece)
    }
}

/// Cuts pieces of a stream into lines and tells what they say; what has no end yet is held. `Err` is the end of the watch.
pub fn hear_lines(
    held: &mut Vec<u8>,
    piece: &[u8],
    hear: &mut dyn FnMut(Told) -> ControlFlow<()>,
) -> Result<(), WatchEnd> {
    if piece.is_empty() {
        return if hear(Told::Open).is_break() { Err(WatchEnd::Stopped) } else { Ok(()) };
    }
    for part in piece.split_inclusive(|byte| *byte == b'\n') {
        held.extend_from_slice(part);
        if held.len() as u64 > LONGEST_ANSWER {
            return Err(WatchEnd::Failed("an event that is too long".to_owned()));
        }
        if held.last() == Some(&b'\n') {
            let told = read(held)?;
            held.clear();
            if told.is_some_and(|told| hear(told).is_break()) {
                return Err(WatchEnd::Stopped);
            }
        }
    }
    Ok(())
}

/// One line of the stream. A kind that is not known tells nothing.
fn read(line: &[u8]) -> Result<Option<Told>, WatchEnd> {
    let line: Line = serde_json::from_slice(line)
        .map_err(|error| WatchEnd::Failed(format!("an event that cannot be read: {error}")))?;
    let metadata = line.object.metadata;
    match line.kind.as_str() {
        "ADDED" | "MODIFIED" | "DELETED" => Ok(Some(Told::Changed(Changed {
            name: metadata.name,
            resource_version: metadata.resource_version,
            labels: metadata.labels,
        }))),
        "BOOKMARK" => Ok(Some(Told::Bookmark(metadata.resource_version))),
        "ERROR" if line.object.code == 410 => Err(WatchEnd::Expired),
        "ERROR" => Err(WatchEnd::Failed(format!("an error event of code {}", line.object.code))),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let changed = br#"{"type":"MODIFIED","object":{"kind":"Job","metadata":{"name":"a","resourceVersion":"7","labels":{"l":"v"}},"spec":{}}}"#;
        let Ok(Some(Told::Changed(changed))) = read(changed) else { panic!("no change") };
        assert_eq!((changed.name.as_str(), changed.resource_version.as_str()), ("a", "7"));
        assert_eq!(changed.labels["l"], "v");
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#;
        assert_eq!(read(bookmark), Ok(Some(Told::Bookmark("9".to_owned()))));
        let gone = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
        assert_eq!(read(gone), Err(WatchEnd::Expired));
        let other = br#"{"type":"ERROR","object":{"code":500}}"#;
        assert!(matches!(read(other), Err(WatchEnd::Failed(_))));
        assert_eq!(read(br#"{"type":"NEWS"}"#), Ok(None));
        assert!(matches!(read(b"{"), Err(WatchEnd::Failed(_))));
    }
}
