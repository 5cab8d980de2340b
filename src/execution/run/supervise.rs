//! Waits for the end of the runner, or brings it about.
//!
//! Everything that can happen comes as an [`Event`] to one place, which decides; the threads behind them decide nothing.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::Pid;

use super::memory::Memory;
use super::process::{self, Status};
use crate::clock::Clock;
use crate::execution::Ending;
use crate::execution::control::FromPublish;
use crate::execution::report::Limit;

/// How long the runner has after TERM, at its budget's end or when `run` is asked to stop: below the 30 s that the
/// kubelet leaves, so that `publish` still has time.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// How long it has when it fills a volume, which goes on meanwhile.
const GRACE_AT_A_LIMIT: Duration = Duration::from_secs(2);

/// How long killed processes may take to be gone; only one that is stuck in the kernel takes longer.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How often the clock is read, which goes on while the machine is suspended, where a wait does not.
const TICK: Duration = Duration::from_secs(1);

/// How often memory is looked at where the kernel would take this process along with the runner.
const MEMORY_TICK: Duration = Duration::from_millis(100);

/// How often a group that was asked to end is looked at.
const STOPPING_TICK: Duration = Duration::from_millis(50);

/// Something that happened.
#[derive(Debug)]
pub(super) enum Event {
    /// This process was asked to stop.
    Asked,
    /// `publish` answered, in whatever words; nothing is what is no message.
    Answer(Option<FromPublish>),
    /// The connection to `publish` ended.
    ConnectionEnded,
    /// The runner ended.
    RunnerEnded(Status),
    /// No process is left.
    AllEnded,
    /// A folder holds more than it may.
    Over(Limit),
}

/// What is waited for, and until when.
pub(super) struct Supervision<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) events: &'a Receiver<Event>,
    /// The runner.
    pub(super) leader: Pid,
    /// When its budget ends, by the boot-time clock.
    pub(super) budget_end: Duration,
    /// The memory of the container, where the kernel tells.
    pub(super) memory: Option<&'a Memory>,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The runner's end.
    pub(super) ending: Ending,
    /// When the runner had ended, by the boot-time clock.
    pub(super) at: Duration,
    /// Whether `publish` went away meanwhile.
    pub(super) publish_is_gone: bool,
}

/// Why the wait ended.
enum Cause {
    Itself(Status),
    Budget,
    Asked,
    Over(Limit),
    MemoryFull,
    ConnectionEnded,
}

/// What became known while the runner was being ended.
#[derive(Debug, Default)]
struct Known {
    publish_is_gone: bool,
    all_ended: bool,
}

impl Known {
    fn learn(&mut self, event: &Event) {
        match event {
            Event::ConnectionEnded => self.publish_is_gone = true,
            Event::AllEnded => self.all_ended = true,
            Event::Asked | Event::Answer(_) | Event::RunnerEnded(_) | Event::Over(_) => {}
        }
    }
}

impl Supervision<'_> {
    /// Returns once the runner has ended and nothing of it is left, or cannot be helped.
    pub(super) fn to_the_end(&self) -> Ended {
        let cause = self.wait();
        let by_itself = self.clock.boottime();
        let mut known =
            Known { publish_is_gone: matches!(cause, Cause::ConnectionEnded), all_ended: false };
        match &cause {
            Cause::Itself(_) | Cause::MemoryFull => {}
            Cause::Over(_) => self.stop(GRACE_AT_A_LIMIT, &mut known),
            Cause::Budget | Cause::Asked | Cause::ConnectionEnded => self.stop(GRACE, &mut known),
        }
        self.kill(&mut known);
        let at = if matches!(cause, Cause::Itself(_)) { by_itself } else { self.clock.boottime() };
        Ended { ending: self.ending(&cause), at, publish_is_gone: known.publish_is_gone }
    }

    fn ending(&self, cause: &Cause) -> Ending {
        match cause {
            Cause::Itself(status) => {
                ending_of(*status, self.memory.is_some_and(Memory::has_killed))
            }
            Cause::Budget => Ending::BudgetExceeded,
            Cause::Over(limit) => Ending::LimitExceeded { limit: *limit },
            Cause::MemoryFull => Ending::OutOfMemory,
            Cause::Asked | Cause::ConnectionEnded => Ending::Stopped,
        }
    }

    fn wait(&self) -> Cause {
        let watched = self.memory.filter(|memory| memory.takes_all_along());
        let tick = if watched.is_some() { MEMORY_TICK } else { TICK };
        loop {
            let left = self.budget_end.saturating_sub(self.clock.boottime());
            if left.is_zero() {
                return Cause::Budget;
            }
            match self.events.recv_timeout(left.min(tick)) {
                Ok(Event::RunnerEnded(status)) => return Cause::Itself(status),
                Ok(Event::Asked) => return Cause::Asked,
                Ok(Event::Over(limit)) => return Cause::Over(limit),
                Ok(Event::ConnectionEnded) | Err(RecvTimeoutError::Disconnected) => {
                    return Cause::ConnectionEnded;
                }
                Ok(Event::Answer(_) | Event::AllEnded) => {}
                Err(RecvTimeoutError::Timeout) => {
                    if watched.is_some_and(Memory::is_full) {
                        return Cause::MemoryFull;
                    }
                }
            }
        }
    }

    /// TERM to the group, and time for all of it to end. A second request to stop ends the wait.
    fn stop(&self, grace: Duration, known: &mut Known) {
        process::terminate_group(self.leader);
        let end = self.clock.boottime() + grace;
        while !known.all_ended && process::has_group(self.leader) {
            let left = end.saturating_sub(self.clock.boottime());
            if left.is_zero() {
                return;
            }
            match self.events.recv_timeout(left.min(STOPPING_TICK)) {
                Ok(Event::Asked) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(event) => known.learn(&event),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Kills until nothing is left. What forks faster than it is found is killed again.
    fn kill(&self, known: &mut Known) {
        let end = self.clock.boottime() + AFTER_KILL;
        while !known.all_ended && self.clock.boottime() < end {
            process::kill_tree(self.leader);
            match self.events.recv_timeout(STOPPING_TICK) {
                Ok(event) => known.learn(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// A runner that succeeded although a process of it was killed for want of memory has succeeded.
fn ending_of(status: Status, kernel_killed: bool) -> Ending {
    match status {
        Status::Exited(0) => Ending::Exited { code: 0 },
        _ if kernel_killed => Ending::OutOfMemory,
        Status::Exited(code) => Ending::Exited { code },
        Status::Signalled(signal) => Ending::Signalled { signal },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_memory_explains_a_failure_and_no_success() {
        assert_eq!(ending_of(Status::Exited(0), true), Ending::Exited { code: 0 });
        assert_eq!(ending_of(Status::Exited(1), true), Ending::OutOfMemory);
        assert_eq!(ending_of(Status::Signalled(9), true), Ending::OutOfMemory);
        assert_eq!(ending_of(Status::Exited(3), false), Ending::Exited { code: 3 });
        assert_eq!(ending_of(Status::Signalled(9), false), Ending::Signalled { signal: 9 });
    }
}
