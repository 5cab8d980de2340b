//! Time: the only file that knows what time it is, and the only one that waits.
//!
//! Everything else takes a [`Clock`], so that tests decide how time passes.

use std::time::Duration;

use jiff::Timestamp;

/// A source of time that can also wait.
pub trait Clock: Send + Sync {
    /// The wall clock, which a person or a time server may set at any moment.
    fn now(&self) -> Timestamp;

    /// Time since the machine started, with the time that it was suspended; it never runs backwards.
    fn boottime(&self) -> Duration;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration);
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks for the time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn boottime(&self) -> Duration {
        let time = rustix::time::clock_gettime(BOOTTIME);
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanoseconds)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that waits")]
    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Boottime;

/// macOS counts suspended time in its monotonic clock: `man 3 clock_gettime`.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_takes_its_time() {
        let before = SystemClock.boottime();
        SystemClock.sleep(Duration::from_millis(5));
        assert!(SystemClock.boottime() >= before + Duration::from_millis(5));
    }

    #[test]
    fn the_wall_clock_is_set() {
        let first_release = "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap();
        assert!(SystemClock.now() > first_release);
    }
}
