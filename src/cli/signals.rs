//! Ctrl-C and TERM: the first asks the command to stop at the next safe point, the second ends it at once.
//!
//! A signal that is ignored from before stays ignored, so that `nohup` keeps a submission alive when its
//! terminal goes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use super::terminal::{self, Tone};
use crate::cluster::guard;

/// What is said by commands that send changes and print receipts.
pub(super) const RECEIPTS: &str =
    "stopping after the answers that are under way; a second signal ends at once, without receipts";

/// A flag that becomes true at the first signal, at which `first` is said: an answer may take seconds, and silence would
/// invite the second signal, which costs what the first would still give.
pub(super) fn stop_flag(first: &'static str) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let handled: Vec<i32> = guard::not_ignored([SIGINT, SIGTERM, SIGHUP]).collect();
    for &signal in &handled {
        // Registered first, so that it acts on the second signal: the flag is still false at the first.
        flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .context("cannot handle signals")?;
    }
    tell_of_the_first(Signals::new(&handled).context("cannot handle signals")?, first)?;
    Ok(stop)
}

fn tell_of_the_first(mut signals: Signals, first: &'static str) -> Result<()> {
    let tell = move || {
        if signals.forever().next().is_some() {
            terminal::say(Tone::Note, first);
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(tell)
        .context("cannot start a thread")?;
    Ok(())
}

/// A flag that becomes true at the first signal, for commands that only look: nobody has to hear more of it.
pub(super) fn stop_at_once() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in guard::not_ignored([SIGINT, SIGTERM, SIGHUP]) {
        flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .context("cannot handle signals")?;
    }
    Ok(stop)
}
