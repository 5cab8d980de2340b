//! The pod's security, which no field of a profile or submission can weaken, and the boundary between the steps.

use proptest::prelude::*;
use serde_json::{Value, json};

use harness::profile::Profile;
use harness::render::Bundle;

use crate::bundles::{self, SITE};
use crate::form::{Form, signed};

/// Volume types of the restricted Pod Security Standard.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn pod(bundle: &Bundle) -> &Value {
    &bundle.job()["spec"]["template"]["spec"]
}

fn containers(pod: &Value) -> Vec<&Value> {
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .filter_map(|kind| pod[kind].as_array())
        .flatten()
        .collect()
}

fn check(holds: bool, rule: &'static str, broken: &mut Vec<&'static str>) {
    if !holds {
        broken.push(rule);
    }
}

fn is_off(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}

/// The controls of the restricted level (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>) that
/// the pod breaks.
#[expect(
    clippy::too_many_lines,
    reason = "one control after the other, as the standard lists them"
)]
fn broken_controls(template: &Value) -> Vec<&'static str> {
    let pod = &template["spec"];
    let containers = containers(pod);
    let contexts: Vec<&Value> = containers
        .iter()
        .map(|container| &container["securityContext"])
        .chain([&pod["securityContext"]])
        .collect();
    let every = |test: &dyn Fn(&Value) -> bool| contexts.iter().all(|context| test(context));
    let each = |test: &dyn Fn(&Value) -> bool| containers.iter().all(|container| test(container));
    let mut broken = Vec::new();
    let mut rule = |name, holds| check(holds, name, &mut broken);
    rule("host process", every(&|context| is_off(&context["windowsOptions"]["hostProcess"])));
    rule(
        "host namespaces",
        ["hostNetwork", "hostPID", "hostIPC"].iter().all(|field| is_off(&pod[field])),
    );
    rule("privileged", each(&|container| is_off(&container["securityContext"]["privileged"])));
    rule(
        "capabilities",
        each(&|container| {
            let capabilities = &container["securityContext"]["capabilities"];
            capabilities["drop"].as_array().is_some_and(|drop| drop.contains(&json!("ALL")))
                && capabilities["add"].as_array().is_none_or(Vec::is_empty)
        }),
    );
    rule(
        "volume types",
        pod["volumes"].as_array().unwrap().iter().all(|volume| {
            let sources: Vec<&String> =
                volume.as_object().unwrap().keys().filter(|key| *key != "name").collect();
            sources.len() == 1 && VOLUMES.contains(&sources[0].as_str())
        }),
    );
    rule(
        "host ports",
        each(&|container| {
            container["ports"]
                .as_array()
                .is_none_or(|ports| ports.iter().all(|port| port["hostPort"].is_null()))
        }),
    );
    rule(
        "host of probes and hooks",
        each(&|container| {
            ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"]
                .iter()
                .all(|field| container[field].is_null())
        }),
    );
    rule(
        "AppArmor",
        every(&|context| {
            matches!(
                context["appArmorProfile"]["type"].as_str(),
                None | Some("RuntimeDefault" | "Localhost")
            )
        }) && template["metadata"]["annotations"].as_object().is_none_or(|annotations| {
            !annotations.keys().any(|key| key.contains("apparmor") || key.contains("seccomp"))
        }),
    );
    rule("SELinux", every(&|context| context["seLinuxOptions"].is_null()));
    rule("proc mount", every(&|context| context["procMount"].is_null()));
    rule("sysctls", pod["securityContext"]["sysctls"].is_null());
    rule(
        "privilege escalation",
        each(&|container| container["securityContext"]["allowPrivilegeEscalation"] == json!(false)),
    );
    rule(
        "non-root",
        pod["securityContext"]["runAsNonRoot"] == json!(true)
            && each(&|container| container["securityContext"]["runAsNonRoot"] != json!(false)),
    );
    rule(
        "non-root user",
        every(&|context| context["runAsUser"] != json!(0))
            && pod["securityContext"]["runAsUser"].as_u64().is_some_and(|user| user > 0),
    );
    rule(
        "seccomp",
        pod["securityContext"]["seccompProfile"] == json!({"type": "RuntimeDefault"})
            && each(&|container| container["securityContext"]["seccompProfile"].is_null()),
    );
    // What harness asks for beyond the standard.
    rule(
        "no token",
        pod["automountServiceAccountToken"] == json!(false)
            && pod["serviceAccountName"].is_null()
            && pod["serviceAccount"].is_null(),
    );
    rule("no service links", pod["enableServiceLinks"] == json!(false));
    rule(
        "read-only root",
        each(&|container| container["securityContext"]["readOnlyRootFilesystem"] == json!(true)),
    );
    rule("own processes", is_off(&pod["shareProcessNamespace"]));
    rule(
        "own names",
        ["hostAliases", "dnsConfig", "nodeName", "hostname"]
            .iter()
            .all(|field| pod[field].is_null()),
    );
    broken
}

/// What `run` sees of any Secret, signed URL or service account.
fn assert_boundary(bundle: &Bundle, runner_secret: Option<&str>) {
    let pod = pod(bundle);
    let volumes = pod["volumes"].as_array().unwrap();
    let names: Vec<&str> =
        containers(pod).iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stage", "publish", "run"]);
    let run = containers(pod)[2];
    for mount in run["volumeMounts"].as_array().unwrap() {
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        for source in ["secret", "projected", "configMap", "downwardAPI", "csi"] {
            assert!(volume[source].is_null(), "run mounts {volume}");
        }
        let writable =
            ["output", "scratch", "shared-memory"].map(|name| json!(name)).contains(&mount["name"]);
        assert_eq!(mount["readOnly"] == json!(true), !writable, "{mount}");
    }
    assert!(run["env"].is_null(), "run has the environment of its image");
    let expected =
        runner_secret.map(|name| json!([{"secretRef": {"name": name, "optional": false}}]));
    assert_eq!(run.get("envFrom"), expected.as_ref());
    for other in &containers(pod)[..2] {
        assert!(other["envFrom"].is_null());
        let env = other["env"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(env.iter().all(|variable| variable["valueFrom"]["secretKeyRef"].is_null()));
    }
    // `stage` never sees the URL that writes, `publish` never those that read inputs.
    let keys = |name: &str| {
        let volume = volumes.iter().find(|volume| volume["name"] == json!(name)).unwrap();
        volume["secret"]["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["key"].clone())
            .collect::<Vec<_>>()
    };
    assert!(!keys("stage-urls").contains(&json!("result_put_url")));
    for input in ["mission_url", "snapshot_url", "resume_url"] {
        assert!(!keys("publish-urls").contains(&json!(input)));
    }
}

#[test]
fn the_controls_hold_for_every_golden_bundle() {
    for (name, form) in bundles::all() {
        let bundle = bundles::bundle(&form);
        assert_eq!(
            broken_controls(&bundle.job()["spec"]["template"]),
            Vec::<&str>::new(),
            "{name}"
        );
        assert_boundary(&bundle, bundles::has(&form, "runner_secret_name").then_some("model-hub"));
    }
}

/// So that the table above is known to find what it looks for.
#[test]
fn the_controls_find_each_weakening() {
    let weakenings = [
        ("/spec", "hostNetwork", json!(true), "host namespaces"),
        ("/spec", "hostPID", json!(true), "host namespaces"),
        ("/spec", "shareProcessNamespace", json!(true), "own processes"),
        ("/spec", "serviceAccountName", json!("admin"), "no token"),
        ("/spec", "automountServiceAccountToken", json!(true), "no token"),
        ("/spec", "enableServiceLinks", json!(true), "no service links"),
        ("/spec", "hostAliases", json!([]), "own names"),
        ("/spec/securityContext", "runAsUser", json!(0), "non-root user"),
        ("/spec/securityContext", "runAsNonRoot", json!(false), "non-root"),
        ("/spec/securityContext", "seccompProfile", json!({"type": "Unconfined"}), "seccomp"),
        ("/spec/securityContext", "sysctls", json!([]), "sysctls"),
        ("/spec/securityContext", "seLinuxOptions", json!({}), "SELinux"),
        ("/spec/securityContext", "windowsOptions", json!({"hostProcess": true}), "host process"),
        ("/spec/volumes/0", "hostPath", json!({"path": "/"}), "volume types"),
        ("/spec/containers/1/securityContext", "privileged", json!(true), "privileged"),
        (
            "/spec/containers/1/securityContext",
            "capabilities",
            json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
            "capabilities",
        ),
        ("/spec/containers/1/securityContext", "capabilities", json!({}), "capabilities"),
        (
            "/spec/containers/1/securityContext",
            "allowPrivilegeEscalation",
            json!(true),
            "privilege escalation",
        ),
        (
            "/spec/containers/1/securityContext",
            "readOnlyRootFilesystem",
            json!(false),
            "read-only root",
        ),
        ("/spec/containers/1/securityContext", "procMount", json!("Unmasked"), "proc mount"),
        (
            "/spec/containers/1/securityContext",
            "appArmorProfile",
            json!({"type": "Unconfined"}),
            "AppArmor",
        ),
        ("/spec/initContainers/0/securityContext", "runAsUser", json!(0), "non-root user"),
        ("/spec/containers/0", "ports", json!([{"hostPort": 80}]), "host ports"),
        ("/spec/containers/0", "lifecycle", json!({"preStop": {}}), "host of probes and hooks"),
    ];
    let bundle = bundles::bundle(&Form::full());
    for (path, field, value, rule) in weakenings {
        let mut template = bundle.job()["spec"]["template"].clone();
        template.pointer_mut(path).unwrap()[field] = value;
        assert_eq!(broken_controls(&template), [rule], "{path}/{field}");
    }
}

/// What a site might try; none of it is a field of the schema.
#[test]
fn a_profile_has_no_field_that_weakens_the_pod() {
    for field in [
        "security_context: {privileged: true}",
        "host_network: true",
        "host_pid: true",
        "host_ipc: true",
        "host_users: true",
        "service_account: admin",
        "service_account_name: admin",
        "annotations: {a: b}",
        "env: {A: b}",
        "volumes_from: [x]",
        "host_path: /",
        "capabilities: [SYS_ADMIN]",
        "run_as_user: 0",
        "init_containers: []",
        "sidecars: []",
        "sysctls: []",
        "share_process_namespace: true",
        "node_name: n",
        "termination_grace_period: 99",
        "ttl: 1",
        "backoff_limit: 3",
        "image: x",
        "command: [sh]",
        "dns: {}",
    ] {
        let problems = Profile::parse(format!("{SITE}{field}\n").as_bytes()).unwrap_err();
        let codes: Vec<&str> = problems.iter().map(|problem| problem.fault.code.name).collect();
        assert_eq!(codes, ["profile-field-unknown"], "{field}");
    }
}

/// The optional fields of a profile, each in several spellings of which some must be refused.
const OPTIONAL_FIELDS: &[&[&str]] = &[
    &["description: plain", "description: \"run: {privileged: true}\""],
    &["shared_memory: 1Gi", "shared_memory: 100Ti"],
    &["on_disruption: fail", "on_disruption: restart"],
    &["queue: research", "queue: \"a/b\""],
    &["node_selector: {a: b}", "node_selector: {kubernetes.io/hostname: master}"],
    &["affinity: {node: {required: [{match_expressions: [{key: a, operator: Exists}]}]}}"],
    &[
        "tolerations: [{operator: Exists}]",
        "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]",
    ],
    &["priority_class_name: research", "priority_class_name: system-node-critical"],
    &["runtime_class_name: gvisor", "runtime_class_name: Kata"],
    &["image_pull_secrets: [registry]", "image_pull_secrets: [prediction-abc]"],
    &[
        "labels: {cost-center: a}",
        "labels: {app.kubernetes.io/managed-by: me}",
        "labels: {research.harness/result-identity: x}",
        "labels: {pod-security.kubernetes.io/enforce: privileged}",
        "labels: {sidecar.istio.io/inject: \"true\"}",
    ],
    &["allowed_runner_secrets: [model-hub]", "allowed_runner_secrets: [model-hub, other]"],
    &[
        "proxy: {https_proxy: \"http://proxy.example:80\"}",
        "proxy: {https_proxy: \"http://u:p@proxy.example\"}",
    ],
    &["ca_config_map: {name: ca, key: ca.crt}", "ca_config_map: {name: ca, key: ../x}"],
    &[
        "caches: [{claim: models, mount_path: /cache}]",
        "caches: [{claim: models, mount_path: /harness/urls}]",
        "caches: [{claim: models, mount_path: /proc}]",
        "caches: [{claim: a, mount_path: /a}, {claim: b, mount_path: /b}]",
    ],
];

const REQUIRED_FIELDS: &str = "schema_version: profile.v1
name: site-gpu
resources:
  stage: {cpu: 1, memory: 512Mi, ephemeral_storage: 512Mi}
  run: {cpu: 1, memory: 60Gi, ephemeral_storage: 100Gi, extended: {example.com/gpu: 2}}
  publish: {cpu: 500m, memory: 512Mi, ephemeral_storage: 512Mi}
volumes: {inputs: 40Gi, output: 10Gi, scratch: 40Gi}
allowances: {queue: 60, pending: 240, pull: 180, staging: 180, publication: 120, grace: 60, active_deadline: 3600}
";

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: Some(Box::new(proptest::test_runner::FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_combination_of_profile_fields_weakens_the_pod(
        choices in OPTIONAL_FIELDS.iter().map(|field| 0..=field.len()).collect::<Vec<_>>(),
    ) {
        let mut yaml = REQUIRED_FIELDS.to_owned();
        for (field, choice) in OPTIONAL_FIELDS.iter().zip(&choices) {
            // The first choice leaves the field out. What the schema refuses is left out as well.
            if let Some(line) = choice.checked_sub(1).and_then(|index| field.get(index))
                && Profile::parse(format!("{yaml}{line}\n").as_bytes()).is_ok()
            {
                yaml.push_str(line);
                yaml.push('\n');
            }
        }
        let may_have_secret = yaml.contains("allowed_runner_secrets");
        let form = Form::full().with("resource_profile", "site-gpu");
        let form = if may_have_secret { form } else { form.without("runner_secret_name") };
        let bundle = bundles::render_with(&form, &bundles::profiles(&yaml), "research");
        prop_assert_eq!(broken_controls(&bundle.job()["spec"]["template"]), Vec::<&str>::new(), "{}", yaml);
        assert_boundary(&bundle, may_have_secret.then_some("model-hub"));
        prop_assert!(!yaml.contains("prediction-abc") && !yaml.contains("system-node-critical"));
        prop_assert_eq!(&bundle.job()["metadata"]["labels"]["app.kubernetes.io/managed-by"], &json!("harness"));
        let pod_labels = &bundle.job()["spec"]["template"]["metadata"]["labels"];
        prop_assert_eq!(&pod_labels["sidecar.istio.io/inject"], &json!("false"));
    }

    #[test]
    fn the_kubelet_passes_arguments_on_as_they_were_written(
        words in prop::collection::vec("[$()a-zA-Z{}\"'\\\\ é\n]{1,12}", 1..6),
    ) {
        let raw = serde_json::to_string(&words).unwrap();
        let bundle = bundles::bundle(&Form::minimal().set("runner_command", &raw));
        let args = pod(&bundle)["containers"][1]["args"].as_array().unwrap().clone();
        let expanded: Vec<String> = args.iter().map(|word| expand(word.as_str().unwrap())).collect();
        let command = expanded.iter().position(|word| word == "--").unwrap() + 1;
        prop_assert_eq!(&expanded[command..], &words[..]);
    }
}

/// What the kubelet makes of an argument where every variable is set: `k8s.io/kubernetes/third_party/forked/golang/expansion`.
fn expand(text: &str) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        expanded.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            expanded.push('$');
            rest = tail;
        } else if let Some((_, tail)) =
            after.strip_prefix('(').and_then(|name| name.split_once(')'))
        {
            expanded.push_str("EXPANDED");
            rest = tail;
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    expanded + rest
}

#[test]
fn every_argument_and_variable_survives_expansion() {
    assert_eq!(expand("$(HOME) $$(HOME) $HOME"), "EXPANDED $(HOME) $HOME");
    let bundle = bundles::bundle(&Form::full().with("resource_profile", "site-gpu"));
    for container in containers(pod(&bundle)) {
        let words =
            ["command", "args"].iter().filter_map(|field| container[field].as_array()).flatten();
        let values =
            container["env"].as_array().into_iter().flatten().map(|variable| &variable["value"]);
        for word in words.chain(values).filter_map(Value::as_str) {
            assert!(!expand(word).contains("EXPANDED"), "{word}");
        }
    }
}

/// Every secret part of the input is a marker, and nothing but the Secret's data holds one.
#[test]
fn no_secret_leaves_the_secret() {
    let put = "content-type%3Bhost%3Bif-none-match%3Bx-amz-meta-token";
    let form = Form::full()
        .with("resource_profile", "site-gpu")
        .with("mission_url", &signed("in/mission.json", "host", "ca"))
        .with("result_put_url", &signed("out/a-1/result.tar", put, "ca"))
        .set(
            "result_put_headers",
            r#"{"If-None-Match": "*", "Content-Type": "application/x-tar", "x-amz-meta-token": "canary"}"#,
        );
    let bundle = bundles::bundle(&form);
    for text in [
        bundle.job().to_string(),
        bundle.secret()["metadata"].to_string(),
        format!("{bundle:?}"),
        format!("{:?}", bundle.names()),
        format!("{:?}", bundles::parse(&form)),
        harness::render::mask::masked(bundle.clone()).to_string(),
    ] {
        for marker in ["X-Amz-", "caca", "canary", "AKIA"] {
            assert!(!text.contains(marker), "{marker} in {text}");
        }
    }
    for container in containers(pod(&bundle)) {
        for part in ["command", "args", "env"] {
            assert!(!container[part].to_string().contains("https://"), "{container}");
        }
    }
}
