//! A signed URL, which is sent as it was written and shown without its query. Pure.

use std::fmt;

use ureq::http::Uri;
use zeroize::Zeroizing;

/// The longest URL that is taken, in bytes, as in a submission.
const LONGEST: usize = 8192;

/// A signed URL of scheme `https`.
#[derive(Clone)]
pub struct Address {
    whole: Zeroizing<String>,
    authority: String,
    path: String,
}

impl Address {
    /// Takes a URL, with the line feed that an editor may have left; the error says what is wrong, without the URL.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            return Err("empty");
        }
        if text.len() > LONGEST {
            return Err("longer than 8192 bytes");
        }
        let uri: Uri = text.parse().map_err(|_| "not a URL")?;
        if uri.scheme_str() != Some("https") {
            return Err("not of the scheme https");
        }
        let authority = uri.authority().ok_or("without a host")?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err("without a plain host");
        }
        let name = authority.host().to_ascii_lowercase();
        let port = authority.port_u16();
        if port.is_none() && authority.as_str() != authority.host() {
            return Err("with an odd port");
        }
        let authority = match port {
            None | Some(443) => name,
            Some(port) => format!("{name}:{port}"),
        };
        let path = uri.path().to_owned();
        Ok(Self { whole: Zeroizing::new(text.to_owned()), authority, path })
    }

    /// Where a redirect from here leads; `None` for a location that is neither absolute nor a path.
    pub fn redirected(&self, location: &str) -> Option<Self> {
        if location.starts_with('/') && !location.starts_with("//") {
            return Self::parse(&format!("https://{}{location}", self.authority)).ok();
        }
        Self::parse(location).ok()
    }

    /// Host in lower case, and the port unless it is 443.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The whole URL, to be sent and never to be shown.
    pub(super) fn reveal(&self) -> &str {
        &self.whole
    }
}

/// Without the query.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}{}", self.authority, self.path)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_query_is_sent_and_not_shown() {
        let address =
            Address::parse("https://Store.Example:443/a%20b?X-Amz-Signature=canary\n").unwrap();
        assert_eq!(address.to_string(), "https://store.example/a%20b");
        assert_eq!(format!("{address:?}"), "Address(https://store.example/a%20b)");
        assert_eq!(address.reveal(), "https://Store.Example:443/a%20b?X-Amz-Signature=canary");
    }

    #[test]
    fn what_is_no_signed_url() {
        for (text, wrong) in [
            ("", "empty"),
            ("\n", "empty"),
            ("http://h/a", "not of the scheme https"),
            ("/a?b", "not of the scheme https"),
            ("https://u@h/a", "without a plain host"),
            ("https://h/a b", "not a URL"),
            ("https://h:99999/a", "with an odd port"),
        ] {
            assert_eq!(Address::parse(text).unwrap_err(), wrong, "{text}");
        }
        let long = format!("https://h/{}", "a".repeat(LONGEST));
        assert_eq!(Address::parse(&long).unwrap_err(), "longer than 8192 bytes");
    }

    #[test]
    fn redirects_resolve() {
        let address = Address::parse("https://h:9000/a?x").unwrap();
        assert_eq!(address.redirected("/b?y").unwrap().reveal(), "https://h:9000/b?y");
        assert_eq!(address.redirected("https://other/b").unwrap().authority(), "other");
        for odd in ["//other/b", "b", "http://h:9000/b", "", "?z"] {
            assert!(address.redirected(odd).is_none(), "{odd}");
        }
    }

    /// Nothing of a query is shown, and what is sent is what was written.
    fn holds(text: &str, address: &Address) -> Result<(), TestCaseError> {
        let shown = address.to_string();
        prop_assert!(shown.starts_with("https://") && !shown.contains('?'), "{}", shown);
        let debug = format!("{address:?}");
        prop_assert!(!debug.contains('?'), "{}", debug);
        prop_assert_eq!(address.reveal(), text.trim_end_matches(['\n', '\r']));
        prop_assert!(!address.authority().is_empty() && !address.authority().contains(['/', '@']));
        Ok(())
    }

    proptest! {
        #[test]
        fn any_text(text in "(https://)?[ -~]{0,60}|\\PC{0,40}") {
            if let Ok(address) = Address::parse(&text) {
                holds(&text, &address)?;
            }
        }

        /// Wherever a store says to go, it is a host that can be compared, over TLS.
        #[test]
        fn any_location(location in "(https?://|//|/)?[a-zA-Z0-9.:@/?#%\\[\\]\\\\ _-]{0,50}") {
            let address = Address::parse("https://store.example:9000/a?x").unwrap();
            if let Some(next) = address.redirected(&location) {
                let whole = next.reveal().to_owned();
                holds(&whole, &next)?;
                prop_assert!(whole.ends_with(location.as_str()));
                if location.starts_with('/') {
                    prop_assert_eq!(next.authority(), address.authority());
                } else {
                    prop_assert!(location.starts_with("https://"));
                }
            }
        }
    }
}
