//! Requests that are read and kept back until the test lets them go.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};

/// How long a test may wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// The test's end of a hold; a request that is never released never reaches the API server.
#[derive(Debug)]
pub struct Held {
    gate: Gate,
}

/// The proxy's end of a hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    read: usize,
    open: bool,
    answered: Vec<Option<u16>>,
    abandoned: bool,
}

impl Held {
    pub(super) fn new(gate: Gate) -> Self {
        Self { gate }
    }

    /// Waits, up to a minute, until a request was read and is being held.
    pub fn wait_until_read(&self) -> Result<()> {
        if !self.gate.wait(Some(PATIENCE), |state| state.read > 0) {
            bail!("no request to hold came within {} s", PATIENCE.as_secs());
        }
        Ok(())
    }

    /// Forwards what is held, and whatever fits later, without waiting for the answers.
    pub fn release(&self) {
        self.gate.change(|state| state.open = true);
    }

    /// Forwards what is held and waits, up to a minute, for the API server's answer to the first request.
    pub fn release_and_wait(&self) -> Result<u16> {
        self.release();
        if !self.gate.wait(Some(PATIENCE), |state| !state.answered.is_empty()) {
            bail!("no answer to a released request came within {} s", PATIENCE.as_secs());
        }
        match self.gate.lock().answered.first() {
            Some(Some(status)) => Ok(*status),
            _ => bail!("the API server did not answer the released request"),
        }
    }
}

impl Gate {
    /// Holds the calling connection; false when the proxy ended first.
    pub(super) fn pass(&self) -> bool {
        self.change(|state| state.read += 1);
        self.wait(None, |state| state.open || state.abandoned);
        self.lock().open
    }

    pub(super) fn answered(&self, status: Option<u16>) {
        self.change(|state| state.answered.push(status));
    }

    pub(super) fn abandon(&self) {
        self.change(|state| state.abandoned = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.0.1.notify_all();
    }

    fn wait(&self, patience: Option<Duration>, condition: impl Fn(&State) -> bool) -> bool {
        let lock = self.lock();
        let waits = |state: &mut State| !condition(state);
        let Some(patience) = patience else {
            drop(self.0.1.wait_while(lock, waits));
            return true;
        };
        let result = self.0.1.wait_timeout_while(lock, patience, waits);
        !result.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
