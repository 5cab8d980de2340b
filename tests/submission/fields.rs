//! Every field: missing, of a wrong type, misspelt, at its edges.

use harness::submission::Submission;

use crate::cases::{Case, check_all, found, place};
use crate::form::{Form, plain, text};

const REQUIRED: [&str; 11] = [
    "attempt_id",
    "mission_id",
    "image",
    "evaluator_version",
    "resource_profile",
    "search_budget",
    "mission_url",
    "mission_sha256",
    "snapshot_url",
    "snapshot_sha256",
    "result_put_url",
];

/// All fields that hold a text.
const TEXTS: [&str; 17] = [
    "schema_version",
    "attempt_id",
    "mission_id",
    "image",
    "evaluator_version",
    "resource_profile",
    "mission_url",
    "mission_sha256",
    "snapshot_url",
    "snapshot_sha256",
    "resume_url",
    "resume_sha256",
    "result_put_url",
    "result_readback_url",
    "credentials_expire_at",
    "runner_secret_name",
    "namespace_uid",
];

const NOT_A_TEXT: [&str; 11] =
    ["null", "true", "false", "0", "-1", "1.5", "1e400", "[]", "{}", r#"["a"]"#, r#"{"a": "b"}"#];

/// A value that is no text, in the form where nothing else is wrong.
fn wrong_types() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in TEXTS {
        for raw in NOT_A_TEXT {
            let form = Form::full().set(name, raw);
            cases.push(Case::at_field(format!("{name}: {raw}"), &form, name, &["field-type"]));
        }
    }
    for raw in ["null", "true", "600", "\"600\"", "[]", r#"[{"max_seconds": 600}]"#] {
        let form = Form::minimal().set("search_budget", raw);
        cases.push(Case::at_field(
            format!("search_budget: {raw}"),
            &form,
            "search_budget",
            &["field-type"],
        ));
    }
    for raw in ["null", "true", "1", "\"a\"", "[]", r#"[["if-none-match", "*"]]"#] {
        let form = Form::minimal().set("result_put_headers", raw);
        cases.push(Case::at_field(
            format!("headers: {raw}"),
            &form,
            "result_put_headers",
            &["field-type"],
        ));
    }
    for raw in ["null", "true", "1", "\"python3 -m x\"", "{}"] {
        let form = Form::minimal().set("runner_command", raw);
        cases.push(Case::at_field(
            format!("command: {raw}"),
            &form,
            "runner_command",
            &["field-type"],
        ));
    }
    cases
}

fn missing() -> Vec<Case> {
    REQUIRED
        .iter()
        .map(|name| {
            let document = Form::full().without(name).json();
            Case::document(
                format!("no {name}"),
                document,
                "field-missing",
                &format!("/{name}"),
                Some((1, 1)),
            )
        })
        .collect()
}

/// A misspelt text for each field, and the code.
fn misspelt() -> Vec<Case> {
    let long = "x".repeat(64);
    let longer = "x".repeat(254);
    let long_mission = "é".repeat(257);
    let hex = "a".repeat(64);
    let digest = format!("@sha256:{hex}");
    let image = |name: &str| format!("{name}{digest}");
    let mut cases = Vec::new();
    let mut add = |name: &str, code: &'static str, values: &[&str]| {
        for value in values {
            let form = Form::full().with(name, value);
            cases.push(Case::at_field(format!("{name}: {value:?}"), &form, name, &[code]));
        }
    };
    add(
        "schema_version",
        "schema-version-unknown",
        &[
            "",
            "prediction_submission.v2",
            "prediction_submission.v1.1",
            "prediction_submission.v1 ",
            "v1",
            "Prediction_submission.v1",
        ],
    );
    let labels = [
        "",
        "-a",
        "a-",
        "A-1",
        "a_1",
        "a.1",
        "a 1",
        " a-1",
        "a-1\n",
        "ä",
        "a/b",
        "a\u{0}",
        "a\u{202e}",
        "а-1",
        &long,
    ];
    // Another attempt than the path's would be a second problem, so the path gives way: it is judged only with a good attempt.
    add("attempt_id", "name-not-dns-label", &labels);
    add("resource_profile", "name-not-dns-label", &labels);
    add(
        "mission_id",
        "mission-id-invalid",
        &[
            "",
            " m",
            "m ",
            "\u{a0}m",
            "a\tb",
            "a\nb",
            "a\u{0}b",
            "a\u{1b}[31m",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{feff}b",
            "a\u{e0041}b",
            &long_mission,
        ],
    );
    add(
        "image",
        "image-not-pinned",
        &["registry.example.org/lab/model", "registry.example.org/lab/model:v1"],
    );
    add("image", "image-registry-missing", &[&image("model"), &image("lab/model")]);
    add(
        "image",
        "image-registry-invalid",
        &[
            &image("registry.example.org:0/m"),
            &image("registry.example.org:99999/m"),
            &image("Registry.example.org/m"),
        ],
    );
    add(
        "image",
        "image-digest-invalid",
        &[
            "registry.example.org/m@sha256:",
            "registry.example.org/m@sha512:aa",
            "registry.example.org/m@",
            &format!("registry.example.org/m@sha256:{}", "A".repeat(64)),
            &format!("registry.example.org/m@sha256:{}", "a".repeat(63)),
            &format!("registry.example.org/m@sha256:{}", "a".repeat(65)),
        ],
    );
    add(
        "image",
        "image-invalid",
        &[
            "",
            &image("https://registry.example.org/m"),
            &image("registry.example.org/M"),
            &image("registry.example.org/m m"),
        ],
    );
    let digests = [
        "",
        "sha256:",
        &hex[1..],
        &format!("{hex}a"),
        &"A".repeat(64),
        &"g".repeat(64),
        &format!("{hex}\n"),
        &format!(" {hex}"),
        "sha512:aa",
        "é",
    ];
    for name in ["mission_sha256", "snapshot_sha256", "resume_sha256", "evaluator_version"] {
        add(name, "digest-invalid", &digests);
    }
    add(
        "evaluator_version",
        "digest-invalid",
        &[&hex, &format!("SHA256:{hex}"), &format!("sha256:sha256:{hex}")],
    );
    add(
        "credentials_expire_at",
        "time-invalid",
        &[
            "",
            "2026-12-02",
            "2026-12-02T08:00:00",
            "2026-12-02 08:00:00Z",
            "2026-12-02T08:00:00 Z",
            "1796115600",
            "2026-13-02T08:00:00Z",
            "2026-02-30T08:00:00Z",
            "2026-12-02T25:00:00Z",
            "2026-12-02T08:00Z",
            "2026-12-02T08:00:00Z[UTC]",
            "2026-12-02T08:00:00.Z",
            "20261202T080000Z",
            "+002026-12-02T08:00:00Z",
            "2026-12-02T08:00:00+01",
            "2026-W49-3T08:00:00Z",
            "soon",
        ],
    );
    add(
        "runner_secret_name",
        "runner-secret-reserved",
        &["prediction-", "prediction-0123456789abcdef0123456789abcdef-0123456789"],
    );
    add(
        "runner_secret_name",
        "name-not-dns-subdomain",
        &["", ".", "a..b", "A", "a_b", "a/b", "-a", "a.", &longer, &long],
    );
    add(
        "namespace_uid",
        "uid-invalid",
        &[
            "",
            "x",
            "7F6A2F0C-52A4-4C5E-9D2E-0D4F1F6F7A11",
            "7f6a2f0c52a44c5e9d2e0d4f1f6f7a11",
            "{7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11}",
            "7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a1g",
        ],
    );
    cases
}

/// A number in its place, at its edges and beyond.
fn budgets() -> Vec<Case> {
    let mut cases = Vec::new();
    let column = r#"  "search_budget": {"max_seconds": "#.len() + 1;
    for raw in [
        "0",
        "-0",
        "-1",
        "86401",
        "1e3",
        "6e2",
        "600.0",
        "600.5",
        "1.5",
        "1E2",
        "-600",
        "4294967296",
        "4294967896",
        "18446744073709551616",
        "1000000000000000000000000000000",
        "1e30",
        "1e-1",
        "0.0",
    ] {
        let form = Form::minimal().set("search_budget", &format!(r#"{{"max_seconds": {raw}}}"#));
        let place = (place(&form, "search_budget").0, u32::try_from(column).unwrap());
        cases.push(Case::document(
            raw,
            form.json(),
            "number-out-of-range",
            "/search_budget/max_seconds",
            Some(place),
        ));
    }
    for raw in ["null", "true", "\"600\"", "[600]", "{}"] {
        let form = Form::minimal().set("search_budget", &format!(r#"{{"max_seconds": {raw}}}"#));
        let place = (place(&form, "search_budget").0, u32::try_from(column).unwrap());
        cases.push(Case::document(
            raw,
            form.json(),
            "field-type",
            "/search_budget/max_seconds",
            Some(place),
        ));
    }
    let form = Form::minimal().set("search_budget", "{}");
    let empty = Some(place(&form, "search_budget"));
    cases.push(Case::document(
        "empty budget",
        form.json(),
        "field-missing",
        "/search_budget/max_seconds",
        empty,
    ));
    cases
}

fn commands() -> Vec<Case> {
    let many = format!("[{}]", vec!["\"a\""; 65].join(","));
    let large = format!("[{}]", text(&"x".repeat(16385)));
    let in_all = format!("[{},{}]", text(&"x".repeat(16384)), text("y"));
    ["[]", r#"[""]"#, r#"["a", ""]"#, r#"["a\u0000b"]"#, &many, &large, &in_all]
        .iter()
        .map(|raw| {
            let form = Form::minimal().set("runner_command", raw);
            let what = format!("command of {} bytes", raw.len());
            Case::at_field(what, &form, "runner_command", &["runner-command-invalid"])
        })
        .collect()
}

fn headers() -> Vec<Case> {
    let long_name = "x".repeat(129);
    let long_value = "x".repeat(4097);
    [
        ("", "a"),
        ("a b", "a"),
        ("a:", "a"),
        ("ä", "a"),
        ("a\n", "a"),
        (long_name.as_str(), "a"),
        ("authorization", "a"),
        ("Authorization", "a"),
        ("Host", "a"),
        ("host", "a"),
        ("cookie", "a"),
        ("content-length", "1"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("expect", "100-continue"),
        ("if-match", "\"a\""),
        ("range", "bytes=0-"),
        ("x-amz-copy-source", "/b/k"),
        ("x-goog-resumable", "start"),
        ("x-ms-blob-type", "PageBlob"),
        ("x", ""),
        ("x", " a"),
        ("x", "a "),
        ("x", "a\r\nhost: b"),
        ("x", "é"),
        ("x", "\u{0}"),
        ("x", long_value.as_str()),
    ]
    .iter()
    .map(|(name, value)| {
        let form = Form::minimal()
            .set("result_put_headers", &format!("{{{}: {}}}", text(name), text(value)));
        let (line, column) = place(&form, "result_put_headers");
        let column = column + u32::try_from("{: ".len() + text(name).chars().count()).unwrap();
        let token =
            if name.len() > 128 { format!("{}…", &name[..128]) } else { (*name).to_owned() };
        let pointer = format!("/result_put_headers/{token}");
        Case::document(
            format!("{name:?}"),
            form.json(),
            "header-invalid",
            &pointer,
            Some((line, column)),
        )
    })
    .collect()
}

/// Fields that the form does not have, or not there.
fn unknown() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in [
        "attemptid",
        "Attempt_id",
        "attempt_id ",
        "max_seconds",
        "sha256",
        "",
        "é",
        "namespace",
        "result",
    ] {
        let form = Form::minimal().set(name, "1");
        cases.push(Case::at_field(format!("{name:?}"), &form, name, &["field-unknown"]));
    }
    for (name, pointer) in [
        ("a/b", "/a~1b"),
        ("a~b", "/a~0b"),
        ("https://h/k?X-Amz-Signature=canary", "/https:~1~1h~1k…"),
    ] {
        let form = Form::minimal().set(name, "1");
        let place = Some(place(&form, name));
        cases.push(Case::document(name, form.json(), "field-unknown", pointer, place));
    }
    cases
}

fn resume() -> Vec<Case> {
    let url = Form::minimal().with("resume_url", &plain("old/r.tar"));
    let sha256 = Form::minimal().with("resume_sha256", &"6".repeat(64));
    vec![
        Case::at_field("only the URL", &url, "resume_url", &["resume-incomplete"]),
        Case::at_field("only the digest", &sha256, "resume_sha256", &["resume-incomplete"]),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    [wrong_types(), missing(), misspelt(), budgets(), commands(), headers(), unknown(), resume()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_field_is_refused_where_it_stands() {
    check_all(&cases());
}

#[test]
fn values_at_the_edge_are_taken_unchanged() {
    let label = "x".repeat(63);
    let mission = "é".repeat(256);
    let accepted = [
        Form::minimal(),
        Form::full(),
        Form::minimal()
            .with("attempt_id", &label)
            .with("result_put_url", &plain(&format!("{label}.tar"))),
        Form::minimal().with("attempt_id", "0").with("result_put_url", &plain("0")),
        Form::minimal().with("mission_id", &mission),
        Form::minimal().with("mission_id", "👩 / α: \"β\" \\ <&>"),
        Form::minimal().set("mission_id", r#""\ud83d\ude80 \u00e9""#),
        Form::minimal().set("search_budget", r#"{"max_seconds": 1}"#),
        Form::minimal().set("search_budget", r#"{"max_seconds": 86400}"#),
        Form::minimal().with("runner_secret_name", &[label.as_str(); 3].join(".")),
        Form::minimal().with("runner_secret_name", "predictions"),
        Form::minimal().set("runner_command", &format!("[{}]", vec!["\"a\""; 64].join(","))),
        Form::minimal().set("runner_command", &format!("[{}]", text(&"x".repeat(16384)))),
        Form::minimal().set("result_put_headers", "{}"),
        Form::minimal()
            .set("result_put_headers", &format!(r#"{{"x": {}}}"#, text(&"x".repeat(4096)))),
        Form::minimal().with("credentials_expire_at", "2026-12-02T08:00:00.123456789Z"),
        Form::minimal().with("credentials_expire_at", "2026-12-02T09:00:00+01:00"),
        Form::minimal().with("credentials_expire_at", "2026-12-01T20:30:00-11:30"),
        Form::minimal().with("image", &format!("localhost:5000/m:tag@sha256:{}", "a".repeat(64))),
    ];
    for form in accepted {
        let json = form.json();
        assert!(Submission::parse(json.as_bytes()).is_ok(), "{json}");
    }
    let submission =
        Submission::parse(Form::minimal().with("mission_id", &mission).json().as_bytes()).unwrap();
    assert_eq!(submission.mission_id().as_str(), mission);
}

#[test]
fn all_problems_come_in_one_pass_in_the_order_of_the_text() {
    let form = Form::minimal()
        .set("attempt_id", "\"A\"")
        .set("image", "null")
        .set("search_budget", r#"{"max_seconds": 0, "min_seconds": 1}"#)
        .with("mission_url", "http://h/k")
        .without("mission_sha256")
        .with("snapshot_sha256", "x")
        .set("runner_command", r#"["a", 1, "\ud800", null]"#)
        .set("max_seconds", "600");
    let (budget, _) = place(&form, "search_budget");
    let (command, command_column) = place(&form, "runner_command");
    let at = |name: &str| Some(place(&form, name));
    let problems = Submission::parse(form.json().as_bytes()).unwrap_err();
    let expected = [
        ("field-missing", "/mission_sha256".to_owned(), Some((1, 1))),
        ("name-not-dns-label", "/attempt_id".to_owned(), at("attempt_id")),
        ("field-type", "/image".to_owned(), at("image")),
        ("number-out-of-range", "/search_budget/max_seconds".to_owned(), Some((budget, 36))),
        ("field-unknown", "/search_budget/min_seconds".to_owned(), Some((budget, 54))),
        ("url-scheme", "/mission_url".to_owned(), at("mission_url")),
        ("digest-invalid", "/snapshot_sha256".to_owned(), at("snapshot_sha256")),
        ("field-type", "/runner_command/1".to_owned(), Some((command, command_column + 6))),
        ("json-string", "/runner_command/2".to_owned(), Some((command, command_column + 9))),
        ("field-type", "/runner_command/3".to_owned(), Some((command, command_column + 19))),
        ("field-unknown", "/max_seconds".to_owned(), at("max_seconds")),
    ];
    assert_eq!(found(&problems), expected, "{problems:#?}");
    let misplaced = problems.last().unwrap();
    assert_eq!(misplaced.fault.remedy, "move it to `search_budget`");
}

#[test]
fn a_misspelt_or_misplaced_field_is_told_its_place() {
    for (form, name, remedy) in [
        (Form::minimal().set("max_seconds", "600"), "max_seconds", "move it to `search_budget`"),
        (Form::minimal().set("atempt_id", "\"a\""), "atempt_id", "did you mean `attempt_id`?"),
        (
            Form::minimal().set("mission_sha265", "\"a\""),
            "mission_sha265",
            "did you mean `mission_sha256`?",
        ),
        (Form::minimal().set("resume_ulr", "\"a\""), "resume_ulr", "did you mean `resume_url`?"),
        (Form::minimal().set("deadline", "1"), "deadline", "remove it"),
    ] {
        let problems = Submission::parse(form.json().as_bytes()).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].pointer, format!("/{name}"));
        assert_eq!(problems[0].fault.remedy, remedy, "{name}");
    }
    let nested =
        Form::minimal().set("search_budget", r#"{"max_seconds": 1, "mission_sha256": "a"}"#);
    let problems = Submission::parse(nested.json().as_bytes()).unwrap_err();
    assert_eq!(problems[0].pointer, "/search_budget/mission_sha256");
    assert_eq!(problems[0].fault.remedy, "move it to the top level");
}

#[test]
fn a_newer_form_is_judged_by_its_version_alone() {
    let form = Form::empty()
        .with("schema_version", "prediction_submission.v2")
        .set("priority", "7")
        .set("attempt_id", "[]");
    let problems = Submission::parse(form.json().as_bytes()).unwrap_err();
    let expected = [(
        "schema-version-unknown",
        "/schema_version".to_owned(),
        Some(place(&form, "schema_version")),
    )];
    assert_eq!(found(&problems), expected);
}
