//! The operator's submission: strict JSON in, a value that is valid by construction out.
//!
//! Everything here is pure. A newtype's `parse` says what is wrong with one value ([`Fault`]); the
//! submission adds where the value stands and collects all of them ([`Problem`]).

pub mod digest;
pub mod excerpt;
mod fields;
pub mod headers;
pub mod image;
mod kind;
pub mod mission;
pub mod name;
pub mod object;
pub mod presign;
pub mod problem;
pub mod reader;
pub(crate) mod runner;
#[cfg(test)]
pub(crate) mod schema;
pub mod signed;
pub mod strict;
mod syntax;
mod urls;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

pub use digest::Sha256Digest;
pub use fields::parse_time;
pub use image::PinnedImage;
pub use mission::Mission;
pub use name::{AttemptId, MissionId, Namespace, ProfileName, SecretName, Uid};
pub use object::{EndpointAliases, ObjectUrl};
pub use presign::Signed;
pub use problem::{Code, Fault, Problem};
pub use signed::SignedUrls;

/// The version of the form that this harness reads.
pub const SCHEMA_VERSION: &str = "prediction_submission.v1";

/// One input object: where it lies and what it must hash to.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where it lies.
    pub url: ObjectUrl,
    /// What its bytes must hash to.
    pub sha256: Sha256Digest,
}

/// The one object that the run publishes, and how it is reached.
#[derive(Clone)]
pub struct ResultObject {
    /// Where it is created; perhaps without a signature, which only `submit` needs.
    pub put_url: ObjectUrl,
    /// The headers that were signed into the URL, names in lower case.
    pub put_headers: BTreeMap<String, String>,
    /// Where it can be read back, if anywhere.
    pub readback_url: Option<ObjectUrl>,
}

/// Shows no header value: some stores take credentials as headers.
impl fmt::Debug for ResultObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResultObject")
            .field("put_url", &self.put_url)
            .field("put_headers", &self.put_headers.keys().collect::<Vec<_>>())
            .field("readback_url", &self.readback_url)
            .finish()
    }
}

/// A submission; valid by construction, and complete but for signatures that `submit` may bring.
#[derive(Debug, Clone)]
pub struct Submission {
    attempt_id: AttemptId,
    mission_id: MissionId,
    image: PinnedImage,
    evaluator_version: Sha256Digest,
    resource_profile: ProfileName,
    max_seconds: u32,
    mission: Input,
    snapshot: Input,
    resume: Option<Input>,
    result: ResultObject,
    credentials_expire_at: Option<Timestamp>,
    runner_command: Option<Vec<String>>,
    runner_secret_name: Option<SecretName>,
    namespace_uid: Option<Uid>,
    notes: Vec<Problem>,
}

impl Submission {
    /// Parses a document and reports every problem in it, in the order of the text.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        fields::read(bytes)
    }

    /// Brings signed spellings of URLs that this submission already names; see [`SignedUrls`].
    pub fn sign(self, signed: SignedUrls) -> Result<Self, Vec<Problem>> {
        signed::apply(self, signed)
    }

    /// The operator's name for this attempt.
    pub fn attempt_id(&self) -> &AttemptId {
        &self.attempt_id
    }

    /// The mission's own name, which the mission document repeats.
    pub fn mission_id(&self) -> &MissionId {
        &self.mission_id
    }

    /// The image that runs.
    pub fn image(&self) -> &PinnedImage {
        &self.image
    }

    /// The evaluator's version, which the mission document repeats.
    pub fn evaluator_version(&self) -> Sha256Digest {
        self.evaluator_version
    }

    /// The profile's name.
    pub fn resource_profile(&self) -> &ProfileName {
        &self.resource_profile
    }

    /// `search_budget.max_seconds`: 1 to 86400.
    pub fn max_seconds(&self) -> u32 {
        self.max_seconds
    }

    /// The mission document.
    pub fn mission(&self) -> &Input {
        &self.mission
    }

    /// The data archive.
    pub fn snapshot(&self) -> &Input {
        &self.snapshot
    }

    /// The earlier result to continue from, if any.
    pub fn resume(&self) -> Option<&Input> {
        self.resume.as_ref()
    }

    /// The object that the run publishes.
    pub fn result(&self) -> &ResultObject {
        &self.result
    }

    /// When the temporary credentials end that signed the URLs, if they were temporary.
    pub fn credentials_expire_at(&self) -> Option<Timestamp> {
        self.credentials_expire_at
    }

    /// What `run` starts, if the image does not say it.
    pub fn runner_command(&self) -> Option<&[String]> {
        self.runner_command.as_deref()
    }

    /// The existing Secret whose keys become the runner's environment, if any.
    pub fn runner_secret_name(&self) -> Option<&SecretName> {
        self.runner_secret_name.as_ref()
    }

    /// The namespace that is meant, if the submission says so.
    pub fn namespace_uid(&self) -> Option<&Uid> {
        self.namespace_uid.as_ref()
    }

    /// What is accepted and still worth saying.
    pub fn notes(&self) -> &[Problem] {
        &self.notes
    }

    /// Every URL with its field's name, in the order of the form.
    pub fn urls(&self) -> Vec<(UrlField, &ObjectUrl)> {
        let mut urls =
            vec![(UrlField::Mission, &self.mission.url), (UrlField::Snapshot, &self.snapshot.url)];
        urls.extend(self.resume.iter().map(|resume| (UrlField::Resume, &resume.url)));
        urls.push((UrlField::ResultPut, &self.result.put_url));
        urls.extend(self.result.readback_url.iter().map(|url| (UrlField::ResultReadback, url)));
        urls
    }

    /// What a URL's signature says; the parser has already refused what cannot be read.
    pub fn signature(&self, field: UrlField, url: &ObjectUrl) -> Signed {
        urls::inspect(field, url, &self.result.put_headers, self.credentials_expire_at)
            .unwrap_or(Signed::Unsigned)
    }

    /// The result identity: the duplicate guard and the source of every name.
    pub fn result_identity(&self) -> Sha256Digest {
        self.result.put_url.identity().result_identity()
    }

    /// Refuses a result object that is, or may be, one of the inputs under the site's endpoint aliases.
    ///
    /// `parse` has done this without aliases; a profile's aliases can only find more.
    pub fn check_distinct(&self, aliases: &EndpointAliases) -> Vec<Problem> {
        urls::check_distinct(&self.urls(), aliases)
            .into_iter()
            .map(|(field, fault)| fault.at(format!("/{}", field.name()), None))
            .collect()
    }
}

/// The fields that hold a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UrlField {
    /// `mission_url`
    Mission,
    /// `snapshot_url`
    Snapshot,
    /// `resume_url`
    Resume,
    /// `result_put_url`
    ResultPut,
    /// `result_readback_url`
    ResultReadback,
}

impl UrlField {
    /// The field's name in the submission, also its key in the Secret.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mission => "mission_url",
            Self::Snapshot => "snapshot_url",
            Self::Resume => "resume_url",
            Self::ResultPut => "result_put_url",
            Self::ResultReadback => "result_readback_url",
        }
    }

    /// Whether the object is read before the run.
    pub fn is_input(self) -> bool {
        matches!(self, Self::Mission | Self::Snapshot | Self::Resume)
    }

    /// The request that the URL is signed for.
    pub fn method(self) -> presign::Method {
        match self {
            Self::ResultPut => presign::Method::Put,
            _ => presign::Method::Get,
        }
    }
}

/// Every code that reading a submission can report.
pub fn codes() -> Vec<&'static Code> {
    [
        strict::CODES,
        reader::CODES,
        name::CODES,
        image::CODES,
        headers::CODES,
        runner::CODES,
        urls::CODES,
        signed::CODES,
        fields::CODES,
        kind::CODES,
        object::CODES,
        presign::CODES,
        &[&digest::INVALID_DIGEST],
    ]
    .concat()
}
