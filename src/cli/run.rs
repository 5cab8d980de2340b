//! `harness prediction run`: the step that starts the runner, in the submission's image.

use super::args::RunArgs;
use super::terminal::{self, Tone};
use super::{Exit, step};
use crate::clock::SystemClock;
use crate::execution::Places;
use crate::execution::run::{self, Settings, Sinks};

/// Runs the runner to its end; returns the exit code of the step.
pub(super) fn run(options: &RunArgs) -> u8 {
    let sinks = match terminal::raw_streams() {
        Ok((stdout, stderr)) => Sinks { stdout, stderr },
        Err(error) => {
            terminal::say(Tone::Error, &format!("standard output and error are needed: {error}"));
            return Exit::Usage.number();
        }
    };
    let settings = Settings {
        places: Places::below(&options.root),
        max_seconds: options.max_seconds,
        pod_deadline: options.pod_deadline,
        publication: options.publication,
        output_bytes: options.output_size,
        scratch_bytes: options.scratch_size,
        command: options.command.clone(),
        image_command: variable("HARNESS_RUNNER"),
        path: variable("PATH"),
    };
    step::finish(&run::run(&settings, sinks, &SystemClock), &options.termination_log)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment of the image is part of the runner's contract"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
