//! Tells a document that is no submission at all by its name, in one sentence instead of a problem for each field.
//!
//! It looks at names of fields and at the first bytes, and echoes nothing but Kubernetes' word for an object.

use super::excerpt::excerpt;
use super::problem::{Code, Fault};
use super::strict::{Node, Value};

/// The document is of another kind.
pub(super) static OTHER_DOCUMENT: Code = Code {
    name: "document-other-kind",
    summary: "the file is another kind of document",
    explanation: "A submission is the JSON object that `harness init` writes an example of and `harness schema submission` describes. \
What harness prints (bundles, receipts, validations), Kubernetes objects, mission documents and files with signed URLs are other \
documents. Check the name of the file; where a directory is named with `-f`, keep nothing but submissions in it.",
};

/// Every code that this file can report.
pub(super) static CODES: &[&Code] = &[&OTHER_DOCUMENT];

/// Fields that nothing but a submission has: where one of them stands, a submission is meant.
const ONLY_IN_SUBMISSIONS: &[&str] =
    &["image", "resource_profile", "mission_sha256", "snapshot_sha256", "runner_command"];

/// What else the document is, if it is certainly no submission.
pub(super) fn other(root: &Node) -> Option<Fault> {
    let Value::Object(members) = &root.value else { return None };
    let member =
        |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, node)| &node.value);
    if ONLY_IN_SUBMISSIONS.iter().any(|name| member(name).is_some()) {
        return None;
    }
    let text = |name: &str| match member(name) {
        Some(Value::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let has = |name: &str| member(name).is_some();
    let (found, remedy) = if has("apiVersion") && has("kind") {
        let kind = excerpt(text("kind").unwrap_or_default());
        let found = match text("apiVersion") {
            Some("research.harness/v1") => format!("what `render` prints ({kind})"),
            _ => format!("a Kubernetes object of kind {kind}"),
        };
        (found, "name the submission itself; harness makes the Job from it")
    } else if let Some(version) =
        text("schema_version").filter(|text| *text != super::SCHEMA_VERSION)
    {
        (own_output(version)?.to_owned(), "name the submission that it is about")
    } else if has("mission_id") && has("search_budget") && !has("attempt_id") {
        let found =
            "a mission document: it has `mission_id` and `search_budget`, and no `attempt_id`";
        (found.to_owned(), "name the submission, whose `mission_url` points at the mission")
    } else if has("result_put_url") && !has("attempt_id") && !has("mission_id") {
        let found = "signed URLs without a submission";
        (found.to_owned(), "name the submission with `-f`, and this file with `--signed`")
    } else {
        return None;
    };
    Some(Fault::new(&OTHER_DOCUMENT, found, "a submission", remedy))
}

/// A document that harness itself has written, by its version.
fn own_output(schema_version: &str) -> Option<&'static str> {
    let name = schema_version.rsplit_once(".v")?.0;
    Some(match name {
        "prediction_receipt" => "a receipt of `submit`",
        "prediction_validation" => "the output of `validate`",
        "prediction_record" => "the record of a Job that was pruned",
        _ => return None,
    })
}

/// The usual name of a file that is no text, by its first bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> Option<&'static str> {
    const BEGINNINGS: [(&[u8], &str); 9] = [
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ\0", "an xz file"),
        (b"\x7fELF", "a program"),
    ];
    let known =
        BEGINNINGS.iter().find(|(begin, _)| bytes.starts_with(begin)).map(|(_, name)| *name);
    // POSIX.1-1988, "ustar": the magic of a tar header.
    known.or_else(|| (bytes.get(257..262)? == b"ustar").then_some("a tar archive"))
}

/// Whether a text that is no JSON looks like YAML: its first line with something on it is `---`, a list's entry or `key:`.
pub(super) fn is_yaml(text: &str) -> bool {
    let line = text.lines().map(str::trim_end).find(|line| {
        let start = line.trim_start();
        !start.is_empty() && !start.starts_with('#')
    });
    let is_key = |key: &str| {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        !key.is_empty() && key.bytes().all(word)
    };
    line.is_some_and(|line| {
        line == "---"
            || line.starts_with("- ")
            || line.split_once(':').is_some_and(|(key, rest)| {
                is_key(key) && (rest.is_empty() || rest.starts_with(' '))
            })
    })
}

#[cfg(test)]
mod tests {
    use crate::submission::Submission;

    fn one_problem(bytes: &[u8]) -> (&'static str, String) {
        let problems = Submission::parse(bytes).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        (problems[0].fault.code.name, problems[0].fault.found.to_string())
    }

    #[test]
    fn another_kind_of_document_is_one_sentence() {
        for (text, expected) in [
            (
                r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"spec":{}}"#,
                "of kind `Job`",
            ),
            (r#"{"apiVersion":"v1","kind":"List","items":[]}"#, "of kind `List`"),
            (
                r#"{"apiVersion":"research.harness/v1","kind":"MaskedBundle"}"#,
                "what `render` prints",
            ),
            (
                r#"{"schema_version":"prediction_receipt.v1","attempt_id":"a","outcome":"created"}"#,
                "a receipt",
            ),
            (
                r#"{"schema_version":"prediction_validation.v1","valid":true}"#,
                "the output of `validate`",
            ),
            (r#"{"schema_version":"prediction_record.v1","job_name":"x"}"#, "the record"),
            (
                r#"{"mission_id":"m","evaluator_version":"sha256:1","search_budget":{"max_seconds":1},"more":1}"#,
                "a mission document",
            ),
            (
                r#"{"mission_url":"https://h/a","result_put_url":"https://h/b?canary"}"#,
                "signed URLs",
            ),
        ] {
            let (code, found) = one_problem(text.as_bytes());
            assert_eq!(code, "document-other-kind", "{text}");
            assert!(found.contains(expected), "{text}: {found}");
            assert!(!found.contains("canary"), "{found}");
        }
    }

    #[test]
    fn what_may_be_a_submission_is_judged_as_one() {
        for text in [
            r"{}",
            r#"{"kind":"Job"}"#,
            r#"{"apiVersion":"v1","kind":"x","image":"y"}"#,
            r#"{"attempt_id":"a","mission_id":"m","search_budget":{}}"#,
        ] {
            let problems = Submission::parse(text.as_bytes()).unwrap_err();
            assert!(problems.len() > 5, "{text}: {problems:#?}");
        }
        let newer = Submission::parse(br#"{"schema_version":"prediction_submission.v2"}"#);
        assert_eq!(newer.unwrap_err()[0].fault.code.name, "schema-version-unknown");
    }

    #[test]
    fn files_that_are_no_text_are_called_by_their_name() {
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "a PNG image"),
            (b"\xff\xd8\xff\xe0", "a JPEG image"),
            (b"PK\x03\x04", "a ZIP archive"),
            (b"\x1f\x8b\x08", "a gzip file"),
            (b"%PDF-1.7", "a PDF document"),
            (&tar, "a tar archive"),
        ] {
            assert_eq!(one_problem(bytes), ("json-unreadable", expected.to_owned()));
        }
    }

    #[test]
    fn yaml_is_called_yaml() {
        for text in [
            "apiVersion: v1\nkind: Job\n",
            "---\nattempt_id: a\n",
            "# a comment\nattempt_id: a\n",
            "- a\n- b\n",
            "search_budget:\n  max_seconds: 1\n",
        ] {
            assert_eq!(one_problem(text.as_bytes()), ("json-syntax", "YAML".to_owned()), "{text}");
        }
        assert_ne!(one_problem(b"https://h/a?b: c").1, "YAML");
        assert_ne!(one_problem(b"[1,\n2").1, "YAML");
    }
}
