//! The termination message: how a step ended, in JSON of less than 4096 bytes. Pure.
//!
//! The kubelet keeps at most 4096 bytes of it per container and 12 KiB per pod:
//! <https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/>. What `run` leaves is a
//! hint only, since the runner can write there too; the reason to be trusted is `publish`'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Category, Step};
use crate::submission::excerpt::is_printable;

/// The version of the form.
pub const SCHEMA_VERSION: &str = "prediction_reason.v1";

/// The most bytes that the kubelet keeps of one message.
pub const MAX_BYTES: usize = 4096;

/// The most characters of a sentence or remedy; four bytes each would still fit.
const MAX_TEXT: usize = 400;

/// How a step ended. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// `prediction_reason.v1`.
    pub schema_version: String,
    /// The step that ended.
    pub step: Step,
    /// Why.
    pub category: Category,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What to do next; empty where nothing is to be done.
    pub remedy: String,
    /// SHA-256 digests by name (`evidence`, `result`, `mission`, ...), 64 hexadecimal digits each.
    pub digests: BTreeMap<String, String>,
}

/// The name of the digest of the evidence that `publish` found in the store.
pub const FOUND_EVIDENCE: &str = "found_evidence";

impl Reason {
    /// A reason whose texts are cut to what fits and cleaned of what does not print.
    pub fn new(step: Step, category: Category, sentence: &str, remedy: &str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            step,
            category,
            sentence: fitting(sentence),
            remedy: fitting(remedy),
            digests: BTreeMap::new(),
        }
    }

    /// The same with one more digest.
    #[must_use]
    pub fn with_digest(mut self, name: &str, digest: crate::submission::Sha256Digest) -> Self {
        self.digests.insert(name.to_owned(), digest.to_hex());
        self
    }

    /// SHA-256 of the evidence that `publish` put into the world for its Job, or may have: that of an earlier pod of the
    /// Job where there was one; none where the result is another's.
    pub fn evidence_digest(&self) -> Option<&str> {
        let names = match self.category {
            Category::AlreadyPublished => return None,
            _ => [FOUND_EVIDENCE, "evidence"],
        };
        names.iter().find_map(|name| self.digests.get(*name)).map(String::as_str)
    }

    /// SHA-256 of the whole result, by the same rule; not known of an earlier pod's.
    pub fn result_digest(&self) -> Option<&str> {
        let is_own = self.category != Category::AlreadyPublished
            && !self.digests.contains_key(FOUND_EVIDENCE);
        self.digests.get("result").filter(|_| is_own).map(String::as_str)
    }

    /// One line of JSON of less than [`MAX_BYTES`] bytes.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and digests always serialise")
    }

    /// Reads a message, which anybody in the container may have written: nothing else than a whole reason is one.
    pub fn parse(message: &str) -> Option<Self> {
        if message.len() > MAX_BYTES {
            return None;
        }
        let reason: Self = serde_json::from_str(message.trim()).ok()?;
        let own = Self::new(reason.step, reason.category, &reason.sentence, &reason.remedy);
        let digests_hold = reason.digests.iter().all(|(name, digest)| {
            name.len() <= 32
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                && crate::submission::Sha256Digest::parse(digest).is_ok()
        });
        (Self { digests: reason.digests.clone(), ..own } == reason && digests_hold)
            .then_some(reason)
    }
}

fn fitting(text: &str) -> String {
    let clean = |character: char| if is_printable(character) { character } else { '\u{fffd}' };
    let mut fitted: String = text.chars().take(MAX_TEXT).map(clean).collect();
    if text.chars().nth(MAX_TEXT).is_some() {
        fitted.pop();
        fitted.push('…');
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::Sha256Digest;

    #[test]
    fn the_digests_are_those_of_what_the_job_published() {
        let digest = |name: &str| Sha256Digest::of(name).to_hex();
        let of = |category| {
            Reason::new(Step::Publish, category, "s", "")
                .with_digest("evidence", Sha256Digest::of("own"))
                .with_digest("result", Sha256Digest::of("archive"))
        };
        let own = of(Category::Succeeded);
        assert_eq!(own.evidence_digest(), Some(digest("own").as_str()));
        assert_eq!(own.result_digest(), Some(digest("archive").as_str()));
        let before = own.with_digest(FOUND_EVIDENCE, Sha256Digest::of("earlier"));
        assert_eq!(before.evidence_digest(), Some(digest("earlier").as_str()));
        assert_eq!(before.result_digest(), None);
        for others in [
            of(Category::AlreadyPublished),
            of(Category::AlreadyPublished).with_digest(FOUND_EVIDENCE, Sha256Digest::of("x")),
        ] {
            assert_eq!((others.evidence_digest(), others.result_digest()), (None, None));
        }
    }

    #[test]
    fn a_reason_reads_back() {
        let reason = Reason::new(Step::Stage, Category::DigestMismatch, "a sentence", "a remedy")
            .with_digest("mission", Sha256Digest::of("mission"));
        assert_eq!(Reason::parse(&reason.to_json()), Some(reason.clone()));
        assert_eq!(
            reason.to_json(),
            format!(
                r#"{{"schema_version":"prediction_reason.v1","step":"stage","category":"digest-mismatch","sentence":"a sentence","remedy":"a remedy","digests":{{"mission":"{}"}}}}"#,
                Sha256Digest::of("mission").to_hex()
            )
        );
    }

    #[test]
    fn the_longest_reason_fits() {
        let long = "\u{1f600}\u{1b}\"\\".repeat(1000);
        let mut reason = Reason::new(Step::Publish, Category::PublicationFailed, &long, &long);
        for name in ["evidence", "result", "mission", "snapshot", "resume"] {
            reason = reason.with_digest(name, Sha256Digest::of(name));
        }
        let message = reason.to_json();
        assert!(message.len() < MAX_BYTES, "{}", message.len());
        assert_eq!(Reason::parse(&message), Some(reason));
    }

    #[test]
    fn a_forgery_in_another_form_is_none() {
        let good = Reason::new(Step::Run, Category::Succeeded, "fine", "").to_json();
        for wrong in [
            String::new(),
            "{}".to_owned(),
            good.replace("succeeded", "Succeeded"),
            good.replace("fine", "fi\u{1b}[31mne"),
            good.replace("fine", &"x".repeat(5000)),
            good.replace(".v1", ".v2"),
            good.replace("\"digests\":{}", "\"digests\":{\"a\":\"b\"}"),
            good.replace("\"remedy\"", "\"extra\":1,\"remedy\""),
            format!("{good}{good}"),
        ] {
            assert_eq!(Reason::parse(&wrong), None, "{wrong}");
        }
        assert!(Reason::parse(&format!("{good}\n")).is_some());
    }
}
