//! Reads the submission's form, field by field, into a [`Submission`] or into all of its problems.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::excerpt::excerpt;
use super::object::{EndpointAliases, ObjectUrl};
use super::presign::Signed;
use super::problem::{Code, Fault, Problem};
use super::reader::{Fields, Read};
use super::strict::{Document, Value};
use super::{
    AttemptId, Input, MissionId, PinnedImage, ProfileName, ResultObject, SCHEMA_VERSION,
    Sha256Digest, Submission, Uid, UrlField, headers, kind, runner, urls,
};

/// The form has another version.
pub(super) static SCHEMA_VERSION_UNKNOWN: Code = Code {
    name: "schema-version-unknown",
    summary: "the document follows another version of the form",
    explanation: "This harness reads `prediction_submission.v1`. A newer form may mean something else by the same words, so it \
is refused rather than half understood. Use a harness that knows it.",
};

/// A time is misspelt.
pub(super) static INVALID_TIME: Code = Code {
    name: "time-invalid",
    summary: "a point in time is misspelt",
    explanation: "Times follow RFC 3339 with a zone: `2026-12-01T08:00:00Z` or `2026-12-01T09:00:00+01:00`.",
};

/// One half of the resume pair is missing.
pub(super) static RESUME_INCOMPLETE: Code = Code {
    name: "resume-incomplete",
    summary: "`resume_url` and `resume_sha256` come together or not at all",
    explanation: "An earlier result is only continued from when its bytes are known. Give both fields, or neither.",
};

/// Every code that this file can report.
pub(super) static CODES: &[&Code] = &[&SCHEMA_VERSION_UNKNOWN, &INVALID_TIME, &RESUME_INCOMPLETE];

/// The one field of `search_budget`, for a misplaced one.
const MAX_SECONDS: &str = "max_seconds";

/// The fields of the form, for one that stands in `search_budget`.
const TOP_FIELDS: &[&str] = &[
    "schema_version",
    "attempt_id",
    "mission_id",
    "image",
    "evaluator_version",
    "resource_profile",
    "search_budget",
    "mission_url",
    "mission_sha256",
    "snapshot_url",
    "snapshot_sha256",
    "resume_url",
    "resume_sha256",
    "result_put_url",
    "result_put_headers",
    "result_readback_url",
    "credentials_expire_at",
    "runner_command",
    "runner_secret_name",
    "namespace_uid",
];

/// A URL as it was read, with its place for later problems.
type ReadUrl = Read<ObjectUrl>;

pub(super) fn read(bytes: &[u8]) -> Result<Submission, Vec<Problem>> {
    let (mut document, root) = Document::parse(bytes);
    if let Some((fault, offset)) =
        root.as_ref().and_then(|root| Some((kind::other(root)?, root.offset)))
    {
        document.report(fault, "", offset);
        return Err(document.into_problems());
    }
    let submission = root
        .and_then(|root| Fields::open(&mut document, root, ""))
        .and_then(|fields| read_fields(&mut document, fields));
    let problems = document.into_problems();
    match submission {
        Some(submission) if problems.is_empty() => Ok(submission),
        _ => Err(problems),
    }
}

fn read_fields(document: &mut Document<'_>, mut fields: Fields) -> Option<Submission> {
    check_version(document, &mut fields)?;
    let attempt_id = parsed(document, &mut fields, "attempt_id", AttemptId::parse);
    let mission_id = parsed(document, &mut fields, "mission_id", MissionId::parse);
    let image = parsed(document, &mut fields, "image", PinnedImage::parse);
    let evaluator_version =
        parsed(document, &mut fields, "evaluator_version", Sha256Digest::parse_prefixed);
    let resource_profile = parsed(document, &mut fields, "resource_profile", ProfileName::parse);
    let max_seconds = read_budget(document, &mut fields);

    let mission = read_input(document, &mut fields, "mission_url", "mission_sha256");
    let snapshot = read_input(document, &mut fields, "snapshot_url", "snapshot_sha256");
    let resume = read_resume(document, &mut fields);
    let put_url =
        fields.require(document, "result_put_url").and_then(|read| read_url(document, read));
    let put_headers = read_headers(document, &mut fields);
    let readback_url = optional_url(document, &mut fields, "result_readback_url");
    let credentials_expire_at =
        optional(document, &mut fields, "credentials_expire_at", parse_time);

    let runner_command = match fields.take("runner_command") {
        None => Field::Absent,
        Some(read) => Field::of(runner::command(document, read)),
    };
    let runner_secret_name =
        optional(document, &mut fields, "runner_secret_name", runner::secret_name);
    let namespace_uid = optional(document, &mut fields, "namespace_uid", Uid::parse);
    fields.close(document, |name| (name == MAX_SECONDS).then_some("`search_budget`"));

    let notes = check_urls(
        document,
        &UrlsRead {
            mission: mission.as_ref().map(|(url, _)| url),
            snapshot: snapshot.as_ref().map(|(url, _)| url),
            resume: resume.as_ref().value().map(|(url, _)| url),
            put: put_url.as_ref(),
            readback: readback_url.as_ref().value(),
        },
        attempt_id.as_ref(),
        put_headers.as_ref(),
        credentials_expire_at,
    );

    let input = |(url, sha256): (ReadUrl, Sha256Digest)| Input { url: url.value, sha256 };
    Some(Submission {
        attempt_id: attempt_id?,
        mission_id: mission_id?,
        image: image?,
        evaluator_version: evaluator_version?,
        resource_profile: resource_profile?,
        max_seconds: max_seconds?,
        mission: input(mission?),
        snapshot: input(snapshot?),
        resume: resume.settle().ok()?.map(input),
        result: ResultObject {
            put_url: put_url?.value,
            put_headers: put_headers?,
            readback_url: readback_url.settle().ok()?.map(|read| read.value),
        },
        credentials_expire_at: credentials_expire_at.settle().ok()?,
        runner_command: runner_command.settle().ok()?,
        runner_secret_name: runner_secret_name.settle().ok()?,
        namespace_uid: namespace_uid.settle().ok()?,
        notes,
    })
}

/// An optional field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field<T> {
    Absent,
    /// It is there and has its problem already.
    Wrong,
    Read(T),
}

/// A field is wrong, and its problem is reported.
struct Wrong;

impl<T> Field<T> {
    fn of(read: Option<T>) -> Self {
        read.map_or(Self::Wrong, Self::Read)
    }

    fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Absent => Field::Absent,
            Self::Wrong => Field::Wrong,
            Self::Read(value) => Field::Read(value),
        }
    }

    fn value(self) -> Option<T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Absent | Self::Wrong => None,
        }
    }

    /// A wrong field ends the whole submission.
    fn settle(self) -> Result<Option<T>, Wrong> {
        match self {
            Self::Absent => Ok(None),
            Self::Wrong => Err(Wrong),
            Self::Read(value) => Ok(Some(value)),
        }
    }
}

/// A newer form may mean something else by the same words, so nothing else of it is judged.
fn check_version(document: &mut Document<'_>, fields: &mut Fields) -> Option<()> {
    let Some(read) = fields.take("schema_version") else { return Some(()) };
    let read = read.text(document)?;
    read.parse(document, |text| match text {
        SCHEMA_VERSION => Ok(()),
        other => Err(Fault::new(
            &SCHEMA_VERSION_UNKNOWN,
            excerpt(other),
            format!("`{SCHEMA_VERSION}`"),
            "use a harness that knows this version, or write the form of this one",
        )),
    })
}

fn parsed<T>(
    document: &mut Document<'_>,
    fields: &mut Fields,
    name: &'static str,
    parser: impl FnOnce(&str) -> Result<T, Fault>,
) -> Option<T> {
    fields.require(document, name)?.text(document)?.parse(document, parser)
}

fn optional<T>(
    document: &mut Document<'_>,
    fields: &mut Fields,
    name: &'static str,
    parser: impl FnOnce(&str) -> Result<T, Fault>,
) -> Field<T> {
    match fields.take(name) {
        None => Field::Absent,
        Some(read) => Field::of(read.text(document).and_then(|text| text.parse(document, parser))),
    }
}

fn read_budget(document: &mut Document<'_>, fields: &mut Fields) -> Option<u32> {
    let mut budget = fields.require(document, "search_budget")?.object(document)?;
    let seconds = budget
        .require(document, MAX_SECONDS)
        .and_then(|read| read.whole_number(document, 1, 86400));
    budget.close(document, |name| TOP_FIELDS.contains(&name).then_some("the top level"));
    seconds
}

fn read_input(
    document: &mut Document<'_>,
    fields: &mut Fields,
    url: &'static str,
    sha256: &'static str,
) -> Option<(ReadUrl, Sha256Digest)> {
    let url = fields.require(document, url).and_then(|read| read_url(document, read));
    let sha256 = parsed(document, fields, sha256, Sha256Digest::parse);
    Some((url?, sha256?))
}

fn read_resume(document: &mut Document<'_>, fields: &mut Fields) -> Field<(ReadUrl, Sha256Digest)> {
    let url = fields.take("resume_url");
    let sha256 = fields.take("resume_sha256");
    let (present, missing) = match (&url, &sha256) {
        (None, None) => return Field::Absent,
        (Some(url), None) => (url, "resume_sha256"),
        (None, Some(sha256)) => (sha256, "resume_url"),
        (Some(_), Some(_)) => {
            let url = url.and_then(|read| read_url(document, read));
            let sha256 = sha256
                .and_then(|read| read.text(document))
                .and_then(|text| text.parse(document, Sha256Digest::parse));
            return Field::of(url.zip(sha256));
        }
    };
    let fault = Fault::new(
        &RESUME_INCOMPLETE,
        format!("no `{missing}`"),
        "both `resume_url` and `resume_sha256`, or neither",
        format!("add `{missing}`, or remove the other"),
    );
    document.report(fault, &present.pointer, present.offset);
    Field::Wrong
}

fn read_url(document: &mut Document<'_>, read: Read<Value>) -> Option<ReadUrl> {
    let text = read.text(document)?;
    let value = text.parse(document, ObjectUrl::parse)?;
    Some(Read { value, pointer: text.pointer, offset: text.offset })
}

fn optional_url(
    document: &mut Document<'_>,
    fields: &mut Fields,
    name: &'static str,
) -> Field<ReadUrl> {
    match fields.take(name) {
        None => Field::Absent,
        Some(read) => Field::of(read_url(document, read)),
    }
}

fn read_headers(
    document: &mut Document<'_>,
    fields: &mut Fields,
) -> Option<BTreeMap<String, String>> {
    match fields.take("result_put_headers") {
        None => Some(BTreeMap::new()),
        Some(read) => collect_headers(document, read),
    }
}

/// Reads `result_put_headers`, here and in the document that brings signatures.
pub(super) fn collect_headers(
    document: &mut Document<'_>,
    read: Read<Value>,
) -> Option<BTreeMap<String, String>> {
    let mut collected = BTreeMap::new();
    let mut complete = true;
    for (name, value) in read.text_map(document)? {
        let inserted = value.parse(document, |text| headers::insert(&mut collected, &name, text));
        complete &= inserted.is_some();
    }
    complete.then_some(collected)
}

/// Parses an RFC 3339 time; `jiff` alone would take more spellings.
pub fn parse_time(text: &str) -> Result<Timestamp, Fault> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let rest = shape.strip_prefix("0000-00-00T00:00:00");
    let zone = rest.map(|rest| match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches('0'),
        None => rest,
    });
    let is_rfc3339 = matches!(zone, Some("Z" | "+00:00" | "-00:00"));
    match text.parse::<Timestamp>() {
        Ok(time) if is_rfc3339 => Ok(time),
        _ => Err(Fault::new(
            &INVALID_TIME,
            excerpt(text),
            "a time such as `2026-12-01T08:00:00Z`",
            "write date, `T`, time and zone",
        )),
    }
}

/// The URLs that could be read; a wrong one has its problem already and takes no part in the rest.
struct UrlsRead<'a> {
    mission: Option<&'a ReadUrl>,
    snapshot: Option<&'a ReadUrl>,
    resume: Option<&'a ReadUrl>,
    put: Option<&'a ReadUrl>,
    readback: Option<&'a ReadUrl>,
}

impl<'a> UrlsRead<'a> {
    fn fields(&self) -> Vec<(UrlField, &'a ReadUrl)> {
        [
            (UrlField::Mission, self.mission),
            (UrlField::Snapshot, self.snapshot),
            (UrlField::Resume, self.resume),
            (UrlField::ResultPut, self.put),
            (UrlField::ResultReadback, self.readback),
        ]
        .into_iter()
        .filter_map(|(field, read)| read.map(|read| (field, read)))
        .collect()
    }
}

/// Checks what the URLs say and what they are to each other; returns what is only worth a note.
fn check_urls(
    document: &mut Document<'_>,
    read: &UrlsRead<'_>,
    attempt_id: Option<&AttemptId>,
    put_headers: Option<&BTreeMap<String, String>>,
    credentials_expire_at: Field<Timestamp>,
) -> Vec<Problem> {
    let fields = read.fields();
    let mut notes = Vec::new();
    let mut faults = Vec::new();
    for (field, url) in &fields {
        let mut note = |fault: &Fault| notes.push(fault.clone().at(url.pointer.clone(), None));
        url.value.notes().iter().for_each(&mut note);
        // A wrong header or end of credentials has its problem already; judging without them adds a false one.
        let (Some(put_headers), true) = (put_headers, credentials_expire_at != Field::Wrong) else {
            continue;
        };
        match urls::inspect(*field, &url.value, put_headers, credentials_expire_at.value()) {
            Ok(Signed::Signed(signature)) => signature.notes.iter().for_each(&mut note),
            Ok(Signed::Unsigned) => {}
            Err(found) => faults.extend(found.into_iter().map(|fault| (*field, fault))),
        }
    }
    let pairs: Vec<(UrlField, &ObjectUrl)> =
        fields.iter().map(|(field, url)| (*field, &url.value)).collect();
    faults.extend(urls::check_distinct(&pairs, &EndpointAliases::default()));
    faults.extend(urls::check_result(&pairs));
    if let (Some(put), Some(attempt_id)) = (read.put, attempt_id)
        && let Err(fault) = urls::check_attempt_in_path(&put.value, attempt_id)
    {
        faults.push((UrlField::ResultPut, fault));
    }
    for (field, fault) in faults {
        if let Some((_, url)) = fields.iter().find(|(candidate, _)| *candidate == field) {
            document.report(fault, &url.pointer, url.offset);
        }
    }
    notes
}
