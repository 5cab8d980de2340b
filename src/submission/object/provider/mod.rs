//! The stores that harness knows, one file each.
//!
//! A new store is one file with a `STORE`, its `mod` line and one line in the table below. Its name is frozen: it
//! is hashed into the result identity.

mod azure;
mod b2;
pub(super) mod console;
mod cos;
mod gcs;
mod obs;
mod opaque;
mod oss;
mod r2;
mod s3;
mod spaces;

use super::authentication::Family;
use super::authority::{Authority, URL_HOST};
use super::path::ObjectPath;
use super::query::Dialect;
use crate::submission::problem::{Code, Fault};

/// The host has a known store's domain but not one of its forms.
pub static URL_HOST_FORM: Code = Code {
    name: "url-host-form",
    summary: "the host belongs to a known store but is not one of its object endpoints",
    explanation: "A store has endpoints for objects and others for websites, derived content, management or other \
services. Only object endpoints address one object in a known way; website endpoints answer with index pages and \
redirects and often without HTTPS. Use the store's ordinary object endpoint, as its documentation or SDK writes it.",
};

/// A bucket's name is missing or not one that the store allows.
pub static URL_BUCKET: Code = Code {
    name: "url-bucket",
    summary: "the bucket in a URL is missing or misspelt",
    explanation: "The bucket stands either before the store's host name or as the first part of the path. Bucket \
names are lower-case letters, digits and hyphens, with a few additions per store. Names in upper case, with an \
encoded slash, or empty ones are not buckets, and the store would answer with an error or another bucket.",
};

/// A store does not take the bucket in the path.
pub static URL_PATH_STYLE: Code = Code {
    name: "url-path-style",
    summary: "the store does not take the bucket in the path",
    explanation: "This store accepts requests only with the bucket before its host name \
(`https://BUCKET.ENDPOINT/KEY`). Sign the URL again in this form; in SDKs it is called virtual-hosted style.",
};

/// The key is missing or not one that the store takes.
pub static URL_KEY: Code = Code {
    name: "url-key",
    summary: "the key in a URL is missing or not one that the store takes",
    explanation: "A URL must name one object: a bucket and a key that is not empty. Stores limit the length of keys \
and some refuse leading, trailing or double slashes. Use the full URL of the object.",
};

/// A host of a store that harness recognises by its domain but which hides the bucket or needs a login.
pub static URL_LOGIN_HOST: Code = Code {
    name: "url-login-host",
    summary: "the host answers only in a browser that is logged in",
    explanation: "Hosts such as storage.cloud.google.com need the cookies of a browser session, which a pod does not \
have; it would receive a login page, and the digest would not match. The address of a page in a store's console is no \
object's URL at all. Sign a URL on the store's API host instead.",
};

/// A bucket with dots stands in the host.
pub static URL_DOTTED_BUCKET: Code = Code {
    name: "url-dotted-bucket",
    summary: "a bucket with dots stands before the host, which HTTPS certificates do not cover",
    explanation: "The certificate of a store covers one label before its host name, so a bucket name with dots fails \
the certificate check of every HTTPS client. Sign the URL in path style (the bucket as the first part of the path).",
};

pub(crate) use self::cos::FORBID_OVERWRITE as COS_FORBID_OVERWRITE;
pub(crate) use self::gcs::GENERATION_MATCH as GCS_GENERATION_MATCH;
pub(crate) use self::obs::FORBID_OVERWRITE as OBS_FORBID_OVERWRITE;
pub(crate) use self::oss::FORBID_OVERWRITE as OSS_FORBID_OVERWRITE;

/// How a store compares keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Byte for byte, documented.
    Literal,
    /// After Unicode normalisation form C.
    Normalised,
    /// Byte for byte as far as is known; slashes, trailing dots and Unicode forms may be folded.
    Fuzzy,
    /// Unknown.
    Opaque,
}

/// The header that makes a PUT create and never overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuardHeader {
    /// Lower-case name.
    pub(crate) name: &'static str,
    /// The one value that guards.
    pub(crate) value: &'static str,
}

/// How a PUT that is signed in the S3 manner is guarded at a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum S3Guard {
    /// The header may be sent whether or not it was signed.
    Free(GuardHeader),
    /// As [`S3Guard::Free`]; it is not known whether the store honours the header.
    Believed(GuardHeader),
    /// The header must be among the signed ones.
    Listed(GuardHeader),
    /// The store has no conditional PUT.
    Unsupported,
}

/// `If-None-Match: *` (RFC 9110, section 13.1.2).
pub(crate) const IF_NONE_MATCH: GuardHeader = GuardHeader { name: "if-none-match", value: "*" };

/// What harness knows about one store.
pub(crate) struct Store {
    /// Reads host and path; `None` where the host is not this store's.
    pub(crate) locate: fn(&Authority, &ObjectPath<'_>) -> Result<Option<Found>, Fault>,
    /// How keys compare.
    pub(crate) keys: Keys,
    /// The longest key in bytes.
    pub(crate) longest_key: usize,
    /// What query parameters mean.
    pub(crate) dialects: &'static [&'static Dialect],
    /// The signatures that the store takes.
    pub(crate) families: &'static [Family],
    /// How a PUT signed with Signature Version 4 is guarded.
    pub(crate) guard: S3Guard,
}

/// What a store's file read out of host and path.
pub(crate) enum Found {
    /// The store's host, but the bucket behind it cannot be known: an access point, a CDN, a private endpoint.
    Hidden,
    /// The object.
    At(Place),
}

/// Where an object lies.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The name space of buckets, in the store's own words.
    pub(crate) space: String,
    /// The bucket.
    pub(crate) bucket: String,
    /// The key.
    pub(crate) key: String,
    /// Why nothing can be written through this host, where that is so.
    pub(crate) read_only: Option<&'static str>,
    /// A parameter that the query must have.
    pub(crate) required: Option<(&'static str, &'static str)>,
    /// What is worth saying.
    pub(crate) notes: Vec<Fault>,
}

impl Place {
    /// An object that can be read and written.
    pub(crate) fn new(
        space: impl Into<String>,
        bucket: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        Self { space: space.into(), bucket: bucket.into(), key: key.into(), ..Self::default() }
    }
}

macro_rules! stores {
    ($($(#[$meta:meta])* $variant:ident = $name:literal in $module:ident;)*) => {
        /// Who stores an object.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Provider {
            $($(#[$meta])* $variant,)*
        }

        impl Provider {
            /// Every provider, in the order in which hosts are tried.
            pub const ALL: &'static [Provider] = &[$(Provider::$variant,)*];

            /// The frozen name, which is part of the result identity.
            pub fn as_str(self) -> &'static str {
                match self { $(Provider::$variant => $name,)* }
            }

            pub(crate) fn store(self) -> &'static Store {
                match self { $(Provider::$variant => &$module::STORE,)* }
            }
        }
    };
}

stores! {
    /// Amazon S3, in every partition.
    S3 = "s3" in s3;
    /// Aliyun Object Storage Service.
    Oss = "oss" in oss;
    /// Google Cloud Storage.
    Gcs = "gcs" in gcs;
    /// Azure Blob Storage, also through its Data Lake endpoint.
    Azure = "azure" in azure;
    /// Tencent Cloud Object Storage.
    Cos = "cos" in cos;
    /// Huawei Cloud Object Storage Service.
    Obs = "obs" in obs;
    /// Cloudflare R2.
    R2 = "r2" in r2;
    /// Backblaze B2.
    B2 = "b2" in b2;
    /// DigitalOcean Spaces.
    Spaces = "spaces" in spaces;
    /// Any other host: an own store, a CDN, a custom domain. Keep it last: it takes every host.
    Opaque = "opaque" in opaque;
}

/// Finds the store of a host and the object in it.
pub(crate) fn locate(
    authority: &Authority,
    path: &ObjectPath<'_>,
) -> Result<(Provider, Place), Fault> {
    for provider in Provider::ALL {
        let store = provider.store();
        let Some(found) = (store.locate)(authority, path)? else { continue };
        let Found::At(place) = found else { break };
        if *provider != Provider::Opaque {
            check_known_host(authority)?;
        }
        check_length(&place.key, store)?;
        return Ok((*provider, place));
    }
    Ok((Provider::Opaque, opaque::place(authority, path)?))
}

fn check_known_host(authority: &Authority) -> Result<(), Fault> {
    if let Some(port) = authority.port() {
        return Err(Fault::new(
            &super::authority::URL_PORT,
            format!("port {port} on a public store"),
            "no port, or 443",
            "leave the port out",
        ));
    }
    if authority.host().contains('_') {
        return Err(Fault::new(
            &URL_HOST,
            "an underscore in the host of a public store",
            "letters, digits, hyphens and dots",
            "write the bucket as the first part of the path",
        ));
    }
    Ok(())
}

fn check_length(key: &str, store: &Store) -> Result<(), Fault> {
    if key.is_empty() {
        return Err(no_key());
    }
    if key.len() > store.longest_key {
        return Err(wrong_key(
            format!("a key of {} bytes", key.len()),
            format!("at most {} bytes", store.longest_key),
        ));
    }
    Ok(())
}

fn no_key() -> Fault {
    Fault::new(
        &URL_KEY,
        "no key: the URL ends at the bucket or host",
        "the URL of one object",
        "write the object's key after the bucket",
    )
}

fn wrong_key(found: String, allowed: String) -> Fault {
    Fault::new(&URL_KEY, found, allowed, "use another key for the object")
}

/// The bucket and key of a path-style URL.
fn path_style(path: &ObjectPath<'_>) -> Result<(String, String), Fault> {
    let (bucket, key) = path.first_and_rest();
    if bucket.is_empty() {
        return Err(wrong_bucket("no bucket before the key"));
    }
    if bucket.contains('/') {
        return Err(wrong_bucket("an encoded slash in the bucket, the first part of the path"));
    }
    Ok((bucket, key.ok_or_else(no_key)?))
}

fn wrong_bucket(found: impl Into<String>) -> Fault {
    Fault::new(
        &URL_BUCKET,
        found.into(),
        "a bucket name of lower-case letters, digits and hyphens",
        "write the bucket as the store's console shows it",
    )
}

/// Checks a bucket's name: 3 to `longest` lower-case letters, digits, hyphens and the `extra` characters.
fn check_bucket(bucket: &str, longest: usize, extra: &str) -> Result<(), Fault> {
    if bucket.len() < 3 || bucket.len() > longest {
        return Err(wrong_bucket(format!("a bucket name of {} characters", bucket.len())));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if let Some(odd) = bucket.chars().find(|c| !plain(*c) && *c != '-' && !extra.contains(*c)) {
        return Err(wrong_bucket(match odd {
            'A'..='Z' => "a bucket name with upper-case letters".to_owned(),
            _ => format!("the character {odd:?} in the bucket name"),
        }));
    }
    if !bucket.starts_with(plain) || !bucket.ends_with(plain) || bucket.contains("..") {
        return Err(wrong_bucket(
            "a bucket name that does not begin and end with a letter or digit",
        ));
    }
    Ok(())
}

/// A host of a known store that is none of its object endpoints.
fn unknown_form(store: &str) -> Fault {
    Fault::new(
        &URL_HOST_FORM,
        format!("a host of {store} that is not an object endpoint"),
        format!("an object endpoint of {store}"),
        "use the endpoint that the store's documentation gives for reading and writing objects",
    )
}

fn dotted_bucket() -> Fault {
    Fault::new(
        &URL_DOTTED_BUCKET,
        "a bucket name with dots in the host",
        "one label before the store's host name",
        "sign the URL in path style",
    )
}

/// Whether a label has the shape of a region: words of letters and digits, joined by hyphens.
fn is_region(label: &str) -> bool {
    label.contains('-')
        && label.split('-').all(|word| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
        && label.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_as_the_store_allows() {
        let longest = "a".repeat(63);
        for good in ["abc", "a1-b", "1a2", &longest] {
            assert!(check_bucket(good, 63, "").is_ok(), "{good}");
        }
        assert!(check_bucket("a.b_c", 63, "._").is_ok());
        let longer = "a".repeat(64);
        for (bad, found) in [
            ("ab", "of 2 characters"),
            (longer.as_str(), "of 64 characters"),
            ("Abc", "upper-case letters"),
            ("a_c", "the character '_'"),
            ("-bc", "begin and end"),
            ("ab-", "begin and end"),
        ] {
            let fault = check_bucket(bad, 63, "").unwrap_err();
            assert!(fault.found.contains(found), "{bad}: {}", fault.found);
        }
        assert!(check_bucket("a..b", 63, ".").is_err());
    }

    #[test]
    fn a_region_is_words_with_hyphens() {
        for good in ["us-west-2", "cn-hangzhou", "eu-central-003"] {
            assert!(is_region(good), "{good}");
        }
        for bad in ["", "region", "1-a", "-a", "a-", "a--b", "a-B", "a-b_c"] {
            assert!(!is_region(bad), "{bad}");
        }
    }
}
