//! Chance that can be had again: the order of the rows and the time between a moment and its blow.

use std::time::Duration;

/// The variable with the seed of another run.
const VARIABLE: &str = "HARNESS_FIRE_SEED";
const USUAL: u64 = 0x6669_7265;

/// A source of numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Seed {
    begun_with: u64,
    state: u64,
}

impl Seed {
    /// The one in `HARNESS_FIRE_SEED`, else always the same.
    #[expect(clippy::disallowed_methods, reason = "a failed run is had again by its seed")]
    pub(crate) fn of_this_run() -> Self {
        let said = std::env::var(VARIABLE).ok();
        let begun_with =
            said.map_or(USUAL, |said| said.parse().expect("HARNESS_FIRE_SEED is a number"));
        Self { begun_with, state: begun_with }
    }

    /// Another one, which depends on this one alone.
    pub(crate) fn branch(&mut self) -> Self {
        Self { begun_with: self.begun_with, state: self.next() }
    }

    /// How to have the same again.
    pub(crate) fn shown(&self) -> String {
        format!("{VARIABLE}={}", self.begun_with)
    }

    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }

    /// A time below `longest`.
    pub(crate) fn duration(&mut self, longest: Duration) -> Duration {
        let milliseconds = usize::try_from(longest.as_millis()).expect("a short time");
        Duration::from_millis(self.below(milliseconds) as u64)
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("64 bits");
        usize::try_from(self.next() % end).expect("it was one")
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
