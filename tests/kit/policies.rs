//! Admission policies in one test's namespace: what injects into pods and what refuses them, as webhooks do.

use serde_json::{Value, json};

use super::PATIENCE;
use super::place::Place;

const GROUP: &str = "admissionregistration.k8s.io/v1";

impl Place {
    /// Has every pod that is created here changed by this CEL expression, an `Object`.
    #[track_caller]
    pub(crate) fn inject(&self, expression: &str) {
        let change = json!({"expression": expression});
        self.mutate(&json!({"patchType": "ApplyConfiguration", "applyConfiguration": change}));
    }

    /// Has a container of this `name`, `image` and `command`, as Pod Security wants it, injected into every pod here.
    #[track_caller]
    pub(crate) fn inject_container(&self, container: &Value) {
        // Texts and lists are written in CEL as in JSON.
        let [name, image, command] =
            ["name", "image", "command"].map(|field| container[field].to_string());
        let security = "Object.spec.containers.securityContext";
        let expression = format!(
            "[JSONPatch{{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{{name: {name}, image: {image}, \
             command: {command}, securityContext: {security}{{allowPrivilegeEscalation: false, capabilities: \
             {security}.capabilities{{drop: ['ALL']}}}}}}}}]"
        );
        self.mutate(&json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}));
    }

    #[track_caller]
    fn mutate(&self, mutation: &Value) {
        self.admit(
            "mutatingadmissionpolicy",
            "mutatingadmissionpolicies",
            &json!({
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "mutations": [mutation],
            }),
            &json!({}),
        );
    }

    /// Has every pod refused with this message.
    #[track_caller]
    pub(crate) fn refuse_pods(&self, message: &str) {
        self.admit(
            "validatingadmissionpolicy",
            "validatingadmissionpolicies",
            &json!({
                "failurePolicy": "Fail",
                "validations": [{"expression": "false", "message": message}],
            }),
            &json!({"validationActions": ["Deny"]}),
        );
    }

    #[track_caller]
    fn admit(&self, kind: &str, plural: &str, policy: &Value, binding: &Value) {
        let name = format!("{kind}-{}", self.namespace.name);
        let (mut policy, mut binding) = (policy.clone(), binding.clone());
        policy["matchConstraints"] = json!({"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        ]});
        binding["policyName"] = name.as_str().into();
        let here = json!({"kubernetes.io/metadata.name": self.namespace.name});
        binding["matchResources"] = json!({"namespaceSelector": {"matchLabels": here}});
        let probe = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
            // Without a token, whose volume has another name each time.
            "spec": {
                "automountServiceAccountToken": false,
                "containers": [{"name": "probe", "image": "probe"}],
            },
        });
        let path = format!("{}?dryRun=All", self.collection("pods"));
        let admitted = || {
            let (code, mut pod) = self.cluster.admin_post(&path, &probe);
            pod["metadata"] = Value::Null;
            (code, pod)
        };
        // Before its account is there, a namespace takes no pod.
        let account = format!("{}/default", self.collection("serviceaccounts"));
        let has_account = || self.cluster.admin_get(&account).0 == 200;
        assert!(harness_test_cluster::until(PATIENCE, has_account), "no account");
        let before = admitted();
        for (collection, spec) in
            [(plural.to_owned(), policy), (format!("{kind}bindings"), binding)]
        {
            let object = json!({"metadata": {"name": name}, "spec": spec});
            let path = format!("/apis/{GROUP}/{collection}");
            let (code, answer) = self.cluster.admin_post(&path, &object);
            assert_eq!(code, 201, "{answer:#}");
        }
        // A policy takes effect a little after it was stored.
        let acts = harness_test_cluster::until(PATIENCE, || admitted() != before);
        assert!(acts, "the policy has no effect on {:#}", before.1);
    }
}
