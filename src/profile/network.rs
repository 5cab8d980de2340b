//! How `stage` and `publish` reach the object stores: proxies, certificate authorities, aliases.
//!
//! Everything is checked as text; nothing is looked up, and no text with a user or a query is shown.

use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;

use super::names::{ConfigKey, DnsSubdomain, quoted};
use super::placement::flip;
use super::reader::Place;
use crate::submission::EndpointAliases;
use crate::submission::problem::{Code, Fault};

/// A proxy variable is unusable or holds a credential.
pub static INVALID_PROXY: Code = Code {
    name: "profile-proxy-invalid",
    summary: "a proxy variable is unusable or holds a credential",
    explanation: "`http_proxy` and `https_proxy` are `http://HOST[:PORT]` or `https://HOST[:PORT]`, nothing behind it; \
they stand readable in the Job, so a user and a password are refused. `no_proxy` is a list of hosts joined by commas.",
};

/// An endpoint alias is no host and bucket.
pub static INVALID_ALIAS: Code = Code {
    name: "profile-alias-invalid",
    summary: "an endpoint alias does not lead from a host to a bucket's URL",
    explanation: "An alias says which bucket stands behind a host name of the site's own (a CNAME): a lower-case host name \
and the bucket's `https` URL, without a user, a query or a fragment. It serves the check that the result is none of the \
inputs and never changes an identity.",
};

/// Proxy variables for `stage` and `publish`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Proxy {
    /// The proxy for `http` URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(regex(pattern = r"^https?://[^/@?#]+/?$"), length(max = 512)))]
    pub http_proxy: Option<String>,
    /// The proxy for `https` URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(regex(pattern = r"^https?://[^/@?#]+/?$"), length(max = 512)))]
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, joined by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(regex(pattern = r"^[-A-Za-z0-9.:_*/,\[\]]+$"), length(max = 4096)))]
    pub no_proxy: Option<String>,
}

/// A `ConfigMap` with further certificate authorities for `stage` and `publish`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CaConfigMap {
    /// The `ConfigMap`'s name.
    pub name: DnsSubdomain,
    /// The key that holds the PEM file.
    pub key: ConfigKey,
}

/// The host of an endpoint alias: a lower-case host name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AliasHost(DnsSubdomain);

impl AliasHost {
    /// Parses a lower-case host name with at least one dot.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        match DnsSubdomain::parse(text) {
            Ok(name) if text.contains('.') => Ok(Self(name)),
            _ => Err(alias_fault(text, "is no full host name", "a lower-case host name")),
        }
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

fn alias_fault(text: &str, why: &str, allowed: &'static str) -> Fault {
    // A query may hold a signature, so nothing from the `?` on is shown.
    let shown = text.split(['?', '#']).next().unwrap_or_default();
    let found = if shown.contains('@') { "a URL with a user".into() } else { quoted(shown) };
    Fault::new(&INVALID_ALIAS, format!("{found} {why}"), allowed, "correct the alias")
}

/// Checks a bucket's URL; its form is checked again by whoever reads the bucket from it.
fn alias_target(text: &str) -> Result<String, Fault> {
    let allowed = "an `https` URL without user, query and fragment";
    let plain = |url: &Url| {
        url.scheme() == "https"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && (url.as_str() == text || url.as_str().strip_suffix('/') == Some(text))
    };
    match Url::parse(text) {
        Ok(url) if text.len() <= 2048 && plain(&url) => Ok(text.to_owned()),
        _ => Err(alias_fault(text, "is no bucket's URL", allowed)),
    }
}

/// Reads `endpoint_aliases`.
pub(super) fn read_aliases(place: &Place<'_>) -> Option<BTreeMap<AliasHost, String>> {
    let aliases = place.map(AliasHost::parse, |place| place.parse(alias_target))?;
    // Whether a host may be an alias, and of what, is for those to say who use them.
    let pairs = aliases.iter().map(|(host, target)| (host.as_str(), target.as_str()));
    match EndpointAliases::new(pairs) {
        Ok(_) => Some(aliases),
        Err(faults) => {
            for fault in faults {
                place.report(Fault { code: &INVALID_ALIAS, ..fault });
            }
            None
        }
    }
}

/// Reads `proxy`.
pub(super) fn read_proxy(place: &Place<'_>) -> Option<Proxy> {
    let mut fields = place.fields()?;
    let plain = fields.optional("http_proxy").map(|place| place.parse(proxy_url));
    let secure = fields.optional("https_proxy").map(|place| place.parse(proxy_url));
    let exceptions = fields.optional("no_proxy").map(|place| place.parse(proxy_exceptions));
    fields.finish();
    Some(Proxy {
        http_proxy: flip(plain)?,
        https_proxy: flip(secure)?,
        no_proxy: flip(exceptions)?,
    })
}

fn proxy_url(text: &str) -> Result<String, Fault> {
    let fault = |found: String, remedy: &'static str| {
        Err(Fault::new(
            &INVALID_PROXY,
            found,
            "`http://HOST[:PORT]` or `https://HOST[:PORT]`",
            remedy,
        ))
    };
    // Looked for in the text, since a text that is no URL may hold a password as well.
    if text.contains('@') {
        return fault("a user before the host (not shown)".into(), "let the proxy trust the pods");
    }
    let shown = quoted(text.split(['?', '#']).next().unwrap_or_default());
    let Ok(url) = Url::parse(text) else {
        return fault(format!("{shown}, which is no URL"), "correct the URL");
    };
    let plain = matches!(url.scheme(), "http" | "https")
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    // `Url` repairs what it reads and drops a default port; only the unchanged text is taken.
    let same = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
    let default_port = [":80", ":443"]
        .iter()
        .any(|port| text.strip_suffix(port) == url.as_str().strip_suffix('/'));
    if text.len() > 512 || !plain || !(same || default_port) {
        return fault(format!("{shown}, which is not a plain proxy URL"), "correct the URL");
    }
    Ok(text.to_owned())
}

fn proxy_exceptions(text: &str) -> Result<String, Fault> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-.:_*/,[]".contains(&b);
    if (1..=4096).contains(&text.len()) && text.bytes().all(good) {
        return Ok(text.to_owned());
    }
    Err(Fault::new(
        &INVALID_PROXY,
        "a list of hosts with a space or another character",
        "hosts, domains and addresses joined by commas without spaces",
        "correct the list",
    ))
}

/// Reads `ca_config_map`.
pub(super) fn read_ca(place: &Place<'_>) -> Option<CaConfigMap> {
    let mut fields = place.fields()?;
    let name = fields.required("name").and_then(|place| place.parse(DnsSubdomain::parse));
    let key = fields.required("key").and_then(|place| place.parse(ConfigKey::parse));
    fields.finish();
    Some(CaConfigMap { name: name?, key: key? })
}
