//! Comparing two objects: same, different, or not decidable from their URLs.
//!
//! Not decidable must count as the same wherever a result could overwrite an input; the reason says what makes it
//! so and how to mend it. Versions are ignored: another version is still the same object.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

use super::ObjectUrl;
use super::alias::EndpointAliases;
use super::identity::ObjectIdentity;
use super::provider::{Keys, Provider};
use crate::submission::problem::{Code, Fault};

/// A host hides which bucket is behind it, and the keys agree.
pub static OBJECTS_HOST_UNKNOWN: Code = Code {
    name: "objects-host-unknown",
    summary: "two URLs may address the same object, because a host hides the bucket behind it",
    explanation: "Custom domains, content delivery networks, access points and private endpoints do not show which \
bucket they lead to, and an own store may have several names. Where the keys agree, both URLs may be one object, and \
a result could then overwrite an input. Use the store's own endpoint in both URLs, declare the host as an endpoint \
alias in the site's profile, or give the objects different keys.",
};

/// Two keys differ only in a spelling that the store may fold.
pub static OBJECTS_KEY_SPELLING: Code = Code {
    name: "objects-key-spelling",
    summary: "two keys differ only in a way that the store may not keep apart",
    explanation: "Some stores treat keys as the same that differ only in double, leading or trailing slashes, in dots \
at the end of a part, or in the Unicode form of a letter; unknown stores may also ignore letter case. Such keys may \
be one object. Give the objects keys that differ in more than that.",
};

/// The query may select the object.
pub static OBJECTS_QUERY: Code = Code {
    name: "objects-query",
    summary: "two URLs on unknown hosts differ only in their query",
    explanation: "On a host that is not a known store's, a query parameter may select the object or mean nothing. Two \
URLs that agree in everything else may therefore be one object. Use URLs whose paths differ.",
};

/// The same bucket name in two jurisdictions of one account.
pub static OBJECTS_JURISDICTION: Code = Code {
    name: "objects-jurisdiction",
    summary: "two URLs name the same R2 bucket and key under different jurisdictions",
    explanation: "An R2 account has one host per jurisdiction, and whether a bucket of the same name under another one \
is the same bucket is not documented. Use the same host in both URLs, or different keys.",
};

/// Whether two URLs address the same object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// The same object, perhaps in different versions.
    Same,
    /// Different objects.
    Different,
    /// Not decidable; the reason says why and what to do.
    Ambiguous(Fault),
}

/// Compares what two URLs address; symmetric.
///
/// An alias replaces a host by the bucket behind it, for this comparison only.
pub fn compare(left: &ObjectUrl, right: &ObjectUrl, aliases: &EndpointAliases) -> Comparison {
    let resolved_left = aliases.resolve(left);
    let resolved_right = aliases.resolve(right);
    compare_identities(
        resolved_left.as_ref().unwrap_or(left.identity()),
        resolved_right.as_ref().unwrap_or(right.identity()),
    )
}

fn compare_identities(left: &ObjectIdentity, right: &ObjectIdentity) -> Comparison {
    if left == right {
        return Comparison::Same;
    }
    match (left.provider(), right.provider()) {
        (Provider::Opaque, _) | (_, Provider::Opaque) => compare_unknown(left, right),
        (one, other) if one != other => Comparison::Different,
        _ => compare_known(left, right),
    }
}

fn compare_known(left: &ObjectIdentity, right: &ObjectIdentity) -> Comparison {
    let provider = left.provider();
    if left.bucket() != right.bucket() {
        return Comparison::Different;
    }
    let keys = provider.store().keys;
    let same_key = left.key() == right.key();
    let folded_alike = matches!(keys, Keys::Fuzzy | Keys::Normalised)
        && fold(left.key(), false) == fold(right.key(), false);
    if !same_key && !folded_alike {
        return Comparison::Different;
    }
    // A host without region reaches the bucket in whatever region it lies.
    let same_space = left.space() == right.space()
        || (provider != Provider::Azure && (left.space().is_empty() || right.space().is_empty()));
    if !same_space {
        let account = |space: &str| space.split('.').next().unwrap_or_default().to_owned();
        let same_account = account(left.space()) == account(right.space());
        if provider == Provider::R2 && same_account {
            return Comparison::Ambiguous(Fault::new(
                &OBJECTS_JURISDICTION,
                "the same bucket and key under two jurisdictions of one R2 account",
                "objects that are certainly different",
                "use the same R2 host in both URLs, or different keys",
            ));
        }
        return Comparison::Different;
    }
    if same_key { Comparison::Same } else { key_spelling() }
}

fn key_spelling() -> Comparison {
    Comparison::Ambiguous(Fault::new(
        &OBJECTS_KEY_SPELLING,
        "two keys that differ only in slashes, dots, letter case or the Unicode form of letters",
        "keys that the store certainly keeps apart",
        "give one of the objects another key",
    ))
}

fn compare_unknown(left: &ObjectIdentity, right: &ObjectIdentity) -> Comparison {
    let same_host = left.provider() == right.provider() && left.space() == right.space();
    if same_host && left.path() == right.path() {
        return Comparison::Ambiguous(Fault::new(
            &OBJECTS_QUERY,
            format!("the same path on {}, with another query", left.space()),
            "objects that are certainly different",
            "use URLs whose paths differ",
        ));
    }
    let (left_folds, right_folds) = (folds(left), folds(right));
    if left_folds.is_disjoint(&right_folds) {
        return Comparison::Different;
    }
    if same_host && fold(left.path(), true) == fold(right.path(), true) {
        return key_spelling();
    }
    let unknown: BTreeSet<&str> = [left, right]
        .into_iter()
        .filter(|identity| identity.provider() == Provider::Opaque)
        .map(ObjectIdentity::space)
        .collect();
    let unknown: Vec<&str> = unknown.into_iter().collect();
    Comparison::Ambiguous(Fault::new(
        &OBJECTS_HOST_UNKNOWN,
        format!(
            "the same key, and {} does not show which bucket it leads to",
            unknown.join(" or ")
        ),
        "objects that are certainly different",
        "use the store's own endpoint, declare the host as an endpoint alias in the profile, or use other keys",
    ))
}

/// The coarse forms of a key under which it may be found on another host.
fn folds(identity: &ObjectIdentity) -> BTreeSet<String> {
    let whole = fold(identity.path(), true);
    let mut folds = BTreeSet::new();
    if identity.provider() == Provider::Opaque
        && let Some((_, rest)) = whole.split_once('/')
    {
        // The first segment may be a bucket.
        folds.insert(rest.to_owned());
    }
    folds.insert(whole);
    folds
}

/// Drops what stores may not keep apart: Unicode form, runs of slashes, slashes at the ends, dots at the end of a
/// segment, and letter case where asked.
fn fold(key: &str, letter_case: bool) -> String {
    let normal: String = key.nfc().collect();
    let cased: String = if letter_case { normal.to_lowercase().nfc().collect() } else { normal };
    let segments: Vec<&str> = cased
        .split('/')
        .map(|segment| segment.trim_end_matches('.'))
        .filter(|segment| !segment.is_empty())
        .collect();
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding() {
        for (key, folded) in [
            ("/A//b./c/", "a/b/c"),
            ("e\u{301}", "\u{e9}"),
            ("E\u{301}", "\u{e9}"),
            ("...", ""),
            ("a/.../b", "a/b"),
        ] {
            assert_eq!(fold(key, true), folded, "{key}");
        }
        assert_eq!(fold("A", false), "A");
    }

    #[test]
    fn reasons() {
        let fault = |left: &str, right: &str| {
            let (left, right) = (ObjectUrl::parse(left).unwrap(), ObjectUrl::parse(right).unwrap());
            match compare(&left, &right, &EndpointAliases::default()) {
                Comparison::Ambiguous(fault) => fault,
                other => panic!("{other:?}"),
            }
        };
        let reason = |left: &str, right: &str| fault(left, right).code.name;
        let minio = "https://minio.example.net/b/k";
        assert_eq!(reason(minio, "https://minio.example.net/b/K"), "objects-key-spelling");
        assert_eq!(reason(minio, "https://minio.example.net/b/k?x=1"), "objects-query");
        assert_eq!(reason(minio, "https://other.example.net/b/k"), "objects-host-unknown");
        assert_eq!(reason(minio, "https://abc.s3.amazonaws.com/k"), "objects-host-unknown");
        // Which of them is unknown is told.
        assert_eq!(
            fault(minio, "https://abc.s3.amazonaws.com/k").found,
            "the same key, and minio.example.net does not show which bucket it leads to"
        );
        let r2 = "https://0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/abc/k";
        assert_eq!(reason(r2, &r2.replace(".r2", ".eu.r2")), "objects-jurisdiction");
    }
}
