//! Waiting for a condition, bounded; and names that nobody else has.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `condition` holds, looking every 20 ms; false when `patience` has run out before.
pub fn until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() >= patience {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Sixteen hexadecimal digits from the seed that the standard library takes from the operating system.
pub(crate) fn random_name() -> String {
    format!("{:016x}", random_number())
}

pub(crate) fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}
