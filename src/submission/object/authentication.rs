//! The query parameters that carry a signature, per signature family.
//!
//! They are never part of an object's identity. What they mean for the life of a URL is read in
//! [`crate::submission::presign`]; here only their names are known.

/// A way of signing a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// AWS Signature Version 4, also spoken by most other stores.
    SigV4,
    /// AWS Signature Version 4A, for multi-region access points.
    SigV4A,
    /// AWS Signature Version 2.
    SigV2,
    /// Aliyun OSS Version 1.
    OssV1,
    /// Aliyun OSS Version 2, an older form of Version 4.
    OssV2,
    /// Aliyun OSS Version 4.
    OssV4,
    /// Google Cloud Storage Version 4.
    GcsV4,
    /// Google Cloud Storage Version 2.
    GcsV2,
    /// Azure shared access signature.
    AzureSas,
    /// Tencent COS.
    Cos,
    /// Huawei OBS.
    Obs,
    /// Amazon `CloudFront`.
    CloudFront,
}

impl Family {
    /// The name for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::SigV4 => "AWS Signature Version 4",
            Family::SigV4A => "AWS Signature Version 4A",
            Family::SigV2 => "AWS Signature Version 2",
            Family::OssV1 => "OSS signature version 1",
            Family::OssV2 => "OSS signature version 2",
            Family::OssV4 => "OSS signature version 4",
            Family::GcsV4 => "Google Cloud Storage V4 signature",
            Family::GcsV2 => "Google Cloud Storage V2 signature",
            Family::AzureSas => "Azure shared access signature",
            Family::Cos => "COS signature",
            Family::Obs => "OBS signature",
            Family::CloudFront => "CloudFront signature",
        }
    }
}

/// The parameters of one scheme of signing; versions that share their parameters share a scheme.
pub(crate) struct Scheme {
    /// The family, in its usual version.
    pub(crate) family: Family,
    /// Names that only this scheme has: one of them is enough to recognise it.
    pub(crate) markers: &'static [&'static str],
    /// Further names that belong to it.
    pub(crate) others: &'static [&'static str],
}

/// All schemes but Azure's, whose short names mean something only where a SAS is expected.
pub(crate) const SCHEMES: &[Scheme] = &[
    Scheme {
        family: Family::SigV4,
        markers: &[
            "X-Amz-Algorithm",
            "X-Amz-Credential",
            "X-Amz-Date",
            "X-Amz-Expires",
            "X-Amz-SignedHeaders",
            "X-Amz-Signature",
            "X-Amz-Region-Set",
        ],
        others: &["X-Amz-Security-Token", "X-Amz-S3session-Token"],
    },
    Scheme {
        family: Family::SigV2,
        markers: &["AWSAccessKeyId"],
        others: &["Expires", "Signature", "x-amz-security-token"],
    },
    Scheme {
        family: Family::OssV1,
        markers: &["OSSAccessKeyId"],
        others: &[
            "Expires",
            "Signature",
            "security-token",
            "x-oss-ac-source-ip",
            "x-oss-ac-subnet-mask",
            "x-oss-ac-vpc-id",
            "x-oss-ac-forward-allow",
        ],
    },
    Scheme {
        family: Family::OssV4,
        markers: &[
            "x-oss-signature-version",
            "x-oss-signature",
            "x-oss-credential",
            "x-oss-access-key-id",
            "x-oss-date",
            "x-oss-expires",
            "x-oss-additional-headers",
        ],
        others: &[
            "x-oss-security-token",
            "x-oss-ac-source-ip",
            "x-oss-ac-subnet-mask",
            "x-oss-ac-vpc-id",
            "x-oss-ac-forward-allow",
        ],
    },
    Scheme {
        family: Family::GcsV4,
        markers: &[
            "X-Goog-Algorithm",
            "X-Goog-Credential",
            "X-Goog-Date",
            "X-Goog-Expires",
            "X-Goog-SignedHeaders",
            "X-Goog-Signature",
        ],
        others: &[],
    },
    Scheme {
        family: Family::GcsV2,
        markers: &["GoogleAccessId"],
        others: &["Expires", "Signature"],
    },
    Scheme {
        family: Family::Cos,
        markers: &[
            "q-sign-algorithm",
            "q-ak",
            "q-sign-time",
            "q-key-time",
            "q-header-list",
            "q-url-param-list",
            "q-signature",
        ],
        others: &["x-cos-security-token"],
    },
    Scheme {
        family: Family::Obs,
        markers: &["AccessKeyId"],
        others: &["Expires", "Signature", "Policy", "x-obs-security-token"],
    },
    Scheme {
        family: Family::CloudFront,
        markers: &["Key-Pair-Id"],
        others: &["Expires", "Signature", "Policy", "Hash-Algorithm"],
    },
];

/// Azure's shared access signature.
pub(crate) const AZURE: Scheme = Scheme {
    family: Family::AzureSas,
    markers: &["sig"],
    others: &[
        "sv", "sr", "ss", "srt", "sp", "st", "se", "sip", "spr", "si", "skoid", "sktid", "skt",
        "ske", "sks", "skv", "skdutid", "sduoid", "saoid", "suoid", "scid", "sdd", "ses", "rscc",
        "rscd", "rsce", "rscl", "rsct",
    ],
};

impl Scheme {
    /// All names of the scheme.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.markers.iter().chain(self.others).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages say which signature is meant, so no two have the same name.
    #[test]
    fn each_family_has_a_name_of_its_own() {
        let families = SCHEMES.iter().map(|scheme| scheme.family).chain([
            Family::SigV4A,
            Family::OssV2,
            Family::AzureSas,
        ]);
        let names: Vec<&str> = families.map(Family::as_str).collect();
        let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.contains(' ')), "{names:?}");
    }
}
