//! Signatures that state the instant of their end in `Expires`: AWS version 2, OSS V1, Google's V2, OBS, `CloudFront`.

use std::collections::BTreeSet;

use super::family::{Query, SIGNATURE_POLICY};
use super::{Method, SIGNATURE_METHOD, Terms, azure, time};
use crate::submission::object::Family;
use crate::submission::problem::Fault;

/// Reads `Expires` and checks that the rest is there.
pub(super) fn read(family: Family, method: Method, query: &mut Query<'_>) -> Option<Terms> {
    let key = match family {
        Family::OssV1 => "OSSAccessKeyId",
        Family::GcsV2 => "GoogleAccessId",
        Family::Obs => "AccessKeyId",
        Family::CloudFront => "Key-Pair-Id",
        _ => "AWSAccessKeyId",
    };
    query.require(key);
    query.require("Signature");
    azure::refuse_address(query, &["x-oss-ac-source-ip", "x-oss-ac-vpc-id"]);
    if family == Family::CloudFront && method == Method::Put {
        query.faults.push(Fault::new(
            &SIGNATURE_METHOD,
            "a CloudFront signature for writing",
            "CloudFront URLs for reading only",
            "sign a URL of the bucket itself for the result",
        ));
    }
    if query.get("Policy").is_some() {
        query.faults.push(Fault::new(
            &SIGNATURE_POLICY,
            "a `Policy` instead of a plain end",
            "a signature with `Expires`",
            "sign again without a policy document",
        ));
        return None;
    }
    let text = query.require("Expires")?;
    let expires = time::epoch(text);
    if expires.is_none() {
        let allowed = if text.len() == 13 {
            "seconds since 1970, a number of ten digits; these look like milliseconds"
        } else {
            "seconds since 1970, a number of ten digits"
        };
        query.lifetime("Expires", allowed);
    }
    Some(Terms { family, starts: None, expires: expires?, signed_headers: BTreeSet::new() })
}
