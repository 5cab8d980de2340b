//! Backblaze B2: its S3 endpoint and its native download host.

use super::{
    Found, Keys, Place, S3Guard, Store, check_bucket, is_region, path_style, s3, unknown_form,
    wrong_key,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Fuzzy,
    longest_key: 1000,
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[Family::SigV4],
    guard: S3Guard::Unsupported,
};

static DIALECT: Dialect = Dialect {
    version: &[],
    harmless: &[
        "b2CacheControl",
        "b2ContentDisposition",
        "b2ContentEncoding",
        "b2ContentLanguage",
        "b2ContentType",
        "b2Expires",
    ],
    headers: &[],
    refused: &[],
};

/// The regions of the native hosts `f000` to `f006`.
const CLUSTERS: &[(&str, &str)] = &[
    ("f000", "us-west-000"),
    ("f001", "us-west-001"),
    ("f002", "us-west-002"),
    ("f003", "eu-central-003"),
    ("f004", "us-west-004"),
    ("f005", "us-east-005"),
    ("f006", "ca-east-006"),
];

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    let Some(labels) = authority.labels_before("backblazeb2.com") else { return Ok(None) };
    let place = match labels.as_slice() {
        [native] if is_native(native) => in_native(native, path)?,
        ["s3", region] if is_region(region) => {
            let (bucket, key) = path_style(path)?;
            Place::new(*region, bucket, key)
        }
        [bucket, "s3", region] if is_region(region) => Place::new(*region, *bucket, path.rest()),
        _ => return Err(unknown_form("Backblaze B2")),
    };
    check_bucket(&place.bucket, 63, "")?;
    let key = &place.key;
    if key.starts_with('/') || key.ends_with('/') || key.contains("//") {
        return Err(wrong_key(
            "a key with a slash at its start or end, or two side by side".to_owned(),
            "single slashes between the parts of the key".to_owned(),
        ));
    }
    Ok(Some(Found::At(place)))
}

fn is_native(label: &str) -> bool {
    label
        .strip_prefix('f')
        .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn in_native(host: &str, path: &ObjectPath<'_>) -> Result<Place, Fault> {
    let rest = path.raw().strip_prefix("/file").filter(|rest| rest.starts_with('/'));
    let Some(rest) = rest else { return Err(unknown_form("Backblaze B2")) };
    let (bucket, key) = path_style(&ObjectPath::parse(rest)?)?;
    let region =
        CLUSTERS.iter().find(|(native, _)| *native == host).map_or("", |(_, region)| region);
    let mut place = Place::new(region, bucket, key);
    place.read_only = Some("the native download host takes no writes");
    Ok(place)
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{differ, identity, refused, same};

    #[test]
    fn forms_of_one_file() {
        for rest in [
            "s3.us-west-004.backblazeb2.com/ex-bkt/in/a.bin",
            "ex-bkt.s3.us-west-004.backblazeb2.com/in/a.bin",
            "f004.backblazeb2.com/file/ex-bkt/in/a.bin",
        ] {
            let url = format!("https://{rest}");
            assert_eq!(identity(&url), "b2 us-west-004 ex-bkt in/a.bin", "{rest}");
        }
        let base = "https://s3.us-west-004.backblazeb2.com/ex-bkt/k";
        assert!(differ(base, "https://s3.eu-central-003.backblazeb2.com/ex-bkt/k"));
        assert!(same(base, "https://f999.backblazeb2.com/file/ex-bkt/k"));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("s3.us-west-004.backblazeb2.com/ex-bkt/in//a.bin", "url-key"),
            ("s3.us-west-004.backblazeb2.com/ex-bkt//a", "url-key"),
            ("s3.us-west-004.backblazeb2.com/ex-bkt/a/", "url-key"),
            ("f004.backblazeb2.com/b2api/v1/b2_download_file_by_id?fileId=x", "url-host-form"),
            ("api.backblazeb2.com/file/ex-bkt/k", "url-host-form"),
            ("s3.region.backblazeb2.com/ex-bkt/k", "url-host-form"),
            ("ex-bkt.s3.region.backblazeb2.com/k", "url-host-form"),
            ("f004.backblazeb2.com/file/ex-bkt/k?Authorization=x", "url-parameter-unknown"),
            ("f004.backblazeb2.com/file/ex-bkt", "url-key"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }
}
