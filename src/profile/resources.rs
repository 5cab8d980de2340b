//! What each step may use, and how large the volumes are.
//!
//! Every request equals its limit, cpu too, which makes the pod *Guaranteed*: it is evicted last, and a
//! search budget in seconds buys the same compute whatever runs beside it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::names::{self, quoted};
use super::quantity::{INVALID_QUANTITY, Quantity};
use super::reader::{Fields, Place};
use crate::submission::problem::{Code, Fault};

/// An extended resource has a name that Kubernetes does not take.
pub static INVALID_RESOURCE: Code = Code {
    name: "profile-resource-name-invalid",
    summary: "an extended resource has a name that Kubernetes does not take",
    explanation: "Extended resources, such as `nvidia.com/gpu`, have a domain and `/` before their name, the domain is \
none of Kubernetes' own and does not begin with `requests.`. `cpu`, `memory` and `ephemeral_storage` have fields of \
their own.",
};

/// The volumes do not fit what the step may use.
pub static STORAGE_TOO_SMALL: Code = Code {
    name: "profile-storage-too-small",
    summary: "the volumes are larger than what the run may use",
    explanation: "Volumes count against the pod: the kubelet evicts a pod whose volumes on disk exceed the ephemeral \
storage of its containers, and memory in `/dev/shm` counts as the run's memory. So `resources.run.ephemeral_storage` \
holds inputs, scratch and twice the output (the files, and the archive that `publish` packs from them), and \
`shared_memory` fits `resources.run.memory`.",
};

/// What one step may use; requests and limits alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StepResources {
    /// Cores; at least `10m`.
    pub cpu: Quantity,
    /// Bytes; at least `16Mi`.
    pub memory: Quantity,
    /// Bytes on the node's disk (volumes, logs, written layers); at least `16Mi`.
    pub ephemeral_storage: Quantity,
}

/// What the submission's own container may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct RunResources {
    /// Cores; at least `10m`.
    pub cpu: Quantity,
    /// Bytes; at least `16Mi`.
    pub memory: Quantity,
    /// Bytes on the node's disk; at least inputs, scratch and twice the output.
    pub ephemeral_storage: Quantity,
    /// Extended resources by name, such as `nvidia.com/gpu: 1`; whole numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub extended: BTreeMap<ResourceName, Quantity>,
}

/// The resources of the three steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Resources {
    /// Of `stage`, which fetches and unpacks the inputs.
    #[cfg_attr(test, schemars(default = "default_stage"))]
    pub stage: StepResources,
    /// Of `run`, the submission's own image.
    pub run: RunResources,
    /// Of `publish`, which packs and sends the result.
    #[cfg_attr(test, schemars(default = "default_publish"))]
    pub publish: StepResources,
}

/// The sizes of the volumes on the node's disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Volumes {
    /// Mission, snapshot and resume, packed and unpacked.
    pub inputs: Quantity,
    /// What the runner leaves as its result.
    pub output: Quantity,
    /// The runner's working folder.
    pub scratch: Quantity,
}

/// The name of an extended resource, such as `nvidia.com/gpu`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResourceName(
    #[cfg_attr(
        test,
        schemars(regex(pattern = r"^[a-z0-9][-a-z0-9.]*/[A-Za-z0-9][-A-Za-z0-9_.]*$"))
    )]
    String,
);

impl ResourceName {
    /// Parses the name of an extended resource.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let foreign = text.split_once('/').is_some_and(|(domain, _)| {
            domain != "kubernetes.io"
                && !domain.ends_with(".kubernetes.io")
                && !domain.starts_with("requests.")
        });
        // The quota for it is named `requests.NAME`, which must be a good key as well.
        if foreign && names::LabelKey::parse(&format!("requests.{text}")).is_ok() {
            return Ok(Self(text.to_owned()));
        }
        Err(Fault::new(
            &INVALID_RESOURCE,
            format!("{} names no extended resource", quoted(text)),
            "DOMAIN/NAME with a domain that is not Kubernetes' own",
            "write for instance `nvidia.com/gpu`",
        ))
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn fixed(text: &'static str) -> Quantity {
    Quantity::parse(text).expect("a quantity written here is one")
}

fn default_stage() -> StepResources {
    StepResources { cpu: fixed("500m"), memory: fixed("256Mi"), ephemeral_storage: fixed("256Mi") }
}

fn default_publish() -> StepResources {
    StepResources { cpu: fixed("250m"), memory: fixed("256Mi"), ephemeral_storage: fixed("256Mi") }
}

/// A quantity that the API server keeps as it is, not below `least`, in its normal form: a profile that
/// is only respelt keeps its digest.
fn amount(place: &Place<'_>, least: &'static str) -> Option<Quantity> {
    place.parse_number(|text| {
        let quantity = Quantity::parse(text)?;
        let fault = |why: &str, remedy: &'static str| {
            let found = format!("{} {why}", quoted(text));
            Fault::new(&INVALID_QUANTITY, found, format!("at least `{least}`"), remedy)
        };
        if quantity < fixed(least) {
            let remedy = "write more; `512m` is half a unit, `512Mi` are mebibytes";
            return Err(fault("is too little", remedy));
        }
        if !quantity.is_whole_thousandths() {
            return Err(fault("is finer than a thousandth", "round it, as the API server would"));
        }
        Ok(quantity.normal())
    })
}

/// A number of bytes, whole.
pub(super) fn bytes(place: &Place<'_>) -> Option<Quantity> {
    let quantity = amount(place, "16Mi")?;
    place.keep(whole(quantity, "bytes"))
}

fn whole(quantity: Quantity, unit: &str) -> Result<Quantity, Fault> {
    if quantity.whole().is_some() {
        return Ok(quantity);
    }
    Err(Fault::new(
        &INVALID_QUANTITY,
        format!("`{quantity}`, which is not a whole number"),
        format!("a whole number of {unit}"),
        "round it",
    ))
}

fn devices(place: &Place<'_>) -> Option<Quantity> {
    let quantity = amount(place, "1")?;
    place.keep(whole(quantity, "devices"))
}

fn step(place: &Place<'_>) -> Option<StepResources> {
    let mut fields = place.fields()?;
    let (cpu, memory, ephemeral_storage) = common(&mut fields);
    fields.finish();
    Some(StepResources { cpu: cpu?, memory: memory?, ephemeral_storage: ephemeral_storage? })
}

fn common(fields: &mut Fields<'_>) -> (Option<Quantity>, Option<Quantity>, Option<Quantity>) {
    let cpu = fields.required("cpu").and_then(|place| amount(&place, "10m"));
    let memory = fields.required("memory").and_then(|place| bytes(&place));
    let storage = fields.required("ephemeral_storage").and_then(|place| bytes(&place));
    (cpu, memory, storage)
}

fn run(place: &Place<'_>) -> Option<RunResources> {
    let mut fields = place.fields()?;
    let (cpu, memory, ephemeral_storage) = common(&mut fields);
    let extended = match fields.optional("extended") {
        Some(place) => place.map(ResourceName::parse, devices),
        None => Some(BTreeMap::new()),
    };
    fields.finish();
    Some(RunResources {
        cpu: cpu?,
        memory: memory?,
        ephemeral_storage: ephemeral_storage?,
        extended: extended?,
    })
}

/// Reads `resources`.
pub(super) fn read(place: &Place<'_>) -> Option<Resources> {
    let mut fields = place.fields()?;
    let stage =
        fields.optional("stage").map_or_else(|| Some(default_stage()), |place| step(&place));
    let run = fields.required("run").and_then(|place| run(&place));
    let publish =
        fields.optional("publish").map_or_else(|| Some(default_publish()), |place| step(&place));
    fields.finish();
    Some(Resources { stage: stage?, run: run?, publish: publish? })
}

/// Reads `volumes`.
pub(super) fn read_volumes(place: &Place<'_>) -> Option<Volumes> {
    let mut fields = place.fields()?;
    let inputs = fields.required("inputs").and_then(|place| bytes(&place));
    let output = fields.required("output").and_then(|place| bytes(&place));
    let scratch = fields.required("scratch").and_then(|place| bytes(&place));
    fields.finish();
    Some(Volumes { inputs: inputs?, output: output?, scratch: scratch? })
}

/// Whether the volumes fit what the run may use; values are below 2^63, so the sum cannot overflow.
pub(super) fn check_storage(run: &RunResources, volumes: &Volumes) -> Result<(), Fault> {
    let needed = volumes.inputs.nanos() + 2 * volumes.output.nanos() + volumes.scratch.nanos();
    if needed <= run.ephemeral_storage.nanos() {
        return Ok(());
    }
    Err(Fault::new(
        &STORAGE_TOO_SMALL,
        format!(
            "ephemeral_storage {} for inputs {} + 2 x output {} + scratch {}",
            run.ephemeral_storage, volumes.inputs, volumes.output, volumes.scratch
        ),
        "`resources.run.ephemeral_storage` of at least inputs + 2 x output + scratch",
        "raise it, or lower the volumes",
    ))
}

/// Whether `/dev/shm` fits the run's memory, of which it is a part.
pub(super) fn check_shared_memory(run: &RunResources, size: Quantity) -> Result<(), Fault> {
    if size <= run.memory {
        return Ok(());
    }
    Err(Fault::new(
        &STORAGE_TOO_SMALL,
        format!("shared_memory {size} in a run of memory {}", run.memory),
        "at most `resources.run.memory`, of which it is a part",
        "lower it, or raise the memory",
    ))
}
