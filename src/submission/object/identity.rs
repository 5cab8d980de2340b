//! The identity of an object, and the frozen hash of a result's identity.

use std::fmt;

use zeroize::Zeroizing;

use super::provider::Provider;
use crate::submission::digest::Sha256Digest;

/// The first line of what the result identity hashes; frozen.
const RESULT_SCHEME: &str = "harness.result.v1";

/// What a URL addresses, whatever its spelling: provider, space, bucket and key.
///
/// Region, endpoint kind, the place of the bucket, the signature and the version are no part of it. Two objects
/// with equal identities are the same; with different ones they may still be the same where hosts are unknown,
/// which [`compare`](super::compare) tells.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectIdentity {
    provider: Provider,
    space: String,
    bucket: String,
    key: Zeroizing<String>,
}

impl ObjectIdentity {
    pub(super) fn new(
        provider: Provider,
        space: String,
        bucket: String,
        key: Zeroizing<String>,
    ) -> Self {
        Self { provider, space, bucket, key }
    }

    /// Who stores the object.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The name space of buckets: the S3 partition, the Azure account, the R2 account with its jurisdiction, the
    /// region where bucket names are unique per region, the authority of an unknown host; else empty.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// The bucket or container; empty on an unknown host.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key; on an unknown host the decoded path, `?` and the remaining query.
    ///
    /// That query may hold a secret of a kind that harness does not know, so the key is for hashing and comparing;
    /// messages take [`ObjectUrl::without_query`](super::ObjectUrl::without_query).
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key without any query.
    pub(super) fn path(&self) -> &str {
        match self.provider {
            // The query is in normal form, in which a question mark is escaped.
            Provider::Opaque => self.key.rsplit_once('?').map_or("", |(path, _)| path),
            _ => &self.key,
        }
    }

    /// The result identity, scheme v1: the SHA-256 of `harness.result.v1`, provider, space, bucket and key, joined
    /// with line feeds.
    pub fn result_identity(&self) -> Sha256Digest {
        let parts = [RESULT_SCHEME, self.provider.as_str(), &self.space, &self.bucket, &self.key];
        // A key on an unknown host may hold a secret of its query.
        Sha256Digest::of(Zeroizing::new(parts.join("\n")).as_bytes())
    }
}

impl fmt::Debug for ObjectIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ObjectIdentity")
            .field("provider", &self.provider)
            .field("space", &self.space)
            .field("bucket", &self.bucket)
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::ObjectUrl;
    use super::*;

    /// Frozen: a change here would let every published result run again.
    #[test]
    fn golden_result_identities() {
        for (url, text) in [
            (
                "https://ex-bkt.s3.us-west-2.amazonaws.com/out/r.tar",
                "harness.result.v1\ns3\naws\nex-bkt\nout/r.tar",
            ),
            (
                "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/out/r.tar",
                "harness.result.v1\noss\n\nex-bkt\nout/r.tar",
            ),
            (
                "https://storage.googleapis.com/ex-bkt/out/r.tar?generation=7",
                "harness.result.v1\ngcs\n\nex-bkt\nout/r.tar",
            ),
            (
                "https://exacct.blob.core.windows.net/ex-cont/out/r.tar",
                "harness.result.v1\nazure\nexacct\nex-cont\nout/r.tar",
            ),
            (
                "https://ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/out/r.tar",
                "harness.result.v1\ncos\nap-guangzhou\nex-bkt-1250000000\nout/r.tar",
            ),
            (
                "https://ex-bkt.obs.cn-north-4.myhuaweicloud.com/out/r.tar",
                "harness.result.v1\nobs\ncn-north-4\nex-bkt\nout/r.tar",
            ),
            (
                "https://0123456789abcdef0123456789abcdef.eu.r2.cloudflarestorage.com/ex-bkt/e%CC%81",
                "harness.result.v1\nr2\n0123456789abcdef0123456789abcdef.eu\nex-bkt\n\u{e9}",
            ),
            (
                "https://f004.backblazeb2.com/file/ex-bkt/out/r.tar",
                "harness.result.v1\nb2\nus-west-004\nex-bkt\nout/r.tar",
            ),
            (
                "https://ex-bkt.nyc3.digitaloceanspaces.com/out/r.tar",
                "harness.result.v1\nspaces\nnyc3\nex-bkt\nout/r.tar",
            ),
            (
                "https://minio.example.net:9000/ex-bkt/out/r.tar?b=2&a=1",
                "harness.result.v1\nopaque\nminio.example.net:9000\n\n/ex-bkt/out/r.tar?a=1&b=2",
            ),
        ] {
            let url = ObjectUrl::parse(url).unwrap();
            assert_eq!(url.identity().result_identity(), Sha256Digest::of(text), "{url}");
        }
        let url = ObjectUrl::parse("https://ex-bkt.s3.us-west-2.amazonaws.com/out/r.tar").unwrap();
        assert_eq!(
            url.identity().result_identity().to_hex(),
            "fadf4a65035a45fbaa780aef0b9425617f1633d0c4b3afb62ff05a45aedb59e1"
        );
    }
}
