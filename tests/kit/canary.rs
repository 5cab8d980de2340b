//! How a marker is found wherever it may stand.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// A marker as it is, and as it stands in a Secret's `data` at any of the three offsets.
pub(crate) fn spellings(marker: &str) -> Vec<String> {
    let shifted = |skip: usize| {
        let padded = format!("{}{marker}", "x".repeat(skip));
        let encoded = BASE64_STANDARD.encode(padded);
        let whole = encoded.trim_end_matches('=');
        // The first and the last digits also depend on what stands around.
        whole[4..whole.len() - 4].to_owned()
    };
    vec![marker.to_owned(), shifted(0), shifted(1), shifted(2)]
}

/// Whether a marker stands in the bytes, in any of its spellings.
pub(crate) fn holds(text: &[u8], marker: &str) -> bool {
    let found = |one: String| text.windows(one.len()).any(|window| window == one.as_bytes());
    spellings(marker).into_iter().any(found)
}
