//! The document itself: JSON to the letter, bounded, UTF-8.

use harness::submission::Submission;
use harness::submission::strict::{MAX_BYTES, MAX_PROBLEMS};

use crate::cases::{Case, check_all, place};
use crate::form::Form;

/// The form with white space until it has this many bytes.
fn padded(bytes: usize) -> Vec<u8> {
    let mut document = Form::minimal().json().into_bytes();
    document.resize(bytes, b' ');
    document
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let order = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    let good = Form::minimal().json();
    let unreadable = |what: &str, document: Vec<u8>, place| {
        Case::document(what, document, "json-unreadable", "", place)
    };
    let syntax = |what: &str, document: String, place| {
        Case::document(what, document, "json-syntax", "", Some(place))
    };
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    let nested = Form::minimal().set("runner_command", &deep);
    let (line, column) = place(&nested, "runner_command");
    let mut cases = vec![
        unreadable("nothing", Vec::new(), None),
        Case::document(
            "another document",
            br#"{"apiVersion": "batch/v1", "kind": "Job"}"#.to_vec(),
            "document-other-kind",
            "",
            Some((1, 1)),
        ),
        unreadable("white space", b" \r\n\t ".to_vec(), None),
        unreadable("one byte too many", padded(MAX_BYTES + 1), None),
        unreadable("byte order mark", format!("\u{feff}{good}").into_bytes(), Some((1, 1))),
        unreadable("UTF-16, little end first", utf16(&good, false), None),
        unreadable("UTF-16, big end first", utf16(&good, true), None),
        unreadable(
            "Latin-1",
            good.replace("Mission 7", "\u{1}")
                .into_bytes()
                .into_iter()
                .map(|b| if b == 1 { 0xe9 } else { b })
                .collect(),
            Some((3, 18)),
        ),
        syntax("no end", good.trim_end().trim_end_matches('}').to_owned(), (13, 1)),
        syntax("trailing data", format!("{good}x"), (14, 1)),
        syntax("a second document", format!("{good}{good}"), (14, 1)),
        syntax("NUL at the end", format!("{good}\0"), (14, 1)),
        syntax("comment", good.replacen('{', "{ // x", 1), (1, 3)),
        syntax("control character", good.replace("Mission 7", "Mission\u{1}7"), (3, 25)),
        syntax("bare NUL in a text", good.replace("Mission 7", "\0"), (3, 18)),
        syntax("single quotes", "{'a': 1}".to_owned(), (1, 2)),
        syntax("leading zero", Form::minimal().set("x", "01").json(), (13, 9)),
        syntax("NaN", Form::minimal().set("x", "NaN").json(), (13, 8)),
        syntax("unknown escape", Form::minimal().set("x", r#""\x41""#).json(), (13, 10)),
        syntax("trailing comma", good.replace("\n}", ",\n}"), (13, 1)),
        Case::document(
            "nested too deeply",
            nested.json(),
            "json-syntax",
            "",
            Some((line, column + 127)),
        ),
    ];
    for raw in ["null", "true", "7", "\"text\"", "[]", "[{}]"] {
        cases.push(Case::document(raw, raw, "field-type", "", Some((1, 1))));
    }
    cases.extend(duplicates());
    cases.extend(surrogates());
    cases
}

fn duplicates() -> Vec<Case> {
    let top = Form::minimal().json().replacen('{', "{ \"attempt_id\": \"a-1\",", 1);
    let escaped =
        Form::minimal().json().replacen("\n}", ",\n  \"\\u0061ttempt_id\": \"a-1\"\n}", 1);
    let budget =
        Form::minimal().set("search_budget", r#"{"max_seconds": 600, "max_\u0073econds": 600}"#);
    let (budget_line, budget_column) = place(&budget, "search_budget");
    let headers = Form::minimal().set("result_put_headers", r#"{"x": "1", "x": "1"}"#);
    let (headers_line, headers_column) = place(&headers, "result_put_headers");
    let equal = Form::minimal().set("result_put_headers", r#"{"X-A": "1", "x-a": "1"}"#);
    let (equal_line, equal_column) = place(&equal, "result_put_headers");
    let key = "json-duplicate-key";
    vec![
        Case::document("twice", top, key, "/attempt_id", Some((2, 17))),
        Case::document("twice through an escape", escaped, key, "/attempt_id", Some((13, 22))),
        Case::document(
            "twice in the budget",
            budget.json(),
            key,
            "/search_budget/max_seconds",
            Some((budget_line, budget_column + 41)),
        ),
        Case::document(
            "twice in the headers",
            headers.json(),
            key,
            "/result_put_headers/x",
            Some((headers_line, headers_column + 16)),
        ),
        Case::document(
            "twice but for case",
            equal.json(),
            "header-invalid",
            "/result_put_headers/x-a",
            Some((equal_line, equal_column + 20)),
        ),
    ]
}

/// Half a pair is one problem; the value is not called missing or of a wrong type as well.
fn surrogates() -> Vec<Case> {
    let mut cases = Vec::new();
    for half in [r#""\ud800""#, r#""\udc00""#, r#""a\ud83d b""#, r#""\ude00\ud83d""#] {
        for name in [
            "attempt_id",
            "mission_url",
            "search_budget",
            "runner_command",
            "result_put_headers",
            "schema_version",
        ] {
            let form = Form::minimal().set(name, half);
            cases.push(Case::at_field(format!("{name}: {half}"), &form, name, &["json-string"]));
        }
    }
    let key = Form::minimal().json().replacen("\n}", ",\n  \"\\ud800\": 1\n}", 1);
    cases.push(Case::document("in a key", key, "json-string", "", Some((13, 3))));
    let header = Form::minimal().set("result_put_headers", r#"{"\udfff": "a"}"#);
    let (line, column) = place(&header, "result_put_headers");
    cases.push(Case::document(
        "in a header's name",
        header.json(),
        "json-string",
        "/result_put_headers",
        Some((line, column + 1)),
    ));
    cases
}

#[test]
fn documents_are_refused_where_they_break() {
    check_all(&cases());
}

#[test]
fn one_mebibyte_is_read() {
    assert!(Submission::parse(&padded(MAX_BYTES)).is_ok());
}

#[test]
fn deep_and_wide_documents_end_in_bounded_problems() {
    for document in [
        "[".repeat(MAX_BYTES),
        "{\"a\":".repeat(MAX_BYTES / 5),
        format!("{}{}", "[".repeat(MAX_BYTES / 2), "]".repeat(MAX_BYTES / 2)),
    ] {
        assert!(Submission::parse(document.as_bytes()).is_err());
    }
    let members: Vec<String> = (0..1000).map(|index| format!("\"k{index}\": 1")).collect();
    let problems = Submission::parse(format!("{{{}}}", members.join(",")).as_bytes()).unwrap_err();
    assert_eq!(problems.len(), MAX_PROBLEMS + 1);
    assert_eq!(problems.last().unwrap().fault.code.name, "too-many-problems");
}
