//! The progress bar of a call with many submissions; only on a terminal, and never in the way of a receipt.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, or nothing where nobody would see it.
pub(super) struct Progress(ProgressBar);

/// Fewer submissions than this are over before a bar helps.
const WORTH_A_BAR: usize = 2;

impl Progress {
    /// Starts the bar; `indicatif` hides it where standard error is no terminal.
    pub(super) fn start(length: usize) -> Self {
        if length < WORTH_A_BAR {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} submissions, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Counts one more, and hides the bar while `print` writes.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
        self.0.inc(1);
    }
}

/// A spinner on standard error while something is waited for, or nothing where nobody would see it.
pub(super) struct Spinner(ProgressBar);

impl Spinner {
    /// Starts it.
    pub(super) fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Whether nobody sees it, so that lines have to say the same.
    pub(super) fn is_hidden(&self) -> bool {
        self.0.is_hidden()
    }

    /// Shows what is going on.
    pub(super) fn say(&self, text: String) {
        self.0.set_message(text);
    }

    /// Hides it while `print` writes.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
