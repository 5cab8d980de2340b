//! The script of the fake kubectl: what it does instead of talking to a cluster.
//!
//! The script is a JSON file, named by the environment variable [`SCRIPT`], or else the file beside
//! the fake that has its name and `.json`: a test makes a link to the fake and a script beside it.

use std::path::PathBuf;

use serde::Deserialize;

/// Names the script.
pub const SCRIPT: &str = "FAKE_KUBECTL_SCRIPT";

/// What the fake does.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own, freely combined")]
pub struct Script {
    /// Where to write argv, environment and process numbers, as one JSON document.
    pub record: Option<PathBuf>,
    /// Where to append every request, as one JSON document per line.
    pub requests: Option<PathBuf>,
    /// Text for standard output before the ready line.
    pub stdout: String,
    /// Text for standard error, before anything else.
    pub stderr: String,
    /// Bytes for standard error after that.
    pub stderr_flood: usize,
    /// End with this code instead of serving.
    pub exit: Option<i32>,
    /// Neither serve nor end.
    pub never_ready: bool,
    /// Survive SIGTERM.
    pub ignore_term: bool,
    /// Leave a process behind that holds all standard streams; its number goes into the record.
    pub grandchild: bool,
    /// Do the work in a child and wait for it, as a script around the real kubectl does.
    pub wrapped: bool,
    /// Abort after this many requests were answered.
    pub die_after: Option<usize>,
    /// The answers; the first that fits is given.
    pub answers: Vec<Rule>,
}

/// An answer and what it answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// The method; empty fits all.
    pub method: String,
    /// The beginning of the path; empty fits all.
    pub path: String,
    /// How often it is given; `None` is for ever.
    pub times: Option<usize>,
    /// The status; 0 is 200.
    pub status: u16,
    /// `Content-Type`; empty is JSON, `-` is none.
    pub content_type: String,
    /// More header fields.
    pub headers: Vec<(String, String)>,
    /// The body: a text as it is, anything else as JSON.
    pub body: serde_json::Value,
    /// Bytes to append to the body.
    pub flood: usize,
    /// Waits before the answer, in milliseconds.
    pub delay: u64,
    /// How the answer is given.
    pub manner: Manner,
}

/// How an answer is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// As it should be.
    #[default]
    Whole,
    /// The head, then a byte a second.
    Drip,
    /// Half of the body, then the end of the connection.
    Cut,
    /// Nothing, ever.
    Hang,
    /// The end of the connection.
    Close,
    /// With `Transfer-Encoding: chunked`.
    Chunked,
}
