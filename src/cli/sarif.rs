//! Problems as SARIF 2.1.0, which code scanning services read. Pure.
//!
//! One document for all files: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>. Only what GitHub's
//! code scanning shows is written:
//! <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::neutral;
use super::terminal::Tone;
use crate::submission::{Code, Problem};

/// One problem or note of one file.
#[derive(Debug)]
pub(super) struct Finding<'a> {
    /// The file, `-` for standard input.
    pub source: &'a str,
    /// How urgent it is.
    pub tone: Tone,
    /// What it is.
    pub problem: &'a Problem,
}

/// The document. Rules are the codes that occur, by name.
pub(super) fn document(findings: &[Finding<'_>]) -> String {
    let mut codes: Vec<&'static Code> =
        findings.iter().map(|finding| finding.problem.fault.code).collect();
    codes.sort_by_key(|code| code.name);
    codes.dedup();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, &codes)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "harness",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule(code)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    neutral::json(&document.to_string())
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.name,
        "shortDescription": {"text": code.summary},
        "fullDescription": {"text": code.explanation},
    })
}

fn result(finding: &Finding<'_>, codes: &[&'static Code]) -> Value {
    let Problem { fault, pointer, position } = finding.problem;
    let level = match finding.tone {
        Tone::Error => "error",
        Tone::Warning => "warning",
        Tone::Note => "note",
    };
    let text = format!(
        "{}. Found: {}. Allowed: {}. Help: {}.",
        fault.code.summary, fault.found, fault.allowed, fault.remedy
    );
    // A file that cannot be parsed at all has problems without a place; services want a line all the same.
    let (line, column) = position.map_or((1, 1), |position| (position.line, position.column));
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": relative_reference(finding.source)},
        "region": {"startLine": line, "startColumn": column},
    }});
    if !pointer.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": pointer, "kind": "property"}]);
    }
    json!({
        "ruleId": fault.code.name,
        "ruleIndex": codes.iter().position(|code| code.name == fault.code.name),
        "level": level,
        "message": {"text": neutral::text(&text)},
        "locations": [location],
    })
}

/// A path as a relative reference of RFC 3986: everything but unreserved characters and `/` is escaped.
fn relative_reference(path: &str) -> String {
    let mut reference = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                reference.push(char::from(byte));
            }
            _ => write!(reference, "%{byte:02X}").expect("writing to a String"),
        }
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        for (path, reference) in [
            ("submissions/a-1.json", "submissions/a-1.json"),
            ("a b:c\u{e9}%.json", "a%20b%3Ac%C3%A9%25.json"),
            ("/absolute/x", "/absolute/x"),
            ("-", "-"),
        ] {
            assert_eq!(relative_reference(path), reference);
        }
    }
}
