//! Tests of whole profiles: the embedded ones, the digest, sets of them, damaged ones.

mod problems;
mod quantity;
mod schema;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The smallest profile; further fields are appended.
const SMALL: &str = "\
schema_version: profile.v1
name: small
resources: {run: {cpu: 1, memory: 1Gi, ephemeral_storage: 1Gi}}
volumes: {inputs: 256Mi, output: 128Mi, scratch: 256Mi}
allowances: {pending: 60, pull: 60, staging: 60, publication: 30, grace: 31, active_deadline: 600}
";

/// Every field of the schema.
const COMPLETE: &str = include_str!("tests/complete.yaml");

const IMAGE: &str = "registry.example/harness@sha256:\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[track_caller]
fn parse(yaml: &str) -> Profile {
    Profile::parse(yaml.as_bytes()).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

#[test]
fn embedded_profiles_have_exactly_their_largest_budgets() {
    let profiles = Profiles::embedded();
    assert_eq!(profiles.iter().count(), 2);
    for (name, largest) in [("standard-v1", 1020), ("long-v1", 86_400)] {
        let profile = profiles.get(name).unwrap();
        assert_eq!(profile.largest_budget(), largest, "{name}");
        assert_eq!(profile.times(largest).unwrap().job, profile.allowances.active_deadline);
        assert!(profile.times(largest + 1).is_err(), "{name}");
        assert_eq!(profile.on_disruption, OnDisruption::Fail);
        assert_eq!(profile.harness_image, None);
    }
}

/// Frozen: a changed digest makes every earlier experiment of the profile a conflict.
#[test]
fn digests_of_the_embedded_profiles_are_frozen() {
    let profiles = Profiles::embedded();
    for (name, digest) in [
        ("standard-v1", "3fc9bc59dafd4f72fd1ae4e8c6ec8d076cf19129017d5cb50a2f33d9d63fc66a"),
        ("long-v1", "8ffe4cb50a9cd7a3b87b0dcbc904af7b5592dcf6e1d1b4c6c001f4c60d544db4"),
    ] {
        assert_eq!(profiles.get(name).unwrap().digest().to_hex(), digest, "{name}");
    }
}

#[test]
fn the_canonical_form_has_defaults_and_no_absent_fields() {
    assert_eq!(
        serde_json::to_string(&parse(SMALL)).unwrap(),
        concat!(
            r#"{"schema_version":"profile.v1","name":"small","resources":{"#,
            r#""stage":{"cpu":"500m","memory":"256Mi","ephemeral_storage":"256Mi"},"#,
            r#""run":{"cpu":"1","memory":"1Gi","ephemeral_storage":"1Gi"},"#,
            r#""publish":{"cpu":"250m","memory":"256Mi","ephemeral_storage":"256Mi"}},"#,
            r#""volumes":{"inputs":"256Mi","output":"128Mi","scratch":"256Mi"},"#,
            r#""allowances":{"queue":0,"pending":60,"pull":60,"staging":60,"publication":30,"#,
            r#""grace":31,"active_deadline":600},"on_disruption":"fail"}"#
        )
    );
}

#[test]
fn respelling_keeps_the_digest() {
    let digest = parse(SMALL).digest();
    for respelt in [
        SMALL.replace("1Gi", "'1024Mi'").replace("cpu: 1,", "cpu: 1000m, "),
        SMALL.replace("memory: 1Gi", "memory: 1073741824"),
        SMALL.lines().rev().fold(String::from("# turned\n"), |text, line| text + line + "\n"),
        format!("{SMALL}on_disruption: fail\nlabels: {{}}\ncaches: []\nproxy: {{}}\n"),
        SMALL.replace("{pending", "{queue: 0, pending"),
        format!("{SMALL}harness_image: {IMAGE}\n"),
    ] {
        assert_eq!(parse(&respelt).digest(), digest, "{respelt}");
    }
}

#[test]
fn every_other_change_changes_the_digest() {
    let mut digests = BTreeMap::from([(parse(SMALL).digest(), SMALL.to_owned())]);
    for changed in [
        SMALL.replace("cpu: 1,", "cpu: 2,"),
        SMALL.replace("small", "other"),
        SMALL.replace("pending: 60", "pending: 61"),
        format!("{SMALL}description: x\n"),
        format!("{SMALL}on_disruption: restart\n"),
        format!("{SMALL}labels: {{a: b}}\n"),
        format!("{SMALL}node_selector: {{a: b}}\n"),
        format!("{SMALL}shared_memory: 64Mi\n"),
        format!("{SMALL}allowed_runner_secrets: [a]\n"),
        format!("{SMALL}image_pull_secrets: [a]\n"),
    ] {
        let earlier = digests.insert(parse(&changed).digest(), changed.clone());
        assert_eq!(earlier, None, "{changed}");
    }
}

#[test]
fn sets_of_profiles() {
    let mut profiles = Profiles::embedded();
    profiles.add_file("small.yaml", SMALL.as_bytes()).unwrap();
    let replacement = SMALL.replace("small", "standard-v1");
    profiles.add_file("standard.yaml", replacement.as_bytes()).unwrap();
    assert_eq!(profiles.get("standard-v1").unwrap().largest_budget(), 359);
    assert_eq!(profiles.file_of("standard-v1"), Some("standard.yaml"));
    assert_eq!(profiles.file_of("long-v1"), None);
    assert!(profiles.get("absent").is_none());
    let fault = profiles.find("absent").unwrap_err();
    assert_eq!(fault.found, "the profile \"absent\"");
    assert_eq!(fault.allowed, "`long-v1`, `small`, `standard-v1`");

    let again = profiles.add_file("again.yaml", SMALL.as_bytes()).unwrap_err();
    assert_eq!(again[0].fault.code.name, "profile-name-duplicate");
    assert_eq!(again[0].fault.found, "profile `small`, which \"small.yaml\" gives as well");
    assert!(profiles.add_file("bad.yaml", b"a: [").is_err());

    let fitting = |budget| -> Vec<_> {
        profiles.that_fit(budget).into_iter().map(|profile| profile.name.to_string()).collect()
    };
    assert_eq!(fitting(359), ["small", "standard-v1", "long-v1"]);
    assert_eq!(fitting(360), ["long-v1"]);
    assert!(fitting(86_401).is_empty());

    let remedy = |budget| {
        let small = profiles.find("small").unwrap();
        profiles.times(small, budget).unwrap_err().remedy
    };
    assert_eq!(remedy(360), "lower the budget, or choose a profile that fits: `long-v1`");
    assert_eq!(remedy(86_401), "lower the budget; no known profile fits it");
}

#[test]
fn harness_images_are_given_to_those_without() {
    let own = IMAGE.replace("registry", "own");
    let mut profiles = Profiles::embedded();
    profiles.add_file("small", format!("{SMALL}harness_image: {own}\n").as_bytes()).unwrap();
    let profiles = profiles.with_harness_image(IMAGE).unwrap();
    let image = |name| profiles.get(name).unwrap().harness_image.as_deref();
    assert_eq!(image("standard-v1"), Some(IMAGE));
    assert_eq!(image("small"), Some(&*own));
    let fault = Profiles::embedded().with_harness_image("registry.example/harness:1").unwrap_err();
    assert_eq!(fault.code.name, "profile-harness-image-not-pinned");
}

proptest! {
    #[test]
    fn damaged_profiles_are_taken_or_have_problems(
        start in 0..COMPLETE.len(), length in 0..40_usize, insert in "[ -~\\n]{0,4}"
    ) {
        let mut bytes = COMPLETE.as_bytes().to_vec();
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, insert.bytes());
        match Profile::parse(&bytes) {
            Ok(profile) => prop_assert!(profile.largest_budget() > 0),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_taken_or_have_problems(bytes in any::<Vec<u8>>()) {
        prop_assert!(Profile::parse(&bytes).is_err_and(|problems| !problems.is_empty()));
    }
}
