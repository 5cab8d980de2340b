//! The places of a Job: what may stand where besides that which is rendered.
//!
//! A table of the API's fields, kept in three kinds. In an *open* place an addition is harmless unless it is
//! named here; in a *closed* one no addition is. Names are those of the
//! [Job API](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/).

use serde_json::Value;

use crate::render::decisive;

/// Where in a Job a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Additions are harmless.
    Open,
    /// Additions are differences.
    Closed,
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
            (Self::Container { .. } | Self::PodSpec, "resources") => Self::Resources,
            (Self::Container { is_harness: true }, "image") => Self::HarnessImage,
            (Self::Resources, "limits" | "requests") => Self::Amounts,
            (Self::Amounts, _) | (Self::EmptyDir, "sizeLimit") => Self::Amount,
            (Self::Volume, "emptyDir") => Self::EmptyDir,
            (Self::Volume, "secret") => Self::SecretSource,
            (Self::SecretSource, "secretName") => Self::SecretName,
            (Self::SecretSource, "items") => Self::SecretItems,
            (Self::JobSpec, key) if JOB_SPEC.contains(&key) => Self::Closed,
            (Self::PodSpec, key) if POD_SPEC.contains(&key) => Self::Closed,
            (Self::Container { .. }, key) if CONTAINER.contains(&key) => Self::Closed,
            (Self::JobSpec | Self::PodSpec | Self::Container { .. } | Self::Template, _)
            | (Self::Open, _) => Self::Open,
            _ => Self::Closed,
        }
    }

    /// The place of an element of the list here.
    pub(super) fn element(self, rendered: &Value) -> Self {
        match self {
            Self::Containers => Self::Container {
                is_harness: rendered.get("name").is_some_and(decisive::is_harness_container),
            },
            Self::Volumes => Self::Volume,
            Self::Open => Self::Open,
            _ => Self::Closed,
        }
    }

    /// What it means that the live object has the field `key` here and the rendered one has not.
    pub(super) fn addition(self, key: &str, value: &Value) -> Addition {
        if decisive::is_unset(key, value) && !matches!(self, Self::Amounts | Self::NodeSelector) {
            return Addition::Silent;
        }
        match (self, key) {
            (Self::JobSpec, "selector") => Addition::Selector,
            (Self::PodSpec, "nodeSelector" | "schedulingGates" | "tolerations") => Addition::Queue,
            (Self::NodeSelector, _) => Addition::Queue,
            (Self::Container { .. }, "ports") if opens_host_port(value) => Addition::Decisive,
            (Self::JobSpec, key) if JOB_SPEC.contains(&key) => Addition::Decisive,
            (Self::PodSpec, key) if POD_SPEC.contains(&key) => Addition::Decisive,
            (Self::Container { .. }, key) if CONTAINER.contains(&key) => Addition::Decisive,
            (Self::JobSpec | Self::PodSpec | Self::Container { .. }, _)
            | (Self::Open | Self::Template, _) => Addition::Harmless,
            (_, key) if decisive::is_default(key, value) => Addition::Harmless,
            _ => Addition::Decisive,
        }
    }
}

fn opens_host_port(ports: &Value) -> bool {
    ports.as_array().is_none_or(|ports| ports.iter().any(decisive::is_host_port))
}
