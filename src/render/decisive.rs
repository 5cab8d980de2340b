//! The closed list of fields that decide what a Job runs, and the digest over them.
//!
//! A Job carries its digest as an annotation, so that a later harness, which renders other fields, can still
//! tell whether somebody changed the Job. Hence the list is frozen, names every field down to the leaves
//! (a newer server may default new ones anywhere), and leaves out what a queue or `cancel` may change:
//! placement, `suspend`, the Job's deadline, labels and annotations of others. Pure.

use serde_json::{Map, Value};

use crate::submission::Sha256Digest;

/// What all labels and annotations of harness begin with.
pub const PREFIX: &str = "research.harness/";

/// First line of what is hashed: the name of this list.
const SCHEME: &str = "harness.decisive.v1\n";

/// Stands for the harness image, which may be a newer one of the same Job.
const MASKED_IMAGE: &str = "<harness image>";
/// Stands for the Secret's name, which changes when the URLs are signed again.
const MASKED_SECRET: &str = "<signed secret>";

/// What is kept of a value.
enum Shape {
    /// All of it. Only for scalars, lists of scalars, and for what harness never renders.
    Whole,
    /// The amount, in whichever way it is written.
    Quantity,
    /// A map of amounts.
    Quantities,
    /// A Secret's name, masked if it is one of this Job's own.
    SecretName,
    /// The Secret's keys that a step needs in any case, and the files that they become.
    SecretItems,
    /// The ports that are opened on the node.
    HostPorts,
    /// Each element.
    List(&'static Shape),
    /// A container: its fields, with the image masked if it is harness' own.
    Container(&'static [Field]),
    /// These fields, if set.
    Fields(&'static [Field]),
}

type Field = (&'static str, Shape);

use Shape::{
    Container, Fields, HostPorts, List, Quantities, Quantity, SecretItems, SecretName, Whole,
};

const JOB: Shape = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Whole),
            ("namespace", Whole),
            (
                "labels",
                Fields(&[
                    ("app.kubernetes.io/managed-by", Whole),
                    ("research.harness/result-identity", Whole),
                ]),
            ),
            (
                "annotations",
                Fields(&[
                    ("research.harness/attempt-id", Whole),
                    ("research.harness/mission-id", Whole),
                    ("research.harness/profile-digest", Whole),
                    ("research.harness/render-version", Whole),
                    ("research.harness/result-identity", Whole),
                    ("research.harness/submission-digest", Whole),
                ]),
            ),
        ]),
    ),
    (
        "spec",
        Fields(&[
            ("backoffLimit", Whole),
            ("backoffLimitPerIndex", Whole),
            ("completionMode", Whole),
            ("completions", Whole),
            ("managedBy", Whole),
            ("manualSelector", Whole),
            ("maxFailedIndexes", Whole),
            ("parallelism", Whole),
            (
                "podFailurePolicy",
                Fields(&[(
                    "rules",
                    List(&Fields(&[
                        ("action", Whole),
                        ("onExitCodes", Whole),
                        ("onPodConditions", List(&Fields(&[("type", Whole), ("status", Whole)]))),
                    ])),
                )]),
            ),
            ("podReplacementPolicy", Whole),
            ("successPolicy", Whole),
            ("template", Fields(&[("spec", POD)])),
            ("ttlSecondsAfterFinished", Whole),
        ]),
    ),
]);

const POD: Shape = Fields(&[
    ("activeDeadlineSeconds", Whole),
    ("automountServiceAccountToken", Whole),
    ("containers", List(&CONTAINER)),
    ("dnsConfig", Whole),
    ("dnsPolicy", Whole),
    ("enableServiceLinks", Whole),
    ("ephemeralContainers", Whole),
    ("hostAliases", Whole),
    ("hostIPC", Whole),
    ("hostNetwork", Whole),
    ("hostPID", Whole),
    ("hostUsers", Whole),
    ("hostname", Whole),
    ("hostnameOverride", Whole),
    ("initContainers", List(&CONTAINER)),
    ("nodeName", Whole),
    ("resourceClaims", Whole),
    ("resources", RESOURCES),
    ("restartPolicy", Whole),
    ("runtimeClassName", Whole),
    (
        "securityContext",
        Fields(&[
            ("appArmorProfile", Whole),
            ("fsGroup", Whole),
            ("fsGroupChangePolicy", Whole),
            ("runAsGroup", Whole),
            ("runAsNonRoot", Whole),
            ("runAsUser", Whole),
            ("seLinuxOptions", Whole),
            ("seccompProfile", SECCOMP),
            ("supplementalGroups", Whole),
            ("supplementalGroupsPolicy", Whole),
            ("sysctls", Whole),
            ("windowsOptions", Whole),
        ]),
    ),
    ("serviceAccountName", Whole),
    ("setHostnameAsFQDN", Whole),
    ("shareProcessNamespace", Whole),
    ("subdomain", Whole),
    ("terminationGracePeriodSeconds", Whole),
    ("volumes", List(&VOLUME)),
]);

const SECCOMP: Shape = Fields(&[("localhostProfile", Whole), ("type", Whole)]);

const RESOURCES: Shape =
    Fields(&[("claims", Whole), ("limits", Quantities), ("requests", Quantities)]);

const CONTAINER: Shape = Container(&[
    ("args", Whole),
    ("command", Whole),
    ("env", List(&ENVIRONMENT_VARIABLE)),
    (
        "envFrom",
        List(&Fields(&[
            ("configMapRef", Whole),
            ("prefix", Whole),
            ("secretRef", Fields(&[("name", Whole), ("optional", Whole)])),
        ])),
    ),
    ("image", Whole),
    ("lifecycle", Whole),
    ("livenessProbe", Whole),
    ("name", Whole),
    ("ports", HostPorts),
    ("readinessProbe", Whole),
    ("resources", RESOURCES),
    ("restartPolicy", Whole),
    ("restartPolicyRules", Whole),
    (
        "securityContext",
        Fields(&[
            ("allowPrivilegeEscalation", Whole),
            ("appArmorProfile", Whole),
            ("capabilities", Fields(&[("add", Whole), ("drop", Whole)])),
            ("privileged", Whole),
            ("procMount", Whole),
            ("readOnlyRootFilesystem", Whole),
            ("runAsGroup", Whole),
            ("runAsNonRoot", Whole),
            ("runAsUser", Whole),
            ("seLinuxOptions", Whole),
            ("seccompProfile", SECCOMP),
            ("windowsOptions", Whole),
        ]),
    ),
    ("startupProbe", Whole),
    ("volumeDevices", Whole),
    (
        "volumeMounts",
        List(&Fields(&[
            ("mountPath", Whole),
            ("mountPropagation", Whole),
            ("name", Whole),
            ("readOnly", Whole),
            ("recursiveReadOnly", Whole),
            ("subPath", Whole),
            ("subPathExpr", Whole),
        ])),
    ),
    ("workingDir", Whole),
]);

const ENVIRONMENT_VARIABLE: Shape = Fields(&[
    ("name", Whole),
    ("value", Whole),
    (
        "valueFrom",
        Fields(&[
            ("configMapKeyRef", Whole),
            ("fieldRef", Fields(&[("fieldPath", Whole)])),
            ("fileKeyRef", Whole),
            ("resourceFieldRef", Whole),
            ("secretKeyRef", Whole),
        ]),
    ),
]);

const ITEMS: Shape = List(&Fields(&[("key", Whole), ("mode", Whole), ("path", Whole)]));

/// A volume and its source. A source that is not listed here still shows, as a volume without one.
const VOLUME: Shape = Fields(&[
    (
        "configMap",
        Fields(&[("defaultMode", Whole), ("items", ITEMS), ("name", Whole), ("optional", Whole)]),
    ),
    ("csi", Whole),
    ("downwardAPI", Whole),
    ("emptyDir", Fields(&[("medium", Whole), ("sizeLimit", Quantity)])),
    ("ephemeral", Whole),
    ("hostPath", Whole),
    ("image", Whole),
    ("name", Whole),
    ("nfs", Whole),
    ("persistentVolumeClaim", Fields(&[("claimName", Whole), ("readOnly", Whole)])),
    ("projected", Whole),
    (
        "secret",
        Fields(&[
            ("defaultMode", Whole),
            ("items", SecretItems),
            ("optional", Whole),
            ("secretName", SecretName),
        ]),
    ),
]);

/// What decides what `job` runs: the fields of the list that are set, Secret names and harness images masked,
/// quantities by value. Any JSON is taken; what has an unexpected shape stays as it is.
pub fn decisive_projection(job: &Value) -> Value {
    let name = job.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let mut projection = JOB.project(job, name);
    // The keys of a map stand in byte order, also where a dependency makes `serde_json` keep another.
    projection.sort_all_objects();
    projection
}

/// SHA-256 of the list's name and the compact JSON of [`decisive_projection`].
///
/// It is the same for a rendered Job and for what a server of any version stores of it.
pub fn decisive_digest(job: &Value) -> Sha256Digest {
    Sha256Digest::of(format!("{SCHEME}{}", decisive_projection(job)))
}

impl Shape {
    fn project(&self, value: &Value, job_name: &str) -> Value {
        match (self, value) {
            (Quantity, value) => quantity(value),
            (Quantities, Value::Object(map)) => Value::Object(
                map.iter().map(|(key, value)| (key.clone(), quantity(value))).collect(),
            ),
            (SecretName, Value::String(name)) if is_signed_secret(name, job_name) => {
                MASKED_SECRET.into()
            }
            (SecretItems, Value::Array(items)) => {
                Value::Array(needed_items(items).into_iter().cloned().collect())
            }
            (HostPorts, Value::Array(ports)) => {
                Value::Array(ports.iter().filter(|port| is_host_port(port)).cloned().collect())
            }
            (List(shape), Value::Array(items)) => {
                Value::Array(items.iter().map(|item| shape.project(item, job_name)).collect())
            }
            (Container(fields), Value::Object(container)) => {
                let mut kept = project_fields(fields, container, job_name);
                mask_harness_image(&mut kept);
                Value::Object(kept)
            }
            (Fields(fields), Value::Object(map)) => {
                Value::Object(project_fields(fields, map, job_name))
            }
            _ => value.clone(),
        }
    }
}

fn project_fields(
    fields: &[Field],
    map: &Map<String, Value>,
    job_name: &str,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, shape) in fields {
        let Some(value) = map.get(*key) else { continue };
        let value = shape.project(value, job_name);
        if !is_unset(key, &value) && !is_default(key, &value) {
            kept.insert((*key).to_owned(), value);
        }
    }
    kept
}

fn mask_harness_image(container: &mut Map<String, Value>) {
    let is_ours = container.get("name").is_some_and(is_harness_container);
    if let Some(Value::String(image)) = container.get_mut("image")
        && is_ours
        && is_pinned_image(image)
    {
        MASKED_IMAGE.clone_into(image);
    }
}

/// The amount in billionths of a unit, which no spelling changes; as it stands if it is no quantity.
fn quantity(value: &Value) -> Value {
    match quantity_nanos(value) {
        Some(nanos) => format!("{nanos}n").into(),
        None => value.clone(),
    }
}

fn quantity_nanos(value: &Value) -> Option<i128> {
    crate::profile::Quantity::parse(value.as_str()?).ok().map(crate::profile::Quantity::nanos)
}

/// Whether two values are the same amount; texts that are no quantities are compared as they are.
pub(super) fn is_same_quantity(one: &Value, other: &Value) -> bool {
    match (quantity_nanos(one), quantity_nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Whether a container, given its name, is one that runs the harness image.
pub(super) fn is_harness_container(name: &Value) -> bool {
    matches!(name.as_str(), Some("stage" | "publish"))
}

/// Whether `image` names its bytes: `REPOSITORY@sha256:` and 64 hexadecimal digits.
pub(super) fn is_pinned_image(image: &str) -> bool {
    image.split_once("@sha256:").is_some_and(|(repository, digits)| {
        is_hex(digits, 64)
            && !repository.is_empty()
            && repository.bytes().all(|b| b.is_ascii_graphic() && b != b'@')
    })
}

/// The items of a Secret volume but for the optional ones, each a file of its key's name.
///
/// A submission that is signed again may bring or lack these; the submission digest leaves them out.
pub(super) fn needed_items(items: &[Value]) -> Vec<&Value> {
    let is_optional = |item: &Value| {
        OPTIONAL_ITEMS.iter().any(|key| *item == serde_json::json!({ "key": key, "path": key }))
    };
    items.iter().filter(|item| !is_optional(item)).collect()
}

const OPTIONAL_ITEMS: [&str; 2] = ["result_put_headers", "result_readback_url"];

/// Whether `name` is the name of a Secret that harness makes for this Job: `JOB-` and 10 hexadecimal digits.
pub(super) fn is_signed_secret(name: &str, job_name: &str) -> bool {
    let suffix = name.strip_prefix(job_name).and_then(|rest| rest.strip_prefix('-'));
    suffix.is_some_and(|digits| is_hex(digits, 10))
}

/// Whether `text` is that many lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a container's port is opened on the node.
pub(super) fn is_host_port(port: &Value) -> bool {
    !matches!(port, Value::Object(map) if map.get("hostPort").is_none_or(|port| *port == 0))
}

/// Whether the field `key` with this value means the same as its absence.
///
/// Go leaves empty values out unless the field is a pointer; for pointers to a struct, `{}` may well mean
/// something (a label selector of everything), so the fields are named.
pub(super) fn is_unset(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(false) => FALSE_IS_UNSET.contains(&key),
        Value::String(text) => text.is_empty() && EMPTY_TEXT_IS_UNSET.contains(&key),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && EMPTY_OBJECT_IS_UNSET.contains(&key),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

const FALSE_IS_UNSET: [&str; 6] =
    ["hostIPC", "hostNetwork", "hostPID", "readOnly", "setHostnameAsFQDN", "shareProcessNamespace"];
const EMPTY_TEXT_IS_UNSET: [&str; 12] = [
    "hostname",
    "medium",
    "mountPropagation",
    "nodeName",
    "prefix",
    "serviceAccount",
    "serviceAccountName",
    "subPath",
    "subPathExpr",
    "subdomain",
    "value",
    "workingDir",
];
const EMPTY_OBJECT_IS_UNSET: [&str; 8] = [
    "annotations",
    "labels",
    "limits",
    "metadata",
    "nodeSelector",
    "requests",
    "resources",
    "securityContext",
];

/// Whether the value is the one that a server may write out where the field is absent.
pub(super) fn is_default(key: &str, value: &Value) -> bool {
    matches!(
        (key, value.as_str()),
        ("procMount", Some("Default"))
            | ("mountPropagation", Some("None"))
            | ("recursiveReadOnly", Some("Disabled"))
    )
}
