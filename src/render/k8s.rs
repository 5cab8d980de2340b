//! The Kubernetes objects that harness writes: one Secret, one Job, and no field more than it uses.
//!
//! Fields stand in a fixed order and every default that a server would add is a field here, so that what
//! is sent is what is stored. Names and meanings are those of the
//! [Kubernetes API reference](https://kubernetes.io/docs/reference/kubernetes-api/).
#![allow(missing_docs, reason = "each field is documented by the Kubernetes API reference")]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A map that is left out when it is empty.
pub type TextMap = BTreeMap<String, String>;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub labels: TextMap,
    pub annotations: TextMap,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: ObjectMeta,
    #[serde(rename = "type")]
    pub secret_type: &'static str,
    pub immutable: bool,
    /// Base64 of each value.
    pub data: TextMap,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: ObjectMeta,
    pub spec: JobSpec,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSpec {
    pub parallelism: u32,
    pub completions: u32,
    pub completion_mode: &'static str,
    pub active_deadline_seconds: u32,
    pub backoff_limit: u32,
    pub pod_replacement_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_policy: Option<PodFailurePolicy>,
    pub manual_selector: bool,
    pub suspend: bool,
    pub template: PodTemplate,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodFailurePolicy {
    pub rules: Vec<PodFailurePolicyRule>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodFailurePolicyRule {
    pub action: &'static str,
    pub on_pod_conditions: Vec<PodConditionPattern>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodConditionPattern {
    #[serde(rename = "type")]
    pub condition_type: &'static str,
    pub status: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    pub metadata: ObjectMeta,
    pub spec: PodSpec,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    pub restart_policy: &'static str,
    pub active_deadline_seconds: u32,
    pub termination_grace_period_seconds: u32,
    pub automount_service_account_token: bool,
    pub enable_service_links: bool,
    pub dns_policy: &'static str,
    pub scheduler_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    #[serde(skip_serializing_if = "TextMap::is_empty")]
    pub node_selector: TextMap,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Value>,
    pub security_context: PodSecurityContext,
    pub init_containers: Vec<Container>,
    pub containers: Vec<Container>,
    pub volumes: Vec<Volume>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalObjectReference {
    pub name: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSecurityContext {
    pub run_as_user: u32,
    pub run_as_group: u32,
    pub run_as_non_root: bool,
    pub fs_group: u32,
    pub fs_group_change_policy: &'static str,
    pub seccomp_profile: SeccompProfile,
}

#[derive(Debug, Clone, Serialize)]
pub struct SeccompProfile {
    #[serde(rename = "type")]
    pub profile_type: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    pub name: &'static str,
    pub image: String,
    pub image_pull_policy: &'static str,
    pub command: Vec<String>,
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    pub resources: ResourceRequirements,
    pub security_context: SecurityContext,
    pub volume_mounts: Vec<VolumeMount>,
    pub termination_message_path: &'static str,
    pub termination_message_policy: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    pub name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvVarSource {
    pub field_ref: ObjectFieldSelector,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectFieldSelector {
    pub api_version: &'static str,
    pub field_path: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvFromSource {
    pub secret_ref: SecretEnvSource,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretEnvSource {
    pub name: String,
    pub optional: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequirements {
    pub limits: TextMap,
    pub requests: TextMap,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecurityContext {
    pub allow_privilege_escalation: bool,
    pub privileged: bool,
    pub read_only_root_filesystem: bool,
    pub capabilities: Capabilities,
}

#[derive(Debug, Clone, Serialize)]
pub struct Capabilities {
    pub drop: Vec<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeMount {
    pub name: String,
    pub mount_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// A volume with exactly one source.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimVolume>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyDir {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<&'static str>,
    pub size_limit: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretVolume {
    pub secret_name: String,
    pub items: Vec<KeyToPath>,
    pub default_mode: u32,
    pub optional: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapVolume {
    pub name: String,
    pub items: Vec<KeyToPath>,
    pub default_mode: u32,
    pub optional: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct KeyToPath {
    pub key: String,
    pub path: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimVolume {
    pub claim_name: String,
    pub read_only: bool,
}
