//! Names: one newtype per kind, with no conversion between kinds.
//!
//! The rules are Kubernetes' own
//! ([object names](https://kubernetes.io/docs/concepts/overview/working-with-objects/names/)), checked here
//! so that nothing is found out only by the API server.

use std::fmt;

use super::excerpt::{excerpt, is_printable};
use super::problem::{Code, Fault};

/// A DNS label is misspelt.
pub static INVALID_LABEL: Code = Code {
    name: "name-not-dns-label",
    summary: "a name is no DNS label",
    explanation: "A DNS label (RFC 1123) has 1 to 63 characters, all of them lower-case letters, digits or `-`, and starts \
and ends with a letter or digit. Kubernetes names namespaces so, and an `attempt_id` has to stand in object paths, \
names and labels without being changed.",
};

/// A DNS subdomain is misspelt.
pub static INVALID_SUBDOMAIN: Code = Code {
    name: "name-not-dns-subdomain",
    summary: "a name is no DNS subdomain",
    explanation: "A DNS subdomain (RFC 1123) has 1 to 253 characters: DNS labels with dots between them. \
Kubernetes names Secrets so.",
};

/// A mission id holds characters that it may not hold.
pub static INVALID_MISSION_ID: Code = Code {
    name: "mission-id-invalid",
    summary: "a mission id is empty, too long or holds characters that do not show",
    explanation: "A mission id has 1 to 256 printable characters, without a space at either end and without control, \
bidirectional or zero-width characters, which would make two different missions look alike to a reviewer. \
It must be equal to the `mission_id` in the mission document.",
};

/// A namespace UID is misspelt.
pub static INVALID_UID: Code = Code {
    name: "uid-invalid",
    summary: "a UID is no UUID",
    explanation: "Kubernetes gives every object a UID, a UUID in lower case such as \
`7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11`. `kubectl get namespace NAME -o jsonpath={.metadata.uid}` prints a namespace's.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] =
    &[&INVALID_LABEL, &INVALID_SUBDOMAIN, &INVALID_MISSION_ID, &INVALID_UID];

macro_rules! name_type {
    ($(#[$documentation:meta])* $name:ident, $check:path) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and takes it over unchanged.
            pub fn parse(text: &str) -> Result<Self, Fault> {
                $check(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// The operator's name for one attempt: a DNS label.
    AttemptId,
    check_label
);
name_type!(
    /// A Kubernetes namespace: a DNS label.
    Namespace,
    check_label
);
name_type!(
    /// The name of a resource profile: a DNS label.
    ProfileName,
    check_label
);
name_type!(
    /// The name of a Secret: a DNS subdomain.
    SecretName,
    check_subdomain
);
name_type!(
    /// The mission's own name: 1 to 256 printable characters.
    MissionId,
    check_mission_id
);
name_type!(
    /// The UID of a Kubernetes object.
    Uid,
    check_uid
);

/// Checks a DNS label ([RFC 1123](https://www.rfc-editor.org/rfc/rfc1123#section-2.1), lower case).
pub fn check_label(text: &str) -> Result<(), Fault> {
    let fault = |found: String| {
        Err(Fault::new(
            &INVALID_LABEL,
            found,
            "1 to 63 lower-case letters, digits or `-`, with a letter or digit at both ends",
            "choose such a name",
        ))
    };
    match label_error(text) {
        Some(error) => fault(error),
        None => Ok(()),
    }
}

/// Checks a DNS subdomain ([RFC 1123](https://www.rfc-editor.org/rfc/rfc1123#section-2.1), lower case).
pub fn check_subdomain(text: &str) -> Result<(), Fault> {
    let error = if text.len() > 253 {
        Some(format!("{} bytes", text.len()))
    } else {
        text.split('.').find_map(label_error)
    };
    match error {
        None => Ok(()),
        Some(found) => Err(Fault::new(
            &INVALID_SUBDOMAIN,
            found,
            "1 to 253 lower-case letters, digits, `-` or `.`, with 1 to 63 characters and a letter or digit at both ends of each part",
            "choose such a name",
        )),
    }
}

fn label_error(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("an empty name".to_owned());
    }
    if text.len() > 63 {
        return Some(format!("{} bytes", text.len()));
    }
    if let Some(odd) = text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        return Some(format!("{} in {}", excerpt(&odd.to_string()), excerpt(text)));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some(format!("a `-` at an end of {}", excerpt(text)));
    }
    None
}

fn check_mission_id(text: &str) -> Result<(), Fault> {
    let characters = text.chars().count();
    let found = if text.is_empty() {
        "an empty text".to_owned()
    } else if characters > 256 {
        format!("{characters} characters")
    } else if text.trim() != text {
        format!("a space at an end of {}", excerpt(text))
    } else if let Some(odd) = text.chars().find(|c| !is_printable(*c)) {
        format!("the character U+{:04X}, which does not show", u32::from(odd))
    } else {
        return Ok(());
    };
    Err(Fault::new(
        &INVALID_MISSION_ID,
        found,
        "1 to 256 printable characters without a space at either end",
        "write the mission id as it stands in the mission document",
    ))
}

fn check_uid(text: &str) -> Result<(), Fault> {
    let digits = |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    if lengths == [8, 4, 4, 4, 12] && parts.into_iter().all(digits) {
        return Ok(());
    }
    Err(Fault::new(
        &INVALID_UID,
        excerpt(text),
        "a UUID in lower case, such as `7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11`",
        "copy it from `kubectl get namespace NAME -o jsonpath={.metadata.uid}`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for good in ["a", "0", "a-b", "a1", &"x".repeat(63)] {
            assert!(AttemptId::parse(good).is_ok(), "{good}");
        }
        let wrong = [
            "",
            "-a",
            "a-",
            "A",
            "a_b",
            "a.b",
            "a b",
            " a",
            "a\n",
            "ä",
            "a/b",
            "é".repeat(63).as_str(),
            "a\u{200b}",
            &"x".repeat(64),
        ]
        .map(std::borrow::ToOwned::to_owned);
        for text in wrong {
            assert_eq!(
                AttemptId::parse(&text).unwrap_err().code.name,
                "name-not-dns-label",
                "{text:?}"
            );
        }
    }

    #[test]
    fn subdomains() {
        for good in ["a", "a.b", "a-1.b2", &["x".repeat(63).as_str(); 3].join(".")] {
            assert!(SecretName::parse(good).is_ok(), "{good}");
        }
        for wrong in ["", ".", "a..b", "a.", ".a", "a.-b", "A", &"x".repeat(64), &"a.".repeat(127)]
        {
            assert!(SecretName::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn mission_ids() {
        for good in ["m", "Mission 7 / α: β", "🚀", &"x".repeat(256)] {
            assert!(MissionId::parse(good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            " m",
            "m ",
            "a\tb",
            "a\u{1b}[0m",
            "a\u{202e}b",
            "a\u{200d}b",
            "a\u{a0}\u{a0}",
            &"x".repeat(257),
        ] {
            assert!(MissionId::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn uids() {
        assert!(Uid::parse("7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11").is_ok());
        for wrong in [
            "",
            "x",
            "7F6A2F0C-52a4-4c5e-9d2e-0d4f1f6f7a11",
            "7f6a2f0c52a44c5e9d2e0d4f1f6f7a11",
            "7f6a2f0c-52a4-4c5e-9d2e-0d4f1f6f7a11-",
        ] {
            assert!(Uid::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
