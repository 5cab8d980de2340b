//! Every other host: own stores (`MinIO`, Ceph and others), custom domains, content delivery networks.
//!
//! What lies behind such a host cannot be read from its URLs, so the whole authority, path and remaining query
//! are the identity, and comparing is cautious.

use super::{Found, IF_NONE_MATCH, Keys, Place, S3Guard, Store, no_key, s3};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate: |authority, path| place(authority, path).map(|place| Some(Found::At(place))),
    keys: Keys::Opaque,
    longest_key: usize::MAX,
    // The meaning of parameters must not hang on a signature being there: a reviewed URL without one and its
    // signed form are one object. So the S3 API is assumed, which own stores speak.
    dialects: &[&DIALECT, &s3::DIALECT],
    families: &[
        Family::SigV4,
        Family::SigV4A,
        Family::SigV2,
        Family::OssV1,
        Family::OssV2,
        Family::OssV4,
        Family::GcsV4,
        Family::GcsV2,
        Family::AzureSas,
        Family::Cos,
        Family::Obs,
        Family::CloudFront,
    ],
    guard: S3Guard::Believed(IF_NONE_MATCH),
};

/// What the other stores take on a custom domain, where its name leaves no doubt.
static DIALECT: Dialect = Dialect {
    version: &[],
    harmless: &["x-oss-traffic-limit", "x-cos-traffic-limit", "x-obs-traffic-limit"],
    headers: &["x-oss-meta-*", "x-goog-meta-*", "x-cos-meta-*", "x-obs-meta-*"],
    refused: &[
        "ci-process",
        "comp",
        "imageMogr2*",
        "imageView2*",
        "restype",
        "x-cos-copy-source*",
        "x-goog-copy-source*",
        "x-goog-resumable",
        "x-image-process",
        "x-image-save-*",
        "x-obs-copy-source*",
        "x-oss-async-process",
        "x-oss-copy-source*",
        "x-oss-process",
    ],
};

/// The place of an object on a host about which nothing is known; the query is added to the key later.
pub(super) fn place(authority: &Authority, path: &ObjectPath<'_>) -> Result<Place, Fault> {
    if path.decoded() == "/" {
        return Err(no_key());
    }
    Ok(Place::new(authority.to_string(), "", path.decoded()))
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{ambiguous, differ, identity, refused, same};

    #[test]
    fn identities() {
        for (rest, expected) in [
            (
                "minio.example.net:9000/ex-bkt/in/%61.bin",
                "opaque minio.example.net:9000  /ex-bkt/in/a.bin?",
            ),
            ("Dl.Example.com:443/a", "opaque dl.example.com  /a?"),
            ("dl.example.com/get?id=7&a=%2f", "opaque dl.example.com  /get?a=%2F&id=7"),
            ("dl.example.com/get%3Fid=7", "opaque dl.example.com  /get?id=7?"),
            (
                "d111111abcdef8.cloudfront.net/a?Expires=1&Signature=x&Key-Pair-Id=K",
                "opaque d111111abcdef8.cloudfront.net  /a?",
            ),
            ("dl.example.com/c/b?sv=1&sr=b&sp=r&se=2&sig=x", "opaque dl.example.com  /c/b?"),
            ("dl.example.com/c/b?se=2", "opaque dl.example.com  /c/b?se=2"),
            ("my_store.example/b/k", "opaque my_store.example  /b/k?"),
            ("[2001:DB8::1]:9000/b/k", "opaque [2001:db8::1]:9000  /b/k?"),
        ] {
            assert_eq!(identity(&format!("https://{rest}")), expected, "{rest}");
        }
        assert_eq!(refused("https://dl.example.com/"), "url-key");
        for query in
            ["x-oss-process=style%2Fa", "ci-process=x", "comp=block", "imageMogr2/crop/1x1"]
        {
            assert_eq!(refused(&format!("https://dl.example.com/k?{query}")), "url-subresource");
        }
        assert_eq!(refused("https://minio.example.net:9000/b/k?uploadId=1"), "url-subresource");
    }

    #[test]
    fn comparisons() {
        let minio = "https://minio.example.net:9000/ex-bkt/in/a.bin";
        assert!(same(minio, "https://minio.example.net:9000/ex-bkt/in/a.bin?X-Amz-Date=1"));
        assert!(same(minio, "https://minio.example.net:9000/ex-bkt/in/a.bin?versionId=7"));
        for other in [
            "https://minio2.example.net:9000/ex-bkt/in/a.bin",
            "https://ex-bkt.minio.example.net:9000/in/a.bin",
            "https://minio.example.net:9000/ex-bkt/In/a.bin",
            "https://minio.example.net:9000/ex-bkt//in/a.bin",
            "https://minio.example.net:9000/ex-bkt/in/a.bin/",
            "https://minio.example.net:9000/ex-bkt/in/a.bin?id=7",
            "https://ex-bkt.s3.us-west-2.amazonaws.com/in/a.bin",
            "https://storage.googleapis.com/ex-bkt/in/a.bin",
        ] {
            assert!(ambiguous(minio, other) && ambiguous(other, minio), "{other}");
        }
        for other in [
            "https://minio.example.net:9000/ex-bkt/in/b.bin",
            "https://ex-bkt.s3.us-west-2.amazonaws.com/out/a.bin",
        ] {
            assert!(differ(minio, other) && differ(other, minio), "{other}");
        }
    }
}
