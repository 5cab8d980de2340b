//! `harness prediction stage`: the step that fetches and checks the inputs, in the harness image.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::args::StageArgs;
use super::terminal::{self, Tone};
use super::{Exit, step};
use crate::clock::{Clock, SystemClock};
use crate::execution::stage::{self, Settings};
use crate::execution::{Expectation, Places, store};

/// Stages; returns the exit code of the step.
pub(super) fn run(options: &StageArgs) -> u8 {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            terminal::say(Tone::Error, &format!("cannot handle signals: {error}"));
            return Exit::Usage.number();
        }
    }
    let settings = Settings {
        places: Places::below(&options.root),
        expectation: Expectation {
            mission_id: options.mission_id.clone(),
            evaluator_version: options.evaluator_version,
            max_seconds: options.max_seconds,
            mission_sha256: options.mission_sha256,
            snapshot_sha256: options.snapshot_sha256,
            resume_sha256: options.resume_sha256,
        },
        pod_deadline: options.pod_deadline,
        staging: options.staging,
        publication: options.publication,
        inputs_bytes: options.inputs_size,
        store: store_settings(),
        binary: binary(),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    step::finish(&stage::run(&settings, &clock, &stop), &options.termination_log)
}

/// The Job sets them from the profile's `proxy` and `ca_config_map`.
pub(super) fn store_settings() -> store::Settings {
    let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    store::Settings {
        certificate_file: variable("SSL_CERT_FILE")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        https_proxy: text("HTTPS_PROXY").or_else(|| text("https_proxy")),
        no_proxy: text("NO_PROXY").or_else(|| text("no_proxy")),
    }
}

/// What runs here, wherever it lies and whatever became of its name.
fn binary() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}

#[expect(
    clippy::disallowed_methods,
    reason = "proxies and certificates are named by the environment, as everywhere"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
