//! Image references, held against the reference implementation of the grammar.

use harness::submission::PinnedImage;
use harness::submission::image::{INVALID_REGISTRY, NO_REGISTRY};
use oci_spec::distribution::Reference;

use crate::common::check_fault;

/// Of any text, alone and before a digest: what is accepted is printed as the same reference, and oci-spec reads the same;
/// what oci-spec reads without filling in or rewriting anything is accepted, hosts apart, which are held to DNS here.
pub fn image(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check(text);
    check(&format!("{text}@sha256:{}", "0123456789abcdef".repeat(4)));
}

fn check(text: &str) {
    let reference: Option<Reference> =
        text.parse().ok().filter(|reference: &Reference| reference.whole() == text);
    let digest = reference.as_ref().and_then(|reference| reference.digest());
    match PinnedImage::parse(text) {
        Ok(image) => {
            let printed = image.to_string();
            assert_eq!(PinnedImage::parse(&printed), Ok(image.clone()), "{text}");
            let reference = reference.unwrap_or_else(|| panic!("oci-spec refuses {text}"));
            assert_eq!(image.registry(), reference.registry());
            assert_eq!(image.repository(), reference.repository());
            assert_eq!(Some(format!("sha256:{}", image.digest()).as_str()), reference.digest());
        }
        Err(fault) => {
            check_fault(&fault);
            let is_pinned = digest.is_some_and(is_sha256);
            let is_host = fault.code == &INVALID_REGISTRY || fault.code == &NO_REGISTRY;
            // Its words are those of Unicode, where Docker's are those of ASCII.
            assert!(
                !is_pinned || is_host || !text.is_ascii(),
                "oci-spec reads {text}, and here it is {fault:?}"
            );
        }
    }
}

fn is_sha256(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}
