//! Where something stands in an object, as kubectl's users write it.

use std::fmt;

use serde::{Serialize, Serializer};

/// A path such as `spec.template.spec.containers[run].args[3]`; elements with a name go by it.
///
/// Names of fields, keys and elements may come from the live object, values never do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// The whole object, shown as `.`.
    pub(super) fn root() -> Self {
        Self(String::new())
    }

    /// The field `name` of the object here; a name that is no plain word stands in brackets.
    pub(super) fn field(&self, name: &str) -> Self {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return self.item(name);
        }
        let dot = if self.0.is_empty() { "" } else { "." };
        Self(format!("{}{dot}{name}", self.0))
    }

    /// The element `key` of the list or map here.
    pub(super) fn item(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
