//! A submission's text, one field per line, so that a test can say what stands where.

use std::fmt::Write as _;

pub(crate) const HARNESS_IMAGE: &str = "registry.example.org/harness@sha256:5555555555555555555555555555555555555555555555555555555555555555";

/// A document of named fields, each with its value as raw JSON.
#[derive(Clone)]
pub(crate) struct Form(Vec<(String, String)>);

/// A plain URL of the bucket that the examples use.
pub(crate) fn plain(key: &str) -> String {
    format!("https://ex-bkt.s3.us-west-2.amazonaws.com/{key}")
}

/// A URL with a signature of version 4, made on 2026-12-01 at 08:00 UTC for a day; `mark` fills the secret part.
pub(crate) fn signed(key: &str, headers: &str, mark: &str) -> String {
    format!(
        "{}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAFAKEHARNESS00001%2F20261201%2Fus-west-2%2Fs3\
%2Faws4_request&X-Amz-Date=20261201T080000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders={headers}&X-Amz-Signature={}",
        plain(key),
        mark.repeat(32)
    )
}

/// A text as JSON.
pub(crate) fn text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

impl Form {
    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    /// Only what must be there, nothing signed.
    pub(crate) fn minimal() -> Self {
        Self::empty()
            .with("attempt_id", "a-1")
            .with("mission_id", "Mission 7")
            .with("image", &format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)))
            .with("evaluator_version", &format!("sha256:{}", "2".repeat(64)))
            .with("resource_profile", "standard-v1")
            .set("search_budget", r#"{"max_seconds": 600}"#)
            .with("mission_url", &plain("in/mission.json"))
            .with("mission_sha256", &"3".repeat(64))
            .with("snapshot_url", &plain("in/snapshot.tar"))
            .with("snapshot_sha256", &"4".repeat(64))
            .with("result_put_url", &plain("out/a-1/result.tar"))
    }

    /// Every field, all URLs signed.
    pub(crate) fn full() -> Self {
        let put_headers = "content-type%3Bhost%3Bif-none-match";
        Self::empty()
            .with("schema_version", "prediction_submission.v1")
            .extend(&Self::minimal())
            .with("mission_id", "Mission 7 / α: $(HOME) 🚀")
            .with(
                "image",
                &format!("registry.example.org:5000/lab/model:v7@sha256:{}", "1".repeat(64)),
            )
            .with("mission_url", &signed("in/mission.json", "host", "a1"))
            .with("snapshot_url", &signed("in/snapshot%20%F0%9F%9A%80.tar", "host", "a2"))
            .with("resume_url", &signed("out/a-0/result.tar", "host", "a3"))
            .with("resume_sha256", &format!("sha256:{}", "6".repeat(64)))
            .with("result_put_url", &signed("out/a-1/result.tar", put_headers, "a4"))
            .set(
                "result_put_headers",
                r#"{"If-None-Match": "*", "Content-Type": "application/x-tar"}"#,
            )
            .with("result_readback_url", &signed("out/a-1/result.tar", "host", "a5"))
            .with("credentials_expire_at", "2026-12-02T08:00:00Z")
            .set(
                "runner_command",
                r#"["python3", "-m", "lab.run", "--out=$HOME", "$(PATH)", "$$x", "é \" \\"]"#,
            )
            .with("runner_secret_name", "model-hub")
            .with("namespace_uid", "7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11")
    }

    /// The field with this raw JSON, in its place or at the end.
    pub(crate) fn set(mut self, name: &str, raw: &str) -> Self {
        match self.0.iter_mut().find(|(field, _)| field == name) {
            Some((_, value)) => raw.clone_into(value),
            None => self.0.push((name.to_owned(), raw.to_owned())),
        }
        self
    }

    /// The field with this text.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        let raw = text(value);
        self.set(name, &raw)
    }

    pub(crate) fn extend(mut self, other: &Self) -> Self {
        for (name, raw) in &other.0 {
            self = self.set(name, raw);
        }
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(field, _)| field != name);
        self
    }

    /// The fields in their order.
    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }

    /// The document: a line for each brace and field.
    pub(crate) fn json(&self) -> String {
        let mut json = String::from("{");
        for (index, (name, raw)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(json, "{comma}\n  {}: {raw}", text(name)).unwrap();
        }
        json.push_str("\n}\n");
        json
    }
}
