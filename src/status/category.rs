//! Every category of a diagnosis: its frozen name, what it means and what to do. Pure.

use serde::{Serialize, Serializer};

use crate::execution;

/// Why an experiment stands where it stands. The names are frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Category(&'static Entry);

/// One row of the table.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: &'static str,
    summary: &'static str,
    explanation: &'static str,
    remedy: &'static str,
}

impl Category {
    /// The frozen name, in kebab case.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// What it means, in one line.
    pub fn summary(self) -> &'static str {
        self.0.summary
    }

    /// The whole story, for `harness explain`.
    pub fn explanation(self) -> &'static str {
        self.0.explanation
    }

    /// What to do next; empty where nothing is to be done.
    pub fn remedy(self) -> &'static str {
        self.0.remedy
    }

    /// Every category, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        table::ALL.iter().copied()
    }

    /// The category of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|category| category.name() == name)
    }

    /// What a step of the pod says of its end.
    pub fn of_step(category: execution::Category) -> Self {
        use execution::Category as Step;
        match category {
            Step::Succeeded => Self::SUCCEEDED,
            Step::AlreadyStarted => Self::ALREADY_STARTED,
            Step::AlreadyPublished => Self::ALREADY_PUBLISHED,
            Step::DownloadFailed => Self::DOWNLOAD_FAILED,
            Step::DownloadRefused => Self::DOWNLOAD_REFUSED,
            Step::DigestMismatch => Self::DIGEST_MISMATCH,
            Step::IdentityMismatch => Self::IDENTITY_MISMATCH,
            Step::MissionInvalid => Self::MISSION_INVALID,
            Step::ArchiveRefused => Self::ARCHIVE_REFUSED,
            Step::InputsTooLarge => Self::INPUTS_TOO_LARGE,
            Step::OutOfTime => Self::OUT_OF_TIME,
            Step::NoRunner => Self::NO_RUNNER,
            Step::RunnerFailed => Self::RUNNER_FAILED,
            Step::RunnerKilled => Self::RUNNER_KILLED,
            Step::BudgetExceeded => Self::BUDGET_EXCEEDED,
            Step::OutOfMemory => Self::OUT_OF_MEMORY,
            Step::LimitExceeded => Self::LIMIT_EXCEEDED,
            Step::NeverStarted => Self::NEVER_STARTED,
            Step::Stopped => Self::STOPPED,
            Step::PublicationFailed => Self::PUBLICATION_FAILED,
            Step::Environment => Self::ENVIRONMENT,
        }
    }
}

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Category {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Category".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::all().map(Self::name).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

macro_rules! categories {
    ($($id:ident = $name:literal, $summary:literal, $explanation:literal, $remedy:literal;)*) => {
        impl Category {
            $(
                #[doc = $summary]
                pub const $id: Self = Self(&Entry {
                    name: $name, summary: $summary, explanation: $explanation, remedy: $remedy,
                });
            )*
        }
        /// In the order of the documentation.
        pub(super) const ALL: &[Category] = &[$(Category::$id),*];
    };
}

mod table;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_stories_are_told_apart() {
        let mut names = BTreeSet::new();
        for category in Category::all() {
            assert!(names.insert(category.name()), "{}", category.name());
            assert_eq!(Category::named(category.name()), Some(category));
        }
        assert!(names.len() >= 50, "{}", names.len());
    }

    /// A script that knows the names of the steps knows these.
    #[test]
    fn what_steps_say_keeps_its_name() {
        for step in execution::Category::ALL {
            assert_eq!(Category::of_step(step).name(), step.name());
        }
    }
}
