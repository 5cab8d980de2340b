//! Every code that a submission can cause is caused by a case of these tests, and each name stands for one code.

use std::collections::BTreeSet;

use harness::profile::{Profile, Profiles};
use harness::render::{self, life};
use harness::submission::{Submission, codes};

use crate::form::{Form, HARNESS_IMAGE, plain, signed};
use crate::{documents, fields, objects, signed as overlays};

/// Codes that need a clock: what a URL's life says at a time.
fn dead_at(now: &str) -> Vec<&'static str> {
    let submission =
        Submission::parse(Form::full().without("runner_secret_name").json().as_bytes()).unwrap();
    let profiles = Profiles::embedded().with_harness_image(HARNESS_IMAGE).unwrap();
    let fitted = render::fit(&submission, &profiles).unwrap();
    life::dead_urls(&fitted, now.parse().unwrap())
        .iter()
        .map(|problem| problem.fault.code.name)
        .collect()
}

/// Codes of a comparison, which a problem reports as `result-may-be-input` with the comparison's words.
fn compared() -> Vec<&'static str> {
    use harness::submission::object::{Comparison, EndpointAliases, ObjectUrl, compare};
    let parse = |url: &str| ObjectUrl::parse(url).unwrap();
    let none = EndpointAliases::default();
    [
        ("https://data.example.org/a", plain("a")),
        ("https://data.example.org/a?id=1", "https://data.example.org/a?id=2".to_owned()),
        ("https://data.example.org/a", "https://data.example.org/A".to_owned()),
        (
            "https://0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/ex-bkt/a",
            "https://0123456789abcdef0123456789abcdef.eu.r2.cloudflarestorage.com/ex-bkt/a"
                .to_owned(),
        ),
    ]
    .iter()
    .map(|(left, right)| match compare(&parse(left), &parse(right), &none) {
        Comparison::Ambiguous(reason) => reason.code.name,
        other => panic!("{left} and {right} are {other:?}"),
    })
    .collect()
}

/// A site's alias is judged where the profile is read, with the code of a submission's URL.
fn alias() -> Vec<&'static str> {
    use harness::submission::EndpointAliases;
    let fault = EndpointAliases::new([
        ("h.example", plain("").as_str()),
        ("h.example", "https://other.s3.us-west-2.amazonaws.com"),
    ]);
    fault.unwrap_err().iter().map(|fault| fault.code.name).collect()
}

#[test]
fn every_code_is_caused_by_a_case() {
    let cases = [fields::cases(), documents::cases(), objects::cases()];
    let mut caused: BTreeSet<&str> = cases
        .iter()
        .flatten()
        .flat_map(|case| case.expected.iter().map(|(code, _, _)| *code))
        .collect();
    caused.extend(objects::noted().iter().map(|(code, _)| *code));
    caused.extend(
        overlays::refusals()
            .iter()
            .flat_map(|(_, _, _, codes)| codes.iter().map(|(code, _)| *code)),
    );
    for now in ["2026-12-01T07:00:00Z", "2026-12-02T07:59:59Z", "2026-12-03T08:00:00Z"] {
        caused.extend(dead_at(now));
    }
    caused.extend(compared());
    caused.extend(alias());
    // `documents::deep_and_wide_documents_end_in_bounded_problems`
    caused.insert("too-many-problems");
    let known: BTreeSet<&str> = codes().iter().map(|code| code.name).collect();
    let never: Vec<&&str> = known.difference(&caused).collect();
    assert!(never.is_empty(), "no case causes {never:?}");
}

#[test]
fn the_life_of_urls_is_judged_at_its_edges() {
    assert!(dead_at("2026-12-01T07:45:00Z").is_empty());
    assert_eq!(dead_at("2026-12-01T07:44:59Z"), ["url-not-yet-valid"; 5]);
    assert_eq!(dead_at("2026-12-02T08:00:00Z"), ["url-expired"; 5]);
    assert!(dead_at("2026-12-02T07:59:59Z").contains(&"url-expires-too-soon"));
}

#[test]
fn a_code_has_one_name_and_a_story() {
    let mut names = BTreeSet::new();
    for code in
        codes().into_iter().chain(render::codes()).chain(harness::profile::CODES.iter().copied())
    {
        assert!(names.insert(code.name), "{} stands for two codes", code.name);
        assert!(
            code.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{code}"
        );
        assert!(
            !code.summary.ends_with('.') && code.explanation.ends_with(['.', ')', '"']),
            "{code}"
        );
        assert!(code.explanation.len() > 60, "{code}");
    }
}

#[test]
fn a_signature_that_is_missing_is_named() {
    let profile =
        Profile::parse(include_bytes!("../../manifests/profiles/standard-v1.yaml")).unwrap();
    let mut profiles = Profiles::embedded();
    profiles.add(profile);
    let missing = |form: &Form, public: bool| {
        let submission = Submission::parse(form.json().as_bytes()).unwrap();
        let fitted = render::fit(&submission, &profiles).unwrap();
        life::missing_signatures(&fitted, public)
            .iter()
            .map(|problem| problem.pointer.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        missing(&Form::minimal(), false),
        ["/mission_url", "/snapshot_url", "/result_put_url"]
    );
    assert_eq!(missing(&Form::minimal(), true), ["/result_put_url"]);
    let partly = Form::minimal().with("mission_url", &signed("in/mission.json", "host", "ca"));
    assert_eq!(missing(&partly, false), ["/snapshot_url", "/result_put_url"]);
}
