//! Amazon S3: every endpoint form of every partition.
//!
//! A bucket name exists once in a partition, so the region of a host, its kind (dual-stack, FIPS, accelerate,
//! legacy) and the place of the bucket do not matter to the identity. Host forms follow the endpoint rule set and
//! the partition table of the AWS SDKs.

use super::{
    Found, IF_NONE_MATCH, Keys, Place, S3Guard, Store, check_bucket, dotted_bucket, is_region,
    path_style, unknown_form, wrong_bucket, wrong_key,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate,
    keys: Keys::Literal,
    longest_key: 1024,
    dialects: &[&DIALECT],
    families: &[Family::SigV4, Family::SigV4A, Family::SigV2],
    guard: S3Guard::Free(IF_NONE_MATCH),
};

/// The parameters of the S3 API, which most other stores speak too.
pub(super) static DIALECT: Dialect = Dialect {
    version: &["versionId", "versionid"],
    harmless: &["response-*", "x-id"],
    // The JavaScript SDK moves headers into the query; these are the ones of a plain read or write.
    headers: &[
        "x-amz-acl",
        "x-amz-checksum-*",
        "x-amz-content-sha256",
        "x-amz-expected-bucket-owner",
        "x-amz-grant-*",
        "x-amz-meta-*",
        "x-amz-object-lock-*",
        "x-amz-request-payer",
        "x-amz-sdk-checksum-algorithm",
        "x-amz-server-side-encryption*",
        "x-amz-storage-class",
        "x-amz-tagging",
        "x-amz-user-agent",
        "x-amz-website-redirect-location",
    ],
    refused: &[
        "accelerate",
        "acl",
        "append",
        "attributes",
        "cors",
        "delete",
        "legal-hold",
        "lifecycle",
        "list-type",
        "location",
        "object-lock",
        "partNumber",
        "policy",
        "renameObject",
        "restore",
        "retention",
        "select",
        "select-type",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versioning",
        "versions",
        "x-amz-copy-source*",
        "x-amz-rename-source*",
        "x-amz-write-offset-bytes",
    ],
};

/// Domains of the partitions; the longest first, since one is the start of another.
const PARTITIONS: &[(&str, &str)] = &[
    ("amazonaws.com.cn", "aws-cn"),
    ("amazonaws.com", "aws"),
    ("amazonaws.eu", "aws-eusc"),
    ("c2s.ic.gov", "aws-iso"),
    ("sc2s.sgov.gov", "aws-iso-b"),
    ("cloud.adc-e.uk", "aws-iso-e"),
    ("csp.hci.ic.gov", "aws-iso-f"),
];

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    for (domain, partition) in PARTITIONS {
        if let Some(labels) = authority.labels_before(domain) {
            return within(&labels, domain, partition, path);
        }
    }
    Ok(None)
}

fn within(
    labels: &[&str],
    domain: &str,
    partition: &'static str,
    path: &ObjectPath<'_>,
) -> Result<Option<Found>, Fault> {
    let (bucket, region) = match read_host(labels, domain)? {
        Host::Foreign => return Ok(None),
        Host::Hidden => return Ok(Some(Found::Hidden)),
        Host::Directory(bucket) => {
            check_bucket(&bucket, 63, "")?;
            return Ok(Some(Found::At(Place::new(partition, bucket, path.rest()))));
        }
        Host::Bucket(bucket, region) => (bucket, region),
    };
    let partition = partition_of(partition, region)?;
    let (bucket, key, in_host) = if bucket.is_empty() {
        let (bucket, key) = path_style(path)?;
        (bucket, key, false)
    } else {
        (bucket, path.rest().to_owned(), true)
    };
    if is_alias(&bucket) {
        return Ok(Some(Found::Hidden));
    }
    if bucket.ends_with("--x-s3") {
        return Err(unknown_form("S3 Express"));
    }
    check_bucket(&bucket, 63, ".")?;
    if in_host && key == "soap" {
        return Err(wrong_key(
            "the key `soap`".to_owned(),
            "a key other than the name of the old SOAP interface".to_owned(),
        ));
    }
    let mut place = Place::new(partition, bucket, key);
    if in_host && place.bucket.contains('.') {
        place.notes.push(dotted_bucket());
    }
    Ok(Some(Found::At(place)))
}

enum Host<'a> {
    /// The bucket, empty in path style, and the region where the host has one.
    Bucket(String, Option<&'a str>),
    /// A directory bucket.
    Directory(String),
    /// An access point or private endpoint.
    Hidden,
    /// Not an S3 host.
    Foreign,
}

/// Reads the labels before a partition's domain from the right.
fn read_host<'a>(labels: &[&'a str], domain: &str) -> Result<Host<'a>, Fault> {
    let bucket = |labels: &[&str]| labels.join(".");
    let host = match labels {
        [.., "s3-global" | "vpce"] => Host::Hidden,
        [_, service, "dualstack", region] | [_, service, region]
            if is_region(region)
                && matches!(*service, "s3-accesspoint" | "s3-accesspoint-fips" | "s3-outposts") =>
        {
            Host::Hidden
        }
        [.., "s3-outposts", region] if is_region(region) => Host::Hidden,
        [name, service, "dualstack", region] | [name, service, region]
            if is_region(region) && service.starts_with("s3express-") =>
        {
            directory(name, service)?
        }
        [rest @ .., "s3" | "s3-fips", "dualstack", region] if is_region(region) => {
            Host::Bucket(bucket(rest), Some(*region))
        }
        [rest @ .., "s3" | "s3-fips", region] if is_region(region) => {
            Host::Bucket(bucket(rest), Some(*region))
        }
        [name, "s3-accelerate"] | [name, "s3-accelerate", "dualstack"] => {
            // Acceleration takes neither dots nor path style.
            Host::Bucket((*name).to_owned(), None)
        }
        [rest @ .., "s3" | "s3-external-1"] if domain == "amazonaws.com" => {
            Host::Bucket(bucket(rest), None)
        }
        [rest @ .., legacy] if domain == "amazonaws.com" && legacy_region(legacy).is_some() => {
            Host::Bucket(bucket(rest), legacy_region(legacy))
        }
        _ if names_s3(labels) => return Err(unknown_form("S3")),
        _ => Host::Foreign,
    };
    Ok(host)
}

/// The region of the old form `s3-REGION`.
fn legacy_region(label: &str) -> Option<&str> {
    let region = label.strip_prefix("s3-")?;
    let region = region.strip_prefix("fips-").unwrap_or(region);
    let numbered = region.rsplit('-').next()?.bytes().all(|byte| byte.is_ascii_digit());
    (is_region(region)
        && numbered
        && !region.starts_with("website-")
        && !region.starts_with("external-"))
    .then_some(region)
}

/// Whether one of the labels in which a service's name stands begins with `s3`.
fn names_s3(labels: &[&str]) -> bool {
    let services: &[&str] = match labels {
        [.., last] if matches!(*last, "elb" | "compute" | "compute-1" | "execute-api") => &[],
        [.., a, b, c] if *b == "dualstack" || *c == "dualstack" => &[a, b, c],
        [.., a, b] => &[a, b],
        _ => labels,
    };
    services.iter().any(|label| label.starts_with("s3"))
}

fn directory<'a>(name: &str, service: &str) -> Result<Host<'a>, Fault> {
    let zone = service.trim_start_matches("s3express-");
    let zone = zone.strip_prefix("fips-").unwrap_or(zone);
    if name.ends_with("--xa-s3") {
        return Ok(Host::Hidden);
    }
    match name.strip_suffix("--x-s3").and_then(|rest| rest.rsplit_once("--")) {
        Some((_, bucket_zone)) if bucket_zone == zone => Ok(Host::Directory(name.to_owned())),
        _ => Err(wrong_bucket("an S3 Express host whose bucket is not of its zone")),
    }
}

/// Names that stand where a bucket stands and are access points.
fn is_alias(bucket: &str) -> bool {
    ["-s3alias", "--ol-s3", ".mrap", "--xa-s3", "--op-s3"]
        .iter()
        .any(|suffix| bucket.ends_with(suffix))
}

fn partition_of(partition: &'static str, region: Option<&str>) -> Result<&'static str, Fault> {
    let Some(region) = region else { return Ok(partition) };
    let expected = match region {
        _ if region.starts_with("us-gov-") => "aws-us-gov",
        _ if region.starts_with("cn-") => "aws-cn",
        _ if region.starts_with("eusc-") => "aws-eusc",
        _ if region.starts_with("us-isob-") => "aws-iso-b",
        _ if region.starts_with("us-isof-") => "aws-iso-f",
        _ if region.starts_with("us-iso-") => "aws-iso",
        _ if region.starts_with("eu-isoe-") => "aws-iso-e",
        _ => "aws",
    };
    let same_domain = expected == partition || (expected == "aws-us-gov" && partition == "aws");
    if same_domain { Ok(expected) } else { Err(unknown_form("S3")) }
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{differ, identity, refused};

    #[test]
    fn forms_of_one_bucket() {
        for host in [
            "ex-bkt.s3.us-west-2.amazonaws.com/",
            "s3.us-west-2.amazonaws.com/ex-bkt/",
            "ex-bkt.s3.dualstack.us-west-2.amazonaws.com/",
            "s3.dualstack.us-west-2.amazonaws.com/ex-bkt/",
            "ex-bkt.s3-fips.us-west-2.amazonaws.com/",
            "s3-fips.us-west-2.amazonaws.com/ex-bkt/",
            "ex-bkt.s3-fips.dualstack.us-west-2.amazonaws.com/",
            "s3-fips.dualstack.us-west-2.amazonaws.com/ex-bkt/",
            "ex-bkt.s3-us-west-2.amazonaws.com/",
            "s3-us-west-2.amazonaws.com/ex-bkt/",
            "ex-bkt.s3.amazonaws.com/",
            "s3.amazonaws.com/ex-bkt/",
            "ex-bkt.s3-external-1.amazonaws.com/",
            "s3-external-1.amazonaws.com/ex-bkt/",
            "ex-bkt.s3-accelerate.amazonaws.com/",
            "ex-bkt.s3-accelerate.dualstack.amazonaws.com/",
            "EX-BKT.s3.EU-Central-1.amazonaws.com:443/",
        ] {
            assert_eq!(
                identity(&format!("https://{host}in/a.bin")),
                "s3 aws ex-bkt in/a.bin",
                "{host}"
            );
        }
    }

    #[test]
    fn partitions() {
        for (host, expected) in [
            ("ex-bkt.s3.us-gov-west-1.amazonaws.com/", "s3 aws-us-gov ex-bkt k"),
            ("s3-us-gov-west-1.amazonaws.com/ex-bkt/", "s3 aws-us-gov ex-bkt k"),
            ("s3-fips-us-gov-west-1.amazonaws.com/ex-bkt/", "s3 aws-us-gov ex-bkt k"),
            ("ex-bkt.s3.cn-north-1.amazonaws.com.cn/", "s3 aws-cn ex-bkt k"),
            ("s3.dualstack.cn-northwest-1.amazonaws.com.cn/ex-bkt/", "s3 aws-cn ex-bkt k"),
            ("ex-bkt.s3.eusc-de-east-1.amazonaws.eu/", "s3 aws-eusc ex-bkt k"),
            ("ex-bkt.s3.us-iso-east-1.c2s.ic.gov/", "s3 aws-iso ex-bkt k"),
            ("s3.us-isob-east-1.sc2s.sgov.gov/ex-bkt/", "s3 aws-iso-b ex-bkt k"),
            ("ex-bkt.s3.us-isof-south-1.csp.hci.ic.gov/", "s3 aws-iso-f ex-bkt k"),
            ("ex-bkt.s3.eu-isoe-west-1.cloud.adc-e.uk/", "s3 aws-iso-e ex-bkt k"),
            ("my.bucket.s3.us-east-1.amazonaws.com/", "s3 aws my.bucket k"),
            ("s3.us-east-1.amazonaws.com/my.bucket/", "s3 aws my.bucket k"),
            ("s3.s3.us-east-1.amazonaws.com/", "s3 aws s3 k"),
            (
                "n--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com/",
                "s3 aws n--usw2-az1--x-s3 k",
            ),
        ] {
            let url = format!("https://{host}k");
            if host.starts_with("s3.s3.") {
                // A bucket needs three characters.
                assert_eq!(refused(&url), "url-bucket");
            } else {
                assert_eq!(identity(&url), expected, "{host}");
            }
        }
    }

    #[test]
    fn access_points_hide_the_bucket() {
        for host in [
            "ap-111122223333.s3-accesspoint.us-west-2.amazonaws.com",
            "ap-111122223333.s3-accesspoint-fips.us-west-2.amazonaws.com",
            "ap-111122223333.s3-accesspoint.dualstack.us-west-2.amazonaws.com",
            "my-ap-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias.s3.us-west-2.amazonaws.com",
            "my-ap-x--ol-s3.s3.us-west-2.amazonaws.com",
            "mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com",
            "ex-bkt.bucket.vpce-1a2b-5e6f.s3.us-east-1.vpce.amazonaws.com",
            "ap-111122223333.op-01ac5d28a6a232904.s3-outposts.us-west-2.amazonaws.com",
            "loadbalancer-1.us-west-2.elb.amazonaws.com",
            "s3-proxy-1.us-west-2.elb.amazonaws.com",
            "s3-proxy-1.elb.amazonaws.com",
            "s3-proxy-1.service.us-west-2.amazonaws.com",
        ] {
            assert_eq!(
                identity(&format!("https://{host}/k")),
                format!("opaque {host}  /k?"),
                "{host}"
            );
        }
        assert!(
            identity("https://s3.us-west-2.amazonaws.com/my-ap-x-s3alias/k").starts_with("opaque ")
        );
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("ex-bkt.s3-website-us-west-2.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3-website.us-west-2.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3-website.dualstack.us-west-2.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3-website.us-west-2.dualstack.amazonaws.com/k", "url-host-form"),
            ("fn-1.s3-object-lambda.us-west-2.amazonaws.com/k", "url-host-form"),
            ("1.s3-control.us-west-2.amazonaws.com/k", "url-host-form"),
            ("ap-1.s3-accesspoint.west.amazonaws.com/k", "url-host-form"),
            ("ap-1.s3-accesspoint.dualstack.west.amazonaws.com/k", "url-host-form"),
            ("ap-1.op-1.s3-outposts.west.amazonaws.com/k", "url-host-form"),
            ("n--usw2-az1--x-s3.s3express-usw2-az1.west.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3.west.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3.dualstack.west.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3.amazonaws.com.cn/k", "url-host-form"),
            ("ex-bkt.s3-cn-north-1.amazonaws.com.cn/k", "url-host-form"),
            ("s3-accelerate.amazonaws.com/ex-bkt/k", "url-host-form"),
            ("my.bucket.s3-accelerate.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3.cn-north-1.amazonaws.com/k", "url-host-form"),
            ("ex-bkt.s3.us-west-2.amazonaws.com.cn/k", "url-host-form"),
            ("ex-bkt.s3.us-west-2.amazonaws.com:8443/k", "url-port"),
            ("ex_bkt.s3.us-west-2.amazonaws.com/k", "url-bucket"),
            ("s3.us-west-2.amazonaws.com/EX-BKT/k", "url-bucket"),
            ("s3.us-west-2.amazonaws.com/ex-bkt%2Fk/x", "url-bucket"),
            ("s3.us-west-2.amazonaws.com//ex-bkt/k", "url-bucket"),
            ("s3.us-west-2.amazonaws.com/ab/k", "url-bucket"),
            ("s3.us-west-2.amazonaws.com/ex-bkt", "url-key"),
            ("s3.us-west-2.amazonaws.com/ex-bkt/", "url-key"),
            ("ex-bkt.s3.us-west-2.amazonaws.com/", "url-key"),
            ("ex-bkt.s3.us-west-2.amazonaws.com", "url-key"),
            ("ex-bkt.s3.us-west-2.amazonaws.com/soap", "url-key"),
            ("n--usw2-az2--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com/k", "url-bucket"),
            ("s3.us-west-2.amazonaws.com/n--usw2-az1--x-s3/k", "url-host-form"),
            ("ex-bkt.s3.us-west-2.amazonaws.com/k?partNumber=1", "url-subresource"),
            ("ex-bkt.s3.us-west-2.amazonaws.com/k?x-amz-copy-source=%2Fb%2Fk", "url-subresource"),
            ("ex-bkt.s3.us-west-2.amazonaws.com/k?sig=x", "url-parameter-unknown"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
        let key = "k".repeat(1024);
        assert!(identity(&format!("https://ex-bkt.s3.amazonaws.com/{key}")).ends_with(&key));
        assert_eq!(refused(&format!("https://ex-bkt.s3.amazonaws.com/{key}k")), "url-key");
    }

    #[test]
    fn keys_are_byte_strings() {
        let base = "https://ex-bkt.s3.us-west-2.amazonaws.com/";
        for (left, right) in [
            ("dir", "dir/"),
            ("a//b", "a/b"),
            ("/a", "a"),
            ("A", "a"),
            ("a%2Bb", "a%20b"),
            ("caf%C3%A9", "cafe%CC%81"),
            ("a%2520", "a%20"),
            ("a.", "a"),
        ] {
            assert!(differ(&format!("{base}{left}"), &format!("{base}{right}")), "{left} {right}");
        }
    }
}
