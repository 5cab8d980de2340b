//! `DigitalOcean` Spaces.
//!
//! A Space's name is unique in its region. The CDN host serves the same object, perhaps an older copy.

use super::{
    Found, IF_NONE_MATCH, Keys, Place, S3Guard, Store, check_bucket, path_style, s3, unknown_form,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Fuzzy,
    longest_key: 1024,
    dialects: &[&s3::DIALECT],
    families: &[Family::SigV4, Family::SigV2],
    guard: S3Guard::Free(IF_NONE_MATCH),
};

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    let Some(labels) = authority.labels_before("digitaloceanspaces.com") else { return Ok(None) };
    let place = match labels.as_slice() {
        [region] if is_datacentre(region) => {
            let (bucket, key) = path_style(path)?;
            Place::new(*region, bucket, key)
        }
        [bucket, region] | [bucket, region, "cdn"] if is_datacentre(region) => {
            Place::new(*region, *bucket, path.rest())
        }
        _ => return Err(unknown_form("DigitalOcean Spaces")),
    };
    check_bucket(&place.bucket, 63, "")?;
    Ok(Some(Found::At(place)))
}

/// Data centres are three letters and a number, such as `nyc3`.
fn is_datacentre(label: &str) -> bool {
    let (letters, digits) = label.split_at(label.len().min(3));
    letters.len() == 3
        && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{ambiguous, differ, identity, refused};

    #[test]
    fn forms_of_one_space() {
        for rest in [
            "ex-bkt.nyc3.digitaloceanspaces.com/in/a.bin",
            "nyc3.digitaloceanspaces.com/ex-bkt/in/a.bin",
            "ex-bkt.nyc3.cdn.digitaloceanspaces.com/in/a.bin",
        ] {
            let url = format!("https://{rest}");
            assert_eq!(identity(&url), "spaces nyc3 ex-bkt in/a.bin", "{rest}");
        }
        let base = "https://ex-bkt.nyc3.digitaloceanspaces.com/in/a.bin";
        assert!(differ(base, "https://ex-bkt.ams3.digitaloceanspaces.com/in/a.bin"));
        assert!(ambiguous(base, "https://ex-bkt.nyc3.digitaloceanspaces.com/in//a.bin"));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("digitaloceanspaces.com/ex-bkt/k", ""),
            ("a.b.nyc3.digitaloceanspaces.com/k", "url-host-form"),
            ("nyc3.cdn.digitaloceanspaces.com/ex-bkt/k", "url-host-form"),
            ("newyork.digitaloceanspaces.com/ex-bkt/k", "url-host-form"),
            ("ex-bkt.newyork.digitaloceanspaces.com/k", "url-host-form"),
            ("nyc3.digitaloceanspaces.com/ex-bkt", "url-key"),
            ("ex-bkt.nyc3.digitaloceanspaces.com:8443/k", "url-port"),
        ] {
            let url = format!("https://{rest}");
            if code.is_empty() {
                assert!(identity(&url).starts_with("opaque "), "{rest}");
            } else {
                assert_eq!(refused(&url), code, "{rest}");
            }
        }
    }
}
