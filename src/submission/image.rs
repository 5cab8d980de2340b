//! Container images, pinned by digest and spelt out in full.
//!
//! The grammar is the one of `oci_spec::distribution::Reference` (Docker's), without what that fills in (a
//! registry, a `library/`, a tag) and without the upper-case digests and impossible ports that it takes.
//! The tests hold this file to it in both directions. It is not called at run time: its regular expression
//! repeats every Unicode word character 128 times, and compiling that takes 80 ms and 24 MB of each process.

use std::fmt;
use std::str::FromStr;

use oci_spec::image::{Digest, DigestAlgorithm};

use super::digest::{PREFIX, Sha256Digest};
use super::excerpt::excerpt;
use super::problem::{Code, Fault};

/// The text is no image reference at all.
pub static INVALID_IMAGE: Code = Code {
    name: "image-invalid",
    summary: "the text is no image reference",
    explanation: "An image is written as `REGISTRY/REPOSITORY@sha256:DIGEST`, for instance \
`registry.example.org/lab/model@sha256:` and 64 lower-case hexadecimal digits: no scheme such as `https://` or \
`docker://`, no spaces, a repository in lower case of at most 255 characters.",
};

/// The image is not pinned by digest.
pub static NOT_PINNED: Code = Code {
    name: "image-not-pinned",
    summary: "the image has no digest",
    explanation: "A tag can be moved to other content at any time, so a run could not be repeated or checked. \
Name the content: `crane digest IMAGE`, `docker buildx imagetools inspect IMAGE` or `skopeo inspect docker://IMAGE` \
print the digest. A tag beside a digest is accepted and ignored, as Kubernetes does.",
};

/// The digest of the image is misspelt or of another algorithm.
pub static INVALID_IMAGE_DIGEST: Code = Code {
    name: "image-digest-invalid",
    summary: "the image's digest is misspelt",
    explanation: "The digest is `sha256:` and 64 lower-case hexadecimal digits. Other algorithms are not supported by \
every registry and container runtime.",
};

/// The registry is left out.
pub static NO_REGISTRY: Code = Code {
    name: "image-registry-missing",
    summary: "the image names no registry",
    explanation: "Programs fill in a missing registry differently (`docker.io` or whatever a node is configured for), so the \
same text can run different images. Write the registry's host first: a name with a dot, `localhost`, or a host with a port.",
};

/// The registry's host or port cannot be one.
pub static INVALID_REGISTRY: Code = Code {
    name: "image-registry-invalid",
    summary: "the registry is no host name with an optional port",
    explanation: "A registry is a host name in lower case (`a-z`, `0-9`, `-` and `.`) or an IPv4 address, with an optional port \
from 1 to 65535 without leading zeros.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] =
    &[&INVALID_IMAGE, &NOT_PINNED, &INVALID_IMAGE_DIGEST, &NO_REGISTRY, &INVALID_REGISTRY];

/// `REGISTRY/REPOSITORY@sha256:DIGEST`, with nothing filled in by anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedImage {
    registry: String,
    repository: String,
    digest: Sha256Digest,
}

impl PinnedImage {
    /// Parses a complete reference. A tag beside the digest is accepted and dropped, since the digest decides.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        check_obvious(text)?;
        let (name, digest) = text.split_once('@').ok_or_else(|| not_pinned(text))?;
        let digest = parse_digest(digest)?;
        let (registry, rest) = split_registry(name)?;
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        check_repository(repository)?;
        tag.map_or(Ok(()), check_tag)?;
        check_docker_hub(registry, repository)?;
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), digest })
    }

    /// Host and optional port of the registry.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository inside the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The digest of the image's manifest or index.
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }
}

/// The canonical text, without a tag.
impl fmt::Display for PinnedImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}@{PREFIX}{}", self.registry, self.repository, self.digest)
    }
}

fn invalid(found: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(
        &INVALID_IMAGE,
        found,
        "`REGISTRY/REPOSITORY@sha256:DIGEST`",
        "write the complete reference",
    )
}

fn not_pinned(text: &str) -> Fault {
    Fault::new(
        &NOT_PINNED,
        format!("{} without `@sha256:...`", excerpt(text)),
        "`REGISTRY/REPOSITORY@sha256:DIGEST`",
        "add the digest that `crane digest IMAGE` prints",
    )
}

/// Mistakes that deserve a better message than a grammar can give.
fn check_obvious(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(invalid("an empty text"));
    }
    if let Some(scheme) =
        ["https://", "http://", "docker://", "oci://"].iter().find(|s| text.starts_with(**s))
    {
        return Err(Fault::new(
            &INVALID_IMAGE,
            format!("the scheme `{scheme}`"),
            "`REGISTRY/REPOSITORY@sha256:DIGEST`",
            format!("remove `{scheme}`"),
        ));
    }
    if let Some(odd) = text.chars().find(|c| !c.is_ascii_graphic()) {
        let found = match odd {
            ' ' | '\t' | '\n' | '\r' => "white space".to_owned(),
            _ => format!("the character U+{:04X}", u32::from(odd)),
        };
        return Err(invalid(format!("{found} in {}", excerpt(text))));
    }
    if text.matches('@').count() > 1 {
        return Err(invalid("more than one `@`"));
    }
    Ok(())
}

fn parse_digest(digest: &str) -> Result<Sha256Digest, Fault> {
    let fault = |found: String| {
        Fault::new(
            &INVALID_IMAGE_DIGEST,
            found,
            "`sha256:` and 64 lower-case hexadecimal digits",
            "copy the digest that `crane digest IMAGE` prints",
        )
    };
    let parsed =
        Sha256Digest::parse_prefixed(digest).map_err(|error| fault(error.found.into_owned()))?;
    match Digest::from_str(digest) {
        Ok(known) if *known.algorithm() == DigestAlgorithm::Sha256 => Ok(parsed),
        _ => Err(fault(excerpt(digest))),
    }
}

/// A first component is a registry only with a dot, a port or as `localhost`; then host and port are checked.
fn split_registry(name: &str) -> Result<(&str, &str), Fault> {
    let (registry, rest) = match name.split_once('/') {
        Some((first, rest)) if first == "localhost" || first.contains(['.', ':']) => (first, rest),
        _ => {
            return Err(Fault::new(
                &NO_REGISTRY,
                excerpt(name),
                "a registry's host before the first `/`",
                "write the registry first, such as `docker.io/library/NAME`",
            ));
        }
    };
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let host_is_valid = super::name::check_subdomain(host).is_ok();
    let port_is_valid = port.is_none_or(|port| {
        !port.starts_with('0')
            && port.bytes().all(|b| b.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|number| number > 0)
    });
    if host_is_valid && port_is_valid {
        return Ok((registry, rest));
    }
    Err(Fault::new(
        &INVALID_REGISTRY,
        excerpt(registry),
        "a lower-case host name or IPv4 address, with an optional port from 1 to 65535",
        "write the registry as it is reached",
    ))
}

/// The longest repository, of Docker's grammar.
const LONGEST_REPOSITORY: usize = 255;

/// The longest tag, of Docker's grammar.
const LONGEST_TAG: usize = 128;

fn check_repository(repository: &str) -> Result<(), Fault> {
    let fault = |found| {
        Fault::new(
            &INVALID_IMAGE,
            found,
            "a repository of `a-z` and `0-9`, with single `.`, `_` or `__`, or any `-`, only between them, in parts \
divided by `/`, of at most 255 characters",
            "write the repository as the registry lists it",
        )
    };
    if repository.len() > LONGEST_REPOSITORY {
        return Err(fault(format!("a repository of {} characters", repository.len())));
    }
    if repository.split('/').all(is_repository_part) {
        Ok(())
    } else {
        Err(fault(format!("the repository {}", excerpt(repository))))
    }
}

/// `[a-z0-9]+((\.|_|__|-*)[a-z0-9]+)*`
fn is_repository_part(part: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let ends_are_plain = bytes.first().is_some_and(is_plain) && bytes.last().is_some_and(is_plain);
    let is_separator = |run: &[u8]| {
        matches!(run, b"" | b"." | b"_" | b"__") || run.iter().all(|byte| *byte == b'-')
    };
    ends_are_plain && bytes.split(is_plain).all(is_separator)
}

/// `[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
fn check_tag(tag: &str) -> Result<(), Fault> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_well = tag.bytes().next().is_some_and(is_word);
    let is_plain = |byte: u8| is_word(byte) || byte == b'.' || byte == b'-';
    if starts_well && tag.len() <= LONGEST_TAG && tag.bytes().all(is_plain) {
        return Ok(());
    }
    Err(Fault::new(
        &INVALID_IMAGE,
        format!("the tag {}", excerpt(tag)),
        "a tag of 1 to 128 letters, digits, `_`, `.` and `-` that starts with none of the last two",
        "leave the tag out; the digest decides",
    ))
}

/// Names of Docker Hub that every program reads as another one.
fn check_docker_hub(registry: &str, repository: &str) -> Result<(), Fault> {
    let registry_is_old = registry == "index.docker.io";
    let is_official = !repository.contains('/');
    let read_as = match (registry, is_official) {
        ("docker.io" | "index.docker.io", true) => format!("docker.io/library/{repository}"),
        ("index.docker.io", false) => format!("docker.io/{repository}"),
        _ => return Ok(()),
    };
    let written = format!("{registry}/{repository}");
    let what = if registry_is_old { "write `docker.io`" } else { "write `library/`" };
    Err(Fault::new(
        &INVALID_IMAGE,
        format!("{}, which is read as {}", excerpt(&written), excerpt(&read_as)),
        "`REGISTRY/REPOSITORY@sha256:DIGEST`, with nothing left to fill in",
        format!("{what}: {}", excerpt(&read_as)),
    ))
}

#[cfg(test)]
mod tests {
    use oci_spec::distribution::Reference;
    use proptest::prelude::*;

    use super::*;

    const DIGITS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn complete_references() {
        for name in [
            "ghcr.io/o/i",
            "registry.example.org/lab/model",
            "localhost/a",
            "localhost:5000/a/b",
            "127.0.0.1:5000/a",
            "r.io:65535/a_b/c__d/e-f.g",
            "a.b/c",
            "docker.io/library/busybox",
        ] {
            let text = format!("{name}@sha256:{DIGITS}");
            let image =
                PinnedImage::parse(&text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
            assert_eq!(image.to_string(), text);
        }
    }

    #[test]
    fn a_tag_beside_the_digest_is_dropped() {
        let with = PinnedImage::parse(&format!("r.io:5000/a:v1@sha256:{DIGITS}")).unwrap();
        let without = PinnedImage::parse(&format!("r.io:5000/a@sha256:{DIGITS}")).unwrap();
        assert_eq!(with, without);
        assert_eq!(with.to_string(), format!("r.io:5000/a@sha256:{DIGITS}"));
    }

    #[test]
    fn refused_references() {
        let pinned = |name: &str| format!("{name}@sha256:{DIGITS}");
        let cases = [
            (String::new(), "image-invalid"),
            ("r.io/a".to_owned(), "image-not-pinned"),
            ("r.io/a:v1".to_owned(), "image-not-pinned"),
            (format!("r.io/a@sha256:{}", &DIGITS[1..]), "image-digest-invalid"),
            (format!("r.io/a@sha256:{DIGITS}0"), "image-digest-invalid"),
            (format!("r.io/a@sha256:{}", DIGITS.to_uppercase()), "image-digest-invalid"),
            (format!("r.io/a@SHA256:{DIGITS}"), "image-digest-invalid"),
            (format!("r.io/a@sha512:{DIGITS}{DIGITS}"), "image-digest-invalid"),
            (format!("r.io/a@{DIGITS}"), "image-digest-invalid"),
            (format!("r.io/a@sha256:{}g", &DIGITS[1..]), "image-digest-invalid"),
            (pinned("r.io/a@b"), "image-invalid"),
            (pinned("https://r.io/a"), "image-invalid"),
            (pinned("docker://r.io/a"), "image-invalid"),
            (pinned(" r.io/a"), "image-invalid"),
            (format!("{}\n", pinned("r.io/a")), "image-invalid"),
            (pinned("r.io/a\0"), "image-invalid"),
            (pinned("r.io/a:v\u{e9}"), "image-invalid"),
            (pinned("busybox"), "image-registry-missing"),
            (pinned("library/busybox"), "image-registry-missing"),
            (pinned("GHCR/o/i"), "image-registry-missing"),
            (pinned("GHCR.IO/o/i"), "image-registry-invalid"),
            (pinned("my_reg.io/a"), "image-registry-invalid"),
            (pinned("r.io:99999/a"), "image-registry-invalid"),
            (pinned("r.io:0/a"), "image-registry-invalid"),
            (pinned("r.io:05000/a"), "image-registry-invalid"),
            (pinned("r.io:/a"), "image-registry-invalid"),
            (pinned("[::1]:5000/a"), "image-registry-invalid"),
            (pinned("-r.io/a"), "image-registry-invalid"),
            (pinned("r..io/a"), "image-registry-invalid"),
            (pinned("index.docker.io/library/busybox"), "image-invalid"),
            (pinned("docker.io/busybox"), "image-invalid"),
            (pinned("r.io/A"), "image-invalid"),
            (pinned("r.io/a//b"), "image-invalid"),
            (pinned("r.io/a/"), "image-invalid"),
            (pinned("r.io/"), "image-invalid"),
            (pinned("r.io/a/../b"), "image-invalid"),
            (pinned("r.io/-a"), "image-invalid"),
            (pinned("r.io/a:"), "image-invalid"),
            (pinned(&format!("r.io/{}", "a".repeat(256))), "image-invalid"),
        ];
        for (text, code) in cases {
            match PinnedImage::parse(&text) {
                Err(fault) => assert_eq!(fault.code.name, code, "{text:?}: {fault:?}"),
                Ok(image) => panic!("{text:?} was accepted as {image}"),
            }
        }
    }

    /// What `oci-spec` reads, where it fills in and rewrites nothing.
    fn by_oci_spec(text: &str) -> Option<(String, String)> {
        let reference = Reference::from_str(text).ok()?;
        (reference.whole() == text)
            .then(|| (reference.registry().to_owned(), reference.repository().to_owned()))
    }

    fn assert_same_as_oci_spec(name: &str) {
        let text = format!("{name}@sha256:{DIGITS}");
        let ours = PinnedImage::parse(&text);
        let theirs = by_oci_spec(&text);
        match (&ours, &theirs) {
            (Ok(image), Some((registry, repository))) => {
                assert_eq!((image.registry(), image.repository()), (&**registry, &**repository));
            }
            (Err(_), None) => {}
            // Hosts are held to DNS here, and ports to what a port can be.
            (Err(fault), Some(_)) if fault.code == &INVALID_REGISTRY => {}
            (Err(fault), Some(_)) if fault.code == &NO_REGISTRY => {}
            _ => panic!("{text:?}: {ours:?}, but oci-spec reads {theirs:?}"),
        }
    }

    #[test]
    fn the_grammar_at_its_edges_is_the_one_of_oci_spec() {
        let long = "a".repeat(255);
        let tag = "t".repeat(128);
        for rest in [
            "a", "0", "a--b", "a---b", "a.b", "a_b", "a__b", "a___b", "a..b", "a._b", "a-.b",
            "a_-b", "a-", "-a", "a.", ".a", "_a", "a_", "a/", "/a", "a//b", "a/b", "A", "a:t",
            "a:_", "a:.", "a:-", "a:T.-_", "a:", "a:t:t", "a:t/b", "a+b", "a~b", "a%b", "", ":t",
            &long, &tag,
        ] {
            assert_same_as_oci_spec(&format!("r.io/{rest}"));
        }
        assert_same_as_oci_spec(&format!("r.io/{long}a"));
        assert_same_as_oci_spec(&format!("r.io/{}/b", &long[2..]));
        assert_same_as_oci_spec(&format!("r.io/a:{tag}"));
        assert_same_as_oci_spec(&format!("r.io/a:{tag}t"));
    }

    proptest! {
        #[test]
        fn the_grammar_is_the_one_of_oci_spec(
            registry in "(r\\.io|localhost|docker\\.io|index\\.docker\\.io|r:5000)",
            rest in "[a-z0-9A-Z._/:-]{0,12}",
        ) {
            assert_same_as_oci_spec(&format!("{registry}/{rest}"));
        }

        #[test]
        fn near_valid_names_are_read_as_oci_spec_reads_them(
            rest in "[a-b0]{1,2}([._-]{0,3}[a-b0]{1,2}){0,3}(/[a-b0]{1,2}([._-]{0,3}[a-b0]){0,2}){0,2}(:[A-a_.-]{0,4})?",
        ) {
            assert_same_as_oci_spec(&format!("r.io/{rest}"));
        }

        #[test]
        fn whatever_is_accepted_oci_spec_accepts(text in "[ -~]{0,40}") {
            assert_same_as_oci_spec(&text);
        }
    }
}
