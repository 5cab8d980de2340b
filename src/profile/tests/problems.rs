//! Tests that every problem is found and reported where it stands.

use std::collections::BTreeSet;

use super::*;

/// The code and pointer of each problem.
#[track_caller]
fn problems(yaml: &str) -> Vec<(&'static str, String)> {
    let problems = Profile::parse(yaml.as_bytes()).expect_err(yaml);
    problems.into_iter().map(|problem| (problem.fault.code.name, problem.pointer)).collect()
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
    ("shared_memory: 2Gi", "profile-storage-too-small", "/shared_memory"),
    ("shared_memory: 0", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 512m", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 20000000.5", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: 64MB", "profile-quantity-invalid", "/shared_memory"),
    ("shared_memory: [64Mi]", "profile-type-wrong", "/shared_memory"),
    ("queue: research", "profile-queue-without-allowance", "/queue"),
    ("queue: a.b", "profile-name-invalid", "/queue"),
    ("on_disruption: Fail", "profile-value-unknown", "/on_disruption"),
    ("priority_class_name: system-node-critical", "profile-name-reserved", "/priority_class_name"),
    ("runtime_class_name: gVisor", "profile-name-invalid", "/runtime_class_name"),
    ("image_pull_secrets: [a, B]", "profile-name-invalid", "/image_pull_secrets/1"),
    ("image_pull_secrets: [{name: a}]", "profile-type-wrong", "/image_pull_secrets/0"),
    ("image_pull_secrets: a", "profile-type-wrong", "/image_pull_secrets"),
    ("image_pull_secrets: [a, b, a]", "profile-entry-repeated", "/image_pull_secrets"),
    ("allowed_runner_secrets: [a, a]", "profile-entry-repeated", "/allowed_runner_secrets"),
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
        "endpoint_aliases: {data.example.com: 'https://b.s3.us-west-2.amazonaws.com'}",
        "profile-alias-invalid",
        "/endpoint_aliases",
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
    ("output: 128Mi", "output: 257Mi", "profile-storage-too-small", "/volumes"),
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
    seen.extend(["profile-budget-over-deadline", "profile-name-duplicate", "profile-unknown"]);
    assert_eq!(seen, names);
    for code in CODES {
        assert!(code.name.starts_with("profile-"), "{code}");
        assert!(!code.summary.ends_with('.') && code.explanation.ends_with('.'), "{code}");
    }
}

#[test]
fn what_is_no_mapping_is_no_profile() {
    for (yaml, code) in [
        ("", "profile-type-wrong"),
        ("# nothing\n", "profile-type-wrong"),
        ("- a\n", "profile-type-wrong"),
        ("7\n", "profile-type-wrong"),
        ("? [a]\n: b\n", "profile-yaml-invalid"),
        ("\u{0}", "profile-yaml-invalid"),
    ] {
        assert_eq!(problems(yaml), [(code, String::new())], "{yaml:?}");
    }
}

#[test]
fn spellings_of_yaml_that_make_no_difference() {
    let digest = parse(SMALL).digest();
    for same in [
        SMALL.replace('\n', "\r\n"),
        format!("\u{feff}{SMALL}"),
        format!("---\n{SMALL}...\n"),
        SMALL.replace("name: small", "name: !!str small"),
        SMALL.replace("name: small", "\"name\": 'small'"),
        SMALL.replace("{pending: 60, pull: 60", "{pending: &a 60, pull: *a"),
    ] {
        assert_eq!(parse(&same).digest(), digest, "{same:?}");
    }
    let binary = SMALL.replace("name: small", "name: !!binary c21hbGw=");
    assert_eq!(problems(&binary), [("profile-name-invalid", "/name".into())]);
}
