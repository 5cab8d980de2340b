//! Ctrl-C and TERM: the first asks the command to stop at the next safe point, the second ends it at once.
//!
//! A signal that is ignored from before stays ignored, so that `nohup` keeps a submission alive when its
//! terminal goes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::cluster::guard;

/// A flag that becomes true at the first signal.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in guard::not_ignored([SIGINT, SIGTERM, SIGHUP]) {
        // Registered first, so that it acts on the second signal: the flag is still false at the first.
        flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .context("cannot handle signals")?;
    }
    Ok(stop)
}
