//! What surrounds the containers: labels, Secrets' names, proxies, certificates, caches, aliases, the image.
//!
//! Everything here is checked as text; nothing is looked up.

use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;

use super::names::{ConfigKey, DnsSubdomain, LabelKey, quoted};
use super::reader::Place;
use crate::submission::digest::Sha256Digest;
use crate::submission::problem::{Code, Fault};

/// A label belongs to harness, to Kubernetes or to Kueue.
pub static RESERVED_LABEL: Code = Code {
    name: "profile-label-reserved",
    summary: "a label belongs to harness, to Kubernetes or to Kueue",
    explanation: "Labels of a profile are for cost accounting and for finding things. Those below `research.harness/`, \
`kubernetes.io`, `k8s.io` and `x-k8s.io` (also their subdomains), and the Job controller's `job-name` and \
`controller-uid`, decide what controllers do. Of `app.kubernetes.io/` only `managed-by` is harness' own.",
};

/// A name is reserved.
pub static RESERVED_NAME: Code = Code {
    name: "profile-name-reserved",
    summary: "a name is reserved for harness or for the cluster",
    explanation: "Secrets named `prediction-...` hold signed URLs, which research code must never see, so no runner may \
name one. Priority classes named `system-...` are for the cluster's own pods.",
};

/// A proxy variable is unusable or holds a credential.
pub static INVALID_PROXY: Code = Code {
    name: "profile-proxy-invalid",
    summary: "a proxy variable is unusable or holds a credential",
    explanation: "`http_proxy` and `https_proxy` are `http://HOST[:PORT]` or `https://HOST[:PORT]`, nothing behind it; \
they stand readable in the Job, so a user and a password are refused. `no_proxy` is a list of hosts joined by commas.",
};

/// A cache's path would hide something that the run needs.
pub static INVALID_CACHE_PATH: Code = Code {
    name: "profile-cache-path-invalid",
    summary: "a cache's path would hide something that the run needs",
    explanation: "A cache is mounted read-only into `run` at an absolute path without `.`, `..`, `//` or a `/` at its end, \
and neither at, below nor above what harness, the kernel and the image's own programs use: /harness, /tmp, /dev, /proc, \
/sys, /etc, /run, /var/run, /boot, /bin, /sbin, /lib, /lib32, /lib64, /libx32, /usr/bin, /usr/sbin and /usr/lib. Two \
caches do not contain each other.",
};

/// An endpoint alias is no host and bucket.
pub static INVALID_ALIAS: Code = Code {
    name: "profile-alias-invalid",
    summary: "an endpoint alias does not lead from a host to a bucket's URL",
    explanation: "An alias says which bucket stands behind a host name of the site's own (a CNAME): a lower-case host name \
and the bucket's `https` URL, without a user, a query or a fragment. It serves the check that the result is none of the \
inputs and never changes an identity.",
};

/// The harness image is not pinned by its digest.
pub static HARNESS_IMAGE_NOT_PINNED: Code = Code {
    name: "profile-harness-image-not-pinned",
    summary: "the harness image is not pinned by its digest",
    explanation: "The image that runs `stage` and `publish` holds the signed URLs; it is named as \
`REGISTRY/REPOSITORY@sha256:` and 64 lower-case hexadecimal digits, so that what was reviewed is what runs.",
};

/// Proxy variables for `stage` and `publish`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// A claim that is mounted read-only into `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Cache {
    /// The name of the `PersistentVolumeClaim`.
    pub claim: DnsSubdomain,
    /// Where it is mounted in `run`.
    pub mount_path: MountPath,
}

/// An absolute path at which a cache may be mounted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MountPath(
    #[cfg_attr(test, schemars(regex(pattern = r"^(/[-A-Za-z0-9._+@]+)+$"), length(max = 512)))]
    String,
);

/// What harness, the kernel and the image's own programs use.
const RESERVED_PATHS: [&str; 18] = [
    "/harness",
    "/tmp",
    "/dev",
    "/proc",
    "/sys",
    "/etc",
    "/run",
    "/var/run",
    "/boot",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
];

impl MountPath {
    /// Parses a path; the fault says which rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let fault = |why: &str| {
            Fault::new(
                &INVALID_CACHE_PATH,
                format!("{}, {why}", quoted(text)),
                "an absolute, plain path that hides nothing of harness, the kernel or the image",
                "choose a path such as `/cache/models`",
            )
        };
        let Some(rest) = text.strip_prefix('/') else {
            return Err(fault("which is not absolute"));
        };
        if text.len() > 512 {
            return Err(fault("which is longer than 512 bytes"));
        }
        if rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(fault("which has an empty part, `.` or `..`"));
        }
        let plain = |b: u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'.' | b'_' | b'+' | b'@')
        };
        if !text.bytes().all(plain) {
            return Err(fault("which has a character other than letters, digits and -._+@"));
        }
        if let Some(taken) = RESERVED_PATHS.iter().find(|taken| overlap(text, taken)) {
            return Err(fault(&format!("which overlaps {taken}")));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether one path is the other or lies below it.
fn overlap(one: &str, other: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    below(one, other) || below(other, one)
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
    place.map(AliasHost::parse, |place| place.parse(alias_target))
}

/// Reads `labels`.
pub(super) fn label_key(text: &str) -> Result<LabelKey, Fault> {
    let key = LabelKey::parse(text)?;
    let reserved = match text.split_once('/') {
        Some((_, "managed-by")) if text.starts_with("app.kubernetes.io/") => true,
        Some(("app.kubernetes.io", _)) => false,
        Some((domain, _)) => ["research.harness", "kubernetes.io", "k8s.io", "x-k8s.io"]
            .iter()
            .any(|own| domain.strip_suffix(own).is_some_and(|b| b.is_empty() || b.ends_with('.'))),
        None => matches!(text, "job-name" | "controller-uid"),
    };
    if !reserved {
        return Ok(key);
    }
    Err(Fault::new(
        &RESERVED_LABEL,
        format!("the label {}", quoted(text)),
        "a label of your own, such as `cost-center` or `example.com/team`",
        "choose another key; a queue is named in `queue`",
    ))
}

/// Parses the name of a Secret that a runner may use.
pub(super) fn runner_secret(text: &str) -> Result<DnsSubdomain, Fault> {
    not_reserved(text, "prediction-", "a Secret's name that does not begin with `prediction-`")
}

/// Parses the name of a Secret for pulling images, which is never one that holds signed URLs.
pub(super) fn pull_secret(text: &str) -> Result<DnsSubdomain, Fault> {
    runner_secret(text)
}

/// Parses the name of a priority class.
pub(super) fn priority_class(text: &str) -> Result<DnsSubdomain, Fault> {
    not_reserved(text, "system-", "a priority class that does not begin with `system-`")
}

fn not_reserved(text: &str, prefix: &str, allowed: &'static str) -> Result<DnsSubdomain, Fault> {
    let name = DnsSubdomain::parse(text)?;
    if text.starts_with(prefix) {
        return Err(Fault::new(&RESERVED_NAME, quoted(text), allowed, "name another one"));
    }
    Ok(name)
}

/// Checks that an image is pinned; whoever renders it parses the whole reference.
pub(super) fn harness_image(text: &str) -> Result<String, Fault> {
    let pinned = text.split_once('@').is_some_and(|(name, digest)| {
        name.contains('/') && Sha256Digest::parse_prefixed(digest).is_ok()
    });
    let plain = text.len() <= 1024 && text.bytes().all(|b| b.is_ascii_graphic());
    if pinned && plain {
        return Ok(text.to_owned());
    }
    Err(Fault::new(
        &HARNESS_IMAGE_NOT_PINNED,
        quoted(text),
        "REGISTRY/REPOSITORY@sha256: and 64 lower-case hexadecimal digits",
        "name the image with its digest",
    ))
}

/// Reads `proxy`.
pub(super) fn read_proxy(place: &Place<'_>) -> Option<Proxy> {
    let mut fields = place.fields()?;
    let plain = fields.optional("http_proxy").map(|place| place.parse(proxy_url));
    let secure = fields.optional("https_proxy").map(|place| place.parse(proxy_url));
    let exceptions = fields.optional("no_proxy").map(|place| place.parse(proxy_exceptions));
    fields.finish();
    Some(Proxy {
        http_proxy: super::placement::flip(plain)?,
        https_proxy: super::placement::flip(secure)?,
        no_proxy: super::placement::flip(exceptions)?,
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

/// Reads `caches`.
pub(super) fn read_caches(place: &Place<'_>) -> Option<Vec<Cache>> {
    let caches = place.list(cache)?;
    for (index, one) in caches.iter().enumerate() {
        let path = one.mount_path.as_str();
        if caches[..index].iter().any(|other| overlap(path, other.mount_path.as_str())) {
            place.report(Fault::new(
                &INVALID_CACHE_PATH,
                format!("{}, which overlaps another cache's path", quoted(path)),
                "caches at paths of which none contains another",
                "choose another path",
            ));
            return None;
        }
    }
    Some(caches)
}

fn cache(place: &Place<'_>) -> Option<Cache> {
    let mut fields = place.fields()?;
    let claim = fields.required("claim").and_then(|place| place.parse(DnsSubdomain::parse));
    let mount_path = fields.required("mount_path").and_then(|place| place.parse(MountPath::parse));
    fields.finish();
    Some(Cache { claim: claim?, mount_path: mount_path? })
}
