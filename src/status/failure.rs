//! Why a Job failed, from what is most trustworthy among what is left. Pure.

use super::category::Category;
use super::report::{Basis, Diagnosis};
use super::seen::{Seen, diagnosis, reason_of, second_start};
use super::view::{Pod, State};
use super::words::{cause, quoted, scheduler};
use super::{image, pending, start, steps};
use crate::execution::{self, Category as StepEnd, Reason, Step};

/// What `publish` says of the end: out of the runner's reach.
pub(super) fn publish_reason(pod: &Pod) -> Option<Reason> {
    reason_of(pod, Step::Publish)
}

pub(super) fn diagnose(seen: &Seen<'_>) -> Diagnosis {
    match seen.pod() {
        Some(pod) => {
            of_pod(seen, pod).or_else(|| of_job(seen)).unwrap_or_else(|| unexplained(seen))
        }
        None => of_job(seen).unwrap_or_else(|| unexplained(seen)),
    }
}

/// Why a pod ended badly, or is about to.
pub(super) fn of_pod(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    by_publish(seen, pod)
        .or_else(|| by_stage(seen, pod))
        .or_else(|| by_run(seen, pod))
        .or_else(|| by_kubelet(seen, pod))
        .or_else(|| by_pod(pod))
        .or_else(|| by_event(seen, pod))
}

fn by_publish(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let reason = publish_reason(pod)?;
    match reason.category {
        // It means well what it did; the Job failed for another reason.
        StepEnd::Succeeded => failed_all_the_same(pod),
        // It saw that it was to stop, and not why; or that `run` is gone, and not why.
        StepEnd::Stopped => by_pod(pod).or_else(|| Some(stated(&reason, Basis::StepMessage))),
        StepEnd::NeverStarted | StepEnd::RunnerKilled => {
            let deeper = by_pod(pod).or_else(|| killed_or_unstarted(seen, pod, Step::Run));
            let hint = || {
                let hint = reason_of(pod, Step::Run)?;
                (hint.category == StepEnd::Environment).then(|| stated(&hint, Basis::RunMessage))
            };
            deeper.or_else(hint).or_else(|| Some(stated(&reason, Basis::StepMessage)))
        }
        // A node that refuses a pod which already runs takes its volumes away under it.
        StepEnd::PublicationFailed => {
            let refused = by_pod(pod).filter(|found| found.category == Category::NODE_REFUSED);
            refused.or_else(|| Some(stated(&reason, Basis::StepMessage)))
        }
        _ => Some(stated(&reason, Basis::StepMessage)),
    }
}

/// A result that is published, of a Job that failed all the same: containerd was away when a step ended, or the kubelet
/// forgot that it had started one.
fn failed_all_the_same(pod: &Pod) -> Option<Diagnosis> {
    let lost = steps::STEPS.into_iter().find(|step| is_status_lost(pod, *step));
    let (step, category, why) = match (lost, second_start(pod)) {
        (Some(step), _) => {
            (step, Category::STEP_FAILED, format!("lost how `{}` ended", step.name()))
        }
        (None, Some(step)) => {
            let why = format!("started `{}` a second time, which did nothing", step.name());
            (step, Category::ALREADY_STARTED, why)
        }
        (None, None) => return None,
    };
    let sentence = format!(
        "the runner succeeded and its result is published, and the Job failed only because the node {why}"
    );
    let mut found = diagnosis(category, sentence, Basis::StepMessage).of(step);
    let remedy = "use the result: `harness evidence verify` proves it; nothing needs to run again";
    found.remedy = Some(remedy.to_owned());
    Some(found)
}

/// containerd has no exit status of what ended while it was away itself, and the kubelet makes 255 of that
/// (`internal/cri/server/helpers.go` of containerd, `unknownExitCode`).
fn is_status_lost(pod: &Pod, step: Step) -> bool {
    matches!(pod.state(step.name()), State::Terminated { exit_code: Some(255), reason, .. } if reason == "Unknown")
}

fn by_stage(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let State::Terminated { exit_code, .. } = pod.state(Step::Stage.name()) else { return None };
    if *exit_code == Some(0) {
        return None;
    }
    match reason_of(pod, Step::Stage) {
        // Whatever it said: without an end that went well the kubelet starts nothing after it.
        None | Some(Reason { category: StepEnd::Succeeded, .. })
            if is_status_lost(pod, Step::Stage) =>
        {
            let sentence = "the node lost how `stage` ended, and so nothing was run";
            let found = diagnosis(Category::STEP_FAILED, sentence, Basis::Container);
            Some(found.of(Step::Stage))
        }
        Some(reason) if reason.category == execution::Category::Stopped => {
            by_pod(pod).or_else(|| Some(stated(&reason, Basis::StepMessage)))
        }
        Some(reason) => Some(stated(&reason, Basis::StepMessage)),
        None => by_pod(pod)
            .or_else(|| by_exit_code(*exit_code, Step::Stage))
            .or_else(|| killed_or_unstarted(seen, pod, Step::Stage)),
    }
}

/// `run`'s message is a hint, and so is its exit code: the runner can bring about both.
fn by_run(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let State::Terminated { exit_code, .. } = pod.state(Step::Run.name()) else {
        return by_lost_publish(pod);
    };
    let exit_code = *exit_code;
    // What `run` says of a `publish` that was killed is that it is gone; the kubelet knows why, and is out of the runner's
    // reach.
    let deeper = killed_or_unstarted(seen, pod, Step::Run)
        .or_else(|| killed_or_unstarted(seen, pod, Step::Publish));
    if deeper.is_some() {
        return deeper;
    }
    let hint = reason_of(pod, Step::Run)
        .filter(|reason| reason.category != execution::Category::Succeeded);
    if let Some(reason) = hint {
        if reason.category == execution::Category::Stopped
            && let Some(ended) = by_pod(pod)
        {
            return Some(ended);
        }
        return Some(stated(&reason, Basis::RunMessage));
    }
    by_pod(pod).or_else(|| by_exit_code(exit_code, Step::Run)).or_else(|| by_lost_publish(pod))
}

/// `publish` ended badly and left no message.
fn by_lost_publish(pod: &Pod) -> Option<Diagnosis> {
    match pod.state(Step::Publish.name()) {
        State::Terminated { exit_code, .. } if *exit_code != Some(0) => {
            by_exit_code(*exit_code, Step::Publish)
        }
        _ => None,
    }
}

fn by_exit_code(code: Option<i64>, step: Step) -> Option<Diagnosis> {
    let category = execution::Category::of_exit_code(code?)?;
    if matches!(category, execution::Category::Succeeded | execution::Category::Stopped) {
        return None;
    }
    let category = Category::of_step(category);
    let sentence = format!(
        "`{}` ended with code {}: {}",
        step.name(),
        code.unwrap_or_default(),
        category.summary()
    );
    Some(diagnosis(category, sentence, Basis::ExitCode).of(step))
}

/// What the kubelet alone knows: that a container was never started, or that the kernel ended it.
fn killed_or_unstarted(seen: &Seen<'_>, pod: &Pod, step: Step) -> Option<Diagnosis> {
    match pod.state(step.name()) {
        State::Terminated { exit_code, reason, message, .. } => match reason.as_str() {
            "OOMKilled" => Some(out_of_memory(seen, step)),
            "StartError" | "ContainerCannotRun" => Some(start::error(step, message)),
            "ContainerStatusUnknown" => None,
            "Unknown" if step == Step::Publish && is_status_lost(pod, step) => {
                let sentence = "the node lost how `publish` ended, and it did not say whether the result is published";
                let sentence = sentence.to_owned();
                Some(diagnosis(Category::PUBLICATION_FAILED, sentence, Basis::Container).of(step))
            }
            // A kernel without `memory.oom.group` leaves only the signal.
            _ if *exit_code == Some(137) && by_pod(pod).is_none() => {
                if reason_of(pod, step).is_some() || pod.is_being_deleted {
                    return None;
                }
                Some(killed(step))
            }
            _ => None,
        },
        State::Waiting { reason, message } if image::is_about_image(reason) => {
            Some(pending::image_trouble(seen, pod, step, reason, message))
        }
        _ => None,
    }
}

/// A step that SIGKILL has ended before it could say anything.
fn killed(step: Step) -> Diagnosis {
    let (category, what_is_unknown) = match step {
        Step::Stage => (Category::STEP_FAILED, "; nothing was run"),
        Step::Run => (Category::RUNNER_KILLED, ""),
        Step::Publish => {
            (Category::PUBLICATION_FAILED, ", and did not say whether the result is published")
        }
    };
    let sentence = format!(
        "`{}` was ended by SIGKILL, most likely for want of memory{what_is_unknown}",
        step.name()
    );
    diagnosis(category, sentence, Basis::Container).of(step)
}

fn out_of_memory(seen: &Seen<'_>, step: Step) -> Diagnosis {
    let limit = seen.job.memory.get(step.name()).filter(|limit| !limit.is_empty());
    let sentence = match limit {
        Some(limit) => {
            format!("`{}` needed more than its {} of memory", step.name(), quoted(limit))
        }
        None => format!("`{}` needed more memory than it may use", step.name()),
    };
    diagnosis(Category::OUT_OF_MEMORY, sentence, Basis::Container).of(step)
}

/// Containers that ended badly without anything better to say.
fn by_kubelet(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    for step in steps::STEPS {
        if let Some(found) = killed_or_unstarted(seen, pod, step) {
            return Some(found);
        }
    }
    if let Some(found) = by_pod(pod) {
        return Some(found);
    }
    steps::STEPS.into_iter().find_map(|step| match pod.state(step.name()) {
        State::Terminated { exit_code: Some(code), signal, .. } if *code != 0 => {
            let how = match signal {
                Some(signal) => format!("signal {signal}"),
                None if (129..=192).contains(code) => format!("signal {}", code - 128),
                None => format!("code {code}"),
            };
            let sentence = format!("`{}` ended with {how} and left no reason", step.name());
            Some(diagnosis(Category::STEP_FAILED, sentence, Basis::Container).of(step))
        }
        _ => None,
    })
}

/// What ended the pod from outside.
pub(super) fn by_pod(pod: &Pod) -> Option<Diagnosis> {
    let said = |category: Category, what: &str, message: &str| {
        let sentence = match quoted(message) {
            message if message.is_empty() => what.to_owned(),
            message => format!("{what}: {message}"),
        };
        Some(diagnosis(category, sentence, Basis::Pod).of(steps::current(pod)))
    };
    match pod.reason.as_str() {
        "DeadlineExceeded" => {
            let during = match steps::current(pod) {
                Some(step) => format!("the pod's deadline passed during `{}`", step.name()),
                None => "the pod's deadline passed".to_owned(),
            };
            return said(Category::DEADLINE, &during, "");
        }
        "Evicted" => return said(Category::EVICTED, "the node evicted the pod", &pod.message),
        "Preempting" | "Preempted" => {
            return said(Category::PREEMPTED, "the node ended the pod", &pod.message);
        }
        "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" => {
            return said(Category::NODE_LOST, "the pod's node went away", &pod.message);
        }
        "UnexpectedAdmissionError"
        | "NodeAffinity"
        | "NodeName"
        | "NodePorts"
        | "TopologyAffinityError"
        | "AppArmor"
        | "PodOSNotSupported"
        | "InvalidNodeInfo" => {
            return said(Category::NODE_REFUSED, "the node refused the pod", &pod.message);
        }
        reason if reason.starts_with("OutOf") => {
            return said(Category::NODE_REFUSED, "the node refused the pod", &pod.message);
        }
        _ => {}
    }
    let disruption = pod.condition("DisruptionTarget").filter(|condition| condition.is_true)?;
    let message = &disruption.message;
    match disruption.reason.as_str() {
        "PreemptionByScheduler" => {
            said(Category::PREEMPTED, "the scheduler made room for another pod", message)
        }
        "EvictionByEvictionAPI" | "TerminationByKubelet" => {
            said(Category::EVICTED, "the pod was evicted", message)
        }
        "DeletionByTaintManager" | "DeletionByPodGC" => {
            said(Category::NODE_LOST, "the pod was removed because of its node", message)
        }
        _ => said(Category::EVICTED, "the pod was disrupted", message),
    }
}

/// Events expire and lie: only a few are looked at, and only when nothing else is left.
fn by_event(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let event =
        seen.event(&pod.uid, &["Evicted", "Preempted", "NodeNotReady", "TaintManagerEviction"])?;
    let category = match event.reason.as_str() {
        "Preempted" => Category::PREEMPTED,
        "Evicted" => Category::EVICTED,
        _ => Category::NODE_LOST,
    };
    let sentence = format!("an event says: {}", quoted(&event.message));
    Some(diagnosis(category, sentence, Basis::Event))
}

/// What the Job's own condition says.
fn of_job(seen: &Seen<'_>) -> Option<Diagnosis> {
    let failed = seen.job.condition("Failed")?;
    match failed.reason.as_str() {
        "DeadlineExceeded" => {
            let mut sentence = "the Job's deadline passed".to_owned();
            if let Some(event) = last_trouble(seen) {
                let word = if event.reason == "FailedScheduling" {
                    scheduler(&event.message)
                } else {
                    cause(&event.message)
                };
                sentence = format!("{sentence}; the last that was heard: {word}");
            }
            Some(diagnosis(Category::DEADLINE, sentence, Basis::Job))
        }
        "PodFailurePolicy" => {
            let sentence = format!("the Job gave up: {}", quoted(&failed.message));
            Some(diagnosis(Category::STEP_FAILED, sentence, Basis::Job))
        }
        _ if seen.pods.is_empty() && seen.pods_are_known => {
            let sentence = "the Job failed and its pod is gone, with everything that it could tell";
            Some(diagnosis(Category::POD_VANISHED, sentence, Basis::Job))
        }
        _ => None,
    }
}

/// The newest event that tells of a failure, about the Job or any of its pods.
fn last_trouble<'a>(seen: &'a Seen<'_>) -> Option<&'a super::view::Event> {
    const TROUBLES: [&str; 6] = [
        "FailedScheduling",
        "FailedCreate",
        "FailedMount",
        "Failed",
        "BackOff",
        "FailedCreatePodSandBox",
    ];
    seen.events.iter().find(|event| TROUBLES.contains(&event.reason.as_str()))
}

fn unexplained(seen: &Seen<'_>) -> Diagnosis {
    let failed = seen.job.condition("Failed");
    let word = failed.map(|failed| {
        [failed.reason.as_str(), failed.message.as_str()]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(": ")
    });
    let sentence = match word.filter(|word| !word.is_empty()) {
        Some(word) => format!("the Job failed, and all that is left is: {}", quoted(&word)),
        None => "the Job failed, and nothing that is left says why".to_owned(),
    };
    diagnosis(Category::FAILED, sentence, Basis::Job)
}

/// A reason as the step itself put it.
fn stated(reason: &Reason, basis: Basis) -> Diagnosis {
    let category = Category::of_step(reason.category);
    let mut said = diagnosis(category, reason.sentence.clone(), basis).of(reason.step);
    if said.sentence.is_empty() {
        category.summary().clone_into(&mut said.sentence);
    }
    if !reason.remedy.is_empty() {
        said.remedy = Some(reason.remedy.clone());
    }
    said
}
