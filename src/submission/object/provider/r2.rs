//! Cloudflare R2.
//!
//! A host with a jurisdiction reaches only the buckets of that jurisdiction, so it is part of the name space. Keys
//! are compared after Unicode normalisation, which R2 applies by default.

use super::{
    Found, IF_NONE_MATCH, Keys, Place, S3Guard, Store, check_bucket, path_style, s3, unknown_form,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Normalised,
    longest_key: 1024,
    dialects: &[&s3::DIALECT],
    families: &[Family::SigV4],
    guard: S3Guard::Free(IF_NONE_MATCH),
};

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    if authority.is_within("r2.dev") {
        return Ok(Some(Found::Hidden));
    }
    let Some(labels) = authority.labels_before("r2.cloudflarestorage.com") else { return Ok(None) };
    let (bucket, account, jurisdiction) = match labels.as_slice() {
        [account] if is_account(account) => (None, *account, None),
        [account, place] if is_account(account) => (None, *account, Some(*place)),
        [bucket, account] if is_account(account) => (Some(*bucket), *account, None),
        [bucket, account, place] if is_account(account) => (Some(*bucket), *account, Some(*place)),
        _ => return Err(unknown_form("R2")),
    };
    if jurisdiction.is_some_and(|name| !name.bytes().all(|byte| byte.is_ascii_lowercase())) {
        return Err(unknown_form("R2"));
    }
    let (bucket, key) = match bucket {
        Some(bucket) => (bucket.to_owned(), path.rest().to_owned()),
        None => path_style(path)?,
    };
    check_bucket(&bucket, 63, "")?;
    let space = match jurisdiction {
        Some(jurisdiction) => format!("{account}.{jurisdiction}"),
        None => account.to_owned(),
    };
    Ok(Some(Found::At(Place::new(space, bucket, key))))
}

fn is_account(label: &str) -> bool {
    label.len() == 32 && label.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{ambiguous, differ, identity, refused, same};

    const ACCOUNT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn forms_of_one_bucket() {
        let path = format!("https://{ACCOUNT}.r2.cloudflarestorage.com/ex-bkt/in/a.bin");
        let host = format!("https://ex-bkt.{ACCOUNT}.r2.cloudflarestorage.com/in/a.bin");
        let europe = format!("https://{ACCOUNT}.eu.r2.cloudflarestorage.com/ex-bkt/in/a.bin");
        let europe_host = format!("https://ex-bkt.{ACCOUNT}.eu.r2.cloudflarestorage.com/in/a.bin");
        assert_eq!(identity(&path), format!("r2 {ACCOUNT} ex-bkt in/a.bin"));
        assert_eq!(identity(&europe), format!("r2 {ACCOUNT}.eu ex-bkt in/a.bin"));
        assert!(same(&path, &host) && same(&europe, &europe_host));
        assert!(ambiguous(&path, &europe) && ambiguous(&europe_host, &host));
        assert!(differ(&path, &europe.replace("a.bin", "b.bin")));
        assert!(differ(&path, &path.replace(ACCOUNT, &ACCOUNT.replace('0', "f"))));
        assert!(differ(&path, &path.replace("/in/", "/In/")));
    }

    #[test]
    fn keys_are_normalised() {
        let composed = format!("https://{ACCOUNT}.r2.cloudflarestorage.com/ex-bkt/caf%C3%A9");
        assert_eq!(identity(&composed.replace("%C3%A9", "e%CC%81")), identity(&composed));
    }

    #[test]
    fn other_hosts() {
        assert!(identity("https://pub-0123456789abcdef.r2.dev/k").starts_with("opaque "));
        for (rest, code) in [
            ("short.r2.cloudflarestorage.com/ex-bkt/k", "url-host-form"),
            ("abc123.r2.cloudflarestorage.com/ex-bkt/k", "url-host-form"),
            ("0123456789abcdefghijklmnopqrstuv.r2.cloudflarestorage.com/ex-bkt/k", "url-host-form"),
            ("ex-bkt.short.r2.cloudflarestorage.com/k", "url-host-form"),
            ("ex-bkt.short.eu.r2.cloudflarestorage.com/k", "url-host-form"),
            ("0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/ex-bkt", "url-key"),
            (
                "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/ex-bkt/k?uploads",
                "url-subresource",
            ),
            ("0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com:8443/ex-bkt/k", "url-port"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }
}
