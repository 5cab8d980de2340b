//! The arguments of the three steps in the pod. No URL and no secret is ever among them.

use super::fit::Fitted;
use super::names::Names;
use crate::submission::digest::PREFIX;

/// Where the harness image holds its binary.
pub(super) const HARNESS_BINARY: &str = "/usr/local/bin/harness";

/// Where `stage` puts the binary for `run`, whose image knows nothing of harness.
pub(super) const STAGED_BINARY: &str = "/harness/tools/harness";

/// Escapes a text for `command`, `args` and `env`, where the kubelet expands `$(NAME)`:
/// <https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/>.
pub(super) fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

struct Arguments(Vec<String>);

impl Arguments {
    fn of(step: &str) -> Self {
        Self(vec!["prediction".to_owned(), step.to_owned()])
    }

    /// `--name=value` in one word, since a value may begin with `-`.
    fn option(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0.push(literal(&format!("--{name}={value}")));
        self
    }

    fn options(self, name: &str, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.option(name, value),
            None => self,
        }
    }
}

/// What `stage` checks the fetched inputs against, and how long it may take.
pub(super) fn stage_arguments(fitted: &Fitted<'_>) -> Vec<String> {
    let allowances = &fitted.profile.allowances;
    expectations(Arguments::of("stage"), fitted)
        .option("pod-deadline", fitted.deadlines.pod)
        .option("staging", allowances.staging)
        .option("publication", allowances.publication)
        .option("inputs-size", fitted.profile.volumes.inputs.canonical())
        .0
}

/// What bounds `run`, and the submission's own command, if it has one.
pub(super) fn run_arguments(fitted: &Fitted<'_>) -> Vec<String> {
    let mut arguments = Arguments::of("run")
        .option("max-seconds", fitted.submission.max_seconds())
        .option("pod-deadline", fitted.deadlines.pod)
        .option("publication", fitted.profile.allowances.publication)
        .option("output-size", fitted.profile.volumes.output.canonical())
        .option("scratch-size", fitted.profile.volumes.scratch.canonical())
        .0;
    if let Some(command) = fitted.submission.runner_command() {
        arguments.push("--".to_owned());
        arguments.extend(command.iter().map(|word| literal(word)));
    }
    arguments
}

/// What `publish` writes into the evidence, and how large the output may be.
pub(super) fn publish_arguments(fitted: &Fitted<'_>, names: &Names) -> Vec<String> {
    let submission = fitted.submission;
    expectations(Arguments::of("publish"), fitted)
        .option("attempt-id", submission.attempt_id())
        .option("image", submission.image())
        .option("profile", submission.resource_profile())
        .option("profile-digest", fitted.profile_digest)
        .option("result-identity", names.result_identity)
        .option("submission-digest", names.submission_digest)
        .option("pod-deadline", fitted.deadlines.pod)
        .option("publication", fitted.profile.allowances.publication)
        .option("output-size", fitted.profile.volumes.output.canonical())
        .0
}

fn expectations(arguments: Arguments, fitted: &Fitted<'_>) -> Arguments {
    let submission = fitted.submission;
    arguments
        .option("mission-id", submission.mission_id())
        .option("evaluator-version", format!("{PREFIX}{}", submission.evaluator_version()))
        .option("max-seconds", submission.max_seconds())
        .option("mission-sha256", submission.mission().sha256)
        .option("snapshot-sha256", submission.snapshot().sha256)
        .options("resume-sha256", submission.resume().map(|resume| resume.sha256))
}
