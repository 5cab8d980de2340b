//! Where the pod may run, from the profile's words into Kubernetes' own.

use serde_json::{Map, Value, json};

use crate::profile::placement::{
    Affinity, NodeAffinity, NodeExpression, PodAntiAffinity, PodTerm, Toleration,
};

/// `spec.affinity`.
pub(super) fn affinity(affinity: &Affinity) -> Value {
    let parts = [
        ("nodeAffinity", affinity.node.as_ref().map(node_affinity)),
        ("podAntiAffinity", affinity.pod_anti.as_ref().map(pod_anti_affinity)),
    ];
    object(parts)
}

/// One element of `spec.tolerations`.
pub(super) fn toleration(toleration: &Toleration) -> Value {
    object([
        ("key", Some(json!(toleration.key))),
        ("operator", Some(json!(toleration.operator))),
        ("value", toleration.value.as_ref().map(|value| json!(value))),
        ("effect", toleration.effect.as_ref().map(|effect| json!(effect))),
        ("tolerationSeconds", toleration.toleration_seconds.map(|seconds| json!(seconds))),
    ])
}

fn node_affinity(node: &NodeAffinity) -> Value {
    let required: Vec<Value> = node
        .required
        .iter()
        .map(|term| json!({ "matchExpressions": expressions(&term.match_expressions) }))
        .collect();
    let preferred = node.preferred.iter().map(|term| {
        let preference = json!({ "matchExpressions": expressions(&term.match_expressions) });
        json!({ "weight": term.weight, "preference": preference })
    });
    let required = (!required.is_empty()).then(|| json!({ "nodeSelectorTerms": required }));
    scheduling(required, preferred.collect())
}

fn pod_anti_affinity(pods: &PodAntiAffinity) -> Value {
    let term = |PodTerm { topology_key, match_labels }: &PodTerm| json!({ "topologyKey": topology_key, "labelSelector": { "matchLabels": match_labels } });
    let required: Vec<Value> = pods.required.iter().map(term).collect();
    let preferred = pods.preferred.iter().map(|preferred| {
        let selector = json!({ "matchLabels": preferred.match_labels });
        json!({
            "weight": preferred.weight,
            "podAffinityTerm": { "topologyKey": preferred.topology_key, "labelSelector": selector },
        })
    });
    scheduling((!required.is_empty()).then_some(Value::Array(required)), preferred.collect())
}

fn scheduling(required: Option<Value>, preferred: Vec<Value>) -> Value {
    object([
        ("requiredDuringSchedulingIgnoredDuringExecution", required),
        (
            "preferredDuringSchedulingIgnoredDuringExecution",
            (!preferred.is_empty()).then_some(Value::Array(preferred)),
        ),
    ])
}

fn expressions(expressions: &[NodeExpression]) -> Vec<Value> {
    expressions
        .iter()
        .map(|expression| {
            let values = (!expression.values.is_empty()).then(|| json!(expression.values));
            object([
                ("key", Some(json!(expression.key))),
                ("operator", Some(json!(expression.operator))),
                ("values", values),
            ])
        })
        .collect()
}

/// An object of the members that are there.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let members =
        members.into_iter().filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)));
    Value::Object(members.collect::<Map<_, _>>())
}
