//! The names of Kubernetes, one type per grammar, each checked when it is made.
//!
//! The grammars are those of the API server (`k8s.io/apimachinery/pkg/util/validation`): what passes
//! here is not refused there. Nothing here knows where a name stands.

use std::borrow::Borrow;
use std::fmt;

use serde::Serialize;

use crate::submission::name::{check_label, check_subdomain};
use crate::submission::problem::{Code, Fault};

/// A name does not follow the grammar that Kubernetes has for it.
pub static INVALID_NAME: Code = Code {
    name: "profile-name-invalid",
    summary: "a name does not follow the grammar that Kubernetes has for it",
    explanation: "The API server would refuse the Job. A DNS label is 1 to 63 characters of a-z, 0-9 and `-` and \
begins and ends with a letter or digit; a DNS subdomain is one or more such parts joined by `.`, 253 characters at \
most. The name of a profile is a DNS label; objects of the cluster (Secrets, classes, claims) are DNS subdomains.",
};

/// A label's key or value does not follow the grammar that Kubernetes has for it.
pub static INVALID_LABEL: Code = Code {
    name: "profile-label-invalid",
    summary: "a label's key or value does not follow the grammar that Kubernetes has for it",
    explanation: "A key is a name of 1 to 63 letters, digits, `-`, `_` and `.` that begins and ends with a letter or \
digit, with an optional DNS subdomain and `/` before it. A value is such a name or empty.",
};

const DNS_LABEL: &str = "1 to 63 of a-z, 0-9 and `-`, with a letter or digit at both ends";
const DNS_SUBDOMAIN: &str =
    "DNS labels of a-z, 0-9 and `-` joined by `.`, 253 characters at most in all";
const LABEL_KEY: &str = "an optional DNS subdomain and `/`, then 1 to 63 letters, digits, `-`, `_` and `.`, \
with a letter or digit at both ends";
const LABEL_VALUE: &str = "nothing, or 1 to 63 letters, digits, `-`, `_` and `.`, with a letter or digit \
at both ends";
const CONFIG_KEY: &str = "1 to 253 letters, digits, `-`, `_` and `.`, not beginning with `..`";

/// Quotes text from the input for a message: escaped, and cut after 64 characters.
pub(super) fn quoted(text: &str) -> String {
    let mut characters = text.chars();
    let head: String = characters.by_ref().take(64).collect();
    let dots = if characters.next().is_some() { "..." } else { "" };
    format!("{head:?}{dots}")
}

fn is_dns_label(text: &str) -> bool {
    check_label(text).is_ok()
}

fn is_dns_subdomain(text: &str) -> bool {
    check_subdomain(text).is_ok()
}

fn is_qualified_part(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_qualified_part(name),
        None => is_qualified_part(text),
    }
}

fn is_config_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text != "."
        && !text.starts_with("..")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Makes a newtype over `String` that only its `parse` can make.
macro_rules! name_type {
    ($(#[$documentation:meta])* $name:ident, $what:literal, $code:ident, $test:expr, $allowed:expr,
     $pattern:literal, $longest:literal) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            #[doc = concat!("Parses ", $what, "; the fault says what is allowed.")]
            pub fn parse(text: &str) -> Result<Self, Fault> {
                if $test(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(Fault::new(
                    &$code,
                    format!("{} is not {}", quoted(text), $what),
                    $allowed,
                    "correct the spelling",
                ))
            }

            /// The text as it was written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "pattern": $pattern, "maxLength": $longest
                })
            }
        }
    };
}

name_type!(
    /// The name of a profile: a DNS label.
    ProfileName, "a DNS label", INVALID_NAME, is_dns_label, DNS_LABEL,
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63
);
name_type!(
    /// The name of an object of the cluster: a DNS subdomain.
    DnsSubdomain, "a DNS subdomain", INVALID_NAME, is_dns_subdomain, DNS_SUBDOMAIN,
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", 253
);
name_type!(
    /// The name of a Kueue `LocalQueue`: a DNS label, since Kueue reads it from a label's value.
    QueueName, "a DNS label", INVALID_NAME, is_dns_label, DNS_LABEL,
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63
);
name_type!(
    /// The key of a label, of a taint or of a node's topology.
    LabelKey, "a label's key", INVALID_LABEL, is_label_key, LABEL_KEY,
    "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", 317
);
name_type!(
    /// The value of a label or of a taint; may be empty.
    LabelValue, "a label's value",
    INVALID_LABEL, |text: &str| text.is_empty() || is_qualified_part(text), LABEL_VALUE,
    "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", 63
);
name_type!(
    /// A key of a `ConfigMap`, which becomes a file name.
    ConfigKey, "a ConfigMap's key", INVALID_NAME, is_config_key, CONFIG_KEY,
    "^[-._A-Za-z0-9]+$", 253
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_grammars() {
        let (long, longer) = ("a".repeat(63), "a".repeat(64));
        for good in ["a", "standard-v1", "0", &long] {
            assert!(ProfileName::parse(good).is_ok(), "{good}");
            assert!(QueueName::parse(good).is_ok(), "{good}");
            assert!(DnsSubdomain::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a b", " a", "a\n", "é", &longer] {
            assert!(ProfileName::parse(bad).is_err(), "{bad:?}");
            assert!(DnsSubdomain::parse(bad).is_err(), "{bad:?}");
        }
        assert!(ProfileName::parse("a.b").is_err());
        assert!(DnsSubdomain::parse("a.b-c.9").is_ok());
        for bad in ["a..b", ".a", "a.", &[long.as_str(); 4].join(".")] {
            assert!(DnsSubdomain::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn labels_follow_their_grammars() {
        let longer = "a".repeat(64);
        for good in ["a", "A_b.c-9", "example.com/cost-center", "nvidia.com/gpu.product"] {
            assert!(LabelKey::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "Example.com/a", "_a", "a-", "a b", &longer] {
            assert!(LabelKey::parse(bad).is_err(), "{bad:?}");
        }
        assert!(LabelValue::parse("").is_ok());
        assert!(LabelValue::parse("Team_7.x").is_ok());
        for bad in ["-", "a/b", "a ", "ü", &longer] {
            assert!(LabelValue::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn config_keys_are_file_names() {
        for good in ["ca.crt", ".hidden", "a_b-c"] {
            assert!(ConfigKey::parse(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "..data", "a/b", "a b"] {
            assert!(ConfigKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn faults_quote_little_and_escape_it() {
        let fault = ProfileName::parse(&format!("\u{1b}[31m{}", "x".repeat(500))).unwrap_err();
        assert!(fault.found.starts_with("\"\\u{1b}[31mxxx"), "{}", fault.found);
        assert!(fault.found.len() < 120, "{}", fault.found);
    }
}
