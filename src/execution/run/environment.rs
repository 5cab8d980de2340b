//! The variables that the runner finds beside its image's own. Pure. `docs/runner.md` has them all.

use std::ffi::OsString;
use std::time::Duration;

use jiff::Timestamp;

use super::start::TEMPORARY;
use crate::execution::Places;

/// The user's name where programs ask for one: an image rarely knows the number that the pod runs as.
const USER_NAME: &str = "harness";

/// A variable that is set, or removed.
pub(super) type Variable = (&'static str, Option<OsString>);

/// What is set, and what is taken away lest an image's own be taken for it.
pub(super) fn variables(
    places: &Places,
    has_resume: bool,
    max_seconds: u32,
    start: Timestamp,
) -> Vec<Variable> {
    let scratch = places.scratch();
    let deadline = start + Duration::from_secs(u64::from(max_seconds));
    let set = |name, value: OsString| (name, Some(value));
    vec![
        set("HARNESS_MISSION", places.mission().into()),
        set("HARNESS_SNAPSHOT", places.snapshot().into()),
        ("HARNESS_RESUME", has_resume.then(|| places.resume().into())),
        set("HARNESS_OUTPUT", places.output().into()),
        set("HARNESS_SCRATCH", scratch.clone().into()),
        set("HARNESS_BUDGET_SECONDS", max_seconds.to_string().into()),
        set("HARNESS_DEADLINE", format!("{deadline:.0}").into()),
        set("HOME", scratch.clone().into()),
        set("USER", USER_NAME.into()),
        set("LOGNAME", USER_NAME.into()),
        set("TMPDIR", scratch.join(TEMPORARY).into()),
        set("XDG_CACHE_HOME", scratch.join(".cache").into()),
        // It names the folder that the process was started in, which is not the container's any more.
        set("PWD", scratch.into()),
        ("OLDPWD", None),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_variables_are_the_documented_ones() {
        let start: Timestamp = "2026-01-01T10:00:00.75Z".parse().unwrap();
        let places = Places::below(Path::new("/harness"));
        let text = |variables: Vec<Variable>| {
            variables
                .into_iter()
                .map(|(name, value)| match value {
                    Some(value) => format!("{name}={}", value.to_str().unwrap()),
                    None => format!("{name} removed"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            text(variables(&places, false, 600, start)),
            [
                "HARNESS_MISSION=/harness/inputs/mission.json",
                "HARNESS_SNAPSHOT=/harness/inputs/snapshot",
                "HARNESS_RESUME removed",
                "HARNESS_OUTPUT=/harness/output",
                "HARNESS_SCRATCH=/harness/scratch",
                "HARNESS_BUDGET_SECONDS=600",
                "HARNESS_DEADLINE=2026-01-01T10:10:00Z",
                "HOME=/harness/scratch",
                "USER=harness",
                "LOGNAME=harness",
                "TMPDIR=/harness/scratch/tmp",
                "XDG_CACHE_HOME=/harness/scratch/.cache",
                "PWD=/harness/scratch",
                "OLDPWD removed",
            ]
        );
        let with_resume = text(variables(&places, true, 600, start));
        assert!(with_resume.contains(&"HARNESS_RESUME=/harness/inputs/resume".to_owned()));
    }
}
