//! The end of a step of the pod: its reason where the kubelet looks for it, a line for people, and the exit code.

use std::fs;
use std::path::Path;

use super::neutral;
use super::terminal::{self, Tone};
use crate::execution::{Category, Reason};

/// Leaves the reason in the termination message and on standard error; returns the exit code.
pub(super) fn finish(reason: &Reason, termination_log: &Path) -> u8 {
    // The kubelet makes the file before the container starts; elsewhere there may be none, and the line is enough.
    let written = fs::write(termination_log, reason.to_json());
    let tone = if reason.category == Category::Succeeded { Tone::Note } else { Tone::Error };
    let step = reason.step.name();
    let mut text = format!("{step}: {}: {}", reason.category.name(), reason.sentence);
    if !reason.remedy.is_empty() {
        text.push('\n');
        text.push_str(&reason.remedy);
    }
    terminal::say(tone, &neutral::lines(&text));
    if let Err(error) = written {
        let place = termination_log.display();
        let text = format!("cannot write the termination message {place}: {error}");
        terminal::say(Tone::Warning, &neutral::lines(&text));
    }
    reason.category.exit_code()
}
