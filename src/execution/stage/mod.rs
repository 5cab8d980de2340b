//! `stage`: fetches the inputs, checks them against what the Job expects, and puts them in place.
//!
//! Nothing that was fetched is used before its digest is right. The work is done on a thread of its own, while this one
//! watches the time and the signal to stop; whatever hangs, the step ends.

mod fetch;
mod hashing;
mod mission;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::pod_start::Begun;
use super::store::{self, Address, Existence, Store};
use super::unpack::{Limits, UnpackError, Unpacked, unpack};
use super::{Category, Expectation, Places, Reason, Step, Urls};
use crate::clock::Clock;
use crate::submission::Sha256Digest;
use fetch::{Input, fetch};

/// The longest mission document in bytes.
const LONGEST_MISSION: u64 = 1 << 20;
/// How often the time and the signal are looked at.
const WATCH: Duration = Duration::from_millis(50);

/// What the Job tells `stage`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where everything lies.
    pub places: Places,
    /// The signed URLs of the inputs, and of the result where it can be looked for.
    pub urls: Urls,
    /// When the pod's time began.
    pub begun: Begun,
    /// What the inputs must be.
    pub expectation: Expectation,
    /// Seconds from the pod's start to its deadline.
    pub pod_deadline: u64,
    /// Seconds that staging may take.
    pub staging: u64,
    /// Seconds that publication needs after the search.
    pub publication: u64,
    /// Bytes of the inputs volume.
    pub inputs_bytes: u64,
    /// How stores are reached.
    pub store: store::Settings,
    /// The running binary, which is copied for `run`; none where `run` needs no copy.
    pub binary: Option<PathBuf>,
}

/// Why staging ended early.
#[derive(Debug)]
struct Failure {
    category: Category,
    sentence: String,
    remedy: String,
    digests: Vec<(&'static str, Sha256Digest)>,
}

impl Failure {
    fn new(category: Category, sentence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { category, sentence: sentence.into(), remedy: remedy.into(), digests: Vec::new() }
    }

    fn into_reason(self) -> Reason {
        let reason = Reason::new(Step::Stage, self.category, &self.sentence, &self.remedy);
        self.digests
            .into_iter()
            .fold(reason, |reason, (name, digest)| reason.with_digest(name, digest))
    }
}

/// Stages everything, or says why not. Ends soon after `stop` becomes true; work that hangs is left to the end of the
/// process.
pub fn run(settings: &Settings, clock: &Arc<dyn Clock>, stop: &AtomicBool) -> Reason {
    let allowed = match allowance(settings, clock.as_ref()) {
        Ok(allowed) => allowed,
        Err(failure) => return failure.into_reason(),
    };
    let deadline = clock.boottime() + allowed;
    let (done, ended) = mpsc::channel();
    let worker = {
        let (settings, clock) = (settings.clone(), Arc::clone(clock));
        move || {
            // Where nobody listens any more, the step has ended.
            let _ = done.send(stage(&settings, clock.as_ref(), deadline));
        }
    };
    if let Err(error) = std::thread::Builder::new().name("stage".to_owned()).spawn(worker) {
        let sentence = format!("no thread can be started: {error}");
        return Failure::new(Category::Environment, sentence, "look at the node's limits")
            .into_reason();
    }
    loop {
        match ended.recv_timeout(WATCH) {
            Ok(Ok(reason)) => return reason,
            Ok(Err(failure)) => return failure.into_reason(),
            Err(RecvTimeoutError::Disconnected) => {
                return Failure::new(
                    Category::Environment,
                    "staging ended in a way that it never should",
                    "this is a bug in harness: please report it with the container's log",
                )
                .into_reason();
            }
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Failure::new(
                    Category::Stopped,
                    "staging was asked to stop: a signal, a cancel, an eviction or the pod's deadline",
                    "",
                )
                .into_reason();
            }
            Err(RecvTimeoutError::Timeout) if clock.boottime() >= deadline => {
                return Failure::new(
                    Category::OutOfTime,
                    format!("staging took longer than the {} s that it may take", allowed.as_secs()),
                    "choose a profile with a longer `allowances.staging`, or make the inputs smaller",
                )
                .into_reason();
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// How long staging may take, so that search and publication keep their time.
fn allowance(settings: &Settings, clock: &dyn Clock) -> Result<Duration, Failure> {
    let age = settings.begun.age(&[&settings.places.urls().join("..data")], clock);
    let follows = u64::from(settings.expectation.max_seconds) + settings.publication;
    let left = settings.pod_deadline.saturating_sub(age.as_secs()).saturating_sub(follows);
    if left == 0 {
        return Err(Failure::new(
            Category::OutOfTime,
            format!(
                "the pod is {} s old and ends after {} s, and search and publication still need {follows} s",
                age.as_secs(),
                settings.pod_deadline
            ),
            "choose a profile with a longer `allowances.pull`, or pull the image onto the nodes beforehand",
        ));
    }
    Ok(Duration::from_secs(left.min(settings.staging)))
}

fn stage(settings: &Settings, clock: &dyn Clock, deadline: Duration) -> Result<Reason, Failure> {
    let places = &settings.places;
    let expectation = &settings.expectation;
    refuse_unless_empty(&places.inputs())?;
    if settings.binary.is_some() {
        refuse_unless_empty(&places.tools())?;
    }
    let store = Store::open(&settings.store)
        .map_err(|error| Failure::new(Category::Environment, error.to_string(), error.remedy()))?;
    let resume = expectation.resume_sha256;
    let urls = &settings.urls;
    let mission_address = address(urls, "mission_url")?;
    let snapshot_address = address(urls, "snapshot_url")?;
    let resume_address = resume.map(|_| address(urls, "resume_url")).transpose()?;
    refuse_if_published(&store, urls)?;

    let limit = LONGEST_MISSION.min(settings.inputs_bytes);
    let input = Input {
        name: "mission",
        address: &mission_address,
        digest: expectation.mission_sha256,
        limit,
    };
    let mut used = fetch(&store, clock, deadline, &input, &places.mission())?;
    mission::check(&places.mission(), expectation)?;
    let mut said = Vec::new();
    let archives = [
        Some(("snapshot", snapshot_address, expectation.snapshot_sha256, places.snapshot())),
        resume_address
            .zip(resume)
            .map(|(address, digest)| ("resume", address, digest, places.resume())),
    ];
    for (name, address, digest, target) in archives.into_iter().flatten() {
        let limit = settings.inputs_bytes.saturating_sub(used);
        let archive = places.inputs().join(format!(".{name}.fetched"));
        let input = Input { name, address: &address, digest, limit };
        let size = fetch(&store, clock, deadline, &input, &archive)?;
        let unpacked = unpack(&archive, &target, Limits::of_bytes(limit.saturating_sub(size)))
            .map_err(|error| unpack_failure(name, &error))?;
        used += unpacked.bytes;
        said.push(described(name, &unpacked));
    }
    if let Some(binary) = &settings.binary {
        copy_binary(binary, &places.tools())?;
    }
    let sentence = format!("mission, {} are checked and in place", said.join(", "));
    let reason = Reason::new(Step::Stage, Category::Succeeded, &sentence, "")
        .with_digest("mission", expectation.mission_sha256)
        .with_digest("snapshot", expectation.snapshot_sha256);
    Ok(match resume {
        Some(digest) => reason.with_digest("resume", digest),
        None => reason,
    })
}

fn described(name: &str, unpacked: &Unpacked) -> String {
    let Unpacked { format, entries, bytes } = unpacked;
    format!("{name} ({format}, {entries} entries, {bytes} bytes)")
}

fn refuse_unless_empty(volume: &Path) -> Result<(), Failure> {
    let unusable = |error: std::io::Error| {
        Failure::new(
            Category::Environment,
            format!("the volume {} cannot be used: {error}", volume.display()),
            "look at the pod's volumes",
        )
    };
    fs::create_dir_all(volume).map_err(unusable)?;
    let mut entries = fs::read_dir(volume).map_err(unusable)?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(Failure::new(
            Category::AlreadyStarted,
            format!("the volume {} is not empty: staging has begun before", volume.display()),
            "a step is never run over an earlier start; submit again as another attempt",
        )),
    }
}

fn address(urls: &Urls, name: &'static str) -> Result<Address, Failure> {
    optional_address(urls, name)?.ok_or_else(|| unusable_url(urls, name, "it is missing"))
}

fn optional_address(urls: &Urls, name: &'static str) -> Result<Option<Address>, Failure> {
    let text = urls.text(name).map_err(|error| unusable_url(urls, name, &error.kind().to_string()));
    let address = |text: &str| {
        Address::parse(text).map_err(|error| unusable_url(urls, name, &format!("it is {error}")))
    };
    text?.map(|text| address(&text)).transpose()
}

fn unusable_url(urls: &Urls, name: &str, wrong: &str) -> Failure {
    Failure::new(
        Category::Environment,
        format!("the URL in {} cannot be used: {wrong}", urls.place(name)),
        "it comes from the submission, in a pod by the Job's Secret; submit again as another attempt",
    )
}

/// A result that is there already is not searched for again. 403 is what a signer that may not list gets for a missing
/// object, so only a clear yes stops.
fn refuse_if_published(store: &Store, urls: &Urls) -> Result<(), Failure> {
    let Some(address) = optional_address(urls, "result_readback_url")? else { return Ok(()) };
    match store.exists(&address) {
        Existence::Exists => Err(Failure::new(
            Category::AlreadyPublished,
            format!("the result exists already at {address}"),
            "nothing was run; look at the evidence in that object, or submit with another result object",
        )),
        Existence::Absent | Existence::CannotTell(_) => Ok(()),
    }
}

fn unpack_failure(name: &str, error: &UnpackError) -> Failure {
    match error {
        UnpackError::Refused(_) => Failure::new(
            Category::ArchiveRefused,
            format!("the {name} is refused: {error}"),
            "make the archive again without it; `docs/pod.md` lists what an archive may hold",
        ),
        UnpackError::TooLarge(_) => Failure::new(
            Category::InputsTooLarge,
            format!("the {name} is too large: {error}"),
            "choose a profile with larger `volumes.inputs`, where archive and unpacked files lie side by side",
        ),
        UnpackError::Io(_) => Failure::new(
            Category::Environment,
            format!("the {name} cannot be unpacked: {error}"),
            "look at the node's disk and at the profile's `volumes.inputs`",
        ),
    }
}

/// `run` starts in an image that knows nothing of harness.
fn copy_binary(binary: &Path, tools: &Path) -> Result<(), Failure> {
    let target = tools.join("harness");
    fs::copy(binary, &target)
        .and_then(|_| fs::set_permissions(&target, fs::Permissions::from_mode(0o555)))
        .map_err(|error| {
            Failure::new(
                Category::Environment,
                format!("the harness binary cannot be copied to {}: {error}", target.display()),
                "look at the pod's `tools` volume",
            )
        })
}
