//! What the containers of a pod tell: termination messages, and the lines of the control socket.

use harness::execution::control::{FromPublish, FromRun, MAX_LINE_BYTES, from_line, to_line};
use harness::execution::reason::MAX_BYTES;
use harness::execution::{Reason, RunReport};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::common::check_shown;

/// A message is none, or one that fits the kubelet's limit, prints harmlessly and reads back; a line is none, or one that
/// reads back.
pub fn messages(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(reason) = Reason::parse(text)
    {
        assert!(text.len() <= MAX_BYTES);
        check_shown(&reason.sentence);
        check_shown(&reason.remedy);
        let digests = [reason.evidence_digest(), reason.result_digest()];
        let is_digest = |digest: &str| {
            digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        assert!(digests.into_iter().flatten().all(is_digest));
        assert_eq!(Reason::parse(&reason.to_json()).as_ref(), Some(&reason), "{text}");
    }
    line::<FromRun>(data);
    line::<FromPublish>(data);
    if let Some(FromRun::Finished { report }) = from_line(data) {
        check_report(&report);
    }
}

fn line<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(data: &[u8]) {
    if let Some(message) = from_line::<T>(data) {
        assert!(data.len() < MAX_LINE_BYTES);
        let written = to_line(&message);
        let content = written.strip_suffix('\n').expect("a line ends");
        assert!(!content.contains('\n'), "{written:?}");
        // What was escaped may be longer than what was not.
        if content.len() < MAX_LINE_BYTES {
            assert_eq!(from_line::<T>(content.as_bytes()), Some(message));
        }
    }
}

fn check_report(report: &RunReport) {
    let is_success = report.ending.category() == harness::execution::Category::Succeeded;
    assert_eq!(is_success, report.ending == harness::execution::Ending::Exited { code: 0 });
}
