//! Brings a submission and its profile together: does the budget fit, is the runner's Secret allowed, is
//! the result apart from the inputs under the site's endpoint aliases?

use crate::profile::{Deadlines, Profile, Profiles};
use crate::submission::excerpt::excerpt;
use crate::submission::{
    Code, EndpointAliases, Fault, PinnedImage, Problem, Sha256Digest, Submission,
};

/// The profile does not allow the runner's Secret.
pub static RUNNER_SECRET_NOT_ALLOWED: Code = Code {
    name: "runner-secret-not-allowed",
    summary: "the profile does not allow this runner Secret",
    explanation: "`runner_secret_name` may only name a Secret that the profile lists in `allowed_runner_secrets`, since its keys become \
the environment of research code. `harness profiles NAME` lists them; whoever keeps the profiles can add one.",
};

/// The profile has no harness image.
pub static HARNESS_IMAGE_MISSING: Code = Code {
    name: "harness-image-missing",
    summary: "the profile names no harness image",
    explanation: "The steps `stage` and `publish` run from a small image with the harness binary, pinned by digest. A site's profile names \
it in `harness_image`; the built-in profiles get it from `--harness-image REGISTRY/REPOSITORY@sha256:DIGEST` or from `HARNESS_IMAGE`.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&RUNNER_SECRET_NOT_ALLOWED, &HARNESS_IMAGE_MISSING];

/// A submission with the profile that it fits into.
#[derive(Debug, Clone, Copy)]
pub struct Fitted<'a> {
    /// The submission.
    pub submission: &'a Submission,
    /// Its profile.
    pub profile: &'a Profile,
    /// The digest of the profile's content, which several names and digests are made of.
    pub profile_digest: Sha256Digest,
    /// The two deadlines and how long the URLs are needed.
    pub deadlines: Deadlines,
}

/// Finds the submission's profile and checks that the two fit; reports every problem.
pub fn fit<'a>(
    submission: &'a Submission,
    profiles: &'a Profiles,
) -> Result<Fitted<'a>, Vec<Problem>> {
    let profile = profiles
        .find(submission.resource_profile().as_str())
        .map_err(|fault| vec![fault.at("/resource_profile", None)])?;
    let mut problems = submission.check_distinct(&aliases(profile));
    if let Some(secret) = submission.runner_secret_name() {
        problems.extend(check_runner_secret(profile, secret.as_str()));
    }
    match profiles.times(profile, submission.max_seconds()) {
        Ok(deadlines) if problems.is_empty() => {
            Ok(Fitted { submission, profile, profile_digest: profile.digest(), deadlines })
        }
        Ok(_) => Err(problems),
        Err(fault) => {
            problems.push(fault.at("/search_budget/max_seconds", None));
            Err(problems)
        }
    }
}

impl Fitted<'_> {
    /// The image of `stage` and `publish`.
    pub fn harness_image(&self) -> Result<PinnedImage, Problem> {
        let missing = || {
            Fault::new(
                &HARNESS_IMAGE_MISSING,
                format!("no harness image in the profile `{}`", self.profile.name.as_str()),
                "an image pinned by digest",
                "give `--harness-image REGISTRY/REPOSITORY@sha256:DIGEST`, or set HARNESS_IMAGE",
            )
        };
        self.profile
            .harness_image
            .as_deref()
            .ok_or_else(missing)
            .and_then(PinnedImage::parse)
            .map_err(|fault| fault.at("/resource_profile", None))
    }
}

fn aliases(profile: &Profile) -> EndpointAliases {
    let pairs =
        profile.endpoint_aliases.iter().map(|(host, bucket)| (host.as_str(), bucket.as_str()));
    EndpointAliases::new(pairs).expect("the profile's parser has built the same aliases")
}

fn check_runner_secret(profile: &Profile, secret: &str) -> Option<Problem> {
    let allowed: Vec<&str> = profile
        .allowed_runner_secrets
        .iter()
        .map(super::super::profile::names::DnsSubdomain::as_str)
        .collect();
    if allowed.contains(&secret) {
        return None;
    }
    let list = if allowed.is_empty() { "no runner Secret".to_owned() } else { allowed.join(", ") };
    let fault = Fault::new(
        &RUNNER_SECRET_NOT_ALLOWED,
        excerpt(secret),
        format!("{list} (by the profile `{}`)", profile.name.as_str()),
        "choose an allowed one, or ask whoever keeps the profiles",
    );
    Some(fault.at("/runner_secret_name", None))
}
