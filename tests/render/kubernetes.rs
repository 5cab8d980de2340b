//! The bundle in the eyes of Kubernetes' own types, and of harness' own comparison.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use harness::render::compare::{Verdict, compare_job, compare_secret};
use harness::render::decisive::decisive_digest;

use crate::bundles;

/// The paths of all leaves with their values; empty lists and maps are leaves.
fn leaves(value: &Value, path: &str, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), into));
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| leaves(value, &format!("{path}/{index}"), into));
        }
        leaf => into.push((path.to_owned(), leaf.clone())),
    }
}

/// A misspelt field is lost on the way through the type, and a value of a wrong type is refused by it.
fn assert_round_trip<T: Serialize + DeserializeOwned>(name: &str, rendered: &Value) {
    let typed: T =
        serde_json::from_value(rendered.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    leaves(rendered, "", &mut expected);
    leaves(&serde_json::to_value(typed).unwrap(), "", &mut found);
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, expected, "{name}");
}

#[test]
fn kubernetes_types_know_every_field() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        assert_round_trip::<Job>(&name, bundle.job());
        assert_round_trip::<Secret>(&name, bundle.secret());
    }
}

#[test]
fn the_round_trip_finds_a_misspelt_field() {
    let bundle = bundles::bundle(&crate::form::Form::full());
    for (path, key) in [
        ("/spec", "backofLimit"),
        ("/spec/template/spec", "enableServiceLink"),
        ("/spec/template/spec/containers/0/securityContext", "readOnlyRootFileSystem"),
    ] {
        let mut job = bundle.job().clone();
        job.pointer_mut(path).unwrap()[key] = json!(1);
        assert!(
            std::panic::catch_unwind(|| assert_round_trip::<Job>(path, &job)).is_err(),
            "{path}"
        );
    }
}

#[test]
fn a_bundle_is_the_same_as_itself_without_drift() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        for verdict in [
            compare_job(bundle.job(), bundle.job()),
            compare_secret(bundle.secret(), bundle.secret()),
        ] {
            match verdict {
                Verdict::Same { drift } => assert!(drift.is_empty(), "{name}: {drift:?}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn bundles_of_different_submissions_are_never_the_same() {
    let bundles: Vec<_> =
        bundles::all().into_iter().map(|(name, form)| (name, bundles::bundle(&form))).collect();
    for (left, a) in &bundles {
        for (right, b) in &bundles {
            assert_eq!(compare_job(a.job(), b.job()).is_same(), left == right, "{left} {right}");
        }
    }
}

#[test]
fn the_decisive_digest_stands_on_the_job() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        let annotations = &bundle.job()["metadata"]["annotations"];
        let expected = decisive_digest(bundle.job()).to_hex();
        assert_eq!(annotations["research.harness/decisive-digest"], json!(expected), "{name}");
        // Every digest and identity that the names hold stands there too.
        let names = bundle.names();
        for (key, value) in [
            ("result-identity", names.result_identity),
            ("submission-digest", names.submission_digest),
            ("secret-digest", names.secret_digest),
            ("profile-digest", bundle.profile_digest()),
        ] {
            let key = format!("research.harness/{key}");
            assert_eq!(annotations[key.as_str()], json!(value.to_hex()), "{name} {key}");
        }
    }
}

#[test]
fn the_secret_is_immutable_and_holds_each_url_exactly() {
    use base64::Engine as _;
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        let secret = bundle.secret();
        assert_eq!(secret["immutable"], json!(true), "{name}");
        assert_eq!(secret["type"], json!("Opaque"), "{name}");
        let data = secret["data"].as_object().unwrap();
        for (key, encoded) in data {
            let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.as_str().unwrap());
            let value = String::from_utf8(bytes.unwrap()).unwrap();
            if key == "result_put_headers" {
                assert_eq!(value, r#"{"content-type":"application/x-tar","if-none-match":"*"}"#);
                continue;
            }
            let (_, raw) = form.fields().iter().find(|(field, _)| field == key).unwrap();
            assert_eq!(raw, &crate::form::text(&value), "{name} {key}");
        }
        let urls = form.fields().iter().filter(|(field, _)| field.ends_with("_url")).count();
        let headers = usize::from(bundles::has(&form, "result_put_headers"));
        assert_eq!(data.len(), urls + headers, "{name}");
    }
}
