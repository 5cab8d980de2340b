//! The Job: one pod, three steps, and a boundary between them.
//!
//! `stage` and `publish` see signed URLs as files and run the harness image; `run` sees none and runs
//! the submission's image. What each may see and write is one table here.

use super::fit::Fitted;
use super::k8s::{
    Capabilities, ClaimVolume, ConfigMapVolume, Container, EmptyDir, EnvFromSource, EnvVar,
    EnvVarSource, Job, JobSpec, KeyToPath, LocalObjectReference, ObjectFieldSelector, ObjectMeta,
    PodConditionPattern, PodFailurePolicy, PodFailurePolicyRule, PodSecurityContext, PodSpec,
    PodTemplate, ResourceRequirements, SeccompProfile, SecretEnvSource, SecretVolume,
    SecurityContext, TextMap, Volume, VolumeMount,
};
use super::names::{Names, QUEUE_LABEL};
use super::secret::PUT_HEADERS_KEY;
use super::{placement, steps};
use crate::profile::{OnDisruption, Profile, Quantity, StepResources};
use crate::submission::UrlField;

/// User, group and volume group of every step; restricted Pod Security wants a number other than 0.
pub(super) const USER: u32 = 65532;

/// How long the kubelet waits between TERM and KILL, in seconds; below every profile's `grace`.
const TERMINATION_GRACE_SECONDS: u32 = 30;

/// Readable by owner and group: the kubelet makes root the owner and [`USER`] the group.
const URL_FILE_MODE: u32 = 0o440;

/// Room for the harness binary, which `stage` copies for `run`.
const TOOLS_SIZE: &str = "64Mi";

/// Room for one socket.
const CONTROL_SIZE: &str = "1Mi";

/// What the spool needs beyond the output itself: archive headers, evidence, the started marker.
const SPOOL_EXTRA_BYTES: u64 = 64 << 20;

/// Renders the Job, but for its decisive digest.
pub(super) fn render(fitted: &Fitted<'_>, names: &Names, harness_image: &str) -> Job {
    let profile = fitted.profile;
    let mut labels = names.labels();
    labels.extend(
        profile
            .labels
            .iter()
            .map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned())),
    );
    let pod_labels = labels.clone();
    if let Some(queue) = &profile.queue {
        labels.insert(QUEUE_LABEL.to_owned(), queue.as_str().to_owned());
    }
    Job {
        api_version: "batch/v1",
        kind: "Job",
        metadata: ObjectMeta {
            name: Some(names.job.clone()),
            namespace: Some(names.namespace.clone()),
            labels,
            annotations: names.job_annotations(fitted),
        },
        spec: JobSpec {
            parallelism: 1,
            completions: 1,
            completion_mode: "NonIndexed",
            active_deadline_seconds: fitted.deadlines.job,
            backoff_limit: 0,
            pod_replacement_policy: "Failed",
            pod_failure_policy: pod_failure_policy(profile.on_disruption),
            manual_selector: false,
            // A queue starts the Job; without one installed it waits instead of running unqueued.
            suspend: profile.queue.is_some(),
            template: PodTemplate {
                metadata: pod_metadata(pod_labels),
                spec: pod_spec(fitted, names, harness_image),
            },
        },
    }
}

/// With `restart`, a pod that the cluster disrupts does not count as failed, and another one is made.
fn pod_failure_policy(on_disruption: OnDisruption) -> Option<PodFailurePolicy> {
    match on_disruption {
        OnDisruption::Fail => None,
        OnDisruption::Restart => Some(PodFailurePolicy {
            rules: vec![PodFailurePolicyRule {
                action: "Ignore",
                on_pod_conditions: vec![PodConditionPattern {
                    condition_type: "DisruptionTarget",
                    status: "True",
                }],
            }],
        }),
    }
}

/// Asks autoscalers not to evict the pod and service meshes not to add a container that never ends.
fn pod_metadata(mut labels: TextMap) -> ObjectMeta {
    labels.insert("sidecar.istio.io/inject".to_owned(), "false".to_owned());
    ObjectMeta {
        name: None,
        namespace: None,
        labels,
        annotations: TextMap::from([
            ("cluster-autoscaler.kubernetes.io/safe-to-evict".to_owned(), "false".to_owned()),
            ("karpenter.sh/do-not-disrupt".to_owned(), "true".to_owned()),
            ("linkerd.io/inject".to_owned(), "disabled".to_owned()),
        ]),
    }
}

fn pod_spec(fitted: &Fitted<'_>, names: &Names, harness_image: &str) -> PodSpec {
    let profile = fitted.profile;
    PodSpec {
        restart_policy: "Never",
        active_deadline_seconds: fitted.deadlines.pod,
        termination_grace_period_seconds: TERMINATION_GRACE_SECONDS,
        automount_service_account_token: false,
        enable_service_links: false,
        dns_policy: "ClusterFirst",
        scheduler_name: "default-scheduler",
        priority_class_name: profile
            .priority_class_name
            .as_ref()
            .map(|name| name.as_str().to_owned()),
        runtime_class_name: profile
            .runtime_class_name
            .as_ref()
            .map(|name| name.as_str().to_owned()),
        image_pull_secrets: profile
            .image_pull_secrets
            .iter()
            .map(|name| LocalObjectReference { name: name.as_str().to_owned() })
            .collect(),
        node_selector: profile
            .node_selector
            .iter()
            .map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned()))
            .collect(),
        affinity: profile.affinity.as_ref().map(placement::affinity),
        tolerations: profile.tolerations.iter().map(placement::toleration).collect(),
        security_context: PodSecurityContext {
            run_as_user: USER,
            run_as_group: USER,
            run_as_non_root: true,
            fs_group: USER,
            fs_group_change_policy: "OnRootMismatch",
            seccomp_profile: SeccompProfile { profile_type: "RuntimeDefault" },
        },
        init_containers: vec![stage(fitted, harness_image)],
        // `publish` first: it listens before `run` connects.
        containers: vec![publish(fitted, names, harness_image), run(fitted)],
        volumes: volumes(fitted, names),
    }
}

fn stage(fitted: &Fitted<'_>, harness_image: &str) -> Container {
    let mut mounts = vec![
        writable("inputs", "/harness/inputs"),
        writable("tools", "/harness/tools"),
        readable("stage-urls", "/harness/urls"),
    ];
    mounts.extend(ca_mount(fitted.profile));
    Container {
        args: steps::stage_arguments(fitted),
        env: connection_environment(fitted.profile),
        resources: step_resources(&fitted.profile.resources.stage),
        ..container("stage", harness_image.to_owned(), steps::HARNESS_BINARY, mounts)
    }
}

fn run(fitted: &Fitted<'_>) -> Container {
    let profile = fitted.profile;
    let mut mounts = vec![
        readable("inputs", "/harness/inputs"),
        readable("tools", "/harness/tools"),
        readable("control", "/harness/control"),
        writable("output", "/harness/output"),
        writable("scratch", "/harness/scratch"),
        VolumeMount { sub_path: Some("tmp"), ..writable("scratch", "/tmp") },
    ];
    if profile.shared_memory.is_some() {
        mounts.push(writable("shared-memory", "/dev/shm"));
    }
    let caches = profile.caches.iter().enumerate();
    mounts.extend(
        caches.map(|(index, cache)| readable(&format!("cache-{index}"), cache.mount_path.as_str())),
    );
    let secret = fitted.submission.runner_secret_name();
    Container {
        args: steps::run_arguments(fitted),
        env_from: secret
            .map(|name| EnvFromSource {
                secret_ref: SecretEnvSource { name: name.as_str().to_owned(), optional: false },
            })
            .into_iter()
            .collect(),
        resources: run_resources(profile),
        ..container("run", fitted.submission.image().to_string(), steps::STAGED_BINARY, mounts)
    }
}

fn publish(fitted: &Fitted<'_>, names: &Names, harness_image: &str) -> Container {
    let mut mounts = vec![
        readable("output", "/harness/output"),
        writable("spool", "/harness/spool"),
        writable("control", "/harness/control"),
        readable("publish-urls", "/harness/urls"),
    ];
    mounts.extend(ca_mount(fitted.profile));
    let mut env = pod_facts();
    env.extend(connection_environment(fitted.profile));
    Container {
        args: steps::publish_arguments(fitted, names),
        env,
        resources: step_resources(&fitted.profile.resources.publish),
        ..container("publish", harness_image.to_owned(), steps::HARNESS_BINARY, mounts)
    }
}

fn container(
    name: &'static str,
    image: String,
    binary: &str,
    volume_mounts: Vec<VolumeMount>,
) -> Container {
    Container {
        name,
        image,
        image_pull_policy: "IfNotPresent",
        command: vec![binary.to_owned()],
        args: Vec::new(),
        env: Vec::new(),
        env_from: Vec::new(),
        resources: ResourceRequirements { limits: TextMap::new(), requests: TextMap::new() },
        security_context: SecurityContext {
            allow_privilege_escalation: false,
            privileged: false,
            read_only_root_filesystem: true,
            capabilities: Capabilities { drop: vec!["ALL"] },
        },
        volume_mounts,
        termination_message_path: "/dev/termination-log",
        termination_message_policy: "File",
    }
}

fn writable(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        sub_path: None,
        read_only: false,
    }
}

fn readable(name: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: true, ..writable(name, path) }
}

fn ca_mount(profile: &Profile) -> Option<VolumeMount> {
    profile.ca_config_map.as_ref().map(|_| readable("ca", "/harness/ca"))
}

/// What the evidence says about the pod comes from the kubelet, not from the runner.
fn pod_facts() -> Vec<EnvVar> {
    let fact = |name, field_path| EnvVar {
        name,
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: ObjectFieldSelector { api_version: "v1", field_path },
        }),
    };
    vec![
        fact("HARNESS_JOB_UID", "metadata.labels['batch.kubernetes.io/controller-uid']"),
        fact("HARNESS_NAMESPACE", "metadata.namespace"),
        fact("HARNESS_NODE_NAME", "spec.nodeName"),
        fact("HARNESS_POD_NAME", "metadata.name"),
        fact("HARNESS_POD_UID", "metadata.uid"),
    ]
}

/// How `stage` and `publish` reach the store: through the site's proxy and with its authorities.
fn connection_environment(profile: &Profile) -> Vec<EnvVar> {
    let mut env = Vec::new();
    let mut add = |name, value: Option<String>| {
        env.extend(value.map(|value| EnvVar {
            name,
            value: Some(steps::literal(&value)),
            value_from: None,
        }));
    };
    if let Some(proxy) = &profile.proxy {
        add("HTTP_PROXY", proxy.http_proxy.clone());
        add("HTTPS_PROXY", proxy.https_proxy.clone());
        add("NO_PROXY", proxy.no_proxy.clone());
    }
    add("SSL_CERT_FILE", profile.ca_config_map.as_ref().map(|_| "/harness/ca/ca.crt".to_owned()));
    env
}

fn step_resources(resources: &StepResources) -> ResourceRequirements {
    requirements([
        ("cpu", resources.cpu),
        ("memory", resources.memory),
        ("ephemeral-storage", resources.ephemeral_storage),
    ])
}

fn run_resources(profile: &Profile) -> ResourceRequirements {
    let run = &profile.resources.run;
    let own =
        [("cpu", run.cpu), ("memory", run.memory), ("ephemeral-storage", run.ephemeral_storage)];
    requirements(
        own.into_iter()
            .chain(run.extended.iter().map(|(name, quantity)| (name.as_str(), *quantity))),
    )
}

/// Requests equal limits, so the pod is guaranteed what it may use.
fn requirements<'a>(
    resources: impl IntoIterator<Item = (&'a str, Quantity)>,
) -> ResourceRequirements {
    let limits: TextMap = resources
        .into_iter()
        .map(|(name, quantity)| (name.to_owned(), quantity.canonical()))
        .collect();
    ResourceRequirements { requests: limits.clone(), limits }
}

fn volumes(fitted: &Fitted<'_>, names: &Names) -> Vec<Volume> {
    let profile = fitted.profile;
    let sizes = &profile.volumes;
    let mut volumes = vec![
        on_disk("inputs", sizes.inputs.canonical()),
        on_disk("tools", TOOLS_SIZE.to_owned()),
        in_memory("control", CONTROL_SIZE.to_owned()),
        on_disk("output", sizes.output.canonical()),
        on_disk("spool", spool_size(sizes.output)),
        on_disk("scratch", sizes.scratch.canonical()),
        urls("stage-urls", names, stage_keys(fitted)),
        urls("publish-urls", names, publish_keys(fitted)),
    ];
    volumes.extend(profile.shared_memory.map(|size| in_memory("shared-memory", size.canonical())));
    volumes.extend(profile.ca_config_map.as_ref().map(|ca| Volume {
        config_map: Some(ConfigMapVolume {
            name: ca.name.as_str().to_owned(),
            items: vec![KeyToPath { key: ca.key.as_str().to_owned(), path: "ca.crt".to_owned() }],
            default_mode: URL_FILE_MODE,
            optional: false,
        }),
        ..volume("ca")
    }));
    volumes.extend(profile.caches.iter().enumerate().map(|(index, cache)| Volume {
        persistent_volume_claim: Some(ClaimVolume {
            claim_name: cache.claim.as_str().to_owned(),
            read_only: true,
        }),
        ..volume(&format!("cache-{index}"))
    }));
    volumes
}

fn spool_size(output: Quantity) -> String {
    let bytes = output.whole().unwrap_or(u64::MAX).saturating_add(SPOOL_EXTRA_BYTES);
    Quantity::parse(&bytes.to_string())
        .map_or_else(|_| bytes.to_string(), super::super::profile::quantity::Quantity::canonical)
}

fn volume(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: None,
        secret: None,
        config_map: None,
        persistent_volume_claim: None,
    }
}

fn on_disk(name: &str, size_limit: String) -> Volume {
    Volume { empty_dir: Some(EmptyDir { medium: None, size_limit }), ..volume(name) }
}

fn in_memory(name: &str, size_limit: String) -> Volume {
    Volume { empty_dir: Some(EmptyDir { medium: Some("Memory"), size_limit }), ..volume(name) }
}

/// Each step's files hold only the keys that it needs.
fn urls(name: &str, names: &Names, keys: Vec<&'static str>) -> Volume {
    let items = keys
        .into_iter()
        .map(|key| KeyToPath { key: key.to_owned(), path: key.to_owned() })
        .collect();
    Volume {
        secret: Some(SecretVolume {
            secret_name: names.secret.clone(),
            items,
            default_mode: URL_FILE_MODE,
            optional: false,
        }),
        ..volume(name)
    }
}

fn stage_keys(fitted: &Fitted<'_>) -> Vec<&'static str> {
    let needed = |field: UrlField| field != UrlField::ResultPut;
    fitted
        .submission
        .urls()
        .into_iter()
        .filter(|(field, _)| needed(*field))
        .map(|(field, _)| field.name())
        .collect()
}

fn publish_keys(fitted: &Fitted<'_>) -> Vec<&'static str> {
    let needed = |field: UrlField| matches!(field, UrlField::ResultPut | UrlField::ResultReadback);
    let fields = fitted.submission.urls().into_iter().filter(|(field, _)| needed(*field));
    let mut keys: Vec<&'static str> = fields.map(|(field, _)| field.name()).collect();
    if !fitted.submission.result().put_headers.is_empty() {
        keys.push(PUT_HEADERS_KEY);
    }
    keys
}
