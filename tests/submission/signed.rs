//! Signatures that come apart from the submission: they can sign what it names and change nothing else.

use harness::submission::{Problem, SignedUrls, Submission, UrlField};

use crate::cases::found;
use crate::form::{Form, plain, signed};

const PUT_HEADERS: &str = "content-type%3Bhost%3Bif-none-match";

fn reviewed() -> Form {
    Form::minimal()
        .with("resume_url", &plain("out/a-0/result.tar"))
        .with("resume_sha256", &"6".repeat(64))
        .set("result_put_headers", r#"{"content-type": "application/x-tar"}"#)
}

fn overlay() -> Form {
    Form::empty()
        .with("mission_url", &signed("in/mission.json", "host", "ca"))
        .with("snapshot_url", &signed("in/snapshot.tar", "host", "ca"))
        .with("resume_url", &signed("out/a-0/result.tar", "host", "ca"))
        .with("result_put_url", &signed("out/a-1/result.tar", PUT_HEADERS, "ca"))
        .with("result_readback_url", &signed("out/a-1/result.tar", "host", "ca"))
        .set("result_put_headers", r#"{"if-none-match": "*", "content-type": "application/x-tar"}"#)
}

fn apply(submission: &Form, signed: &Form) -> Result<Submission, Vec<Problem>> {
    let submission = Submission::parse(submission.json().as_bytes())
        .unwrap_or_else(|found| panic!("{found:#?}"));
    submission.sign(SignedUrls::parse(signed.json().as_bytes())?)
}

/// An overlay that is refused, with each code and pointer.
pub(crate) fn refusals() -> Vec<(&'static str, Form, Form, Vec<(&'static str, &'static str)>)> {
    let other = |name: &str, url: &str| Form::empty().with(name, url);
    let differs = |field| vec![("signed-differs", field)];
    let oss = "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/a-1";
    vec![
        (
            "another key",
            reviewed(),
            other("mission_url", &signed("in/other.json", "host", "ca")),
            differs("/mission_url"),
        ),
        (
            "another bucket",
            reviewed(),
            other("snapshot_url", "https://other.s3.us-west-2.amazonaws.com/in/snapshot.tar"),
            differs("/snapshot_url"),
        ),
        (
            "another resume",
            reviewed(),
            other("resume_url", &plain("out/a-9/result.tar")),
            differs("/resume_url"),
        ),
        (
            "another result",
            reviewed(),
            other("result_put_url", &plain("out/a-1/other.tar")),
            differs("/result_put_url"),
        ),
        (
            "another read-back",
            reviewed(),
            other("result_readback_url", &plain("out/a-1/other.tar")),
            differs("/result_readback_url"),
        ),
        (
            "another read-back than the reviewed one",
            reviewed().with("result_readback_url", &plain("out/a-1/result.tar")),
            other("result_readback_url", &plain("out/a-1/other.tar")),
            differs("/result_readback_url"),
        ),
        (
            "a version",
            reviewed(),
            other("mission_url", &format!("{}?versionId=canary", plain("in/mission.json"))),
            differs("/mission_url"),
        ),
        (
            "another version",
            reviewed().with("mission_url", &format!("{}?versionId=v1", plain("in/mission.json"))),
            other("mission_url", &format!("{}?versionId=v2", plain("in/mission.json"))),
            differs("/mission_url"),
        ),
        (
            "without the version",
            reviewed().with("mission_url", &format!("{}?versionId=v1", plain("in/mission.json"))),
            other("mission_url", &plain("in/mission.json")),
            differs("/mission_url"),
        ),
        (
            "own host",
            reviewed(),
            other("mission_url", "https://data.example.org/in/mission.json"),
            differs("/mission_url"),
        ),
        (
            "another letter case",
            reviewed(),
            other("mission_url", &plain("in/Mission.json")),
            differs("/mission_url"),
        ),
        (
            "no resume was reviewed",
            Form::minimal(),
            other("resume_url", &plain("x")),
            vec![("signed-unexpected", "/resume_url")],
        ),
        (
            "a version of the result",
            reviewed(),
            other("result_readback_url", &format!("{}?versionId=v", plain("out/a-1/result.tar"))),
            differs("/result_readback_url"),
        ),
        (
            "headers that were signed are not declared",
            Form::minimal(),
            other("result_put_url", &signed("out/a-1/result.tar", PUT_HEADERS, "ca")),
            vec![("header-undeclared", "/result_put_url")],
        ),
        (
            "no guard",
            Form::minimal().with("result_put_url", oss),
            other(
                "result_put_url",
                &format!("{oss}?OSSAccessKeyId=LTAI&Expires=1796115600&Signature=canary"),
            ),
            vec![("guard-missing", "/result_put_url")],
        ),
        (
            "temporary credentials without an end",
            Form::minimal(),
            other(
                "mission_url",
                &signed("in/mission.json", "host", "ca").replace("=AKIA", "=ASIA"),
            ),
            vec![("credentials-end-unknown", "/mission_url")],
        ),
        (
            "two at once",
            Form::minimal(),
            other("mission_url", &plain("x")).with("snapshot_url", &plain("y")),
            vec![("signed-differs", "/mission_url"), ("signed-differs", "/snapshot_url")],
        ),
    ]
}

#[test]
fn an_overlay_changes_nothing_but_signatures() {
    for (what, submission, overlay, expected) in refusals() {
        let problems = match apply(&submission, &overlay) {
            Ok(_) => panic!("{what} is accepted"),
            Err(problems) => problems,
        };
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (problem.fault.code.name, problem.pointer.as_str()))
            .collect();
        assert_eq!(found, expected, "{what}");
        for problem in problems {
            let place = problem.position.map(|place| (place.line, place.column));
            let field = problem.pointer.trim_start_matches('/');
            assert_eq!(place, Some(crate::cases::place(&overlay, field)), "{what}: {problem:?}");
        }
    }
}

#[test]
fn an_overlay_signs_every_url() {
    let reviewed_text = reviewed();
    let signed = apply(&reviewed_text, &overlay()).unwrap();
    for (field, url) in signed.urls() {
        assert!(signed.signature(field, url).signature().is_some(), "{field:?}");
        assert!(url.expose().contains("X-Amz-Signature=caca"), "{field:?}");
    }
    assert_eq!(signed.urls().len(), 5);
    assert_eq!(signed.result().put_headers.len(), 2);
    let plain = Submission::parse(reviewed_text.json().as_bytes()).unwrap();
    assert_eq!(signed.result_identity(), plain.result_identity());
}

#[test]
fn an_empty_overlay_changes_nothing_and_parts_may_come_alone() {
    let unchanged = apply(&Form::full(), &Form::empty()).unwrap();
    let full = Submission::parse(Form::full().json().as_bytes()).unwrap();
    assert_eq!(format!("{unchanged:?}"), format!("{full:?}"));
    assert_eq!(
        unchanged.urls().iter().map(|(_, url)| url.expose()).collect::<Vec<_>>(),
        full.urls().iter().map(|(_, url)| url.expose()).collect::<Vec<_>>(),
    );
    let one = apply(
        &reviewed(),
        &Form::empty().with("mission_url", &signed("in/mission.json", "host", "ca")),
    )
    .unwrap();
    let is_signed = |field: UrlField| {
        one.urls().into_iter().any(|(found, url)| found == field && url.expose().contains('?'))
    };
    assert!(is_signed(UrlField::Mission) && !is_signed(UrlField::Snapshot));
    // The reviewed headers stay where the overlay brings none.
    assert_eq!(one.result().put_headers["content-type"], "application/x-tar");
    // Another spelling of the same host is the same object.
    let path_style = plain("in/mission.json")
        .replace("ex-bkt.s3.us-west-2.amazonaws.com/", "s3.us-west-2.amazonaws.com/ex-bkt/");
    assert!(apply(&reviewed(), &Form::empty().with("mission_url", &path_style)).is_ok());
}

#[test]
fn an_overlay_brings_the_end_of_its_credentials() {
    let temporary = signed("in/mission.json", "host", "ca").replace("=AKIA", "=ASIA");
    let with_end = Form::empty()
        .with("mission_url", &temporary)
        .with("credentials_expire_at", "2026-12-01T20:00:00Z");
    let submission = apply(&Form::minimal(), &with_end).unwrap();
    assert_eq!(submission.credentials_expire_at().unwrap().to_string(), "2026-12-01T20:00:00Z");
    let signature = submission.signature(UrlField::Mission, &submission.mission().url);
    assert_eq!(signature.signature().unwrap().expires, submission.credentials_expire_at());
    // The reviewed end is that of other credentials.
    let reviewed = Form::minimal().with("credentials_expire_at", "2026-12-01T20:00:00Z");
    let alone = apply(&reviewed, &Form::empty().with("mission_url", &temporary)).unwrap_err();
    assert_eq!(alone[0].fault.code.name, "credentials-end-unknown");
    let none = apply(&reviewed, &Form::empty()).unwrap();
    assert_eq!(none.credentials_expire_at().unwrap().to_string(), "2026-12-01T20:00:00Z");
}

#[test]
fn an_overlay_brings_its_own_notes() {
    let oss = "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/a-1";
    let reviewed = Form::minimal().with("result_put_url", oss);
    let signed = Form::empty()
        .with(
            "result_put_url",
            &format!("{oss}?OSSAccessKeyId=LTAI&Expires=1796115600&Signature=ZmFrZQ%3D%3D"),
        )
        .set("result_put_headers", r#"{"x-oss-forbid-overwrite": "true"}"#);
    let submission = apply(&reviewed, &signed).unwrap();
    let notes: Vec<&str> = submission.notes().iter().map(|note| note.fault.code.name).collect();
    assert_eq!(notes, ["guard-versioned-bucket"]);
}

/// The overlay's own form: closed, and as strict as the submission's.
#[test]
fn the_document_is_checked_like_a_submission() {
    let form = Form::empty()
        .with("mission_url", "http://h/k")
        .set("snapshot_url", "null")
        .set("result_put_headers", r#"{"host": "canary"}"#)
        .with("credentials_expire_at", "soon")
        .with("attempt_id", "a-1");
    let problems = SignedUrls::parse(form.json().as_bytes()).unwrap_err();
    let at = |name: &str| Some(crate::cases::place(&form, name));
    let (headers, column) = crate::cases::place(&form, "result_put_headers");
    let expected = [
        ("url-scheme", "/mission_url".to_owned(), at("mission_url")),
        ("field-type", "/snapshot_url".to_owned(), at("snapshot_url")),
        ("header-invalid", "/result_put_headers/host".to_owned(), Some((headers, column + 9))),
        ("time-invalid", "/credentials_expire_at".to_owned(), at("credentials_expire_at")),
        ("field-unknown", "/attempt_id".to_owned(), at("attempt_id")),
    ];
    assert_eq!(found(&problems), expected, "{problems:#?}");
    for (document, code) in [
        ("", "json-unreadable"),
        ("[]", "field-type"),
        ("{} x", "json-syntax"),
        (r#"{"mission_url": "", "mission_url": ""}"#, "json-duplicate-key"),
    ] {
        let problems = SignedUrls::parse(document.as_bytes()).unwrap_err();
        assert!(problems.iter().any(|problem| problem.fault.code.name == code), "{document}");
    }
    assert!(SignedUrls::parse(b"{}").is_ok());
}
