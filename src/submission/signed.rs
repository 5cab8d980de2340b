//! Signatures that come apart from the submission, so that a reviewed file holds no secrets.
//!
//! `submit --signed FILE` brings a JSON object with signed spellings of URLs that the submission already
//! names. Each must address the same object: it can add a signature and change nothing else.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::excerpt::excerpts_apart;
use super::fields::{collect_headers, parse_time};
use super::object::{self, Comparison, EndpointAliases, ObjectUrl};
use super::presign::Signed;
use super::problem::{Code, Fault, Position, Problem};
use super::reader::Fields;
use super::strict::Document;
use super::{Submission, UrlField, urls};

/// A signed URL names another object than the submission.
pub static SIGNED_DIFFERS: Code = Code {
    name: "signed-differs",
    summary: "a signed URL names another object than the submission",
    explanation: "The file given with `--signed` brings signatures for the URLs of the reviewed submission and can change nothing \
else: host style and spelling may differ, the object and its version may not. Sign the objects that the submission names.",
};

/// A signed URL for a field that the submission leaves out.
pub static SIGNED_UNEXPECTED: Code = Code {
    name: "signed-unexpected",
    summary: "a signed URL belongs to a field that the submission does not have",
    explanation: "The file given with `--signed` can sign what the submission names and add nothing. `result_readback_url` may be \
added, since it must name the result object anyway.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&SIGNED_DIFFERS, &SIGNED_UNEXPECTED];

const FIELDS: [UrlField; 5] = [
    UrlField::Mission,
    UrlField::Snapshot,
    UrlField::Resume,
    UrlField::ResultPut,
    UrlField::ResultReadback,
];

/// The document that `--signed` brings.
#[derive(Clone, Default)]
pub struct SignedUrls {
    urls: BTreeMap<UrlField, (ObjectUrl, Position)>,
    put_headers: Option<BTreeMap<String, String>>,
    credentials_expire_at: Option<Timestamp>,
}

/// Shows no header value: some stores take credentials as headers.
impl fmt::Debug for SignedUrls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SignedUrls")
            .field("urls", &self.urls)
            .field(
                "put_headers",
                &self.put_headers.as_ref().map(|map| map.keys().collect::<Vec<_>>()),
            )
            .field("credentials_expire_at", &self.credentials_expire_at)
            .finish()
    }
}

impl SignedUrls {
    /// Parses the document and reports every problem in it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        let (mut document, root) = Document::parse(bytes);
        let mut signed = Self::default();
        if let Some(mut fields) = root.and_then(|root| Fields::open(&mut document, root, "")) {
            for field in FIELDS {
                let text = fields.take(field.name()).and_then(|read| read.text(&mut document));
                let url = text.and_then(|text| {
                    let url = text.parse(&mut document, ObjectUrl::parse)?;
                    Some((url, document.position(text.offset)))
                });
                signed.urls.extend(url.map(|url| (field, url)));
            }
            signed.put_headers = fields
                .take("result_put_headers")
                .and_then(|read| collect_headers(&mut document, read));
            signed.credentials_expire_at = fields
                .take("credentials_expire_at")
                .and_then(|read| read.text(&mut document))
                .and_then(|text| text.parse(&mut document, parse_time));
            fields.close(&mut document, |_| None);
        }
        let problems = document.into_problems();
        if problems.is_empty() { Ok(signed) } else { Err(problems) }
    }
}

/// Puts the signed spellings in place of the reviewed ones. The places of problems are those of the signed document.
pub(super) fn apply(
    mut submission: Submission,
    signed: SignedUrls,
) -> Result<Submission, Vec<Problem>> {
    let mut problems = Vec::new();
    let places: BTreeMap<UrlField, Position> =
        signed.urls.iter().map(|(field, (_, place))| (*field, *place)).collect();
    let at = |field: UrlField, fault: Fault| {
        fault.at(format!("/{}", field.name()), places.get(&field).copied())
    };
    // New signatures come from new credentials, about which the reviewed file knows nothing.
    if signed.credentials_expire_at.is_some() || !signed.urls.is_empty() {
        submission.credentials_expire_at = signed.credentials_expire_at;
    }
    for (field, (url, _)) in signed.urls {
        if let Err(fault) = replace(&mut submission, field, url) {
            problems.push(at(field, fault));
        }
    }
    if let Some(headers) = signed.put_headers {
        submission.result.put_headers = headers;
    }
    let mut notes = Vec::new();
    for (field, url) in submission.urls() {
        let at_field = |fault: Fault| at(field, fault);
        let headers = &submission.result.put_headers;
        match urls::inspect(field, url, headers, submission.credentials_expire_at) {
            Ok(Signed::Unsigned) => {}
            Ok(Signed::Signed(signature)) => {
                notes.extend(signature.notes.into_iter().map(at_field));
            }
            Err(faults) => problems.extend(faults.into_iter().map(at_field)),
        }
        notes.extend(url.notes().iter().cloned().map(at_field));
    }
    submission.notes = notes;
    // Another spelling of the same host can bring a doubt that the reviewed one did not have.
    let doubts = urls::check_distinct(&submission.urls(), &EndpointAliases::default());
    problems.extend(doubts.into_iter().map(|(field, fault)| at(field, fault)));
    if problems.is_empty() { Ok(submission) } else { Err(problems) }
}

fn replace(submission: &mut Submission, field: UrlField, url: ObjectUrl) -> Result<(), Fault> {
    if field == UrlField::ResultReadback && submission.result.readback_url.is_none() {
        check_same(&submission.result.put_url, &url)?;
        submission.result.readback_url = Some(url);
        return Ok(());
    }
    let place = match field {
        UrlField::Mission => Some(&mut submission.mission.url),
        UrlField::Snapshot => Some(&mut submission.snapshot.url),
        UrlField::Resume => submission.resume.as_mut().map(|resume| &mut resume.url),
        UrlField::ResultPut => Some(&mut submission.result.put_url),
        UrlField::ResultReadback => submission.result.readback_url.as_mut(),
    };
    let Some(place) = place else {
        return Err(Fault::new(
            &SIGNED_UNEXPECTED,
            format!("a signed `{}`", field.name()),
            "URLs of fields that the submission has",
            "remove it, or add the field to the submission and have it reviewed",
        ));
    };
    check_same(place, &url)?;
    *place = url;
    Ok(())
}

fn check_same(reviewed: &ObjectUrl, signed: &ObjectUrl) -> Result<(), Fault> {
    let is_same_object =
        object::compare(reviewed, signed, &EndpointAliases::default()) == Comparison::Same;
    if is_same_object && reviewed.version() == signed.version() {
        return Ok(());
    }
    let (found, allowed) = excerpts_apart(&signed.without_query(), &reviewed.without_query());
    let (found, allowed) = match (is_same_object, found == allowed) {
        (true, _) => (
            format!("another version of {found}"),
            "the version that the submission selects".to_owned(),
        ),
        (false, true) => (
            format!("{found} with another query"),
            format!("{allowed} with the submission's query"),
        ),
        (false, false) => (found, format!("the object {allowed}")),
    };
    Err(Fault::new(&SIGNED_DIFFERS, found, allowed, "sign the object that the submission names"))
}
