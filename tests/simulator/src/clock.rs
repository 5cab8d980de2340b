//! The clock of one process: virtual, and perhaps wrong.

use std::sync::Arc;
use std::time::Duration;

use harness::clock::Clock;
use jiff::{SignedDuration, Timestamp};

use crate::stage::{Ask, Stage};

/// When every schedule begins.
pub const START: &str = "2026-06-01T00:00:00Z";

/// The time of the API server after `passed`.
pub fn at(passed: Duration) -> Timestamp {
    START.parse::<Timestamp>().expect("a point in time") + passed
}

/// The clock of one process.
pub struct ProcessClock {
    /// Who lets time pass.
    pub stage: Arc<Stage>,
    /// Whose clock it is.
    pub process: usize,
    /// How wrong it is.
    pub skew: SignedDuration,
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        at(self.stage.now()) + self.skew
    }

    fn boottime(&self) -> Duration {
        self.stage.now()
    }

    fn sleep(&self, duration: Duration) {
        self.stage.ask(self.process, Ask::Sleep(self.stage.now() + duration));
    }
}
