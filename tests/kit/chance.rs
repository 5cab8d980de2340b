//! Chance that is the same for the same seed, on every machine.

#![allow(unreachable_pub, reason = "a crate of its own includes it as a public module")]

use std::time::Duration;

/// A source of numbers: `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014,
/// <https://doi.org/10.1145/2714064.2660195>).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        usize::try_from(self.number() % end).unwrap_or_default()
    }

    /// True in so many of a thousand cases.
    pub fn permille(&mut self, of_thousand: usize) -> bool {
        self.below(1000) < of_thousand
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// In another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }

    /// A time below `end`, in whole milliseconds.
    pub fn within(&mut self, end: Duration) -> Duration {
        let milliseconds = usize::try_from(end.as_millis()).unwrap_or(usize::MAX).max(1);
        Duration::from_millis(u64::try_from(self.below(milliseconds)).unwrap_or(u64::MAX))
    }
}
