//! The three steps: times, exit codes, and what is left of their allowances. Pure.

use jiff::Timestamp;

use super::report::{StepState, StepStatus};
use super::view::{Job, Pod, State};
use super::words::seconds_between;
use crate::execution::Step;

/// The steps in their order.
pub(super) const STEPS: [Step; 3] = [Step::Stage, Step::Run, Step::Publish];

/// The steps of a pod; without one, those that will be.
pub(super) fn of(job: &Job, pod: Option<&Pod>, now: Timestamp, is_over: bool) -> Vec<StepStatus> {
    STEPS.into_iter().map(|step| one(job, pod, step, now, is_over)).collect()
}

fn one(job: &Job, pod: Option<&Pod>, step: Step, now: Timestamp, is_over: bool) -> StepStatus {
    let state = pod.map_or(&State::Unsaid, |pod| pod.state(step.name()));
    let times = pod.map(|pod| times(pod, step)).unwrap_or_default();
    let allowance_seconds = match step {
        Step::Stage => job.seconds("stage", "staging"),
        Step::Run => job.seconds("run", "max-seconds"),
        Step::Publish => job.seconds("publish", "publication"),
    };
    let (shown, exit_code) = match state {
        // Nobody says any more how it ended.
        State::Running { .. } | State::Unsaid if is_over => (StepState::Unknown, None),
        // It listens beside `run`; its own work begins later.
        State::Running { .. } if step == Step::Publish && times.0.is_none() => {
            (StepState::Waiting, None)
        }
        State::Running { .. } => (StepState::Running, None),
        State::Terminated { exit_code, .. } if *exit_code == Some(0) => {
            (StepState::Succeeded, *exit_code)
        }
        State::Terminated { exit_code, .. } => (StepState::Failed, *exit_code),
        State::Waiting { .. } | State::Unsaid => (StepState::Waiting, None),
    };
    let seconds = match (times, shown) {
        ((Some(from), Some(to)), _) => Some(seconds_between(from, to)),
        ((Some(from), None), StepState::Running) => Some(seconds_between(from, now)),
        _ => None,
    };
    let left = |allowance: i64| Some(allowance.saturating_sub(seconds?).max(0));
    StepStatus {
        step,
        state: shown,
        started_at: times.0.map(|time| time.to_string()),
        finished_at: times.1.map(|time| time.to_string()),
        seconds,
        allowance_seconds,
        left_seconds: allowance_seconds.filter(|_| shown == StepState::Running).and_then(left),
        exit_code,
    }
}

/// When a step began and ended.
fn times(pod: &Pod, step: Step) -> (Option<Timestamp>, Option<Timestamp>) {
    let of = |state: &State| match state {
        State::Running { since } => (*since, None),
        State::Terminated { started, finished, .. } => (*started, *finished),
        State::Unsaid | State::Waiting { .. } => (None, None),
    };
    let (begun, ended) = of(pod.state(step.name()));
    if step != Step::Publish {
        return (begun, ended);
    }
    let run_ended = of(pod.state(Step::Run.name())).1;
    match (begun, run_ended) {
        (Some(begun), Some(run_ended)) => {
            let begun = begun.max(run_ended);
            (Some(ended.map_or(begun, |ended| begun.min(ended))), ended)
        }
        // `run` never ended, as far as can be seen: what `publish` did meanwhile was waiting.
        _ => (None, ended),
    }
}

/// The step that was or is at work: the first that has not ended well.
pub(super) fn current(pod: &Pod) -> Option<Step> {
    STEPS.into_iter().find(|step| {
        !matches!(pod.state(step.name()), State::Terminated { exit_code: Some(0), .. })
    })
}
