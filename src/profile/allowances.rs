//! The time arithmetic: allowances in, deadlines out.
//!
//! Pure sums in whole seconds; no clock is read here.

use std::time::Duration;

use serde::Serialize;

use super::reader::Place;
use crate::submission::problem::{Code, Fault};

/// A time allowance is outside its range.
pub static SECONDS_OUT_OF_RANGE: Code = Code {
    name: "profile-seconds-out-of-range",
    summary: "a time allowance is outside its range",
    explanation: "Allowances are whole seconds, at most a week, which is the longest life of most signed URLs. \
`publication` is at least 30 s, since it also pays for ending a runner that is over its budget; `grace` is above the \
30 s that Kubernetes gives a pod to end.",
};

/// The allowances leave no time for the search itself.
pub static NO_TIME_FOR_SEARCH: Code = Code {
    name: "profile-deadline-too-short",
    summary: "the allowances leave no time for the search itself",
    explanation: "`active_deadline` bounds the Job: pending + pull + staging + search budget + publication + grace. What \
the allowances leave of it is the largest search budget, which must be at least one second.",
};

/// A budget does not fit the profile's deadline.
pub static BUDGET_OVER_DEADLINE: Code = Code {
    name: "profile-budget-over-deadline",
    summary: "the search budget does not fit the profile's deadline",
    explanation: "The pod's deadline is pull + staging + search budget + publication, the Job's is pending + the pod's + \
grace; both must fit the profile's `active_deadline`, or the cluster would end the run before it could publish. Lower \
`search_budget.max_seconds`, or choose a profile with a longer deadline; `harness profiles` lists them.",
};

/// The longest search that a submission can ask for, in seconds.
pub const LONGEST_BUDGET: u32 = 86_400;
/// The longest allowance, in seconds: a week.
const LONGEST: u32 = 604_800;

/// How long each part of an experiment's life may take, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Allowances {
    /// Before the Job may start, as in a Kueue queue.
    #[cfg_attr(test, schemars(default, range(min = 0, max = 604_800)))]
    pub queue: u32,
    /// Until a node is found.
    #[cfg_attr(test, schemars(range(min = 1, max = 604_800)))]
    pub pending: u32,
    /// For pulling the images.
    #[cfg_attr(test, schemars(range(min = 1, max = 604_800)))]
    pub pull: u32,
    /// For fetching, checking and unpacking the inputs.
    #[cfg_attr(test, schemars(range(min = 1, max = 604_800)))]
    pub staging: u32,
    /// For ending the runner, packing and sending the result.
    #[cfg_attr(test, schemars(range(min = 30, max = 604_800)))]
    pub publication: u32,
    /// Between the pod's deadline and the Job's, so that the kubelet ends the pod and keeps it.
    #[cfg_attr(test, schemars(range(min = 31, max = 604_800)))]
    pub grace: u32,
    /// What the Job's deadline may be at most.
    #[cfg_attr(test, schemars(range(min = 1, max = 604_800)))]
    pub active_deadline: u32,
}

/// What a disruption of the node (a drain, a preemption) means for the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum OnDisruption {
    /// The Job fails; its code ran at most once.
    Fail,
    /// The pod is replaced and the code runs again, within the same Job's deadline.
    Restart,
}

/// The deadlines of one experiment and how long its signed URLs are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// The pod's `activeDeadlineSeconds`: pull + staging + budget + publication.
    pub pod: u32,
    /// The Job's `activeDeadlineSeconds`: pending + the pod's + grace.
    pub job: u32,
    /// From now until no input is fetched any more.
    pub inputs_needed_for: Duration,
    /// From now until nothing is published any more.
    pub output_needed_for: Duration,
}

impl Allowances {
    /// The largest search budget in seconds that fits; zero if none does.
    pub fn largest_budget(&self) -> u32 {
        let fixed = self.job(0);
        let left = u64::from(self.active_deadline).saturating_sub(fixed);
        u32::try_from(left).unwrap_or(LONGEST_BUDGET).min(LONGEST_BUDGET)
    }

    /// Sums are made in 64 bits, where seven numbers of 32 bits cannot overflow.
    fn pod(&self, budget: u32) -> u64 {
        [self.pull, self.staging, budget, self.publication].into_iter().map(u64::from).sum()
    }

    fn job(&self, budget: u32) -> u64 {
        u64::from(self.pending) + self.pod(budget) + u64::from(self.grace)
    }

    /// The deadlines of a search of `budget` seconds, or the sum that does not fit.
    pub(super) fn times(
        &self,
        budget: u32,
        on_disruption: OnDisruption,
    ) -> Result<Deadlines, Fault> {
        let fits = |seconds: u64| {
            u32::try_from(seconds).ok().filter(|seconds| *seconds <= self.active_deadline)
        };
        let (Some(pod), Some(job)) = (fits(self.pod(budget)), fits(self.job(budget))) else {
            return Err(self.over(budget));
        };
        let before_start = u64::from(self.queue);
        let ready = [self.queue, self.pending, self.pull, self.staging];
        let end = before_start + u64::from(job);
        let inputs = match on_disruption {
            OnDisruption::Fail => ready.into_iter().map(u64::from).sum(),
            OnDisruption::Restart => end,
        };
        Ok(Deadlines {
            pod,
            job,
            inputs_needed_for: Duration::from_secs(inputs),
            output_needed_for: Duration::from_secs(end),
        })
    }

    fn over(&self, budget: u32) -> Fault {
        let Self { pending, pull, staging, publication, grace, active_deadline, .. } = self;
        let (pod, job) = (self.pod(budget), self.job(budget));
        let allowed = match self.largest_budget() {
            0 => "no budget fits this profile".to_owned(),
            largest => format!("a budget of at most {largest} seconds with this profile"),
        };
        Fault::new(
            &BUDGET_OVER_DEADLINE,
            format!(
                "pull {pull} + staging {staging} + budget {budget} + publication {publication} = {pod}; \
                 + pending {pending} + grace {grace} = {job} > active_deadline {active_deadline}"
            ),
            allowed,
            "lower the budget or choose a profile with a longer deadline",
        )
    }
}

/// Reads `allowances`.
pub(super) fn read(place: &Place<'_>) -> Option<Allowances> {
    let mut fields = place.fields()?;
    let seconds = |place: Option<Place<'_>>, least: u32| {
        place?.integer(least..=LONGEST, &SECONDS_OUT_OF_RANGE, "seconds")
    };
    let queue = match fields.optional("queue") {
        Some(place) => seconds(Some(place), 0),
        None => Some(0),
    };
    let pending = seconds(fields.required("pending"), 1);
    let pull = seconds(fields.required("pull"), 1);
    let staging = seconds(fields.required("staging"), 1);
    let publication = seconds(fields.required("publication"), 30);
    let grace = seconds(fields.required("grace"), 31);
    let active_deadline = seconds(fields.required("active_deadline"), 1);
    fields.finish();
    let allowances = Allowances {
        queue: queue?,
        pending: pending?,
        pull: pull?,
        staging: staging?,
        publication: publication?,
        grace: grace?,
        active_deadline: active_deadline?,
    };
    place.keep(leaves_time(allowances))
}

fn leaves_time(allowances: Allowances) -> Result<Allowances, Fault> {
    if allowances.largest_budget() > 0 {
        return Ok(allowances);
    }
    Err(Fault::new(
        &NO_TIME_FOR_SEARCH,
        format!(
            "pending + pull + staging + publication + grace = {} of active_deadline {}",
            allowances.job(0),
            allowances.active_deadline
        ),
        "allowances that leave at least one second for the search",
        "raise `active_deadline` or lower the allowances",
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STANDARD: Allowances = Allowances {
        queue: 0,
        pending: 240,
        pull: 180,
        staging: 180,
        publication: 120,
        grace: 60,
        active_deadline: 1800,
    };

    #[test]
    fn deadlines_are_the_sums() {
        let times = STANDARD.times(600, OnDisruption::Fail).unwrap();
        assert_eq!((times.pod, times.job), (1080, 1380));
        assert_eq!(times.inputs_needed_for.as_secs(), 600);
        assert_eq!(times.output_needed_for.as_secs(), 1380);
        let queued = Allowances { queue: 3600, ..STANDARD };
        let times = queued.times(600, OnDisruption::Fail).unwrap();
        assert_eq!((times.pod, times.job), (1080, 1380));
        assert_eq!(times.inputs_needed_for.as_secs(), 4200);
        assert_eq!(times.output_needed_for.as_secs(), 4980);
    }

    #[test]
    fn restarts_need_the_inputs_to_the_end() {
        let queued = Allowances { queue: 3600, ..STANDARD };
        let times = queued.times(600, OnDisruption::Restart).unwrap();
        assert_eq!(times.inputs_needed_for.as_secs(), 4980);
        assert_eq!(times.output_needed_for.as_secs(), 4980);
    }

    #[test]
    fn the_sum_that_does_not_fit_is_shown() {
        let fault = STANDARD.times(2000, OnDisruption::Fail).unwrap_err();
        assert_eq!(
            fault.found,
            "pull 180 + staging 180 + budget 2000 + publication 120 = 2480; \
             + pending 240 + grace 60 = 2780 > active_deadline 1800"
        );
        assert_eq!(fault.allowed, "a budget of at most 1020 seconds with this profile");
        assert_eq!(fault.code, &BUDGET_OVER_DEADLINE);
    }

    proptest! {
        #[test]
        fn the_largest_budget_is_exact(numbers in any::<[u32; 7]>(), budget in any::<u32>()) {
            let [queue, pending, pull, staging, publication, grace, active_deadline] = numbers;
            let allowances =
                Allowances { queue, pending, pull, staging, publication, grace, active_deadline };
            let largest = allowances.largest_budget();
            let fits = |budget| allowances.times(budget, OnDisruption::Restart).is_ok();
            prop_assert!(largest == 0 || fits(largest));
            prop_assert!(largest == LONGEST_BUDGET || !fits(largest + 1));
            prop_assert_eq!(fits(budget.min(LONGEST_BUDGET)), budget.min(LONGEST_BUDGET) <= largest
                && (largest > 0 || fits(0)));
        }
    }
}
