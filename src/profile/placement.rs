//! Where the pod may run: node selector, affinity and tolerations.
//!
//! The shapes are those of Kubernetes in snake case, without the parts that no experiment needs; the
//! rules are those that the API server applies to a pod.

use serde::Serialize;

use std::collections::BTreeMap;

use super::names::{LabelKey, LabelValue, quoted};
use super::reader::Place;
use crate::submission::problem::{Code, Fault};

/// A value is none of the few that are allowed.
pub static UNKNOWN_VALUE: Code = Code {
    name: "profile-value-unknown",
    summary: "a value is none of the few that are allowed",
    explanation: "Some fields take one of a fixed set of words, spelt exactly as Kubernetes spells them, upper and lower \
case included.",
};

/// A toleration's parts contradict each other.
pub static INVALID_TOLERATION: Code = Code {
    name: "profile-toleration-invalid",
    summary: "a toleration's parts contradict each other",
    explanation: "A toleration names the key of a taint. `Equal` (the default) compares the value, `Exists` takes none; \
`toleration_seconds` goes with the effect `NoExecute` only. A toleration without a key would tolerate every taint, those \
of control-plane nodes included, and is refused.",
};

/// A rule of affinity is incomplete or contradicts itself.
pub static INVALID_AFFINITY: Code = Code {
    name: "profile-affinity-invalid",
    summary: "a rule of affinity is incomplete or contradicts itself",
    explanation: "`In` and `NotIn` need values, `Exists` and `DoesNotExist` take none, `Gt` and `Lt` take one whole \
number. A term needs at least one expression (an empty one matches no node), a pod rule at least one label (an empty one \
would match every pod), a weight is 1 to 100.",
};

/// Makes an enumeration of words as Kubernetes spells them.
macro_rules! words {
    ($(#[$documentation:meta])* $name:ident { $($(#[$of:meta])* $word:ident),+ $(,)? }) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$of])* $word),+ }

        impl $name {
            /// Parses one of the words.
            pub fn parse(text: &str) -> Result<Self, Fault> {
                match text {
                    $(stringify!($word) => Ok(Self::$word),)+
                    _ => Err(unknown_word(text, &[$(stringify!($word)),+])),
                }
            }

            /// The word as Kubernetes spells it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word)),+ }
            }
        }
    };
}

pub(super) fn unknown_word(text: &str, words: &[&str]) -> Fault {
    Fault::new(&UNKNOWN_VALUE, quoted(text), words.join(", "), "write one of these words")
}

words!(
    /// How an expression compares a node's label.
    NodeOperator {
        /// The value is one of these.
        In,
        /// The value is none of these, or the label is absent.
        NotIn,
        /// The label is there.
        Exists,
        /// The label is absent.
        DoesNotExist,
        /// The value is a whole number above this one.
        Gt,
        /// The value is a whole number below this one.
        Lt,
    }
);

words!(
    /// How a toleration compares a taint.
    TolerationOperator {
        /// Key and value are equal.
        Equal,
        /// The key is there.
        Exists,
    }
);

words!(
    /// What a taint does to a pod that does not tolerate it.
    TaintEffect {
        /// It is not placed there.
        NoSchedule,
        /// It is placed elsewhere if possible.
        PreferNoSchedule,
        /// It is not placed there, and evicted.
        NoExecute,
    }
);

/// A taint that the pod tolerates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Toleration {
    /// The taint's key.
    pub key: LabelKey,
    /// How the taint is compared.
    #[cfg_attr(test, schemars(default = "default_operator"))]
    pub operator: TolerationOperator,
    /// The taint's value, with `Equal`; absent means the empty value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<LabelValue>,
    /// The taint's effect; absent means every effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
    /// How long a `NoExecute` taint is tolerated, in seconds; absent means for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0, max = 604_800)))]
    pub toleration_seconds: Option<u32>,
}

fn default_operator() -> TolerationOperator {
    TolerationOperator::Equal
}

/// One condition on a node's label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NodeExpression {
    /// The label's key.
    pub key: LabelKey,
    /// How its value is compared.
    pub operator: NodeOperator,
    /// What it is compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub values: Vec<LabelValue>,
}

/// Conditions that must all hold on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NodeTerm {
    /// The conditions.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub match_expressions: Vec<NodeExpression>,
}

/// Conditions that make a node more attractive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PreferredNodeTerm {
    /// How much, from 1 to 100.
    #[cfg_attr(test, schemars(range(min = 1, max = 100)))]
    pub weight: u32,
    /// The conditions.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub match_expressions: Vec<NodeExpression>,
}

/// Which nodes are possible and which are better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NodeAffinity {
    /// A node must match one of these terms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub required: Vec<NodeTerm>,
    /// Nodes that match these terms are better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub preferred: Vec<PreferredNodeTerm>,
}

/// Pods of the same namespace that this one keeps away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PodTerm {
    /// The node label whose values are the domains, such as `kubernetes.io/hostname`.
    pub topology_key: LabelKey,
    /// Labels of the pods to keep away from; all must match.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub match_labels: BTreeMap<LabelKey, LabelValue>,
}

/// Pods of the same namespace that this one rather keeps away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PreferredPodTerm {
    /// How much, from 1 to 100.
    #[cfg_attr(test, schemars(range(min = 1, max = 100)))]
    pub weight: u32,
    /// The node label whose values are the domains.
    pub topology_key: LabelKey,
    /// Labels of the pods to keep away from; all must match.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub match_labels: BTreeMap<LabelKey, LabelValue>,
}

/// Which pods this one keeps away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PodAntiAffinity {
    /// No such pod may run in the same domain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub required: Vec<PodTerm>,
    /// Domains without such pods are better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub preferred: Vec<PreferredPodTerm>,
}

/// Attraction to nodes and aversion to pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Affinity {
    /// Which nodes are possible and which are better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeAffinity>,
    /// Which pods this one keeps away from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_anti: Option<PodAntiAffinity>,
}

/// Reads `tolerations`.
pub(super) fn read_tolerations(place: &Place<'_>) -> Option<Vec<Toleration>> {
    place.list(toleration)
}

fn toleration(place: &Place<'_>) -> Option<Toleration> {
    let mut fields = place.fields()?;
    let key = fields.required("key").and_then(|place| place.parse(LabelKey::parse));
    let operator = match fields.optional("operator") {
        Some(place) => place.parse(TolerationOperator::parse),
        None => Some(default_operator()),
    };
    let value = fields.optional("value").map(|place| place.parse(LabelValue::parse));
    let effect = fields.optional("effect").map(|place| place.parse(TaintEffect::parse));
    let seconds = fields
        .optional("toleration_seconds")
        .map(|place| place.integer(0..=604_800, &INVALID_TOLERATION, "seconds"));
    fields.finish();
    let toleration = Toleration {
        key: key?,
        operator: operator?,
        value: flip(value)?,
        effect: flip(effect)?,
        toleration_seconds: flip(seconds)?,
    };
    place.keep(consistent(toleration))
}

/// Turns "absent, bad or good" into "bad, or perhaps a value".
#[expect(
    clippy::option_option,
    reason = "the outer one is the field's presence, the inner one its reading"
)]
pub(super) fn flip<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(None) => None,
        Some(Some(value)) => Some(Some(value)),
    }
}

fn consistent(toleration: Toleration) -> Result<Toleration, Fault> {
    let fault =
        |found, allowed, remedy| Err(Fault::new(&INVALID_TOLERATION, found, allowed, remedy));
    if toleration.operator == TolerationOperator::Exists && toleration.value.is_some() {
        return fault("`Exists` with a value", "a value with `Equal` only", "remove the value");
    }
    let executes = toleration.effect == Some(TaintEffect::NoExecute);
    if toleration.toleration_seconds.is_some() && !executes {
        return fault(
            "`toleration_seconds` without the effect `NoExecute`",
            "`toleration_seconds` with `effect: NoExecute` only",
            "remove it or name the effect",
        );
    }
    Ok(toleration)
}

/// Reads `affinity`.
pub(super) fn read_affinity(place: &Place<'_>) -> Option<Affinity> {
    let mut fields = place.fields()?;
    let node = fields.optional("node").map(|place| node_affinity(&place));
    let pod_anti = fields.optional("pod_anti").map(|place| pod_anti_affinity(&place));
    fields.finish();
    let affinity = Affinity { node: flip(node)?, pod_anti: flip(pod_anti)? };
    place.keep(not_empty(affinity.node.is_some() || affinity.pod_anti.is_some(), affinity))
}

fn not_empty<T>(filled: bool, value: T) -> Result<T, Fault> {
    if filled {
        return Ok(value);
    }
    Err(Fault::new(
        &INVALID_AFFINITY,
        "nothing in it",
        "at least one rule, expression or label",
        "add one or leave the field out",
    ))
}

fn list_of<T>(place: Option<Place<'_>>, read: impl Fn(&Place<'_>) -> Option<T>) -> Option<Vec<T>> {
    place.map_or_else(|| Some(Vec::new()), |place| place.list(read))
}

fn node_affinity(place: &Place<'_>) -> Option<NodeAffinity> {
    let mut fields = place.fields()?;
    let required = list_of(fields.optional("required"), node_term);
    let preferred = list_of(fields.optional("preferred"), preferred_node_term);
    fields.finish();
    let affinity = NodeAffinity { required: required?, preferred: preferred? };
    place.keep(not_empty(!affinity.required.is_empty() || !affinity.preferred.is_empty(), affinity))
}

fn node_term(place: &Place<'_>) -> Option<NodeTerm> {
    let mut fields = place.fields()?;
    let expressions = fields.required("match_expressions").and_then(|place| expressions(&place));
    fields.finish();
    Some(NodeTerm { match_expressions: expressions? })
}

fn preferred_node_term(place: &Place<'_>) -> Option<PreferredNodeTerm> {
    let mut fields = place.fields()?;
    let weight = fields.required("weight").and_then(|place| weight(&place));
    let expressions = fields.required("match_expressions").and_then(|place| expressions(&place));
    fields.finish();
    Some(PreferredNodeTerm { weight: weight?, match_expressions: expressions? })
}

fn weight(place: &Place<'_>) -> Option<u32> {
    place.integer(1..=100, &INVALID_AFFINITY, "points")
}

fn expressions(place: &Place<'_>) -> Option<Vec<NodeExpression>> {
    let expressions = place.list(expression)?;
    place.keep(not_empty(!expressions.is_empty(), expressions))
}

fn expression(place: &Place<'_>) -> Option<NodeExpression> {
    let mut fields = place.fields()?;
    let key = fields.required("key").and_then(|place| place.parse(LabelKey::parse));
    let operator = fields.required("operator").and_then(|place| place.parse(NodeOperator::parse));
    let values = list_of(fields.optional("values"), |place| place.parse(LabelValue::parse));
    fields.finish();
    let (operator, values) = (operator?, values?);
    let good = match operator {
        NodeOperator::In | NodeOperator::NotIn => !values.is_empty(),
        NodeOperator::Exists | NodeOperator::DoesNotExist => values.is_empty(),
        NodeOperator::Gt | NodeOperator::Lt => {
            values.len() == 1 && values.iter().all(|value| value.as_str().parse::<i64>().is_ok())
        }
    };
    if !good {
        place.report(Fault::new(
            &INVALID_AFFINITY,
            format!("`{}` with {} values", operator.as_str(), values.len()),
            "values with In and NotIn, none with Exists and DoesNotExist, one whole number with Gt and Lt",
            "correct the operator or the values",
        ));
        return None;
    }
    Some(NodeExpression { key: key?, operator, values })
}

fn pod_anti_affinity(place: &Place<'_>) -> Option<PodAntiAffinity> {
    let mut fields = place.fields()?;
    let required = list_of(fields.optional("required"), pod_term);
    let preferred = list_of(fields.optional("preferred"), preferred_pod_term);
    fields.finish();
    let affinity = PodAntiAffinity { required: required?, preferred: preferred? };
    place.keep(not_empty(!affinity.required.is_empty() || !affinity.preferred.is_empty(), affinity))
}

fn pod_term(place: &Place<'_>) -> Option<PodTerm> {
    let mut fields = place.fields()?;
    let topology_key =
        fields.required("topology_key").and_then(|place| place.parse(LabelKey::parse));
    let match_labels = fields.required("match_labels").and_then(|place| match_labels(&place));
    fields.finish();
    Some(PodTerm { topology_key: topology_key?, match_labels: match_labels? })
}

fn preferred_pod_term(place: &Place<'_>) -> Option<PreferredPodTerm> {
    let mut fields = place.fields()?;
    let weight = fields.required("weight").and_then(|place| weight(&place));
    let topology_key =
        fields.required("topology_key").and_then(|place| place.parse(LabelKey::parse));
    let match_labels = fields.required("match_labels").and_then(|place| match_labels(&place));
    fields.finish();
    Some(PreferredPodTerm {
        weight: weight?,
        topology_key: topology_key?,
        match_labels: match_labels?,
    })
}

fn match_labels(place: &Place<'_>) -> Option<BTreeMap<LabelKey, LabelValue>> {
    let labels = place.map(LabelKey::parse, |place| place.parse(LabelValue::parse))?;
    place.keep(not_empty(!labels.is_empty(), labels))
}
