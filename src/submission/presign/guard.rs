//! The guard: the header that makes the PUT of a result create the object and never overwrite one.

use std::collections::BTreeMap;

use super::{Header, Terms};
use crate::submission::object::provider::{
    COS_FORBID_OVERWRITE, GCS_GENERATION_MATCH, GuardHeader, IF_NONE_MATCH, OBS_FORBID_OVERWRITE,
    OSS_FORBID_OVERWRITE, S3Guard,
};
use crate::submission::object::{Family, ObjectUrl};
use crate::submission::problem::{Code, Fault};

/// A PUT URL does not show, and the submission does not say, that the guard was signed.
pub static GUARD_MISSING: Code = Code {
    name: "guard-missing",
    summary: "the result's URL was not signed with the header that forbids overwriting",
    explanation: "A result is created once and never overwritten: the PUT carries a header with which the store \
refuses when the object exists. On some stores this header works only if it was signed into the URL. Google V4 and S3 \
style signatures list their headers, and the guard must be in the list. OSS, OBS and Google V2 URLs do not show their \
headers: sign with the guard and declare it in `result_put_headers`. The headers are: `If-None-Match: *` for S3, R2, \
MinIO, Spaces and Azure; `x-oss-forbid-overwrite: true` for OSS; `x-cos-forbid-overwrite: true` for COS; \
`x-obs-forbid-overwrite: true` for OBS; `x-goog-if-generation-match: 0` for Google.",
};

/// The guard header is declared with a value that does not guard.
pub static GUARD_VALUE: Code = Code {
    name: "guard-value",
    summary: "the header that forbids overwriting is declared with another value",
    explanation: "The guard works with one value only: `*` for `If-None-Match`, `true` for the forbid-overwrite headers \
of OSS, COS and OBS, `0` for `x-goog-if-generation-match`. With any other value the store would overwrite or always \
refuse. Sign again with this value and declare it.",
};

/// The store or the signature has no conditional PUT.
pub static GUARD_UNSUPPORTED: Code = Code {
    name: "guard-unsupported",
    summary: "the store or the kind of signature cannot create without overwriting",
    explanation: "Backblaze B2 has no conditional writes, and AWS Signature Version 2 does not carry them, so a result \
written this way could silently replace another one. Publish to another store, or sign with Signature Version 4. \
Inputs may lie anywhere.",
};

/// The store ignores the guard on versioned buckets; accepted.
pub static GUARD_VERSIONED_BUCKET: Code = Code {
    name: "guard-versioned-bucket",
    summary: "the store ignores the header that forbids overwriting on versioned buckets",
    explanation: "OSS and COS ignore their forbid-overwrite header on buckets whose versioning is enabled or was ever \
enabled and suspended. The URL does not show this. Use a bucket that never had versioning for results, or add \
`result_readback_url`, with which the run sees an existing result before it computes.",
};

/// That the guard works is likely and cannot be known; accepted.
pub static GUARD_UNCERTAIN: Code = Code {
    name: "guard-uncertain",
    summary: "it is not certain that the header that forbids overwriting works",
    explanation: "COS takes headers that are not in `q-header-list`, so the guard is sent although it was not signed; \
this is observed and not documented. Sign the URL with `x-cos-forbid-overwrite` to be certain. On a host that is no known \
store's, harness sends `If-None-Match: *` and cannot know whether the store behind it honours that: current MinIO and Ceph \
do, older releases and some gateways ignore it and overwrite. Try it once: a second PUT of one key with this header must \
be answered with 412. With `result_readback_url` the run sees an existing result before it computes.",
};

/// How it is known that the guard will work.
enum Proof {
    /// It may be sent whether or not it was signed.
    Free,
    /// As [`Proof::Free`], as far as is known.
    LikelyFree,
    /// As [`Proof::Free`], if the store behind the host knows the header at all.
    Believed,
    /// It must be among the headers that the URL lists.
    Listed,
    /// The URL cannot show it; the submission must declare it.
    Declared,
}

/// Every guard, for checking declared values before any signature is there.
const GUARDS: &[GuardHeader] = &[
    IF_NONE_MATCH,
    OSS_FORBID_OVERWRITE,
    COS_FORBID_OVERWRITE,
    OBS_FORBID_OVERWRITE,
    GCS_GENERATION_MATCH,
];

/// Refuses a guard with a value that does not guard.
pub(super) fn check_values(declared: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    for guard in GUARDS {
        if declared.get(guard.name).is_some_and(|value| value != guard.value) {
            faults.push(Fault::new(
                &GUARD_VALUE,
                format!("`{}` declared with another value", guard.name),
                format!("`{}: {}`", guard.name, guard.value),
                "sign again with this value and declare it",
            ));
        }
    }
}

/// Finds the guard of a signed PUT; notes a fault where it would not work.
pub(super) fn find(
    url: &ObjectUrl,
    terms: &Terms,
    declared: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<Fault>,
) -> Option<Header> {
    let store = url.identity().provider().store();
    let (guard, proof) = match terms.family {
        Family::SigV4 | Family::SigV4A => match store.guard {
            S3Guard::Free(guard) => (guard, Proof::Free),
            S3Guard::Believed(guard) => (guard, Proof::Believed),
            S3Guard::Listed(guard) => (guard, Proof::Listed),
            // Said about the URL already, signed or not.
            S3Guard::Unsupported => return None,
        },
        Family::SigV2 => {
            faults.push(unsupported("AWS Signature Version 2"));
            return None;
        }
        // Refused as a signature for writing already.
        Family::CloudFront => return None,
        Family::OssV1 | Family::OssV2 | Family::OssV4 => (OSS_FORBID_OVERWRITE, Proof::Declared),
        Family::GcsV4 => (GCS_GENERATION_MATCH, Proof::Listed),
        Family::GcsV2 => (GCS_GENERATION_MATCH, Proof::Declared),
        Family::AzureSas => (IF_NONE_MATCH, Proof::Free),
        Family::Cos => (COS_FORBID_OVERWRITE, Proof::LikelyFree),
        Family::Obs => (OBS_FORBID_OVERWRITE, Proof::Declared),
    };
    let listed = terms.signed_headers.contains(guard.name);
    match proof {
        Proof::Listed if !listed => {
            faults.push(missing(
                guard,
                "is not among the headers of the signature",
                "sign again with it",
            ));
        }
        Proof::Declared if !declared.contains_key(guard.name) => faults.push(missing(
            guard,
            "is not declared, and the URL cannot show whether it was signed",
            "sign with it and declare it in `result_put_headers`",
        )),
        Proof::LikelyFree if !listed => notes.push(Fault::new(
            &GUARD_UNCERTAIN,
            format!("`{}` is not among the headers of the signature", guard.name),
            "the guard among the signed headers",
            "sign with it to be certain",
        )),
        Proof::Believed => notes.push(Fault::new(
            &GUARD_UNCERTAIN,
            format!(
                "{}, which is no known store's host, may ignore `{}`",
                url.authority(),
                guard.name
            ),
            "a store that refuses to overwrite",
            "try once that it answers a second PUT with 412, and have a `result_readback_url`",
        )),
        Proof::Free | Proof::LikelyFree | Proof::Listed | Proof::Declared => {}
    }
    if guard == OSS_FORBID_OVERWRITE || guard == COS_FORBID_OVERWRITE {
        notes.push(Fault::new(
            &GUARD_VERSIONED_BUCKET,
            format!("`{}`, which the store ignores where versioning is or was on", guard.name),
            "a bucket that never had versioning",
            "check the bucket, and have a `result_readback_url`",
        ));
    }
    Some(Header { name: guard.name.to_owned(), value: guard.value.to_owned() })
}

/// A store or signature without conditional PUT.
pub(super) fn unsupported(found: &'static str) -> Fault {
    Fault::new(
        &GUARD_UNSUPPORTED,
        found,
        "a store and a signature with conditional writes",
        "publish to another store, or sign with Signature Version 4",
    )
}

fn missing(guard: GuardHeader, why: &str, remedy: &'static str) -> Fault {
    Fault::new(
        &GUARD_MISSING,
        format!("`{}` {why}", guard.name),
        format!("a URL that was signed with `{}: {}`", guard.name, guard.value),
        remedy,
    )
}
