//! Google Cloud Storage: the XML API in both styles, and the download forms of the JSON API.
//!
//! Bucket names are unique across the service, so the host decides nothing.

use super::{
    Found, GuardHeader, Keys, Place, S3Guard, Store, URL_LOGIN_HOST, check_bucket, dotted_bucket,
    is_region, path_style, s3, unknown_form, wrong_bucket, wrong_key,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::encoding;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

/// The header that makes a PUT succeed only where no generation of the object is live.
pub(crate) const GENERATION_MATCH: GuardHeader =
    GuardHeader { name: "x-goog-if-generation-match", value: "0" };

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Literal,
    longest_key: 1024,
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[Family::GcsV4, Family::GcsV2, Family::SigV4, Family::SigV2],
    guard: S3Guard::Listed(GENERATION_MATCH),
};

pub(super) static DIALECT: Dialect = Dialect {
    version: &["generation"],
    harmless: &["response-*", "userProject", "prettyPrint"],
    headers: &[
        "x-goog-acl",
        "x-goog-content-length-range",
        "x-goog-encryption-*",
        "x-goog-hash",
        "x-goog-meta-*",
        "x-goog-storage-class",
        "x-goog-user-project",
    ],
    refused: &[
        "compose",
        "encryption",
        "upload_id",
        "uploadType",
        "x-goog-copy-source*",
        "x-goog-metadata-directive",
        "x-goog-resumable",
    ],
};

const BROWSER: &str = "storage.cloud.google.com";

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    if authority.is_within(BROWSER) {
        return browser(authority, path).map(|place| Some(Found::At(place)));
    }
    let Some(labels) = authority.labels_before("googleapis.com") else { return Ok(None) };
    let place = match labels.as_slice() {
        // A Private Service Connect endpoint forwards to the service, to any bucket its network reaches.
        [.., "p"] => return Ok(Some(Found::Hidden)),
        ["storage" | "commondatastorage"] => in_path(path)?,
        ["storage", region, "rep"] if is_region(region) => in_path(path)?,
        ["www"] => match json(path)? {
            Some(place) => place,
            None => return Err(unknown_form("Google Cloud Storage")),
        },
        [bucket @ .., "storage" | "commondatastorage"] => in_host(&bucket.join("."), path)?,
        [bucket @ .., "storage", region, "rep"] if is_region(region) => {
            in_host(&bucket.join("."), path)?
        }
        _ => return Err(unknown_form("Google Cloud Storage")),
    };
    Ok(Some(Found::At(place)))
}

fn browser(authority: &Authority, path: &ObjectPath<'_>) -> Result<Place, Fault> {
    let mut place = match authority.labels_before(BROWSER) {
        Some(labels) => in_host(&labels.join("."), path)?,
        None => in_bucket_path(path)?,
    };
    place.read_only =
        Some("storage.cloud.google.com serves logged-in browsers and takes no writes");
    place.notes.push(Fault::new(
        &URL_LOGIN_HOST,
        "the host storage.cloud.google.com",
        "storage.googleapis.com",
        "sign a URL on storage.googleapis.com, which needs no browser login",
    ));
    Ok(place)
}

fn in_path(path: &ObjectPath<'_>) -> Result<Place, Fault> {
    match json(path)? {
        Some(place) => Ok(place),
        None => in_bucket_path(path),
    }
}

fn in_bucket_path(path: &ObjectPath<'_>) -> Result<Place, Fault> {
    let (bucket, key) = path_style(path)?;
    place(bucket, key)
}

fn in_host(bucket: &str, path: &ObjectPath<'_>) -> Result<Place, Fault> {
    let mut place = place(bucket.to_owned(), path.rest().to_owned())?;
    if bucket.contains('.') {
        place.notes.push(dotted_bucket());
    }
    Ok(place)
}

fn place(bucket: String, key: String) -> Result<Place, Fault> {
    // A name with dots may have 222 characters, each part at most 63.
    check_bucket(&bucket, 222, "._")?;
    if bucket.split('.').any(|part| part.len() > 63) {
        return Err(wrong_bucket("a bucket name with a part of more than 63 characters"));
    }
    Ok(Place::new("", bucket, key))
}

/// The object of a JSON API URL: `/storage/v1/b/BUCKET/o/KEY` or its `/download` form, with the key as one segment.
fn json(path: &ObjectPath<'_>) -> Result<Option<Place>, Fault> {
    let raw = path.raw();
    let after_service = raw.strip_prefix("/download").unwrap_or(raw).strip_prefix("/storage/v1/");
    let Some(rest) = after_service else {
        return match raw.strip_prefix("/upload/storage/v1/") {
            Some(_) => Err(unknown_form("Google Cloud Storage")),
            None => Ok(None),
        };
    };
    let mut segments = rest.split('/');
    let (Some("b"), Some(bucket), Some("o"), Some(key), None) =
        (segments.next(), segments.next(), segments.next(), segments.next(), segments.next())
    else {
        return Err(wrong_key(
            "a JSON API path that does not name one object".to_owned(),
            "`/storage/v1/b/BUCKET/o/KEY`, with every `/` of the key as `%2F`".to_owned(),
        ));
    };
    let decoded = |part: &str| encoding::decode(part).unwrap_or_default();
    let mut place = place(decoded(bucket), decoded(key))?;
    place.required = Some(("alt", "media"));
    place.read_only = Some("the JSON API takes signed writes in no form");
    Ok(Some(place))
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{differ, identity, noted, refused};

    #[test]
    fn forms_of_one_object() {
        for rest in [
            "storage.googleapis.com/ex-bkt/in/a.bin",
            "storage.googleapis.com:443/ex-bkt/in%2Fa.bin",
            "ex-bkt.storage.googleapis.com/in/a.bin",
            "commondatastorage.googleapis.com/ex-bkt/in/a.bin",
            "ex-bkt.commondatastorage.googleapis.com/in/a.bin",
            "storage.cloud.google.com/ex-bkt/in/a.bin",
            "storage.us-central1.rep.googleapis.com/ex-bkt/in/a.bin",
            "ex-bkt.storage.us-central1.rep.googleapis.com/in/a.bin",
            "storage.googleapis.com/storage/v1/b/ex-bkt/o/in%2Fa.bin?alt=media",
            "storage.googleapis.com/download/storage/v1/b/ex-bkt/o/in%2fa.bin?alt=media",
            "www.googleapis.com/storage/v1/b/ex-bkt/o/in%2Fa.bin?alt=media",
        ] {
            assert_eq!(identity(&format!("https://{rest}")), "gcs  ex-bkt in/a.bin", "{rest}");
        }
        assert_eq!(identity("https://storage.googleapis.com/a_b.c/k"), "gcs  a_b.c k");
        assert!(differ(
            "https://storage.googleapis.com/abc//k",
            "https://storage.googleapis.com/abc/k"
        ));
        assert!(differ(
            "https://storage.googleapis.com/abc/k/",
            "https://storage.googleapis.com/abc/k"
        ));
        assert!(identity("https://storage-abc.p.googleapis.com/abc/k").starts_with("opaque "));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("storage.googleapis.com/storage/v1/b/ex-bkt/o/in%2Fa.bin", "url-subresource"),
            (
                "storage.googleapis.com/storage/v1/b/ex-bkt/o/in%2Fa.bin?alt=json",
                "url-parameter-unknown",
            ),
            ("storage.googleapis.com/storage/v1/b/ex-bkt/o/in/a.bin?alt=media", "url-key"),
            ("storage.googleapis.com/storage/v1/b/ex-bkt/o/?alt=media", "url-key"),
            (
                "storage.googleapis.com/upload/storage/v1/b/ex-bkt/o?uploadType=media",
                "url-host-form",
            ),
            ("storage.googleapis.com/ex-bkt/k?uploadId=x", "url-subresource"),
            ("storage.googleapis.com/ex-bkt", "url-key"),
            ("storage.googleapis.com:8443/ex-bkt/k", "url-port"),
            ("storage.googleapis.com/Ex-Bkt/k", "url-bucket"),
            ("a_b.storage.googleapis.com/k", "url-host"),
            ("compute.googleapis.com/ex-bkt/k", "url-host-form"),
            ("storage.central.rep.googleapis.com/ex-bkt/k", "url-host-form"),
            ("ex-bkt.storage.central.rep.googleapis.com/k", "url-host-form"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
        let named = |part: usize| {
            format!("https://storage.googleapis.com/{}.example.org/k", "a".repeat(part))
        };
        assert!(identity(&named(63)).ends_with("a.example.org k"));
        assert_eq!(refused(&named(64)), "url-bucket");
    }

    /// The certificate of the store covers one label before its name.
    #[test]
    fn only_a_dotted_bucket_in_the_host_is_noted() {
        assert_eq!(noted("https://my.bkt.storage.googleapis.com/k"), ["url-dotted-bucket"]);
        assert!(noted("https://ex-bkt.storage.googleapis.com/k").is_empty());
        assert!(noted("https://storage.googleapis.com/my.bkt/k").is_empty());
    }
}
