//! Tests of whole profiles: the embedded ones, the problems, the digest, the schema and the documentation.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

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

/// The code and pointer of each problem.
#[track_caller]
fn problems(yaml: &str) -> Vec<(&'static str, String)> {
    let problems = Profile::parse(yaml.as_bytes()).expect_err(yaml);
    problems.into_iter().map(|problem| (problem.fault.code.name, problem.pointer)).collect()
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
        ("long-v1", "?"),
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
        format!("{SMALL}on_disruption: fail\nlabels: {{}}\ncaches: []\n"),
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

/// Text appended to the smallest profile, and the problem that it causes.
const BAD_FIELDS: &[(&str, &str, &str)] = &[
    ("gpus: 1", "profile-field-unknown", "/gpus"),
    ("a/b~c: 1", "profile-field-unknown", "/a~1b~0c"),
    ("description: ''", "profile-description-invalid", "/description"),
    ("description: \"a\\u202eb\"", "profile-description-invalid", "/description"),
    ("description: \"a\\nb\"", "profile-description-invalid", "/description"),
    ("description: 7", "profile-type-wrong", "/description"),
    ("labels:", "profile-type-wrong", "/labels"),
    ("labels: {team: 7}", "profile-type-wrong", "/labels/team"),
    ("labels: {team: true}", "profile-type-wrong", "/labels/team"),
    ("labels: {-a: b}", "profile-label-invalid", "/labels/-a"),
    ("labels: {a: b c}", "profile-label-invalid", "/labels/a"),
    ("labels: {research.harness/x: b}", "profile-label-reserved", "/labels/research.harness~1x"),
    (
        "labels: {app.kubernetes.io/managed-by: b}",
        "profile-label-reserved",
        "/labels/app.kubernetes.io~1managed-by",
    ),
    ("labels: {kubernetes.io/x: b}", "profile-label-reserved", "/labels/kubernetes.io~1x"),
    (
        "labels: {batch.kubernetes.io/x: b}",
        "profile-label-reserved",
        "/labels/batch.kubernetes.io~1x",
    ),
    ("labels: {k8s.io/x: b}", "profile-label-reserved", "/labels/k8s.io~1x"),
    (
        "labels: {kueue.x-k8s.io/queue-name: b}",
        "profile-label-reserved",
        "/labels/kueue.x-k8s.io~1queue-name",
    ),
    ("labels: {job-name: b}", "profile-label-reserved", "/labels/job-name"),
    ("shared_memory: 2Gi", "profile-storage-too-small", ""),
    ("shared_memory: 0", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 512m", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 20000000.5", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 64MB", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: [64Mi]", "profile-type-wrong", "/shared_memory"),
    ("queue: research", "profile-queue-without-allowance", ""),
    ("queue: a.b", "profile-name-invalid", "/queue"),
    ("on_disruption: Fail", "profile-value-unknown", "/on_disruption"),
    ("priority_class_name: system-node-critical", "profile-name-reserved", "/priority_class_name"),
    ("runtime_class_name: gVisor", "profile-name-invalid", "/runtime_class_name"),
    ("image_pull_secrets: [a, B]", "profile-name-invalid", "/image_pull_secrets/1"),
    ("image_pull_secrets: [{name: a}]", "profile-type-wrong", "/image_pull_secrets/0"),
    ("image_pull_secrets: a", "profile-type-wrong", "/image_pull_secrets"),
    (
        "allowed_runner_secrets: [prediction-0]",
        "profile-name-reserved",
        "/allowed_runner_secrets/0",
    ),
    ("tolerations: [{operator: Exists}]", "profile-field-missing", "/tolerations/0"),
    (
        "tolerations: [{key: a, operator: Exists, value: b}]",
        "profile-toleration-invalid",
        "/tolerations/0",
    ),
    (
        "tolerations: [{key: a, operator: exists}]",
        "profile-value-unknown",
        "/tolerations/0/operator",
    ),
    (
        "tolerations: [{key: a, effect: NoSchedule, toleration_seconds: 5}]",
        "profile-toleration-invalid",
        "/tolerations/0",
    ),
    (
        "tolerations: [{key: a, effect: NoExecute, toleration_seconds: -5}]",
        "profile-toleration-invalid",
        "/tolerations/0/toleration_seconds",
    ),
    ("affinity: {}", "profile-affinity-invalid", "/affinity"),
    ("affinity: {node: {}}", "profile-affinity-invalid", "/affinity/node"),
    (
        "affinity: {node: {required: [{match_expressions: []}]}}",
        "profile-affinity-invalid",
        "/affinity/node/required/0/match_expressions",
    ),
    (
        "affinity: {node: {required: [{match_expressions: [{key: a, operator: In}]}]}}",
        "profile-affinity-invalid",
        "/affinity/node/required/0/match_expressions/0",
    ),
    (
        "affinity: {node: {required: [{match_expressions: [{key: a, operator: Gt, values: [x]}]}]}}",
        "profile-affinity-invalid",
        "/affinity/node/required/0/match_expressions/0",
    ),
    (
        "affinity: {node: {preferred: [{weight: 101, match_expressions: [{key: a, operator: Exists}]}]}}",
        "profile-affinity-invalid",
        "/affinity/node/preferred/0/weight",
    ),
    ("affinity: {pod_anti: {}}", "profile-affinity-invalid", "/affinity/pod_anti"),
    (
        "affinity: {pod_anti: {required: [{topology_key: a, match_labels: {}}]}}",
        "profile-affinity-invalid",
        "/affinity/pod_anti/required/0/match_labels",
    ),
    ("proxy: {ftp_proxy: x}", "profile-field-unknown", "/proxy/ftp_proxy"),
    (
        "proxy: {https_proxy: 'http://user:secret@proxy:3128'}",
        "profile-proxy-invalid",
        "/proxy/https_proxy",
    ),
    ("proxy: {http_proxy: 'proxy:3128'}", "profile-proxy-invalid", "/proxy/http_proxy"),
    ("proxy: {http_proxy: 'http://proxy/path'}", "profile-proxy-invalid", "/proxy/http_proxy"),
    ("proxy: {http_proxy: 'http://proxy?secret'}", "profile-proxy-invalid", "/proxy/http_proxy"),
    ("proxy: {http_proxy: 'http:\\\\proxy'}", "profile-proxy-invalid", "/proxy/http_proxy"),
    ("proxy: {http_proxy: 'socks5://proxy:1'}", "profile-proxy-invalid", "/proxy/http_proxy"),
    ("proxy: {no_proxy: 'a, b'}", "profile-proxy-invalid", "/proxy/no_proxy"),
    ("ca_config_map: {name: ca}", "profile-field-missing", "/ca_config_map"),
    ("ca_config_map: {name: ca, key: ../ca}", "profile-name-invalid", "/ca_config_map/key"),
    (
        "endpoint_aliases: {data: 'https://b.s3.amazonaws.com'}",
        "profile-alias-invalid",
        "/endpoint_aliases/data",
    ),
    (
        "endpoint_aliases: {data.example: 'http://b.s3.amazonaws.com'}",
        "profile-alias-invalid",
        "/endpoint_aliases/data.example",
    ),
    (
        "endpoint_aliases: {data.example: 'https://b.example/?secret'}",
        "profile-alias-invalid",
        "/endpoint_aliases/data.example",
    ),
    (
        "endpoint_aliases: {data.example: 'https://u:secret@b.example/'}",
        "profile-alias-invalid",
        "/endpoint_aliases/data.example",
    ),
    (
        "harness_image: registry.example/harness:1",
        "profile-harness-image-not-pinned",
        "/harness_image",
    ),
];

#[test]
fn bad_fields_are_reported_where_they_stand() {
    for (line, code, pointer) in BAD_FIELDS {
        let found = problems(&format!("{SMALL}{line}\n"));
        assert_eq!(found, [(*code, (*pointer).to_owned())], "{line}");
    }
}

/// What is replaced in the smallest profile, and the problem that it causes.
const BAD_CHANGES: &[(&str, &str, &str, &str)] = &[
    ("profile.v1", "profile.v2", "profile-version-unsupported", "/schema_version"),
    ("schema_version: profile.v1\n", "", "profile-field-missing", ""),
    ("name: small", "name: Small", "profile-name-invalid", "/name"),
    ("cpu: 1", "cpu: 1u", "profile-quantity-invalid", "/resources/run/cpu"),
    ("cpu: 1", "cpu: 1.0001", "profile-quantity-invalid", "/resources/run/cpu"),
    ("cpu: 1", "cpu: -1", "profile-quantity-invalid", "/resources/run/cpu"),
    ("cpu: 1", "cpu: .inf", "profile-yaml-invalid", ""),
    (
        "cpu: 1",
        "extended: {gpu: 1}, cpu: 1",
        "profile-resource-name-invalid",
        "/resources/run/extended/gpu",
    ),
    (
        "cpu: 1",
        "extended: {kubernetes.io/gpu: 1}, cpu: 1",
        "profile-resource-name-invalid",
        "/resources/run/extended/kubernetes.io~1gpu",
    ),
    (
        "cpu: 1",
        "extended: {requests.a.b/gpu: 1}, cpu: 1",
        "profile-resource-name-invalid",
        "/resources/run/extended/requests.a.b~1gpu",
    ),
    (
        "cpu: 1",
        "extended: {nvidia.com/gpu: 1.5}, cpu: 1",
        "profile-quantity-invalid",
        "/resources/run/extended/nvidia.com~1gpu",
    ),
    (
        "cpu: 1",
        "extended: {nvidia.com/gpu: 0}, cpu: 1",
        "profile-quantity-invalid",
        "/resources/run/extended/nvidia.com~1gpu",
    ),
    ("cpu: 1", "limits: {}, cpu: 1", "profile-field-unknown", "/resources/run/limits"),
    ("output: 128Mi", "output: 257Mi", "profile-storage-too-small", ""),
    ("pending: 60", "pending: 0", "profile-seconds-out-of-range", "/allowances/pending"),
    ("pending: 60", "pending: 1.5", "profile-seconds-out-of-range", "/allowances/pending"),
    ("pending: 60", "pending: 604801", "profile-seconds-out-of-range", "/allowances/pending"),
    (
        "pending: 60",
        "pending: 99999999999999999999",
        "profile-seconds-out-of-range",
        "/allowances/pending",
    ),
    ("pending: 60", "pending: 60s", "profile-type-wrong", "/allowances/pending"),
    ("grace: 31", "grace: 30", "profile-seconds-out-of-range", "/allowances/grace"),
    (
        "publication: 30",
        "publication: 29",
        "profile-seconds-out-of-range",
        "/allowances/publication",
    ),
    ("active_deadline: 600", "active_deadline: 241", "profile-deadline-too-short", "/allowances"),
];

#[test]
fn bad_values_are_reported_where_they_stand() {
    for (before, after, code, pointer) in BAD_CHANGES {
        let found = problems(&SMALL.replacen(before, after, 1));
        assert_eq!(found, [(*code, (*pointer).to_owned())], "{after}");
    }
    let last = SMALL.replace("active_deadline: 600", "active_deadline: 242");
    assert_eq!(parse(&last).largest_budget(), 1);
}

#[test]
fn caches_hide_nothing() {
    let cache = |path: &str| format!("{SMALL}caches: [{{claim: models, mount_path: {path:?}}}]\n");
    for good in ["/cache", "/opt/models-2.1", "/usr/share/models", "/harnesses", "/home/x/.cache"] {
        parse(&cache(good));
    }
    for bad in [
        "",
        "/",
        "cache",
        "/cache/",
        "//cache",
        "/a/../b",
        "/a/./b",
        "/a:b",
        "/a b",
        "/a\n",
        "/é",
        "/harness",
        "/harness/inputs",
        "/tmp",
        "/tmp/x",
        "/dev/shm",
        "/proc/1",
        "/sys",
        "/etc/ssl",
        "/usr",
        "/var",
        "/var/run/x",
        "/usr/lib/x",
        "/bin",
    ] {
        let found = problems(&cache(bad));
        assert_eq!(found, [("profile-cache-path-invalid", "/caches/0/mount_path".into())], "{bad}");
    }
    let nested = "caches: [{claim: a, mount_path: /a/b}, {claim: b, mount_path: /a}]\n";
    let found = problems(&format!("{SMALL}{nested}"));
    assert_eq!(found, [("profile-cache-path-invalid", "/caches".into())]);
}

#[test]
fn all_problems_of_a_file_come_at_once() {
    let yaml = SMALL.replace("small", "SMALL").replace("pending: 60", "pending: 0")
        + "labels: {team: 7, job-name: x}\ngpus: 1\nimage_pull_secrets: [A, B]\nqueue: _\n";
    let found: BTreeSet<_> = problems(&yaml).into_iter().map(|(_, pointer)| pointer).collect();
    let expected = [
        "/allowances/pending",
        "/gpus",
        "/image_pull_secrets/0",
        "/image_pull_secrets/1",
        "/labels/job-name",
        "/labels/team",
        "/name",
        "/queue",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}

#[test]
fn problems_have_a_line_and_a_column() {
    let yaml = format!("{SMALL}labels:\n  team: 7\n  job-name: x\n");
    let problems = Profile::parse(yaml.as_bytes()).unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| problem.position.map(|place| (place.line, place.column)))
        .collect();
    assert_eq!(places, [Some((7, 9)), Some((8, 3))]);
}

#[test]
fn no_message_shows_a_credential() {
    for (line, _, _) in BAD_FIELDS.iter().filter(|(line, _, _)| line.contains("secret")) {
        for problem in Profile::parse(format!("{SMALL}{line}\n").as_bytes()).unwrap_err() {
            let text = format!("{problem:?}");
            assert!(!text.replace("secrets", "").contains("secret"), "{text}");
        }
    }
}

#[test]
fn lists_are_bounded() {
    let names = |count: u32| (0..count).map(|n| format!("s{n}")).collect::<Vec<_>>().join(", ");
    parse(&format!("{SMALL}allowed_runner_secrets: [{}]\n", names(64)));
    let found = problems(&format!("{SMALL}allowed_runner_secrets: [{}]\n", names(65)));
    assert_eq!(found, [("profile-too-large", "/allowed_runner_secrets".into())]);
}

#[test]
fn every_code_is_listed_once_and_can_happen() {
    let names: BTreeSet<_> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(names.len(), CODES.len());
    let mut seen: BTreeSet<_> = BAD_FIELDS.iter().map(|(_, code, _)| *code).collect();
    seen.extend(BAD_CHANGES.iter().map(|(_, _, code, _)| *code));
    // These have tests of their own.
    seen.extend(["profile-cache-path-invalid", "profile-too-large", "profile-yaml-invalid"]);
    seen.extend(["profile-budget-over-deadline", "profile-name-duplicate"]);
    assert_eq!(seen, names);
    for code in CODES {
        assert!(code.name.starts_with("profile-"), "{code}");
        assert!(!code.summary.ends_with('.') && code.explanation.ends_with('.'), "{code}");
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

/// The names of all properties in a schema or of all keys in a document, free keys included.
fn keys(value: &Value, only_below: Option<&str>, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if only_below.is_none() {
                    found.insert(key.clone());
                } else if only_below == Some(key) {
                    found.extend(
                        inner.as_object().into_iter().flatten().map(|(name, _)| name.clone()),
                    );
                }
                keys(inner, only_below, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, only_below, found)),
        _ => (),
    }
}

/// The schema of what the parser takes: a field is absent or has a value, and is never null.
fn schema() -> Value {
    let mut schema = schemars::schema_for!(Profile).to_value();
    without_null(&mut schema);
    schema
}

fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // The name of a Rust type says nothing to a reader of the schema.
            if map.get("format").is_some_and(|format| format == "uint32") {
                map.remove("format");
            }
            if let Some(Value::Array(types)) = map.get("type")
                && let [only, null] = types.as_slice()
                && null == "null"
            {
                let only = only.clone();
                map.insert("type".into(), only);
            }
            if let Some(Value::Array(mut choices)) = map.remove("anyOf") {
                assert_eq!(choices.pop(), Some(serde_json::json!({ "type": "null" })));
                let Some(Value::Object(only)) = choices.pop() else { panic!("an optional type") };
                map.extend(only);
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => (),
    }
}

#[test]
fn the_committed_schema_is_current() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/profile.json");
        std::fs::write(path, text).unwrap();
        return;
    }
    assert!(text == SCHEMA, "schemas/profile.json is old: run the tests with UPDATE_SCHEMAS=1");
}

#[test]
fn parser_and_schema_have_the_same_fields() {
    let (mut properties, mut used) = (BTreeSet::new(), BTreeSet::new());
    keys(&schema(), Some("properties"), &mut properties);
    let complete = serde_json::to_value(parse(COMPLETE)).unwrap();
    keys(&complete, None, &mut used);
    let unused: Vec<_> = properties.difference(&used).collect();
    assert!(unused.is_empty(), "the complete profile lacks {unused:?}");

    let problem = Profile::parse(format!("{SMALL}unknown: 1\n").as_bytes()).unwrap_err().remove(0);
    let known: BTreeSet<_> = problem.fault.allowed.split(", ").collect();
    let schema = schema();
    let root: BTreeSet<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(known, root);
}

#[test]
fn the_documentation_is_true() {
    let text = include_str!("../../docs/profiles.md");
    let examples: Vec<_> = text.split("```yaml\n").skip(1).collect();
    assert!(examples.len() >= 2);
    for example in examples {
        let (yaml, _) = example.split_once("```").unwrap();
        parse(yaml);
    }
    let mut properties = BTreeSet::new();
    keys(&schema(), Some("properties"), &mut properties);
    for property in properties {
        assert!(text.contains(&format!("`{property}`")), "{property} is not documented");
    }
    for profile in Profiles::embedded().iter() {
        assert!(text.contains(&profile.digest().to_hex()), "the digest of {}", profile.name);
    }
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
