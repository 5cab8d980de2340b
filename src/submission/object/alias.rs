//! Endpoint aliases: which bucket a site's own host name leads to.
//!
//! An alias serves the comparison of two objects only; it never changes an identity, because another site, or the
//! same one later, may not declare it.

use std::collections::BTreeMap;

use super::ObjectUrl;
use super::authority::Authority;
use super::identity::ObjectIdentity;
use super::provider::Provider;
use crate::submission::problem::{Code, Fault};

/// An endpoint alias is misspelt or contradicts what is known.
pub static ENDPOINT_ALIAS: Code = Code {
    name: "endpoint-alias",
    summary: "an endpoint alias of the profile cannot be used",
    explanation: "An endpoint alias says which bucket a host of your own leads to: the host without `https://` (with \
its port where that is not 443), and the bucket's endpoint as a URL that ends in `/`, such as \
`https://bucket.s3.eu-west-1.amazonaws.com/`. The host must not be one of a known store, whose buckets harness \
already reads, nor have two aliases, and an alias must not lead to another alias.",
};

/// The aliases that a site declares; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointAliases {
    endpoints: BTreeMap<String, String>,
}

impl EndpointAliases {
    /// Takes pairs of a host and the `https://` endpoint of the bucket behind it, and says what is wrong with any.
    pub fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<Fault>> {
        let mut endpoints = BTreeMap::new();
        let mut faults = Vec::new();
        for (host, endpoint) in pairs {
            match check(host, endpoint) {
                Ok((host, endpoint)) => {
                    if endpoints.insert(host, endpoint).is_some() {
                        faults.push(wrong("two aliases for one host", "leave one of them out"));
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        let chained = endpoints.values().any(|endpoint| {
            probe(endpoint).is_ok_and(|url| endpoints.contains_key(url.authority()))
        });
        if chained {
            faults.push(wrong(
                "an alias that leads to another alias",
                "name the bucket's own endpoint",
            ));
        }
        if faults.is_empty() { Ok(Self { endpoints }) } else { Err(faults) }
    }

    /// The identity of the object behind an alias; `None` where the host has no alias.
    ///
    /// A URL that does not hold on the endpoint behind the alias keeps its own identity, which is then compared as
    /// that of an unknown host.
    pub(super) fn resolve(&self, url: &ObjectUrl) -> Option<ObjectIdentity> {
        let endpoint = self.endpoints.get(url.authority())?;
        if url.identity().provider() != Provider::Opaque {
            return None;
        }
        let query = match url.identity().key().rsplit_once('?') {
            None | Some((_, "")) => String::new(),
            Some((_, query)) => format!("?{query}"),
        };
        let target = format!("{}{}{query}", endpoint.trim_end_matches('/'), url.raw_path());
        ObjectUrl::parse(&target).ok().map(|url| url.identity().clone())
    }
}

fn wrong(found: impl Into<String>, remedy: &'static str) -> Fault {
    Fault::new(
        &ENDPOINT_ALIAS,
        found.into(),
        "a host of your own, and `https://`, the endpoint of one bucket and `/`",
        remedy,
    )
}

fn check(host: &str, endpoint: &str) -> Result<(String, String), Fault> {
    let authority = Authority::parse(host)?;
    let own = ObjectUrl::parse(&format!("https://{authority}/probe/probe"))
        .is_ok_and(|url| url.identity().provider() == Provider::Opaque);
    if !own {
        return Err(wrong(
            "a host of a known store",
            "leave the alias out; harness reads these hosts itself",
        ));
    }
    if !endpoint.ends_with('/') || endpoint.contains('?') {
        return Err(wrong(
            "an endpoint that does not end in `/`, or has a query",
            "write the address that all keys of the bucket are appended to",
        ));
    }
    probe(endpoint)?;
    Ok((authority.to_string(), endpoint.to_owned()))
}

/// An object behind an endpoint, to see whether objects can be addressed through it.
fn probe(endpoint: &str) -> Result<ObjectUrl, Fault> {
    ObjectUrl::parse(&format!("{endpoint}probe"))
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, compare};
    use super::*;

    fn compared(aliases: &EndpointAliases, left: &str, right: &str) -> Comparison {
        let (left, right) = (ObjectUrl::parse(left).unwrap(), ObjectUrl::parse(right).unwrap());
        let result = compare(&left, &right, aliases);
        assert_eq!(compare(&right, &left, aliases), result);
        result
    }

    #[test]
    fn an_alias_decides_comparisons_and_no_identity() {
        let aliases = EndpointAliases::new([
            ("Dl.Example.com", "https://ex-bkt.s3.us-west-2.amazonaws.com/"),
            ("minio2.example.net:9000", "https://minio.example.net:9000/"),
            ("data.example.com", "https://s3.us-west-2.amazonaws.com/other-bkt/"),
        ])
        .unwrap();
        let dl = "https://dl.example.com/in/a.bin";
        let s3 = "https://ex-bkt.s3.us-west-2.amazonaws.com/in/a.bin";
        assert_eq!(compared(&aliases, dl, s3), Comparison::Same);
        assert_eq!(compared(&aliases, dl, &s3.replace("ex-bkt", "ex-bkt2")), Comparison::Different);
        assert_eq!(
            compared(&aliases, dl, "https://data.example.com/in/a.bin"),
            Comparison::Different
        );
        assert_eq!(
            compared(
                &aliases,
                "https://minio.example.net:9000/b/k",
                "https://minio2.example.net:9000/b/k"
            ),
            Comparison::Same
        );
        assert!(matches!(
            compared(&aliases, dl, "https://third.example.com/in/a.bin"),
            Comparison::Ambiguous(_)
        ));
        assert!(matches!(compared(&EndpointAliases::default(), dl, s3), Comparison::Ambiguous(_)));
        assert_eq!(ObjectUrl::parse(dl).unwrap().identity().provider(), Provider::Opaque);
    }

    #[test]
    fn what_does_not_hold_behind_the_alias_stays_unknown() {
        let aliases = EndpointAliases::new([(
            "dl.example.com",
            "https://ex-bkt.s3.us-west-2.amazonaws.com/",
        )])
        .unwrap();
        assert!(matches!(
            compared(
                &aliases,
                "https://dl.example.com/in/a.bin?id=7",
                "https://ex-bkt.s3.us-west-2.amazonaws.com/in/a.bin"
            ),
            Comparison::Ambiguous(_)
        ));
    }

    #[test]
    fn refused_aliases() {
        for (pairs, code) in [
            (&[("h.example", "https://ex-bkt.s3.us-west-2.amazonaws.com")][..], "endpoint-alias"),
            (&[("h.example", "https://s3.us-west-2.amazonaws.com/")], "url-key"),
            (&[("h.example", "http://ex-bkt.s3.us-west-2.amazonaws.com/")], "url-scheme"),
            (&[("ex-bkt.s3.us-west-2.amazonaws.com", "https://h.example/")], "endpoint-alias"),
            (&[("https://h.example", "https://i.example/")], "url-port"),
            (
                &[("h.example", "https://i.example/"), ("H.example", "https://j.example/")],
                "endpoint-alias",
            ),
            (
                &[("h.example", "https://i.example/"), ("i.example", "https://j.example/")],
                "endpoint-alias",
            ),
        ] {
            let faults = EndpointAliases::new(pairs.iter().copied()).unwrap_err();
            assert_eq!(faults[0].code.name, code, "{pairs:?}");
        }
    }
}
