//! The profiles that a call knows: the embedded ones and a site's own.
//!
//! Reads no directory; whoever does hands over each file's name and bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::names::quoted;
use super::{Deadlines, Profile, ProfileName, references};
use crate::submission::problem::{Code, Fault, Problem};

/// Two files of a site have the same profile.
pub(super) static DUPLICATE_PROFILE: Code = Code {
    name: "profile-name-duplicate",
    summary: "two files of the site give a profile of the same name",
    explanation: "Which of the two counts would depend on the order of the files. A site's profile may replace an embedded \
one, but each name stands in one file only.",
};

/// A submission names a profile that this call does not know.
pub(super) static UNKNOWN_PROFILE: Code = Code {
    name: "profile-unknown",
    summary: "the submission names a profile that this call does not know",
    explanation: "`standard-v1` and `long-v1` are embedded; a site's own profiles come from the folder that `--profiles` or \
`HARNESS_PROFILES` names. `harness profiles` lists what a call knows.",
};

/// The embedded profiles, each the name in its file and the text of it, in the order of the names.
const EMBEDDED: [(&str, &str); 2] = [
    ("long-v1", include_str!("../../manifests/profiles/long-v1.yaml")),
    ("standard-v1", include_str!("../../manifests/profiles/standard-v1.yaml")),
];

/// An embedded profile, parsed when it is first asked for: most calls use one of them, and to parse one takes
/// longer than everything that is done with a submission.
#[derive(Debug, Clone)]
struct Embedded {
    name: &'static str,
    text: &'static str,
    parsed: OnceLock<Profile>,
}

impl Embedded {
    fn profile(&self, harness_image: Option<&String>) -> &Profile {
        self.parsed.get_or_init(|| {
            let mut profile =
                Profile::parse(self.text.as_bytes()).expect("an embedded profile is good");
            profile.harness_image = profile.harness_image.or_else(|| harness_image.cloned());
            profile
        })
    }
}

/// Profiles by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    /// Those that no profile of the same name replaces.
    embedded: Vec<Embedded>,
    /// The site's own.
    by_name: BTreeMap<ProfileName, Profile>,
    /// The file that each of the site's own profiles came from.
    files: BTreeMap<ProfileName, String>,
    /// For profiles that name none.
    harness_image: Option<String>,
}

impl Profiles {
    /// The embedded profiles: `standard-v1` and `long-v1`, without a harness image.
    pub fn embedded() -> Self {
        let embedded =
            EMBEDDED.map(|(name, text)| Embedded { name, text, parsed: OnceLock::new() }).into();
        Self { embedded, by_name: BTreeMap::new(), files: BTreeMap::new(), harness_image: None }
    }

    /// Adds a profile, in place of one of the same name.
    pub fn add(&mut self, profile: Profile) {
        self.embedded.retain(|embedded| embedded.name != profile.name.as_str());
        self.by_name.insert(profile.name.clone(), profile);
    }

    /// Parses and adds a site's file; `file` names it in messages.
    ///
    /// A site's profile replaces an embedded one; a name that another file gave is a problem.
    pub fn add_file(&mut self, file: &str, yaml: &[u8]) -> Result<(), Vec<Problem>> {
        let profile = Profile::parse(yaml)?;
        if let Some(earlier) = self.files.get(&profile.name) {
            let fault = Fault::new(
                &DUPLICATE_PROFILE,
                format!("profile `{}`, which {} gives as well", profile.name, quoted(earlier)),
                "one file for each profile",
                "remove or rename one of the two",
            );
            return Err(vec![fault.at("/name", None)]);
        }
        self.files.insert(profile.name.clone(), file.to_owned());
        self.add(profile);
        Ok(())
    }

    /// The profile of this name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        let embedded = self.embedded.iter().find(|embedded| embedded.name == name);
        match embedded {
            Some(embedded) => Some(embedded.profile(self.harness_image.as_ref())),
            None => self.by_name.get(name),
        }
    }

    /// The profile of this name, or the fault that lists the known ones.
    pub fn find(&self, name: &str) -> Result<&Profile, Fault> {
        self.get(name).ok_or_else(|| {
            Fault::new(
                &UNKNOWN_PROFILE,
                format!("the profile {}", quoted(name)),
                listed(self.iter()),
                "correct the name, or give the site's folder with `--profiles`",
            )
        })
    }

    /// As [`Profile::times`]; the fault also names the profiles that would fit.
    pub fn times(&self, profile: &Profile, budget_seconds: u32) -> Result<Deadlines, Fault> {
        profile.times(budget_seconds).map_err(|mut fault| {
            let fitting = self.that_fit(budget_seconds);
            if fitting.is_empty() {
                fault.remedy = "lower the budget; no known profile fits it".into();
            } else {
                let names = listed(fitting.into_iter());
                fault.remedy =
                    format!("lower the budget, or choose a profile that fits: {names}").into();
            }
            fault
        })
    }

    /// All profiles, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        let embedded =
            self.embedded.iter().map(|embedded| embedded.profile(self.harness_image.as_ref()));
        let all: BTreeMap<_, _> = embedded
            .chain(self.by_name.values())
            .map(|profile| (profile.name.as_str(), profile))
            .collect();
        all.into_values()
    }

    /// Whether the profile of this name came from a site's file, and from which.
    pub fn file_of(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// Gives every profile without a harness image this one, which must be pinned by digest.
    pub fn with_harness_image(mut self, image: &str) -> Result<Self, Fault> {
        let image = references::harness_image(image)?;
        let parsed = self.embedded.iter_mut().filter_map(|embedded| embedded.parsed.get_mut());
        for profile in parsed.chain(self.by_name.values_mut()) {
            profile.harness_image.get_or_insert_with(|| image.clone());
        }
        self.harness_image.get_or_insert(image);
        Ok(self)
    }

    /// The profiles whose deadline has room for a search of `budget_seconds`, the shortest deadline first.
    pub fn that_fit(&self, budget_seconds: u32) -> Vec<&Profile> {
        let fitting: BTreeSet<_> = self
            .iter()
            .filter(|profile| profile.times(budget_seconds).is_ok())
            .map(|profile| (profile.allowances.active_deadline, &profile.name))
            .collect();
        fitting.into_iter().filter_map(|(_, name)| self.get(name.as_str())).collect()
    }
}

fn listed<'a>(profiles: impl Iterator<Item = &'a Profile>) -> String {
    profiles.map(|profile| format!("`{}`", profile.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_profile_has_the_name_that_it_is_found_by() {
        let profiles = Profiles::embedded();
        for (name, _) in EMBEDDED {
            assert_eq!(profiles.get(name).map(|profile| profile.name.as_str()), Some(name));
        }
    }
}
