//! Profiles: a site's named choice of resources, time allowances, placement and harness image.
//!
//! A profile is YAML with a closed, versioned schema; [`Profile::parse`] reports every problem of a
//! file at once. Everything here is pure: directories are read by the command line. No field can weaken
//! the pod's security, and every value is one that the API server takes as it is.

pub mod allowances;
pub mod caches;
pub mod names;
pub mod network;
pub mod placement;
pub mod quantity;
mod reader;
pub mod references;
pub mod resources;
mod set;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use allowances::{Allowances, Deadlines, OnDisruption};
pub use caches::{Cache, MountPath};
pub use names::{ConfigKey, DnsSubdomain, LabelKey, LabelValue, ProfileName, QueueName};
pub use network::{AliasHost, CaConfigMap, Proxy};
pub use placement::{Affinity, Toleration};
pub use quantity::Quantity;
pub use resources::{ResourceName, Resources, RunResources, StepResources, Volumes};
pub use set::Profiles;

use crate::submission::digest::Sha256Digest;
use crate::submission::problem::{Code, Fault, Problem};
use reader::{Fields, Place, Problems};

/// The only version of the schema.
pub const SCHEMA_VERSION: &str = "profile.v1";

/// The JSON Schema (2020-12) of a profile, for editors; [`Profile::parse`] is what decides.
pub const SCHEMA: &str = include_str!("../../schemas/profile.json");

/// The file is of another version of the schema.
pub static UNSUPPORTED_VERSION: Code = Code {
    name: "profile-version-unsupported",
    summary: "the profile is of a version that this harness does not know",
    explanation: "`schema_version` is `profile.v1`. A newer version may mean something else by the same fields, so it is \
refused rather than read as far as possible.",
};

/// A description is no short text.
pub static INVALID_DESCRIPTION: Code = Code {
    name: "profile-description-invalid",
    summary: "the description is not one short line of printable text",
    explanation: "The description is shown in lists: 1 to 256 characters on one line, without control, bidirectional or \
zero-width characters, which could make a terminal show something else.",
};

/// A queue is named, but no time is allowed for waiting in it.
pub static QUEUE_WITHOUT_ALLOWANCE: Code = Code {
    name: "profile-queue-without-allowance",
    summary: "a queue is named, but no time is allowed for waiting in it",
    explanation: "A Job in a queue starts later, and its signed URLs must live until then. Signed URLs are checked against \
`allowances.queue`, so a profile with `queue` sets it to the longest wait that it wants to allow.",
};

/// Every code that a profile can cause.
pub static CODES: &[&Code] = &[
    &UNSUPPORTED_VERSION,
    &INVALID_DESCRIPTION,
    &QUEUE_WITHOUT_ALLOWANCE,
    &yaml::TOO_LARGE,
    &yaml::INVALID_YAML,
    &reader::UNKNOWN_FIELD,
    &reader::MISSING_FIELD,
    &reader::WRONG_TYPE,
    &reader::REPEATED_ENTRY,
    &names::INVALID_NAME,
    &names::INVALID_LABEL,
    &quantity::INVALID_QUANTITY,
    &resources::INVALID_RESOURCE,
    &resources::STORAGE_TOO_SMALL,
    &allowances::SECONDS_OUT_OF_RANGE,
    &allowances::NO_TIME_FOR_SEARCH,
    &allowances::BUDGET_OVER_DEADLINE,
    &placement::UNKNOWN_VALUE,
    &placement::INVALID_TOLERATION,
    &placement::INVALID_AFFINITY,
    &references::RESERVED_LABEL,
    &references::RESERVED_NAME,
    &network::INVALID_PROXY,
    &caches::INVALID_CACHE_PATH,
    &network::INVALID_ALIAS,
    &references::HARNESS_IMAGE_NOT_PINNED,
    &set::DUPLICATE_PROFILE,
    &set::UNKNOWN_PROFILE,
];

/// A profile whose every field was checked.
///
/// Serialised, it is the canonical form that its digest covers: fields in this order, defaults filled
/// in, quantities in canonical form, absent optional fields left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(
    test,
    schemars(description = "A site's named choice of resources, times and placement.")
)]
#[non_exhaustive]
pub struct Profile {
    /// Always `profile.v1`.
    pub schema_version: SchemaVersion,
    /// What a submission's `resource_profile` names.
    pub name: ProfileName,
    /// One line for lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub description: Option<String>,
    /// What each step may use.
    pub resources: Resources,
    /// The sizes of the volumes on the node's disk.
    pub volumes: Volumes,
    /// The size of `/dev/shm` in `run`; a part of its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<Quantity>,
    /// How long each part may take.
    pub allowances: Allowances,
    /// What a disruption of the node means.
    #[cfg_attr(test, schemars(default = "default_on_disruption"))]
    pub on_disruption: OnDisruption,
    /// The Kueue `LocalQueue` that the Job waits in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub node_selector: BTreeMap<LabelKey, LabelValue>,
    /// Attraction to nodes and aversion to pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Taints that the pod tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub tolerations: Vec<Toleration>,
    /// The pod's `PriorityClass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<DnsSubdomain>,
    /// The pod's `RuntimeClass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<DnsSubdomain>,
    /// Secrets with which the kubelet pulls images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64), extend("uniqueItems" = true)))]
    pub image_pull_secrets: Vec<DnsSubdomain>,
    /// Labels of Job and pod, as for cost accounting.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub labels: BTreeMap<LabelKey, LabelValue>,
    /// Secrets that a submission may name as its runner's; order does not matter.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub allowed_runner_secrets: BTreeSet<DnsSubdomain>,
    /// Proxy variables for `stage` and `publish`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Further certificate authorities for `stage` and `publish`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_config_map: Option<CaConfigMap>,
    /// Claims that are mounted read-only into `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default, length(max = 64)))]
    pub caches: Vec<Cache>,
    /// The bucket's URL behind each host name of the site's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub endpoint_aliases: BTreeMap<AliasHost, String>,
    /// The image of `stage` and `publish`, pinned by digest.
    // A `String` of a roughly checked form: the strict type for images belongs to `submission`, and
    // whoever renders the image parses it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        test,
        schemars(regex(pattern = r"^[^@]+/[^@]+@sha256:[0-9a-f]{64}$"), length(max = 1024))
    )]
    pub harness_image: Option<String>,
}

/// The version of the schema, of which there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SchemaVersion {
    /// The first one.
    #[serde(rename = "profile.v1")]
    V1,
}

impl Profile {
    /// Parses one YAML document; the problems are never empty and hold each problem of the file.
    pub fn parse(yaml: &[u8]) -> Result<Self, Vec<Problem>> {
        let root = yaml::parse(yaml).map_err(|problem| vec![problem])?;
        let problems = Problems::default();
        let profile = read(&Place::root(&root, &problems));
        match (profile, problems.into_vec()) {
            (Some(profile), problems) if problems.is_empty() => Ok(profile),
            (_, problems) => Err(problems),
        }
    }

    /// The SHA-256 of the canonical form as compact JSON, the harness image left out.
    #[expect(clippy::missing_panics_doc, reason = "text keys and numbers always serialise")]
    pub fn digest(&self) -> Sha256Digest {
        let content = Self { harness_image: None, ..self.clone() };
        let json = serde_json::to_vec(&content).expect("a profile is JSON with text keys");
        Sha256Digest::of(json)
    }

    /// The deadlines of a search of `budget_seconds`; the fault shows the sum that does not fit.
    pub fn times(&self, budget_seconds: u32) -> Result<Deadlines, Fault> {
        self.allowances.times(budget_seconds, self.on_disruption)
    }

    /// The largest search budget that fits, in seconds.
    pub fn largest_budget(&self) -> u32 {
        self.allowances.largest_budget()
    }
}

fn default_on_disruption() -> OnDisruption {
    OnDisruption::Fail
}

fn disruption(text: &str) -> Result<OnDisruption, Fault> {
    match text {
        "fail" => Ok(OnDisruption::Fail),
        "restart" => Ok(OnDisruption::Restart),
        _ => Err(placement::unknown_word(text, &["fail", "restart"])),
    }
}

fn version(text: &str) -> Result<SchemaVersion, Fault> {
    if text == SCHEMA_VERSION {
        return Ok(SchemaVersion::V1);
    }
    Err(Fault::new(
        &UNSUPPORTED_VERSION,
        names::quoted(text),
        SCHEMA_VERSION,
        "use a harness that knows this version, or write the profile in this one",
    ))
}

fn description(text: &str) -> Result<String, Fault> {
    let fault = |found: String| {
        Fault::new(
            &INVALID_DESCRIPTION,
            found,
            "1 to 256 printable characters on one line",
            "shorten it or remove the character",
        )
    };
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    if let Some(character) = text.chars().find(|c| hidden(*c)) {
        return Err(fault(format!("the character U+{:04X}", u32::from(character))));
    }
    match text.chars().count() {
        1..=256 => Ok(text.to_owned()),
        count => Err(fault(format!("{count} characters"))),
    }
}

/// An optional field that is read by `parse`; a bad one is reported and reads as absent, which does no
/// harm since a profile with a problem is never returned.
fn optional<'a, T>(
    fields: &mut Fields<'a>,
    name: &'static str,
    read: impl FnOnce(&Place<'a>) -> Option<T>,
) -> Option<T> {
    fields.optional(name).and_then(|place| read(&place))
}

fn read(place: &Place<'_>) -> Option<Profile> {
    let mut fields = place.fields()?;
    let profile = read_fields(&mut fields);
    fields.finish();
    profile
}

fn read_fields(fields: &mut Fields<'_>) -> Option<Profile> {
    let schema_version = fields.required("schema_version").and_then(|place| place.parse(version));
    let name = fields.required("name").and_then(|place| place.parse(ProfileName::parse));
    let resources = fields.required("resources").and_then(|place| resources::read(&place));
    let volumes_place = fields.required("volumes");
    let volumes = volumes_place.as_ref().and_then(resources::read_volumes);
    let allowances = fields.required("allowances").and_then(|place| allowances::read(&place));
    let shared_memory_place = fields.optional("shared_memory");
    let shared_memory = shared_memory_place.as_ref().and_then(resources::bytes);
    let queue_place = fields.optional("queue");
    let queue = queue_place.as_ref().and_then(|place| place.parse(QueueName::parse));
    // Rules about two fields are checked as soon as both are good, whatever else is wrong.
    if let (Some(place), Some(resources), Some(volumes)) = (&volumes_place, &resources, &volumes) {
        place.keep(resources::check_storage(&resources.run, volumes));
    }
    if let (Some(place), Some(resources), Some(size)) =
        (&shared_memory_place, &resources, shared_memory)
    {
        place.keep(resources::check_shared_memory(&resources.run, size));
    }
    if let (Some(place), Some(queue), Some(allowances)) = (&queue_place, &queue, &allowances) {
        place.keep(waits(queue, *allowances));
    }
    // The required fields come last, so that every other problem is reported before the first `?`.
    Some(Profile {
        description: optional(fields, "description", |place| place.parse(description)),
        on_disruption: optional(fields, "on_disruption", |place| place.parse(disruption))
            .unwrap_or_else(default_on_disruption),
        node_selector: optional(fields, "node_selector", labels(LabelKey::parse))
            .unwrap_or_default(),
        affinity: optional(fields, "affinity", placement::read_affinity),
        tolerations: optional(fields, "tolerations", placement::read_tolerations)
            .unwrap_or_default(),
        priority_class_name: optional(fields, "priority_class_name", |place| {
            place.parse(references::priority_class)
        }),
        runtime_class_name: optional(fields, "runtime_class_name", |place| {
            place.parse(DnsSubdomain::parse)
        }),
        image_pull_secrets: optional(fields, "image_pull_secrets", |place| {
            place.names(references::pull_secret)
        })
        .unwrap_or_default(),
        labels: optional(fields, "labels", labels(references::label_key)).unwrap_or_default(),
        allowed_runner_secrets: optional(fields, "allowed_runner_secrets", |place| {
            place.names(references::runner_secret)
        })
        .map(BTreeSet::from_iter)
        .unwrap_or_default(),
        // An empty mapping says no more than an absent one, and must not make another digest.
        proxy: optional(fields, "proxy", network::read_proxy)
            .filter(|proxy| *proxy != Proxy::default()),
        ca_config_map: optional(fields, "ca_config_map", network::read_ca),
        caches: optional(fields, "caches", caches::read_caches).unwrap_or_default(),
        endpoint_aliases: optional(fields, "endpoint_aliases", network::read_aliases)
            .unwrap_or_default(),
        harness_image: optional(fields, "harness_image", |place| {
            place.parse(references::harness_image)
        }),
        shared_memory,
        queue,
        schema_version: schema_version?,
        name: name?,
        resources: resources?,
        volumes: volumes?,
        allowances: allowances?,
    })
}

/// Reads a mapping of labels whose keys `key` takes.
fn labels<'a>(
    key: fn(&str) -> Result<LabelKey, Fault>,
) -> impl FnOnce(&Place<'a>) -> Option<BTreeMap<LabelKey, LabelValue>> {
    move |place| place.map(key, |place| place.parse(LabelValue::parse))
}

fn waits(queue: &QueueName, allowances: Allowances) -> Result<(), Fault> {
    if allowances.queue > 0 {
        return Ok(());
    }
    Err(Fault::new(
        &QUEUE_WITHOUT_ALLOWANCE,
        format!("queue `{queue}` with `allowances.queue` 0"),
        "`allowances.queue` of at least one second with a queue",
        "set `allowances.queue` to the longest wait to allow",
    ))
}
