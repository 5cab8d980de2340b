//! What was counted over many schedules.

use std::collections::BTreeMap;
use std::fmt;

/// Counts, by kind.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Schedules.
    pub schedules: usize,
    /// Requests that processes sent.
    pub requests: usize,
    /// What befell requests, processes and objects, by kind.
    pub faults: BTreeMap<String, usize>,
    /// How commands ended, by command and outcome.
    pub outcomes: BTreeMap<String, usize>,
}

impl Figures {
    /// One more of this kind of fault.
    pub fn fault(&mut self, kind: impl Into<String>) {
        *self.faults.entry(kind.into()).or_default() += 1;
    }

    /// One more of this outcome.
    pub fn outcome(&mut self, outcome: impl Into<String>) {
        *self.outcomes.entry(outcome.into()).or_default() += 1;
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.requests += other.requests;
        for (kind, count) in other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for (kind, count) in other.outcomes {
            *self.outcomes.entry(kind).or_default() += count;
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} schedules, {} requests", self.schedules, self.requests)?;
        for (heading, counts) in [("befell", &self.faults), ("ended", &self.outcomes)] {
            writeln!(formatter, "{heading}:")?;
            for (kind, count) in counts {
                writeln!(formatter, "  {count:>9}  {kind}")?;
            }
        }
        Ok(())
    }
}
