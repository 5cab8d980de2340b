//! The lines that `run` and `publish` exchange over the control socket. Pure.
//!
//! `run` connects and says `hello`; `publish`, once in the life of its volume, answers `go` or `refused`; `run`
//! starts the runner and says `finished` when it has ended. The end of the connection without `finished` is the end
//! of everything in `run`'s container, and its end before `hello` says that nothing was or will be started. One JSON object a line, at most [`MAX_LINE_BYTES`].

use serde::{Deserialize, Serialize};

use super::RunReport;

/// The socket's name in the control folder.
pub const SOCKET_NAME: &str = "run.sock";

/// The longest line, its line feed included.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// What `run` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum FromRun {
    /// It is there, and ready to start the runner.
    Hello {
        /// The version of harness in `run`, which is that of `stage`.
        harness_version: String,
        /// The runner's command, the submission's or the image's; empty when there is none, which `finished` then says.
        command: Vec<String>,
    },
    /// The runner has ended, or could not be started.
    Finished {
        /// How.
        report: RunReport,
    },
}

/// What `publish` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum FromPublish {
    /// The start is recorded: the runner may be started, now and never again.
    Go {},
    /// The runner may not be started.
    Refused {
        /// Why.
        cause: String,
    },
}

/// Writes one line with its line feed.
pub fn to_line(message: &impl Serialize) -> String {
    let mut line = serde_json::to_string(message).expect("texts and numbers always serialise");
    line.push('\n');
    line
}

/// Reads one line without its line feed; what is not a whole message is none.
pub fn from_line<T: for<'a> Deserialize<'a>>(line: &[u8]) -> Option<T> {
    if line.len() >= MAX_LINE_BYTES {
        return None;
    }
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_frozen_form() {
        assert_eq!(to_line(&FromPublish::Go {}), "{\"type\":\"go\"}\n");
        let hello = FromRun::Hello {
            harness_version: "0.1.0".to_owned(),
            command: vec!["python".to_owned(), "run.py".to_owned()],
        };
        let line = to_line(&hello);
        assert_eq!(
            line,
            "{\"type\":\"hello\",\"harness_version\":\"0.1.0\",\"command\":[\"python\",\"run.py\"]}\n"
        );
        assert_eq!(from_line(line.trim_end().as_bytes()), Some(hello));
    }

    #[test]
    fn what_is_no_message_is_none() {
        for wrong in ["", "{}", "[]", "null", r#"{"type":"go","more":1}"#, r#"{"type":"stop"}"#] {
            assert_eq!(from_line::<FromPublish>(wrong.as_bytes()), None, "{wrong}");
        }
        let long = format!("{{\"type\":\"refused\",\"cause\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES));
        assert_eq!(from_line::<FromPublish>(long.as_bytes()), None);
    }
}
