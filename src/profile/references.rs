//! Rules for what a profile only names: its own labels, Secrets, priority classes, the harness image.
//!
//! Nothing is looked up; a name that belongs to harness or to the cluster is refused.

use super::names::{DnsSubdomain, LabelKey, quoted};
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

/// The harness image is not pinned by its digest.
pub static HARNESS_IMAGE_NOT_PINNED: Code = Code {
    name: "profile-harness-image-not-pinned",
    summary: "the harness image is not pinned by its digest",
    explanation: "The image that runs `stage` and `publish` holds the signed URLs; it is named as \
`REGISTRY/REPOSITORY@sha256:` and 64 lower-case hexadecimal digits, so that what was reviewed is what runs.",
};

/// Parses the key of a label of the site's own.
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
