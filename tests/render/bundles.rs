//! Renders submissions and holds the ones that the goldens pin.

use std::sync::LazyLock;

use harness::profile::{Profile, Profiles};
use harness::render::{self, Bundle};
use harness::submission::{Namespace, Submission};

use crate::form::{Form, HARNESS_IMAGE};

/// A site's profile with a GPU, a queue, restarts, caches, authorities, a proxy and aliases.
pub(crate) const SITE: &str = include_str!("site.yaml");

pub(crate) fn profiles(site: &str) -> Profiles {
    let mut profiles = Profiles::embedded();
    for builtin in ["standard-v1", "long-v1"] {
        let text = String::from_utf8(profile_text(builtin)).unwrap();
        let text = format!("{text}\nallowed_runner_secrets: [model-hub]\n");
        profiles.add(Profile::parse(text.as_bytes()).unwrap());
    }
    profiles
        .add(Profile::parse(site.as_bytes()).unwrap_or_else(|found| panic!("{found:#?}\n{site}")));
    profiles.with_harness_image(HARNESS_IMAGE).unwrap()
}

pub(crate) fn has(form: &Form, name: &str) -> bool {
    form.fields().iter().any(|(field, _)| field == name)
}

fn profile_text(name: &str) -> Vec<u8> {
    let path = format!("{}/manifests/profiles/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

pub(crate) fn parse(form: &Form) -> Submission {
    let json = form.json();
    Submission::parse(json.as_bytes()).unwrap_or_else(|found| panic!("{found:#?}\n{json}"))
}

pub(crate) fn render_with(form: &Form, profiles: &Profiles, namespace: &str) -> Bundle {
    let submission = parse(form);
    let fitted = render::fit(&submission, profiles).unwrap_or_else(|found| panic!("{found:#?}"));
    render::render(&fitted, &Namespace::parse(namespace).unwrap()).unwrap()
}

pub(crate) fn bundle(form: &Form) -> Bundle {
    static PROFILES: LazyLock<Profiles> = LazyLock::new(|| profiles(SITE));
    render_with(form, &PROFILES, "research")
}

/// The submissions of the goldens, each with every profile.
pub(crate) fn all() -> Vec<(String, Form)> {
    let mut all = Vec::new();
    for profile in ["standard-v1", "long-v1", "site-gpu"] {
        for (name, form) in [("minimal", Form::minimal()), ("full", Form::full())] {
            all.push((format!("{name}-{profile}"), form.with("resource_profile", profile)));
        }
    }
    all
}
