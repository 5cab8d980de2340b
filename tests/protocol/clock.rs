//! A clock that moves only when somebody waits or a test says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness::clock::Clock;
use jiff::Timestamp;

/// Where every test begins.
pub(crate) const START: &str = "2026-06-01T00:00:00Z";

/// The clock of the submitter and of the simulated API server.
#[derive(Clone, Default)]
pub(crate) struct VirtualClock(Arc<Mutex<Duration>>);

impl VirtualClock {
    /// Time passes.
    pub(crate) fn pass(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        START.parse::<Timestamp>().unwrap() + *self.0.lock().unwrap()
    }

    fn boottime(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, duration: Duration) {
        self.pass(duration);
    }
}
