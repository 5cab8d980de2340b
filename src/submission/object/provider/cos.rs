//! Tencent Cloud Object Storage.
//!
//! The bucket's name ends in the account's number. The accelerated host has no region; it reaches the same buckets.

use super::{
    Found, GuardHeader, Keys, Place, S3Guard, Store, check_bucket, is_region, path_style, s3,
    unknown_form, wrong_bucket,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

/// The header that keeps COS from overwriting.
pub(crate) const FORBID_OVERWRITE: GuardHeader =
    GuardHeader { name: "x-cos-forbid-overwrite", value: "true" };

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Fuzzy,
    longest_key: 850,
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[Family::Cos, Family::SigV4],
    guard: S3Guard::Listed(FORBID_OVERWRITE),
};

pub(super) static DIALECT: Dialect = Dialect {
    version: &["versionId", "versionid"],
    harmless: &["response-*", "x-cos-traffic-limit"],
    headers: &["x-cos-acl", "x-cos-meta-*", "x-cos-storage-class", "x-cos-server-side-*"],
    refused: &[
        "append",
        "ci-process",
        "imageAve",
        "imageInfo",
        "imageMogr2*",
        "imageView2*",
        "position",
        "watermark*",
        "x-cos-copy-source*",
    ],
};

/// Why a host without region cannot be the place of a result.
pub(super) const NO_REGION: &str =
    "the host does not name the bucket's region, so the result would get a second identity";

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    let Some(labels) = authority
        .labels_before("myqcloud.com")
        .or_else(|| authority.labels_before("tencentcos.cn"))
    else {
        return Ok(None);
    };
    let (bucket, region) = match labels.as_slice() {
        [.., "file" | "picsh" | "picgz" | "piccd" | "pictj" | "image"] => {
            return Ok(Some(Found::Hidden));
        }
        [bucket, "cos" | "cos-internal", "accelerate"] => (Some(*bucket), ""),
        [bucket, "cos" | "cos-internal", region] if is_region(region) => (Some(*bucket), *region),
        ["cos" | "cos-internal", region] if is_region(region) => (None, *region),
        _ => return Err(unknown_form("COS")),
    };
    let (bucket, key) = match bucket {
        Some(bucket) => (bucket.to_owned(), path.rest().to_owned()),
        None => path_style(path)?,
    };
    check_bucket(&bucket, 63, "")?;
    let numbered = bucket.rsplit_once('-').is_some_and(|(_, account)| {
        account.len() >= 8 && account.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !numbered {
        return Err(wrong_bucket("a COS bucket name without the account's number at its end"));
    }
    let mut place = Place::new(region, bucket, key);
    place.read_only = region.is_empty().then_some(NO_REGION);
    Ok(Some(Found::At(place)))
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{differ, identity, refused, same};

    #[test]
    fn forms_of_one_bucket() {
        let base = "https://ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/in/a.bin";
        for rest in [
            "ex-bkt-1250000000.cos.ap-guangzhou.tencentcos.cn/in/a.bin",
            "ex-bkt-1250000000.cos-internal.ap-guangzhou.tencentcos.cn/in/a.bin",
            "cos.ap-guangzhou.myqcloud.com/ex-bkt-1250000000/in/a.bin",
        ] {
            let url = format!("https://{rest}");
            assert_eq!(identity(&url), "cos ap-guangzhou ex-bkt-1250000000 in/a.bin", "{rest}");
        }
        assert!(same(base, "https://ex-bkt-1250000000.cos.accelerate.myqcloud.com/in/a.bin"));
        assert!(differ(base, "https://ex-bkt-1250000000.cos.ap-shanghai.myqcloud.com/in/a.bin"));
        assert!(differ(base, "https://ex-bkt-1250000001.cos.accelerate.myqcloud.com/in/a.bin"));
        assert!(identity("https://ex-bkt-1250000000.file.myqcloud.com/k").starts_with("opaque "));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("ex-bkt-1250000000.cos-website.ap-guangzhou.myqcloud.com/k", "url-host-form"),
            ("ex-bkt-1250000000.ci.ap-guangzhou.myqcloud.com/k", "url-host-form"),
            ("ex-bkt-1250000000.cos.guangzhou.myqcloud.com/k", "url-host-form"),
            ("cos.guangzhou.myqcloud.com/ex-bkt-1250000000/k", "url-host-form"),
            ("ex-bkt.cos.ap-guangzhou.myqcloud.com/k", "url-bucket"),
            ("ex-bkt-1250000.cos.ap-guangzhou.myqcloud.com/k", "url-bucket"),
            ("ex-bkt-production.cos.ap-guangzhou.myqcloud.com/k", "url-bucket"),
            ("ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/", "url-key"),
            ("ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/k?ci-process=x", "url-subresource"),
            (
                "ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/k?imageMogr2/thumbnail/1x",
                "url-subresource",
            ),
            ("ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/k?uploadId=1", "url-subresource"),
            ("ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com:80/k", "url-port"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }
}
