//! Why an image cannot be pulled, from the kubelet's words. Pure.
//!
//! The words come from the container runtime and the registry and differ between their versions, so that only
//! phrases are looked for that mean one thing; everything else is `image-pull`.

use super::category::Category;

/// Reasons of a waiting container that are about its image.
pub(super) fn is_about_image(reason: &str) -> bool {
    matches!(
        reason,
        "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ImageInspectError"
            | "ErrImageNeverPull"
            | "RegistryUnavailable"
            | "SignatureValidationFailed"
    )
}

/// The category of a failed pull.
pub(super) fn classify(reason: &str, message: &str) -> Category {
    match reason {
        "InvalidImageName" => return Category::IMAGE_NAME,
        "RegistryUnavailable" => return Category::IMAGE_REGISTRY,
        _ => {}
    }
    let message = message.to_lowercase();
    let found = PHRASES.iter().find(|(phrase, _)| message.contains(phrase));
    found.map_or(Category::IMAGE_PULL, |(_, category)| *category)
}

/// The first that occurs decides: what is more certain stands first.
const PHRASES: &[(&str, Category)] = &[
    ("toomanyrequests", Category::IMAGE_RATE_LIMIT),
    ("too many requests", Category::IMAGE_RATE_LIMIT),
    ("rate limit", Category::IMAGE_RATE_LIMIT),
    ("no match for platform", Category::IMAGE_PLATFORM),
    ("no matching manifest for", Category::IMAGE_PLATFORM),
    ("no image found in manifest list for", Category::IMAGE_PLATFORM),
    ("no image found in image index for", Category::IMAGE_PLATFORM),
    ("does not match the specified platform", Category::IMAGE_PLATFORM),
    ("unexpected commit digest", Category::IMAGE_DIGEST),
    ("digest mismatch", Category::IMAGE_DIGEST),
    ("does not match provided manifest digest", Category::IMAGE_DIGEST),
    ("manifest does not match", Category::IMAGE_DIGEST),
    ("digest verification failed", Category::IMAGE_DIGEST),
    ("failed size validation", Category::IMAGE_DIGEST),
    ("invalid reference format", Category::IMAGE_NAME),
    // A registry that hides what it has says both; without credentials the first is not to be believed.
    ("may require authorization", Category::IMAGE_AUTH),
    ("may require 'docker login'", Category::IMAGE_AUTH),
    ("unauthorized", Category::IMAGE_AUTH),
    ("authentication required", Category::IMAGE_AUTH),
    ("authorization failed", Category::IMAGE_AUTH),
    ("no basic auth credentials", Category::IMAGE_AUTH),
    ("access denied", Category::IMAGE_AUTH),
    ("403 forbidden", Category::IMAGE_AUTH),
    ("denied: ", Category::IMAGE_AUTH),
    ("manifest unknown", Category::IMAGE_NOT_FOUND),
    ("name unknown", Category::IMAGE_NOT_FOUND),
    ("repository does not exist", Category::IMAGE_NOT_FOUND),
    (": not found", Category::IMAGE_NOT_FOUND),
    ("404 not found", Category::IMAGE_NOT_FOUND),
    ("no such host", Category::IMAGE_REGISTRY),
    ("server misbehaving", Category::IMAGE_REGISTRY),
    ("connection refused", Category::IMAGE_REGISTRY),
    ("connection reset", Category::IMAGE_REGISTRY),
    ("no route to host", Category::IMAGE_REGISTRY),
    ("network is unreachable", Category::IMAGE_REGISTRY),
    ("i/o timeout", Category::IMAGE_REGISTRY),
    ("tls handshake timeout", Category::IMAGE_REGISTRY),
    ("context deadline exceeded", Category::IMAGE_REGISTRY),
    ("x509:", Category::IMAGE_REGISTRY),
    ("server gave http response to https client", Category::IMAGE_REGISTRY),
    ("500 internal server error", Category::IMAGE_REGISTRY),
    ("502 bad gateway", Category::IMAGE_REGISTRY),
    ("503 service unavailable", Category::IMAGE_REGISTRY),
    ("504 gateway time", Category::IMAGE_REGISTRY),
    ("unexpected eof", Category::IMAGE_REGISTRY),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of containerd 1.6 to 2.2, CRI-O 1.30 and Docker Hub, Harbor, ECR and Google's registries.
    #[test]
    fn what_runtimes_say_is_understood() {
        for (message, name) in [
            (
                r#"failed to pull and unpack image "registry.test/a@sha256:11": failed to resolve reference "registry.test/a@sha256:11": registry.test/a@sha256:11: not found"#,
                "image-not-found",
            ),
            ("reading manifest sha256:11 in registry.test/a: manifest unknown", "image-not-found"),
            (
                r#"failed to resolve reference "ghcr.io/a/b@sha256:11": failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized"#,
                "image-auth",
            ),
            (
                "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
                "image-auth",
            ),
            (
                "unexpected status code 403 Forbidden - Server message: denied: not allowed",
                "image-auth",
            ),
            ("no match for platform in manifest: not found", "image-platform"),
            (
                "no image found in manifest list for architecture arm64, variant \"v8\", OS linux",
                "image-platform",
            ),
            (
                "unexpected commit digest sha256:22, expected sha256:11: failed precondition",
                "image-digest",
            ),
            ("Manifest does not match provided manifest digest sha256:11", "image-digest"),
            ("dial tcp: lookup registry.invalid on 10.0.0.1:53: no such host", "image-registry"),
            ("dial tcp 127.0.0.1:5000: connect: connection refused", "image-registry"),
            (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
                "image-registry",
            ),
            ("unexpected status code 503 Service Unavailable", "image-registry"),
            (
                "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit",
                "image-rate-limit",
            ),
            ("something that nobody has seen before", "image-pull"),
            ("", "image-pull"),
        ] {
            assert_eq!(classify("ErrImagePull", message).name(), name, "{message}");
        }
        assert_eq!(classify("InvalidImageName", "").name(), "image-name");
        assert_eq!(classify("RegistryUnavailable", "").name(), "image-registry");
    }
}
