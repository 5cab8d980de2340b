//! What the steps of the pod have in common on the command line: the request to stop, the way to the store, and the end,
//! which leaves its reason where the kubelet looks for it, a line for people, and the exit code.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use signal_hook::consts::{SIGINT, SIGTERM};

use super::neutral;
use super::terminal::{self, Tone};
use crate::execution::{Category, Reason, store};

/// Leaves the reason in the termination message and on standard error; returns the exit code.
pub(super) fn finish(reason: &Reason, termination_log: &Path) -> u8 {
    // The kubelet makes the file before the container starts; elsewhere there may be none, and the line is enough.
    let written = fs::write(termination_log, reason.to_json());
    say(reason);
    if let Err(error) = written {
        let place = termination_log.display();
        let text = format!("cannot write the termination message {place}: {error}");
        terminal::say(Tone::Warning, &neutral::lines(&text));
    }
    reason.category.exit_code()
}

/// Says how a step ended, for people.
pub(super) fn say(reason: &Reason) {
    let tone = if reason.category == Category::Succeeded { Tone::Note } else { Tone::Error };
    let step = reason.step.name();
    let mut text = format!("{step}: {}: {}", reason.category.name(), reason.sentence);
    if !reason.remedy.is_empty() {
        text.push('\n');
        text.push_str(&reason.remedy);
    }
    terminal::say(tone, &neutral::lines(&text));
}

/// A flag that becomes true when the kubelet, or a person, asks the step to stop.
pub(super) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The Job sets them from the profile's `proxy` and `ca_config_map`.
pub(super) fn store_settings() -> store::Settings {
    let text = |name: &str| {
        variable(name).and_then(|value| value.into_string().ok()).filter(|text| !text.is_empty())
    };
    store::Settings {
        certificate_file: variable("SSL_CERT_FILE")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        https_proxy: text("HTTPS_PROXY").or_else(|| text("https_proxy")),
        no_proxy: text("NO_PROXY").or_else(|| text("no_proxy")),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "proxies and certificates are named by the environment, as everywhere"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
