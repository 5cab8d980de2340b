//! The submission form and the document of `--signed`.

use harness::render::{fit, mask, render};
use harness::submission::{Namespace, SignedUrls, Submission};
use serde_json::{Map, Value, json};

use crate::common::{CANARY, PROFILES, check_problems};

/// Any bytes are problems with places inside of them, the same every time, or a submission that renders the same bytes
/// every time, also after it was written down anew, and shows no signature.
pub fn submission(data: &[u8]) {
    match (Submission::parse(data), Submission::parse(data)) {
        (Err(problems), Err(again)) => {
            assert_eq!(problems, again);
            check_problems(&problems, data);
        }
        (Ok(submission), Ok(again)) => {
            assert_eq!(format!("{submission:?}"), format!("{again:?}"));
            check_valid(&submission);
        }
        _ => panic!("read in two ways"),
    }
    if let Err(problems) = SignedUrls::parse(data) {
        check_problems(&problems, data);
    }
}

fn check_valid(submission: &Submission) {
    let written = document(submission, true).to_string();
    let read = Submission::parse(written.as_bytes())
        .unwrap_or_else(|problems| panic!("{written} was valid: {problems:?}"));
    assert_eq!(document(&read, true), document(submission, true));
    let mut shown = vec![format!("{submission:?}")];
    let rendered = bundle(submission);
    assert_eq!(rendered, bundle(submission));
    assert_eq!(rendered, bundle(&read));
    shown.extend(rendered.map(|[job, _, masked]| format!("{job} {masked}")));
    if !document(submission, false).to_string().contains(CANARY) {
        for shown in shown {
            assert!(!shown.contains(CANARY), "{shown}");
        }
    }
}

/// Job, Secret and what eyes see of both, where the submission fits its profile.
fn bundle(submission: &Submission) -> Option<[String; 3]> {
    let fitted = fit(submission, &PROFILES).ok()?;
    let namespace = Namespace::parse("research").expect("a DNS label");
    let bundle = render(&fitted, &namespace).expect("there is a harness image");
    let (job, secret) = (bundle.job().to_string(), bundle.secret().to_string());
    Some([job, secret, mask::masked(bundle).to_string()])
}

/// The submission as a document; without what is secret if asked so.
fn document(submission: &Submission, whole: bool) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    put("attempt_id", submission.attempt_id().as_str().into());
    put("mission_id", submission.mission_id().as_str().into());
    put("image", submission.image().to_string().into());
    put("evaluator_version", format!("sha256:{}", submission.evaluator_version()).into());
    put("resource_profile", submission.resource_profile().as_str().into());
    put("search_budget", json!({"max_seconds": submission.max_seconds()}));
    for (field, url) in submission.urls() {
        let text = url.expose();
        let text = if whole { text } else { text.split('?').next().unwrap_or_default() };
        put(field.name(), text.into());
    }
    put("mission_sha256", submission.mission().sha256.to_hex().into());
    put("snapshot_sha256", submission.snapshot().sha256.to_hex().into());
    put("resume_sha256", submission.resume().map(|resume| resume.sha256.to_hex()).into());
    let headers = &submission.result().put_headers;
    if whole && !headers.is_empty() {
        put("result_put_headers", json!(headers));
    }
    put(
        "credentials_expire_at",
        submission.credentials_expire_at().map(|at| at.to_string()).into(),
    );
    put("runner_command", json!(submission.runner_command()));
    put("runner_secret_name", submission.runner_secret_name().map(ToString::to_string).into());
    put("namespace_uid", submission.namespace_uid().map(ToString::to_string).into());
    Value::Object(fields)
}
