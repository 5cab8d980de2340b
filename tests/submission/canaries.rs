//! Nothing that is printed shows a query, a header's value or what was pasted into a wrong place.

use harness::submission::strict::Document;
use harness::submission::{Problem, SignedUrls, Submission};

use crate::form::{Form, plain, text};

const CANARY: &str = "c4n4ry";

fn assert_silent(what: &str, shown: &str) {
    assert!(!shown.contains(CANARY), "{what} shows a secret: {shown}");
}

fn assert_silent_problems(what: &str, problems: &[Problem]) {
    for problem in problems {
        for part in [&problem.fault.found, &problem.fault.allowed, &problem.fault.remedy] {
            assert_silent(what, part);
        }
        assert_silent(what, &problem.pointer);
    }
    assert_silent(what, &format!("{problems:?}"));
}

/// Queries of which every value, and in some every part, is a canary.
fn queries() -> Vec<String> {
    let c = CANARY;
    vec![
        c.to_owned(),
        format!("a={c}"),
        format!("a={c}&a={c}"),
        format!("X-Amz-Signature={c}"),
        format!(
            "X-Amz-Algorithm={c}&X-Amz-Credential={c}&X-Amz-Date={c}&X-Amz-Expires={c}&X-Amz-SignedHeaders={c}&X-Amz-Signature={c}"
        ),
        format!("AWSAccessKeyId={c}&Expires={c}&Signature={c}"),
        format!("OSSAccessKeyId={c}&Expires={c}&Signature={c}"),
        format!("sv={c}&sr={c}&sp={c}&se={c}&sig={c}"),
        format!(
            "q-sign-algorithm={c}&q-ak={c}&q-sign-time={c}&q-key-time={c}&q-header-list={c}&q-url-param-list={c}&q-signature={c}"
        ),
        format!(
            "X-Goog-Algorithm={c}&X-Goog-Credential={c}&X-Goog-Date={c}&X-Goog-Expires={c}&X-Goog-SignedHeaders={c}&X-Goog-Signature={c}"
        ),
        format!("versionId={c}"),
        format!("x-id={c}"),
        format!("{c}%zz"),
        format!("a={c}#{c}"),
        format!("a={c} {c}"),
        format!("X-Amz-Security-Token={c}&X-Amz-Signature={c}"),
    ]
}

fn hosts() -> Vec<String> {
    vec![
        plain("out/a-1/r.tar"),
        "https://exacct.blob.core.windows.net/ex-cont/a-1/r.tar".to_owned(),
        "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/a-1/r.tar".to_owned(),
        "https://storage.googleapis.com/ex-bkt/a-1/r.tar".to_owned(),
        "https://data.example.org/a-1/r.tar".to_owned(),
        "http://data.example.org/a-1/r.tar".to_owned(),
        format!("https://user:{CANARY}@data.example.org/a-1/r.tar"),
    ]
}

#[test]
fn no_url_shows_its_query() {
    let fields = ["mission_url", "result_put_url", "result_readback_url"];
    for host in hosts() {
        for query in queries() {
            let url = format!("{host}?{query}");
            for name in fields {
                let form = Form::full().with(name, &url);
                let signed = Form::empty().with(name, &url);
                match Submission::parse(form.json().as_bytes()) {
                    Ok(submission) => {
                        assert_silent(name, &format!("{submission:?}"));
                        assert_silent_problems(name, submission.notes());
                    }
                    Err(problems) => assert_silent_problems(&url, &problems),
                }
                match SignedUrls::parse(signed.json().as_bytes()) {
                    Ok(signed) => {
                        assert_silent(name, &format!("{signed:?}"));
                        let submission = Submission::parse(Form::full().json().as_bytes()).unwrap();
                        match submission.sign(signed) {
                            Ok(submission) => assert_silent(name, &format!("{submission:?}")),
                            Err(problems) => assert_silent_problems(&url, &problems),
                        }
                    }
                    Err(problems) => assert_silent_problems(&url, &problems),
                }
            }
        }
    }
}

/// A signed URL in the place of any other value, or of a key.
#[test]
fn a_url_in_a_wrong_place_shows_no_query() {
    let url = format!("{}?X-Amz-Signature={CANARY}", plain("a-1"));
    let raw = text(&url);
    let forms = Form::full()
        .fields()
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| !name.ends_with("_url") && name != "runner_command")
        .flat_map(|name| {
            [
                raw.clone(),
                format!("[{raw}]"),
                format!("{{{raw}: {raw}}}"),
                format!("{{\"x\": {raw}}}"),
            ]
            .map(|value| Form::full().set(&name, &value))
        })
        .chain([
            Form::full().set(&url, "1"),
            Form::full().set("search_budget", &format!("{{\"max_seconds\": 1, {raw}: 1}}")),
            Form::full()
                .set("search_budget", &format!("{{\"max_seconds\": 1, {raw}: 1, {raw}: 1}}")),
            Form::full().set("runner_command", &format!("[\"\", {raw}]")),
        ])
        .collect::<Vec<_>>();
    for form in forms {
        match Submission::parse(form.json().as_bytes()) {
            Ok(submission) => assert_silent_problems("notes", submission.notes()),
            Err(problems) => assert_silent_problems(&form.json(), &problems),
        }
    }
}

#[test]
fn no_header_shows_its_value() {
    for headers in [
        format!(r#"{{"if-none-match": "{CANARY}"}}"#),
        format!(r#"{{"x-amz-meta-a": "{CANARY}"}}"#),
        format!(r#"{{"content-type": "{CANARY}"}}"#),
        format!(r#"{{"authorization": "{CANARY}"}}"#),
        format!(r#"{{"x": " {CANARY}"}}"#),
        format!(r#"{{"x": "{CANARY}", "X": "{CANARY}"}}"#),
        format!(r#"{{"x": "{CANARY}", "x": "{CANARY}"}}"#),
    ] {
        let form = Form::full().set("result_put_headers", &headers);
        match Submission::parse(form.json().as_bytes()) {
            Ok(submission) => assert_silent(&headers, &format!("{submission:?}")),
            Err(problems) => assert_silent_problems(&headers, &problems),
        }
        match SignedUrls::parse(Form::empty().set("result_put_headers", &headers).json().as_bytes())
        {
            Ok(signed) => assert_silent(&headers, &format!("{signed:?}")),
            Err(problems) => assert_silent_problems(&headers, &problems),
        }
    }
    let (document, node) = Document::parse(CANARY.as_bytes());
    assert_silent("a broken document", &format!("{document:?} {node:?}"));
    let (document, node) = Document::parse(br#"{"a": ["c4n4ry"], "b": "c4n4ry"}"#);
    assert_silent("a document", &format!("{document:?} {node:?}"));
}
