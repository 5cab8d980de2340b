//! `harness prediction stage`: the step that fetches and checks the inputs, in the harness image.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::StageArgs;
use super::terminal::{self, Tone};
use super::{Exit, step};
use crate::clock::{Clock, SystemClock};
use crate::execution::pod_start::Begun;
use crate::execution::stage::{self, Settings};
use crate::execution::{Places, Urls};

/// Stages; returns the exit code of the step.
pub(super) fn run(options: &StageArgs) -> u8 {
    let stop = match step::stop_flag() {
        Ok(stop) => stop,
        Err(error) => {
            terminal::say(Tone::Error, &format!("cannot handle signals: {error}"));
            return Exit::Usage.number();
        }
    };
    let places = Places::below(&options.root);
    let settings = Settings {
        urls: Urls::Files(places.urls()),
        begun: Begun::WithThePod,
        places,
        expectation: options.expectation.expectation(),
        pod_deadline: options.pod_deadline,
        staging: options.staging,
        publication: options.publication,
        inputs_bytes: options.inputs_size,
        store: step::store_settings(),
        binary: Some(binary()),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    step::finish(&stage::run(&settings, &clock, &stop), &options.termination_log)
}

/// What runs here, wherever it lies and whatever became of its name.
pub(super) fn binary() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}
