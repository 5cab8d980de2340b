//! Signatures that state their date and their life in seconds: AWS versions 4 and 4A, Google's V4, OSS V4; and the
//! older OSS V2, which has the same parameters but states an instant.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::family::Query;
use super::{Terms, time};
use crate::submission::object::Family;

/// The longest life that stores accept: seven days.
pub(super) const LONGEST_LIFE: u32 = 604_800;

const SECONDS: &str = "a whole number of seconds from 1 to 604800 (seven days)";
const DATE: &str = "a date and time such as `20261201T080000Z`";

/// AWS Signature Version 4 and 4A.
pub(super) fn read_aws(query: &mut Query<'_>) -> Option<Terms> {
    let family = match query.require("X-Amz-Algorithm")? {
        "AWS4-HMAC-SHA256" => Family::SigV4,
        "AWS4-ECDSA-P256-SHA256" => Family::SigV4A,
        _ => {
            query.malformed("X-Amz-Algorithm", "`AWS4-HMAC-SHA256` or `AWS4-ECDSA-P256-SHA256`");
            return None;
        }
    };
    let life = read_life(query, "X-Amz-Date", "X-Amz-Expires");
    let (scope, form): (&[Scope], _) = match family {
        // Version 4A holds in several regions, which stand in a parameter of their own.
        Family::SigV4A => (
            &[Scope::Date, Scope::Service, Scope::Literal("aws4_request")],
            "key, date, service and `aws4_request`, with the date of `X-Amz-Date`",
        ),
        _ => (
            &[Scope::Date, Scope::Any, Scope::Service, Scope::Literal("aws4_request")],
            "key, date, region, service and `aws4_request`, with the date of `X-Amz-Date`",
        ),
    };
    check_credential(query, "X-Amz-Credential", query.get("X-Amz-Date"), scope, form);
    if family == Family::SigV4A {
        query.require("X-Amz-Region-Set");
    } else if query.get("X-Amz-Region-Set").is_some() {
        query.malformed("X-Amz-Region-Set", "a set of regions only in Signature Version 4A");
    }
    let signed_headers = read_signed_headers(query, "X-Amz-SignedHeaders");
    query.require_hexadecimal("X-Amz-Signature");
    let (starts, expires) = life?;
    Some(Terms { family, starts: Some(starts), expires, signed_headers: signed_headers? })
}

/// Google Cloud Storage V4.
pub(super) fn read_google(query: &mut Query<'_>) -> Option<Terms> {
    if !matches!(query.require("X-Goog-Algorithm")?, "GOOG4-RSA-SHA256" | "GOOG4-HMAC-SHA256") {
        query.malformed("X-Goog-Algorithm", "`GOOG4-RSA-SHA256` or `GOOG4-HMAC-SHA256`");
    }
    let life = read_life(query, "X-Goog-Date", "X-Goog-Expires");
    check_credential(
        query,
        "X-Goog-Credential",
        query.get("X-Goog-Date"),
        &[Scope::Date, Scope::Any, Scope::Literal("storage"), Scope::Literal("goog4_request")],
        "account, date, location, `storage` and `goog4_request`, with the date of `X-Goog-Date`",
    );
    let signed_headers = read_signed_headers(query, "X-Goog-SignedHeaders");
    query.require_hexadecimal("X-Goog-Signature");
    let (starts, expires) = life?;
    let family = Family::GcsV4;
    Some(Terms { family, starts: Some(starts), expires, signed_headers: signed_headers? })
}

/// OSS V4, and V2, which shares its parameters.
pub(super) fn read_oss(query: &mut Query<'_>) -> Option<Terms> {
    super::azure::refuse_address(query, &["x-oss-ac-source-ip", "x-oss-ac-vpc-id"]);
    let version = query.require("x-oss-signature-version")?;
    let signed_headers = read_header_list(query, "x-oss-additional-headers", false);
    match version {
        "OSS4-HMAC-SHA256" => {
            let life = read_life(query, "x-oss-date", "x-oss-expires");
            check_credential(
                query,
                "x-oss-credential",
                query.get("x-oss-date"),
                &[
                    Scope::Date,
                    Scope::Any,
                    Scope::Literal("oss"),
                    Scope::Literal("aliyun_v4_request"),
                ],
                "key, date, region, `oss` and `aliyun_v4_request`, with the date of `x-oss-date`",
            );
            query.require_hexadecimal("x-oss-signature");
            let (starts, expires) = life?;
            let family = Family::OssV4;
            Some(Terms { family, starts: Some(starts), expires, signed_headers: signed_headers? })
        }
        "OSS2" => {
            query.require("x-oss-access-key-id");
            query.require("x-oss-signature");
            let expires = time::epoch(query.require("x-oss-expires")?);
            if expires.is_none() {
                query.lifetime("x-oss-expires", "seconds since 1970, a number of ten digits");
            }
            let family = Family::OssV2;
            Some(Terms { family, starts: None, expires: expires?, signed_headers: signed_headers? })
        }
        _ => {
            query.malformed("x-oss-signature-version", "`OSS4-HMAC-SHA256` or `OSS2`");
            None
        }
    }
}

/// The start and the end that a date and a number of seconds state.
fn read_life(query: &mut Query<'_>, date: &str, seconds: &str) -> Option<(Timestamp, Timestamp)> {
    let starts = query.require(date).map(time::basic);
    if starts == Some(None) {
        query.malformed(date, DATE);
    }
    let text = query.require(seconds)?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let life = text.parse().ok().filter(|life| plain && (1..=LONGEST_LIFE).contains(life));
    if life.is_none() {
        query.lifetime(seconds, SECONDS);
    }
    let starts = starts??;
    let expires = starts.checked_add(SignedDuration::from_secs(i64::from(life?))).ok()?;
    Some((starts, expires))
}

/// One part of the scope that follows the key in a credential.
enum Scope {
    /// The day of the signature's date.
    Date,
    /// Anything that is not empty.
    Any,
    /// A service that holds objects.
    Service,
    /// Exactly this.
    Literal(&'static str),
}

/// Checks a credential from the right: a key may itself hold slashes.
fn check_credential(
    query: &mut Query<'_>,
    name: &str,
    date: Option<&str>,
    scope: &[Scope],
    form: &'static str,
) {
    let Some(credential) = query.require(name) else { return };
    let mut parts = credential.rsplitn(scope.len() + 1, '/');
    let holds = scope.iter().rev().all(|expected| {
        let Some(part) = parts.next() else { return false };
        match expected {
            Scope::Date => date.and_then(|date| date.get(..8)).is_none_or(|day| day == part),
            Scope::Any => !part.is_empty(),
            Scope::Service => matches!(part, "s3" | "s3express" | "s3-outposts"),
            Scope::Literal(literal) => part == *literal,
        }
    });
    if !holds || parts.next().is_none_or(str::is_empty) {
        query.malformed(name, form);
    }
}

/// The headers under the signature; `host` must be one of them.
fn read_signed_headers(query: &mut Query<'_>, name: &str) -> Option<BTreeSet<String>> {
    query.require(name)?;
    let headers = read_header_list(query, name, true)?;
    if !headers.contains("host") {
        query.malformed(name, "a list of header names with `host` in it");
        return None;
    }
    Some(headers)
}

/// A list of lower-case header names with `;` between them.
pub(super) fn read_header_list(
    query: &mut Query<'_>,
    name: &str,
    required: bool,
) -> Option<BTreeSet<String>> {
    let text = query.get(name).unwrap_or_default();
    if text.is_empty() && !required {
        return Some(BTreeSet::new());
    }
    let mut headers = BTreeSet::new();
    for header in text.split(';') {
        let plain = !header.is_empty()
            && header
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b));
        if !plain || !headers.insert(header.to_owned()) {
            query.malformed(name, "different lower-case header names with `;` between them");
            return None;
        }
    }
    Some(headers)
}
