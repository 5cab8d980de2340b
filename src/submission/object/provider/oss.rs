//! Aliyun Object Storage Service.
//!
//! Bucket names are unique across OSS and stand in the host only; the signature covers bucket and key, not the host,
//! so one signed URL works under several hosts of the same bucket.

use super::{
    Found, GuardHeader, Keys, Place, S3Guard, Store, URL_PATH_STYLE, check_bucket, is_region, s3,
    unknown_form, wrong_key,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

/// The header that keeps OSS from overwriting.
pub(crate) const FORBID_OVERWRITE: GuardHeader =
    GuardHeader { name: "x-oss-forbid-overwrite", value: "true" };

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Literal,
    longest_key: 1023,
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[Family::OssV1, Family::OssV2, Family::OssV4, Family::SigV4, Family::SigV2],
    guard: S3Guard::Listed(FORBID_OVERWRITE),
};

pub(super) static DIALECT: Dialect = Dialect {
    version: &["versionId"],
    harmless: &["response-*", "x-oss-traffic-limit", "x-oss-request-payer"],
    headers: &[
        "x-oss-meta-*",
        "x-oss-object-acl",
        "x-oss-storage-class",
        "x-oss-server-side-*",
        "x-oss-tagging",
    ],
    refused: &[
        "append",
        "callback",
        "callback-var",
        "img",
        "objectMeta",
        "position",
        "symlink",
        "x-oss-async-process",
        "x-oss-copy-source*",
        "x-oss-process",
        "x-oss-symlink-target",
    ],
};

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    let Some(labels) = authority.labels_before("aliyuncs.com") else { return Ok(None) };
    let bucket = match labels.as_slice() {
        [.., "oss-accesspoint" | "oss-cloudbox"] => return Ok(Some(Found::Hidden)),
        [endpoint] | ["s3", endpoint] if is_endpoint(endpoint) => return Err(path_style_refused()),
        [region, "oss"] if is_geographic(region) => return Err(path_style_refused()),
        [bucket, endpoint] | [bucket, "s3", endpoint] if is_endpoint(endpoint) => *bucket,
        [bucket, region, "oss"] if is_region(region) => *bucket,
        _ if labels.iter().rev().take(2).any(|label| names_oss(label)) => {
            return Err(unknown_form("OSS"));
        }
        _ => return Ok(None),
    };
    if bucket.ends_with("-ossalias") {
        return Ok(Some(Found::Hidden));
    }
    check_bucket(bucket, 63, "")?;
    let key = path.rest();
    if key.starts_with('/') {
        return Err(wrong_key(
            "a key that starts with `/`".to_owned(),
            "a key that does not start with `/`".to_owned(),
        ));
    }
    Ok(Some(Found::At(Place::new("", bucket, key))))
}

/// `oss-REGION`, its internal form, the accelerated ones, and the old names of the first region.
fn is_endpoint(label: &str) -> bool {
    // The virtual private cloud hosts of the classic network.
    let label = label.strip_prefix("vpc100-").unwrap_or(label);
    match label.strip_prefix("oss") {
        Some("" | "-internal" | "-accelerate" | "-accelerate-overseas") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|region| {
            is_region(region)
                && !["accesspoint", "accelerate", "website", "object-process", "console", "admin"]
                    .iter()
                    .any(|other| region.starts_with(other))
        }),
        None => false,
    }
}

/// Whether a label is a region and not a bucket, where both may stand: regions begin with their part of the world.
fn is_geographic(label: &str) -> bool {
    is_region(label)
        && ["cn", "ap", "us", "eu", "me", "na", "sa", "rg"]
            .contains(&label.split('-').next().unwrap_or(label))
}

fn names_oss(label: &str) -> bool {
    label == "oss" || label.starts_with("oss-") || label.starts_with("img-") || label == "s3"
}

fn path_style_refused() -> Fault {
    Fault::new(
        &URL_PATH_STYLE,
        "an OSS endpoint without a bucket before it",
        "`https://BUCKET.oss-REGION.aliyuncs.com/KEY`",
        "sign the URL with the bucket in the host; OSS answers SecondLevelDomainForbidden otherwise",
    )
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{identity, refused};

    #[test]
    fn forms_of_one_bucket() {
        for host in [
            "ex-bkt.oss-cn-hangzhou",
            "ex-bkt.oss-cn-hangzhou-internal",
            "ex-bkt.oss-us-east-1",
            "ex-bkt.oss-cn-shenzhen-finance-1",
            "ex-bkt.oss-accelerate",
            "ex-bkt.oss-accelerate-overseas",
            "ex-bkt.cn-hangzhou.oss",
            "ex-bkt.oss",
            "ex-bkt.oss-internal",
            "ex-bkt.s3.oss-cn-hangzhou",
            "ex-bkt.s3.oss-cn-hangzhou-internal",
            "ex-bkt.s3.oss-accelerate",
            "ex-bkt.vpc100-oss-cn-hangzhou",
        ] {
            let url = format!("https://{host}.aliyuncs.com/in%2Fa.bin");
            assert_eq!(identity(&url), "oss  ex-bkt in/a.bin", "{host}");
        }
    }

    #[test]
    fn hidden_buckets() {
        for host in [
            "ap-01.oss-cn-hangzhou.oss-accesspoint",
            "ap-01.oss-cn-hangzhou-internal.oss-accesspoint",
            "ap-01-45ee7945007a2f0bcb595f63e2215cxxxx-ossalias.oss-cn-hangzhou",
            "ex-bkt.cb-f8z7yvzgwfkl9q0h.cn-heyuan.oss-cloudbox",
            "gateway.cn-hangzhou.slb",
            "gateway",
            "gateway.slb",
        ] {
            let url = format!("https://{host}.aliyuncs.com/k");
            assert_eq!(identity(&url), format!("opaque {host}.aliyuncs.com  /k?"));
        }
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("oss-cn-hangzhou.aliyuncs.com/ex-bkt/k", "url-path-style"),
            ("s3.oss-cn-hangzhou.aliyuncs.com/ex-bkt/k", "url-path-style"),
            ("cn-hangzhou.oss.aliyuncs.com/ex-bkt/k", "url-path-style"),
            ("oss-accelerate.aliyuncs.com/ex-bkt/k", "url-path-style"),
            ("ex-bkt.img-cn-hangzhou.aliyuncs.com/k", "url-host-form"),
            ("ap-1.oss-cn-hangzhou.oss-object-process.aliyuncs.com/k", "url-host-form"),
            ("a.b.oss-cn-hangzhou.aliyuncs.com/k", "url-host-form"),
            ("ex-bkt.hangzhou.oss.aliyuncs.com/k", "url-host-form"),
            ("ex-bkt.s3.slb.aliyuncs.com/k", "url-host-form"),
            ("ex-bkt.oss-hangzhou.aliyuncs.com/k", "url-host-form"),
            ("ex-bkt.oss-website-cn-hangzhou.aliyuncs.com/k", "url-host-form"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com//k", "url-key"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/%2Fk", "url-key"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/", "url-key"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com:80/k", "url-port"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/k?x-oss-process=image%2Finfo", "url-subresource"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/k?symlink", "url-subresource"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/k?append&position=0", "url-subresource"),
            ("ex-bkt.oss-cn-hangzhou.aliyuncs.com/k?acl", "url-subresource"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }
}
