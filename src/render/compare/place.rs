//! The places of a Job: what may stand where besides that which is rendered.
//!
//! A table of the API's fields, kept in three kinds. In an *open* place an addition is harmless unless it is
//! named here; in a *closed* one no addition is. Names are those of the
//! [Job API](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/).

use serde_json::Value;

use super::equivalence;

/// Where in a Job a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Additions are harmless.
    Open,
    /// Additions are differences.
    Closed,
    /// As closed, and even an empty value is one: here it may mean everything.
    Exact,
    JobSpec,
    Template,
    PodSpec,
    /// The list of them; elements are [`Place::Container`].
    Containers,
    Container {
        is_harness: bool,
    },
    Resources,
    /// A map of quantities.
    Amounts,
    Amount,
    /// The list of them; elements are [`Place::Volume`].
    Volumes,
    Volume,
    EmptyDir,
    SecretSource,
    SecretItems,
    SecretName,
    HarnessImage,
    /// `spec.suspend`.
    Suspend,
    /// `spec.activeDeadlineSeconds` of the Job.
    Deadline,
    NodeSelector,
    Tolerations,
    /// `metadata` of the pod template.
    PodMetadata,
}

/// What an added field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addition {
    /// The server's own, or the same as nothing.
    Silent,
    /// Harmless.
    Harmless,
    /// It decides what runs, with which rights, or how long the Job is remembered.
    Decisive,
    /// Harmless only as the doing of the queue that the profile names.
    Queue,
    /// The selector, which must be this Job's own.
    Selector,
}

/// Each would change how often the pod runs, who runs it, or when the Job, which is the record, is erased.
const JOB_SPEC: [&str; 6] = [
    "backoffLimitPerIndex",
    "managedBy",
    "maxFailedIndexes",
    "podFailurePolicy",
    "successPolicy",
    "ttlSecondsAfterFinished",
];

/// What runs, on whose behalf, with which rights over the node, and where.
const POD_SPEC: [&str; 24] = [
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "initContainers",
    "nodeName",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "volumes",
];

/// What a container runs, sees and may do.
const CONTAINER: [&str; 16] = [
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];

impl Place {
    /// The fields that may not be added here; none at all may where there is no list.
    fn decisive_fields(self) -> Option<&'static [&'static str]> {
        match self {
            Self::JobSpec => Some(&JOB_SPEC),
            Self::PodSpec => Some(&POD_SPEC),
            Self::Container { .. } => Some(&CONTAINER),
            Self::Open | Self::Template => Some(&[]),
            _ => None,
        }
    }

    /// Whether nothing but what is named may be added as the field `key` here.
    fn is_decisive(self, key: &str) -> bool {
        self.decisive_fields().is_none_or(|fields| fields.contains(&key))
    }

    /// Whether the field `key` with this value means the same here as its absence.
    pub(super) fn is_unset(self, key: &str, value: &Value) -> bool {
        match self {
            Self::Amounts | Self::NodeSelector | Self::Exact => value.is_null(),
            _ => equivalence::is_unset(key, value),
        }
    }

    /// The place of the field `key` of what stands here.
    pub(super) fn field(self, key: &str) -> Self {
        match (self, key) {
            (Self::JobSpec, "activeDeadlineSeconds") => Self::Deadline,
            (Self::JobSpec, "suspend") => Self::Suspend,
            (Self::JobSpec, "template") => Self::Template,
            (Self::Template, "metadata") => Self::PodMetadata,
            (Self::Template, "spec") => Self::PodSpec,
            (Self::PodSpec, "containers" | "initContainers") => Self::Containers,
            (Self::PodSpec, "nodeSelector") => Self::NodeSelector,
            (Self::PodSpec, "tolerations") => Self::Tolerations,
            (Self::PodSpec, "volumes") => Self::Volumes,
            (Self::PodSpec, "affinity") | (Self::Exact, _) => Self::Exact,
            (Self::Container { .. } | Self::PodSpec, "resources") => Self::Resources,
            (Self::Container { is_harness: true }, "image") => Self::HarnessImage,
            (Self::Resources, "limits" | "requests") => Self::Amounts,
            (Self::Amounts, _) | (Self::EmptyDir, "sizeLimit") => Self::Amount,
            (Self::Volume, "emptyDir") => Self::EmptyDir,
            (Self::Volume, "secret") => Self::SecretSource,
            (Self::SecretSource, "secretName") => Self::SecretName,
            (Self::SecretSource, "items") => Self::SecretItems,
            _ if self.is_decisive(key) => Self::Closed,
            _ => Self::Open,
        }
    }

    /// The place of an element of the list here.
    pub(super) fn element(self, rendered: &Value) -> Self {
        match self {
            Self::Containers => Self::Container {
                is_harness: rendered.get("name").is_some_and(equivalence::is_harness_container),
            },
            Self::Volumes => Self::Volume,
            Self::Open => Self::Open,
            Self::Exact => Self::Exact,
            _ => Self::Closed,
        }
    }

    /// What it means that the live object has the field `key` here and the rendered one has not.
    pub(super) fn addition(self, key: &str, value: &Value) -> Addition {
        match (self, key) {
            _ if self.is_unset(key, value) => Addition::Silent,
            (Self::JobSpec, "selector") => Addition::Selector,
            (Self::PodSpec, "nodeSelector" | "schedulingGates" | "tolerations")
            | (Self::NodeSelector, _) => Addition::Queue,
            (Self::Container { .. }, "ports") if opens_host_port(value) => Addition::Decisive,
            (Self::Closed, _) if equivalence::is_default(key, value) => Addition::Harmless,
            _ if self.is_decisive(key) => Addition::Decisive,
            _ => Addition::Harmless,
        }
    }
}

fn opens_host_port(ports: &Value) -> bool {
    ports.as_array().is_none_or(|ports| ports.iter().any(equivalence::is_host_port))
}
