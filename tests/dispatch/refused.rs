//! Clusters that say no: missing rights, full quotas, policies that deny or change.

use harness_test_cluster::{Grant, until};
use serde_json::{Value, json};

use crate::kit::PATIENCE;
use crate::kit::{Place, Sample, find, in_parallel};

/// The table of the submitter: group, resource, verb.
const SUBMITTER: [(&str, &str, &str); 7] = [
    ("", "namespaces", "get"),
    ("", "configmaps", "get"),
    ("batch", "jobs", "get"),
    ("batch", "jobs", "create"),
    ("", "secrets", "get"),
    ("", "secrets", "create"),
    ("", "secrets", "delete"),
];

/// The submitter's rights but for one.
fn rules_without(missing: Option<usize>) -> Value {
    let kept = SUBMITTER.iter().enumerate().filter(|(index, _)| Some(*index) != missing);
    kept.map(|(_, (group, resource, verb))| {
        json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
    })
    .collect()
}

#[test]
fn each_right_that_is_missing() {
    in_parallel(0..SUBMITTER.len(), |missing| {
        let (_, resource, verb) = SUBMITTER[missing];
        let place = Place::new("denied");
        let rules = rules_without(Some(missing));
        let grant = Grant::in_namespace(&place.namespace.name, rules);
        let harness = place.harness_as(&place.cluster.user(&[grant]).unwrap());
        let sample = Sample::new("attempt-1");
        if verb == "delete" {
            // Only the loser of a race needs it.
            harness.submit(&sample).expect(0, "created");
            return place.assert_holds(1, 1);
        }
        let receipt = harness.submit(&sample).expect(5, "refused");
        let detail = receipt["detail"].as_str().unwrap();
        let names = detail.contains(&format!("cannot {verb} resource \"{resource}\""));
        assert!(names, "{resource} {verb}: {detail}");
        place.assert_holds(0, 0);
    });
}

#[test]
fn the_rights_of_the_table_are_enough() {
    let place = Place::new("granted");
    let grant = Grant::in_namespace(&place.namespace.name, rules_without(None));
    let harness = place.harness_as(&place.cluster.user(&[grant]).unwrap());
    let sample = Sample::new("attempt-1");
    harness.submit(&sample).expect(0, "created");
    harness.submit(&sample.signed_again()).expect(0, "already_submitted");
    place.assert_holds(1, 1);
}

/// Waits until the server counts, since a quota bounds nothing before.
fn quota(place: &Place, hard: &Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "bound"},
        "spec": {"hard": hard},
    });
    place.create("resourcequotas", &object);
    let counts = || place.get("resourcequotas", "bound")["status"]["hard"] == *hard;
    assert!(until(PATIENCE, counts), "the quota is not counted");
}

#[test]
fn a_full_quota_of_jobs() {
    let place = Place::new("full");
    quota(&place, &json!({"count/jobs.batch": "1"}));
    let (first, second) = (Sample::new("attempt-1"), Sample::new("attempt-2"));
    place.harness().submit(&first).expect(0, "created");
    let receipt = place.harness().submit(&second).expect(5, "refused");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("exceeded quota"), "{detail}");
    place.assert_holds(1, 1);
    // With the object present, the quota that is full for it says nothing.
    for sample in [&first, &first.signed_again()] {
        place.harness().submit(sample).expect(0, "already_submitted");
    }
    place.assert_holds(1, 1);
    quota_gone(&place);
    place.harness().submit(&second).expect(0, "created");
    place.assert_holds(2, 2);
}

fn quota_gone(place: &Place) {
    place.delete("resourcequotas", "bound");
    let (_, probe) = place.harness().render(&Sample::new("probe"));
    let path = format!("{}?dryRun=All", place.collection("jobs"));
    assert!(until(PATIENCE, || place.cluster.admin_post(&path, &probe).0 == 201));
}

#[test]
fn a_full_quota_of_secrets() {
    let place = Place::new("full");
    quota(&place, &json!({"count/secrets": "1"}));
    let (first, second) = (Sample::new("attempt-1"), Sample::new("attempt-2"));
    place.harness().submit(&first).expect(0, "created");
    let receipt = place.harness().submit(&second).expect(5, "refused");
    assert!(receipt["detail"].as_str().unwrap().contains("exceeded quota"), "{receipt:#}");
    place.harness().submit(&first).expect(0, "already_submitted");
    place.assert_holds(1, 1);
}

/// Many at once into a quota for some: so many are created, and the rest is told why not.
#[test]
fn a_quota_that_fills_up_on_the_way() {
    let place = Place::new("filling");
    quota(&place, &json!({"count/jobs.batch": "7"}));
    let harness = place.harness();
    for number in 0..20 {
        Sample::new(&format!("attempt-{number}")).write(&harness.inputs());
    }
    let run = harness.submit_files(&[harness.inputs()]);
    let count = |receipts: &[Value], name: &str| {
        receipts.iter().filter(|receipt| receipt["outcome"] == name).count()
    };
    let receipts = run.receipts();
    assert_eq!(place.cluster.count_jobs(&place.namespace.name), 7, "{run}");
    assert_eq!((count(&receipts, "created"), count(&receipts, "refused")), (7, 13), "{run}");
    assert_eq!(run.code, Some(5));
    let left = receipts.iter().filter(|receipt| receipt["secret"]["state"] == "created").count();
    place.assert_holds(7, left);
}

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy of one kind for creates of Jobs in this namespace, with its binding.
fn policy(place: &Place, kind: &str, spec: Value) {
    let actions = match kind {
        "Validating" => json!({"validationActions": ["Deny"]}),
        _ => json!({}),
    };
    policy_with(place, kind, spec, &actions);
}

/// The same with a binding of one's own.
fn policy_with(place: &Place, kind: &str, mut spec: Value, binding: &Value) {
    let name = &place.namespace.name;
    let plural = if kind == "Mutating" { "mutatingadmission" } else { "validatingadmission" };
    spec["failurePolicy"] = json!("Fail");
    spec["matchConstraints"] = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "resourceRules": [{
            "apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"],
        }],
    });
    let object = |suffix: &str, spec: Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}AdmissionPolicy{suffix}"),
            "metadata": {"name": name},
            "spec": spec,
        })
    };
    let mut binding = binding.clone();
    binding["policyName"] = json!(name);
    for (path, object) in [
        (format!("{ADMISSION}/{plural}policies"), object("", spec)),
        (format!("{ADMISSION}/{plural}policybindings"), object("Binding", binding)),
    ] {
        let (status, answer) = place.cluster.admin_post(&path, &object);
        assert_eq!(status, 201, "{answer:#}");
    }
}

/// Policies come into force a little after they were made; `acts` looks at a Job that is not kept.
fn wait_for_policy(place: &Place, dry_run: bool, acts: impl Fn((u16, Value)) -> bool) {
    let (_, probe) = place.harness().render(&Sample::new("probe"));
    let name = find(&probe, "/metadata/name").as_str().unwrap().to_owned();
    let path = place.collection("jobs") + if dry_run { "?dryRun=All" } else { "" };
    let in_force = || {
        let answer = place.cluster.admin_post(&path, &probe);
        if answer.0 == 201 && !dry_run {
            place.delete("jobs", &name);
        }
        acts(answer)
    };
    assert!(until(PATIENCE, in_force), "the policy does not come into force");
    assert!(until(PATIENCE, || place.cluster.count_jobs(&place.namespace.name) == 0));
}

#[test]
fn a_policy_that_denies() {
    let place = Place::new("policy");
    let validations = json!([{"expression": "false", "message": "no research on Sundays"}]);
    policy(&place, "Validating", json!({"validations": validations}));
    wait_for_policy(&place, true, |(status, _)| status == 422);
    let receipt = place.harness().submit(&Sample::new("attempt-1")).expect(5, "refused");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("no research on Sundays"), "{detail}");
    assert_eq!(receipt["secret"]["state"], "absent");
    place.assert_holds(0, 0);
}

/// The rehearsal passes and the real Job does not: the Secret stays, and the next run uses it.
#[test]
fn a_policy_that_denies_only_what_is_real() {
    let place = Place::new("policy");
    let validations = json!([{"expression": "request.dryRun", "message": "only rehearsals"}]);
    policy(&place, "Validating", json!({"validations": validations}));
    wait_for_policy(&place, false, |(status, _)| status == 422);
    let sample = Sample::new("attempt-1");
    let receipt = place.harness().submit(&sample).expect(5, "refused");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("only rehearsals"), "{detail}");
    assert!(detail.contains("the Secret was created"), "{detail}");
    place.assert_holds(0, 1);
    let again = place.harness().submit(&sample).expect(5, "refused");
    assert_eq!(again["secret"]["state"], "present");
    place.assert_holds(0, 1);
    let name = &place.namespace.name;
    let binding = format!("{ADMISSION}/validatingadmissionpolicybindings/{name}");
    assert_eq!(place.cluster.admin_delete(&binding, None).0, 200);
    wait_for_policy(&place, false, |(status, _)| status == 201);
    place.harness().submit(&sample).expect(0, "created");
    place.assert_holds(1, 1);
}

#[test]
fn a_policy_that_warns() {
    let place = Place::new("warning");
    let validations = json!([{"expression": "false", "message": "mind the heat"}]);
    let spec = json!({"validations": validations});
    policy_with(&place, "Validating", spec, &json!({"validationActions": ["Warn"]}));
    let harness = place.harness();
    let rehearse = place.harness().arg("--dry-run=server");
    let warns = || {
        let run = rehearse.submit(&Sample::new("attempt-1"));
        run.expect(0, "would_create")["warnings"] != json!([])
    };
    assert!(until(PATIENCE, warns), "the policy does not come into force");
    let receipt = harness.submit(&Sample::new("attempt-1")).expect(0, "created");
    let warnings = receipt["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "each warning stands once: {warnings:?}");
    assert!(warnings[0].as_str().unwrap().contains("mind the heat"), "{warnings:?}");
    place.assert_holds(1, 1);
}

/// A webhook that nobody answers for: the server says 500, after which a Job may or may not be there.
#[test]
fn a_webhook_that_is_down() {
    let place = Place::new("webhook");
    let name = &place.namespace.name;
    let hooks = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "down.example.org",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun",
            "failurePolicy": "Fail",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "matchConditions": [{"name": "real", "expression": "!request.dryRun"}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
            "rules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"],
            }],
        }],
    });
    let path = format!("{ADMISSION}/validatingwebhookconfigurations");
    let (status, answer) = place.cluster.admin_post(&path, &hooks);
    assert_eq!(status, 201, "{answer:#}");
    wait_for_policy(&place, false, |(status, _)| status == 500);
    let sample = Sample::new("attempt-1");
    let receipt = place.harness().submit(&sample).expect(6, "unknown");
    let detail = receipt["detail"].as_str().unwrap();
    assert!(detail.contains("may have been created"), "{detail}");
    assert!(
        detail.contains(r#"the admission webhook "down.example.org" cannot be called"#),
        "{detail}"
    );
    place.assert_holds(0, 1);
    assert_eq!(place.cluster.admin_delete(&format!("{path}/{name}"), None).0, 200);
    wait_for_policy(&place, false, |(status, _)| status == 201);
    let created = place.harness().submit(&sample).expect(0, "created");
    assert_eq!(created["secret"]["state"], "present");
    place.assert_holds(1, 1);
}

/// A change of each Job that fits the conditions, as a JSON patch in CEL.
fn mutation(place: &Place, expression: &str, only_real: bool) {
    let mut spec = json!({
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    });
    if only_real {
        let condition = json!([{"name": "real", "expression": "!request.dryRun"}]);
        spec["matchConditions"] = condition;
    }
    policy(place, "Mutating", spec);
}

const LABEL: &str =
    r#"[JSONPatch{op: "add", path: "/metadata/labels/example.org~1team", value: "blue"}]"#;
const IMAGE: &str = r#"[JSONPatch{op: "replace", path: "/spec/template/spec/containers/1/image", value: "mirror.test/a"}]"#;

fn is_labelled((status, job): (u16, Value)) -> bool {
    status == 201 && job["metadata"]["labels"]["example.org/team"] == "blue"
}

fn is_changed((status, job): (u16, Value)) -> bool {
    status == 201 && job["spec"]["template"]["spec"]["containers"][1]["image"] == "mirror.test/a"
}

#[test]
fn a_policy_that_adds_a_label() {
    let place = Place::new("mutation");
    mutation(&place, LABEL, false);
    wait_for_policy(&place, true, is_labelled);
    let drift = json!([{"path": "metadata.labels[example.org/team]", "kind": "added"}]);
    let sample = Sample::new("attempt-1");
    let rehearsal = place.harness().arg("--dry-run=server").submit(&sample);
    assert_eq!(rehearsal.expect(0, "would_create")["drift"], drift);
    assert_eq!(place.harness().submit(&sample).expect(0, "created")["drift"], drift);
    assert_eq!(place.harness().submit(&sample).expect(0, "already_submitted")["drift"], drift);
    place.assert_holds(1, 1);
}

#[test]
fn a_policy_that_changes_an_image() {
    let place = Place::new("mutation");
    mutation(&place, IMAGE, false);
    wait_for_policy(&place, true, is_changed);
    for mode in ["none", "server"] {
        let harness = place.harness().arg(format!("--dry-run={mode}"));
        let receipt = harness.submit(&Sample::new("attempt-1")).expect(5, "refused");
        assert_eq!(receipt["differences"], json!(["spec.template.spec.containers[run].image"]));
        place.assert_holds(0, 0);
    }
}

#[test]
fn a_policy_that_changes_only_what_is_real() {
    let place = Place::new("mutation");
    mutation(&place, IMAGE, true);
    wait_for_policy(&place, false, is_changed);
    let sample = Sample::new("attempt-1");
    let paths = json!(["spec.template.spec.containers[run].image"]);
    let receipt = place.harness().submit(&sample).expect(4, "created_altered");
    assert_eq!(receipt["differences"], paths);
    assert!(receipt["detail"].as_str().unwrap().contains("may be running"), "{receipt:#}");
    place.assert_holds(1, 1);
    let again = place.harness().submit(&sample).expect(4, "conflict");
    assert_eq!((&again["differences"], &again["job"]["uid"]), (&paths, &receipt["job"]["uid"]));
    place.assert_holds(1, 1);
}
