//! Huawei Cloud Object Storage Service.

use super::{
    Found, GuardHeader, Keys, Place, S3Guard, Store, check_bucket, cos, dotted_bucket, is_region,
    path_style, s3, unknown_form,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

/// The header that keeps OBS from overwriting.
pub(crate) const FORBID_OVERWRITE: GuardHeader =
    GuardHeader { name: "x-obs-forbid-overwrite", value: "true" };

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Fuzzy,
    longest_key: 1024,
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[Family::Obs, Family::SigV4, Family::SigV2],
    guard: S3Guard::Listed(FORBID_OVERWRITE),
};

pub(super) static DIALECT: Dialect = Dialect {
    version: &["versionId"],
    harmless: &["response-*", "x-obs-traffic-limit"],
    headers: &["x-obs-acl", "x-obs-meta-*", "x-obs-storage-class", "x-obs-server-side-*"],
    refused: &[
        "append",
        "modify",
        "name",
        "position",
        "rename",
        "truncate",
        "length",
        "x-image-process",
        "x-image-save-*",
        "x-obs-copy-source*",
    ],
};

/// The domain of today, the European one, and the first one.
const DOMAINS: &[&str] = &["myhuaweicloud.com", "myhuaweicloud.eu", "myhwclouds.com"];

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    let Some(labels) = DOMAINS.iter().find_map(|domain| authority.labels_before(domain)) else {
        return Ok(None);
    };
    let (bucket, region) = match labels.as_slice() {
        [bucket @ .., "obs", region] if is_region(region) => (bucket, *region),
        [bucket @ .., "obs"] => (bucket, ""),
        _ if labels.iter().any(|label| label.starts_with("obs")) => {
            return Err(unknown_form("OBS"));
        }
        _ => return Ok(None),
    };
    let (name, key) = if bucket.is_empty() {
        path_style(path)?
    } else {
        (bucket.join("."), path.rest().to_owned())
    };
    check_bucket(&name, 63, ".")?;
    let mut place = Place::new(region, name, key);
    place.read_only = region.is_empty().then_some(cos::NO_REGION);
    if bucket.len() > 1 {
        place.notes.push(dotted_bucket());
    }
    Ok(Some(Found::At(place)))
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{ambiguous, differ, identity, noted, refused, same};

    #[test]
    fn forms_of_one_bucket() {
        for rest in [
            "ex-bkt.obs.cn-north-4.myhuaweicloud.com/in/a.bin",
            "ex-bkt.obs.cn-north-4.myhuaweicloud.com:443/in/a.bin",
            "obs.cn-north-4.myhuaweicloud.com/ex-bkt/in/a.bin",
            "ex-bkt.obs.cn-north-4.myhwclouds.com/in/a.bin",
        ] {
            let url = format!("https://{rest}");
            assert_eq!(identity(&url), "obs cn-north-4 ex-bkt in/a.bin", "{rest}");
        }
        let base = "https://ex-bkt.obs.cn-north-4.myhuaweicloud.com/k";
        assert!(same(base, "https://ex-bkt.obs.myhuaweicloud.com/k"));
        assert!(differ(base, "https://ex-bkt.obs.cn-north-1.myhuaweicloud.com/k"));
        assert!(ambiguous(base, "https://ex-bkt.obs.cn-north-4.myhuaweicloud.com//k"));
        assert_eq!(
            identity("https://my.bkt.obs.eu-west-101.myhuaweicloud.eu/k"),
            "obs eu-west-101 my.bkt k"
        );
        assert!(identity("https://lb.cn-north-4.elb.myhuaweicloud.com/k").starts_with("opaque "));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("ex-bkt.obs-website.cn-north-4.myhuaweicloud.com/k", "url-host-form"),
            ("ex-bkt.obs.north.myhuaweicloud.com/k", "url-host-form"),
            ("obs.cn-north-4.myhuaweicloud.com/ex-bkt", "url-key"),
            ("obs.cn-north-4.myhuaweicloud.com/EX-bkt/k", "url-bucket"),
            ("ex-bkt.obs.cn-north-4.myhuaweicloud.com:8443/k", "url-port"),
            ("ex-bkt.obs.cn-north-4.myhuaweicloud.com/k?append&position=0", "url-subresource"),
            ("ex-bkt.obs.cn-north-4.myhuaweicloud.com/k?x-image-save-object=o", "url-subresource"),
            ("ex-bkt.obs.cn-north-4.myhuaweicloud.com/k?rename&name=o", "url-subresource"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }

    /// The certificate of the store covers one label before its name.
    #[test]
    fn only_a_dotted_bucket_in_the_host_is_noted() {
        assert_eq!(
            noted("https://my.bkt.obs.eu-west-101.myhuaweicloud.eu/k"),
            ["url-dotted-bucket"]
        );
        assert!(noted("https://ex-bkt.obs.eu-west-101.myhuaweicloud.eu/k").is_empty());
        assert!(noted("https://obs.eu-west-101.myhuaweicloud.eu/my.bkt/k").is_empty());
    }
}
