//! Text that is not ours on its way to a terminal or a CI log.

use harness::cli::neutral::{Stream, json, lines, text, yaml};
use harness::submission::excerpt::{excerpt, excerpts_apart, is_printable};
use serde_json::{Value, json};

use crate::common::{CANARY, check_shown, first_line};

/// Any text, and any JSON.
///
/// As text, in pieces, as JSON and as YAML it holds no character that redraws a terminal and no workflow command; JSON and
/// YAML keep their values; an excerpt is short and ends at a question mark.
pub fn terminal(data: &[u8]) {
    let raw = String::from_utf8_lossy(data);
    let shown = text(&raw);
    check_shown(&shown);
    check_no_command(&shown);
    for line in lines(&raw).lines() {
        check_shown(line);
        check_no_command(line);
    }
    check_pieces(&raw);
    let value = serde_json::from_str(&raw).unwrap_or_else(|_| json!({"text": raw, (&*raw): [raw]}));
    check_documents(&value);
    let (one, other) = first_line(&raw);
    let (one_apart, other_apart) = excerpts_apart(one, other);
    for (raw, shown) in [(one, excerpt(one)), (one, one_apart), (other, other_apart)] {
        check_shown(&shown);
        // Each of 60 characters is escaped by at most ten.
        assert!(shown.len() <= 610 && !shown.contains('?'), "{shown}");
        let before = raw.split('?').next().unwrap_or_default();
        assert!(before.contains(CANARY) || !shown.contains(CANARY), "{shown}");
    }
}

fn check_no_command(shown: &str) {
    for begin in ["::", "##["] {
        for (at, _) in shown.match_indices(begin) {
            assert!(shown[..at].ends_with('\\'), "{shown:?}");
        }
    }
}

/// However another program's output is cut, no command comes together in what is shown.
fn check_pieces(raw: &str) {
    let characters: Vec<char> = raw.chars().collect();
    for size in [1, 2, 3, 7] {
        let mut stream = Stream::default();
        let pieces = characters.chunks(size).map(|piece| piece.iter().collect::<String>());
        let shown: String = pieces.map(|piece| stream.piece(&piece)).collect();
        for line in shown.split('\n') {
            // Columns of another program stay columns.
            line.split('\t').for_each(check_shown);
            check_no_command(line);
        }
    }
}

fn check_documents(value: &Value) {
    for serialised in [serde_json::to_string(value), serde_json::to_string_pretty(value)] {
        let shown = json(&serialised.expect("JSON serialises"));
        assert_eq!(serde_json::from_str::<Value>(&shown).ok().as_ref(), Some(value), "{shown}");
        shown.lines().for_each(check_shown);
        assert!(!shown.contains("::") && !shown.contains("##["), "{shown}");
    }
    let shown = yaml(value).expect("JSON is YAML");
    shown.split('\n').for_each(check_shown);
    assert!(!shown.contains("::") && !shown.contains("##["), "{shown}");
    if has_plain_keys(value) {
        let read = serde_yaml::from_str::<Value>(&shown);
        assert_eq!(read.ok().as_ref(), Some(value), "{shown}");
    }
}

/// Keys, unlike texts, are harness's own or names that Kubernetes takes; YAML shows invisible characters in others as
/// escapes that are not read back.
fn has_plain_keys(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(has_plain_keys),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| key.chars().all(is_printable) && has_plain_keys(value)),
        _ => true,
    }
}
