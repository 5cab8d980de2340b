//! Signed life: from when until when a presigned URL works, and which headers it was signed with.
//!
//! Everything is read from the URL and from what the submission declares; no clock is read and nothing is asked of a
//! store. [`inspect`] says all that can be said without knowing the time, [`check_life`] holds the result against
//! the time. No message shows a value of the query, times apart.

mod azure;
mod cos;
mod credential;
mod dated;
mod epoch;
mod family;
mod guard;
mod headers;
mod life;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use self::family::Query;
use super::object::ObjectUrl;
use super::object::provider::S3Guard;
use super::problem::{Code, Fault};

pub use self::azure::{SIGNATURE_ADDRESS_BOUND, SIGNATURE_PERMISSION};
pub use self::credential::CREDENTIALS_END_UNKNOWN;
pub use self::family::{
    SIGNATURE_FOREIGN, SIGNATURE_INCOMPLETE, SIGNATURE_LIFETIME, SIGNATURE_MALFORMED,
    SIGNATURE_MIXED, SIGNATURE_POLICY,
};
pub use self::guard::{
    GUARD_MISSING, GUARD_UNCERTAIN, GUARD_UNSUPPORTED, GUARD_VALUE, GUARD_VERSIONED_BUCKET,
};
pub use self::headers::{
    CHECKSUM_IN_QUERY, HEADER_UNDECLARED, HEADER_UNSENT, HEADER_UNSIGNED, headers_to_send,
};
pub use self::life::{MARGIN, URL_EXPIRED, URL_EXPIRES_TOO_SOON, URL_NOT_YET_VALID, check_life};
pub use super::object::Family;

/// A URL was signed for another operation than its place needs.
pub static SIGNATURE_METHOD: Code = Code {
    name: "signature-method",
    summary: "a URL was signed for another operation than its place in the submission needs",
    explanation: "Inputs and the read-back URL are read with GET, the result is written with PUT, and the method is \
part of every signature, so a URL for one cannot serve the other. Some signers leave a hint in the URL (`x-id` in \
those of AWS SDKs, `sp` in Azure's), and here it contradicts. Check whether two URLs were swapped, or sign again for \
the right operation: GetObject for reading, PutObject for writing.",
};

/// The result cannot be written through this host.
pub static OUTPUT_READ_ONLY: Code = Code {
    name: "output-read-only",
    summary: "the result cannot be written through the host of its URL",
    explanation: "Some hosts of a store only read: replicas, download hosts, browser hosts. Others take writes, but do \
not show where the object lies, so that one result could be published under two names. Sign the result's URL for the \
store's ordinary endpoint in the bucket's region.",
};

/// The URL of the result selects a version.
pub static OUTPUT_VERSION: Code = Code {
    name: "output-version",
    summary: "the URL of the result selects a version",
    explanation: "A version exists only once something has been written, and a write always makes a new one, so a URL \
that is written to cannot name a version. Sign the URL again without the version.",
};

/// Every code of this module.
pub static CODES: &[&Code] = &[
    &CHECKSUM_IN_QUERY,
    &CREDENTIALS_END_UNKNOWN,
    &GUARD_MISSING,
    &GUARD_UNCERTAIN,
    &GUARD_UNSUPPORTED,
    &GUARD_VALUE,
    &GUARD_VERSIONED_BUCKET,
    &HEADER_UNDECLARED,
    &HEADER_UNSENT,
    &HEADER_UNSIGNED,
    &OUTPUT_READ_ONLY,
    &OUTPUT_VERSION,
    &SIGNATURE_ADDRESS_BOUND,
    &SIGNATURE_FOREIGN,
    &SIGNATURE_INCOMPLETE,
    &SIGNATURE_LIFETIME,
    &SIGNATURE_MALFORMED,
    &SIGNATURE_METHOD,
    &SIGNATURE_MIXED,
    &SIGNATURE_PERMISSION,
    &SIGNATURE_POLICY,
    &URL_EXPIRED,
    &URL_EXPIRES_TOO_SOON,
    &URL_NOT_YET_VALID,
];

/// What a URL is used for; its place in the submission decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reading: inputs and the read-back URL.
    Get,
    /// Writing: the result.
    Put,
}

/// One request header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Lower-case name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// What a signature allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// How the URL was signed.
    pub family: Family,
    /// The instant before which it does not work, where there is one.
    pub starts: Option<Timestamp>,
    /// The instant from which it no longer works: the smaller of the URL's own and its credential's. [`inspect`]
    /// refuses where it cannot be known.
    pub expires: Option<Timestamp>,
    /// The headers that the URL shows to be under the signature, in lower case; `host` among them.
    pub signed_headers: BTreeSet<String>,
    /// The header that makes a PUT create and never overwrite; absent for GET.
    pub guard: Option<Header>,
    /// Signed with a temporary credential, with which the URL ends.
    pub temporary: bool,
    /// What was accepted and is worth saying.
    pub notes: Vec<Fault>,
}

/// Whether a URL carries a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// None: a public object, or a reviewed file whose signed URLs come later.
    Unsigned,
    /// A signature of a known family.
    Signed(Signature),
}

impl Signed {
    /// The signature, where there is one.
    pub fn signature(&self) -> Option<&Signature> {
        match self {
            Signed::Unsigned => None,
            Signed::Signed(signature) => Some(signature),
        }
    }
}

/// What a signature scheme's file reads out of the query.
struct Terms {
    family: Family,
    starts: Option<Timestamp>,
    expires: Timestamp,
    signed_headers: BTreeSet<String>,
}

/// Says all about a URL that needs no clock: its signature, its guard against overwriting, its headers.
///
/// `declared` are the headers that were signed into a PUT URL, by name in any letter case; empty for GET.
/// `credentials_expire_at` is the declared end of temporary credentials.
///
/// An unsigned URL is [`Signed::Unsigned`] unless the URL cannot serve its purpose even when signed.
pub fn inspect(
    url: &ObjectUrl,
    method: Method,
    declared: &BTreeMap<String, String>,
    credentials_expire_at: Option<Timestamp>,
) -> Result<Signed, Vec<Fault>> {
    let parameters = url.parameters();
    let mut query = Query::new(&parameters);
    if method == Method::Put {
        check_output(url, &mut query.faults);
    }
    let declared = headers::check_declared(declared, &mut query.faults);
    check_operation_hint(&mut query, method);
    let scheme = family::detect(url, &mut query);
    let terms = scheme.and_then(|scheme| family::read(scheme, method, &mut query));
    let token = credential::find(&query, terms.as_ref(), &declared);
    let Some(terms) = terms else {
        return if query.faults.is_empty() { Ok(Signed::Unsigned) } else { Err(query.faults) };
    };
    let temporary = token.is_some();
    let expires = match token {
        None => Some(terms.expires),
        Some(token) => credential::end(&token, url, credentials_expire_at, &mut query.faults)
            .map(|end| terms.expires.min(end)),
    };
    let mut notes = Vec::new();
    let guard = match method {
        Method::Get => None,
        Method::Put => guard::find(url, &terms, &declared, &mut query.faults, &mut notes),
    };
    headers::check_signed(&terms, method, guard.as_ref(), &declared, &mut query.faults, &mut notes);
    headers::check_query(&mut query, method, &mut notes);
    if !query.faults.is_empty() {
        return Err(query.faults);
    }
    Ok(Signed::Signed(Signature {
        family: terms.family,
        starts: terms.starts,
        expires,
        signed_headers: terms.signed_headers,
        guard,
        temporary,
        notes,
    }))
}

/// What makes a URL unfit for a result, signed or not.
fn check_output(url: &ObjectUrl, faults: &mut Vec<Fault>) {
    if let Some(reason) = url.read_only() {
        faults.push(Fault::new(
            &OUTPUT_READ_ONLY,
            reason,
            "the store's ordinary endpoint in the bucket's region",
            "sign the URL for that endpoint",
        ));
    }
    if url.version().is_some() {
        faults.push(Fault::new(
            &OUTPUT_VERSION,
            "a version in the URL of the result",
            "a URL without version",
            "sign the URL again without the version",
        ));
    }
    if url.identity().provider().store().guard == S3Guard::Unsupported {
        faults.push(guard::unsupported("a store without conditional writes"));
    }
}

/// AWS SDKs write the operation that a URL was signed for into `x-id`.
fn check_operation_hint(query: &mut Query<'_>, method: Method) {
    let expected = match method {
        Method::Get => "GetObject",
        Method::Put => "PutObject",
    };
    if query.get("x-id").is_some_and(|operation| operation != expected) {
        query.faults.push(Fault::new(
            &SIGNATURE_METHOD,
            "an `x-id` of another operation",
            format!("a URL signed for {expected}"),
            "look whether two URLs were swapped, or sign again for the right operation",
        ));
    }
}

#[cfg(test)]
mod tests;
