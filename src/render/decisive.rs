//! The closed list of fields that decide what a Job runs, and the digest over them.
//!
//! A Job carries its digest as an annotation, so that a later harness, which renders other fields, can still
//! tell whether somebody changed the Job. Hence the list is frozen, names every field down to the leaves
//! (a newer server may default new ones anywhere), and leaves out what a queue or `cancel` may change:
//! placement, `suspend`, the Job's deadline, labels and annotations of others. Pure.

use serde_json::{Map, Value};

use super::compare::equivalence::{
    canonical_quantity, is_default, is_harness_container, is_host_port, is_pinned_image,
    is_signed_secret, is_unset, needed_items,
};
use crate::submission::Sha256Digest;

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

const ITEM: Shape = Fields(&[("key", Whole), ("mode", Whole), ("path", Whole)]);

/// A volume and its source. A source that is not listed here still shows, as a volume without one.
const VOLUME: Shape = Fields(&[
    (
        "configMap",
        Fields(&[
            ("defaultMode", Whole),
            ("items", List(&ITEM)),
            ("name", Whole),
            ("optional", Whole),
        ]),
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
            (Quantity, value) => canonical_quantity(value),
            (Quantities, Value::Object(map)) => Value::Object(
                map.iter().map(|(key, value)| (key.clone(), canonical_quantity(value))).collect(),
            ),
            (SecretName, Value::String(name)) if is_signed_secret(name, job_name) => {
                MASKED_SECRET.into()
            }
            (SecretItems, Value::Array(items)) => {
                let needed = needed_items(items).into_iter();
                Value::Array(needed.map(|item| ITEM.project(item, job_name)).collect())
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
