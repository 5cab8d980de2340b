//! Where a Job stands that is not over, and what holds it up. Pure.

use super::category::Category;
use super::proof::has_run;
use super::report::{Basis, Diagnosis, Phase};
use super::seen::{Seen, diagnosis, reason_of};
use super::view::{Condition, Job, Pod, State};
use super::words::{after, cause, missing, quoted, scheduler};
use super::{failure, image, start, steps};
use crate::execution::{self, Step};
use crate::render::names;

pub(super) fn diagnose(seen: &Seen<'_>) -> (Phase, Diagnosis) {
    if seen.job.is_suspended {
        return (Phase::Queued, queued(seen));
    }
    let Some(pod) = seen.pod() else { return without_pod(seen) };
    let (phase, found) = of_pod(seen, pod);
    let started = seen.starts();
    if started > 1 && seen.pods.iter().any(|pod| !pod.has_ended() && has_run(pod)) {
        let sentence =
            format!("the code was started in {started} pods of this Job; {}", found.sentence);
        return (phase, diagnosis(Category::RUN_MORE_THAN_ONCE, sentence, Basis::Container));
    }
    (phase, found)
}

fn queued(seen: &Seen<'_>) -> Diagnosis {
    let job = seen.job;
    let Some(queue) = job.labels.get(names::QUEUE_LABEL) else {
        return diagnosis(
            Category::SUSPENDED,
            "the Job is suspended, and names no queue",
            Basis::Job,
        );
    };
    let queue = quoted(queue);
    let was_started =
        job.conditions.iter().any(|it| it.kind == "Suspended" && it.reason == "JobSuspended")
            && (!seen.pods.is_empty()
                || job.ended_pods > 0
                || job.may_have_had_other_pods
                || seen.event(&job.uid, &["SuccessfulCreate", "Resumed"]).is_some());
    if was_started || seen.evictions() > 0 {
        let what = match seen.starts() {
            0 => format!("the queue `{queue}` took the Job back after it had started"),
            _ => format!("the queue `{queue}` took the Job back after its code had been started"),
        };
        return of_queue(Category::REQUEUED, what, seen, "Evicted", true);
    }
    let what = format!("the Job waits for the queue `{queue}` to admit it");
    of_queue(Category::QUEUED, what, seen, "QuotaReserved", false)
}

/// With the queue's own words, where it says some.
fn of_queue(
    category: Category,
    what: String,
    seen: &Seen<'_>,
    condition: &str,
    is_true: bool,
) -> Diagnosis {
    let said = seen.workload.and_then(|workload| workload.condition(condition, is_true));
    match said.map(|condition| quoted(&condition.message)).filter(|words| !words.is_empty()) {
        Some(words) => diagnosis(category, format!("{what}: {words}"), Basis::Queue),
        None => diagnosis(category, what, Basis::Job),
    }
}

fn without_pod(seen: &Seen<'_>) -> (Phase, Diagnosis) {
    let job = seen.job;
    if !seen.pods_are_known {
        let sentence = if job.active > 0 {
            "the Job has a pod, which may not be read"
        } else {
            "the Job has no pod at work"
        };
        return (Phase::Pending, diagnosis(Category::UNKNOWN, sentence, Basis::Job));
    }
    if let Some(target) =
        job.condition("FailureTarget").or_else(|| job.condition("SuccessCriteriaMet"))
    {
        let sentence = format!("the Job is about to end ({})", quoted(&target.reason));
        return (Phase::Publishing, diagnosis(Category::FINISHING, sentence, Basis::Job));
    }
    if let Some(event) = seen.event(&job.uid, &["FailedCreate", "SuccessfulCreate"])
        && event.reason == "FailedCreate"
    {
        return (Phase::Pending, refused(&event.message));
    }
    if job.active > 0 || job.ended_pods > 0 {
        let sentence = "the Job has had a pod, and it is gone";
        return (Phase::Unknown, diagnosis(Category::POD_VANISHED, sentence, Basis::Job));
    }
    if job.started.is_none() && job.conditions.is_empty() {
        let sentence = "the Job was created, and the cluster's controller has not looked at it yet";
        return (Phase::Pending, diagnosis(Category::ACCEPTED, sentence, Basis::Job));
    }
    let sentence = "the Job has started, and its pod is about to be made";
    (Phase::Pending, diagnosis(Category::NO_POD_YET, sentence, Basis::Job))
}

/// The controller could not make the pod; the reason stands in an event alone.
fn refused(message: &str) -> Diagnosis {
    let lower = message.to_lowercase();
    let category = if lower.contains("exceeded quota") || lower.contains("failed quota") {
        Category::QUOTA
    } else if lower.contains("podsecurity") || lower.contains("security context constraint") {
        Category::POD_SECURITY
    } else {
        Category::ADMISSION
    };
    let useful = message.split_once(" is forbidden: ").map_or(message, |(_, rest)| rest);
    let useful = useful.trim_start_matches("Error creating: ");
    diagnosis(category, format!("the pod was refused: {}", quoted(useful)), Basis::Event)
}

fn of_pod(seen: &Seen<'_>, pod: &Pod) -> (Phase, Diagnosis) {
    if pod.has_ended() {
        let sentence = match failure::of_pod(seen, pod).filter(|_| pod.phase == "Failed") {
            Some(why) => {
                format!("the pod has ended, and the Job is about to say so: {}", why.sentence)
            }
            None => "the pod has ended, and the Job is about to say so".to_owned(),
        };
        return (Phase::Publishing, diagnosis(Category::FINISHING, sentence, Basis::Pod));
    }
    let phase = phase_of(pod);
    if let Some(lost) = lost(seen, pod) {
        return (phase, lost);
    }
    if let Some(disrupted) = failure::by_pod(pod) {
        return (phase, disrupted);
    }
    if pod.is_being_deleted {
        return (phase, on_its_way_out(seen, pod));
    }
    if pod.node.is_empty() {
        return (Phase::Pending, unscheduled(seen, pod));
    }
    if let Some(trouble) = container_trouble(seen, pod) {
        return (phase, trouble);
    }
    let found = match phase {
        Phase::Staging if matches!(pod.state(Step::Stage.name()), State::Running { .. }) => {
            at_work(Category::STAGING, "the inputs are fetched and checked", Step::Stage)
        }
        Phase::Staging => staged(seen, pod),
        Phase::Running => at_work(Category::RUNNING, "the runner is at work", Step::Run),
        Phase::Publishing => publishing(pod),
        _ => starting(seen, pod),
    };
    (phase, found)
}

fn on_its_way_out(seen: &Seen<'_>, pod: &Pod) -> Diagnosis {
    if !is_overdue(seen.job, pod) {
        let sentence = "somebody deleted the pod, and it is on its way out";
        return diagnosis(Category::POD_VANISHED, sentence, Basis::Pod);
    }
    let sentence = if is_pulling(seen, pod) {
        "the Job's deadline passed, and its pod ends once the node has done with pulling an image"
    } else {
        "the Job's deadline passed, and its pod is on its way out"
    };
    diagnosis(Category::DEADLINE, sentence, Basis::Job)
}

/// Whether the Job's deadline had passed when its pod was deleted.
///
/// The controller deletes the pod of such a Job, and only then writes the condition that says why.
fn is_overdue(job: &Job, pod: &Pod) -> bool {
    let is_said = |target: &Condition| target.reason == "DeadlineExceeded";
    let deadline = || after(job.started?, job.deadline?);
    job.condition("FailureTarget").is_some_and(is_said)
        || deadline().zip(pod.deleted).is_some_and(|(deadline, deleted)| deleted >= deadline)
}

fn at_work(category: Category, sentence: &str, step: Step) -> Diagnosis {
    diagnosis(category, sentence, Basis::Container).of(step)
}

/// How far a pod is that has not ended.
fn phase_of(pod: &Pod) -> Phase {
    let state = |step: Step| pod.state(step.name());
    match (state(Step::Stage), state(Step::Run)) {
        (_, State::Running { .. }) => Phase::Running,
        (_, State::Terminated { .. }) => Phase::Publishing,
        (State::Running { .. } | State::Terminated { exit_code: Some(0), .. }, _) => Phase::Staging,
        (State::Terminated { .. }, _) => Phase::Publishing,
        _ => Phase::Pending,
    }
}

fn publishing(pod: &Pod) -> Diagnosis {
    let ours_are_over =
        steps::STEPS.iter().all(|step| matches!(pod.state(step.name()), State::Terminated { .. }));
    let foreign = pod.containers.iter().find(|it| {
        !it.is_init
            && !steps::STEPS.iter().any(|step| step.name() == it.name)
            && matches!(it.state, State::Running { .. })
    });
    if ours_are_over {
        return match foreign {
            Some(foreign) => {
                let sentence = format!(
                    "all steps have ended, and `{}`, which harness did not render, keeps the pod alive",
                    quoted(&foreign.name)
                );
                diagnosis(Category::SIDECAR, sentence, Basis::Container)
            }
            None => diagnosis(
                Category::FINISHING,
                "all steps have ended, and the Job is about to say so",
                Basis::Container,
            ),
        };
    }
    if let State::Terminated { exit_code: Some(code), .. } = pod.state(Step::Stage.name())
        && *code != 0
    {
        return at_work(
            Category::FINISHING,
            "`stage` failed, and the pod is about to end",
            Step::Stage,
        );
    }
    let hint = reason_of(pod, Step::Run)
        .filter(|reason| reason.category != execution::Category::Succeeded);
    let sentence = match hint {
        Some(reason) => format!(
            "the runner has ended ({}), and what it left is being published",
            reason.category.name()
        ),
        None => "the runner has ended, and its result is being published".to_owned(),
    };
    at_work(Category::PUBLISHING, &sentence, Step::Publish)
}

fn lost(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let is_silent = pod.phase == "Unknown" || pod.reason == "NodeLost";
    let not_ready = pod.condition("Ready").filter(|ready| {
        !ready.is_true && matches!(ready.reason.as_str(), "NodeLost" | "NodeStatusUnknown")
    });
    // A kubelet changes both conditions together; the node controller takes `Ready` alone away, and says no reason.
    let is_contradicted = pod.condition("Ready").is_some_and(|ready| !ready.is_true)
        && pod.condition("ContainersReady").is_some_and(|ready| ready.is_true);
    let event = seen
        .events
        .iter()
        .find(|event| event.about == pod.uid)
        .filter(|event| event.reason == "NodeNotReady");
    let is_told = is_silent || not_ready.is_some() || is_contradicted;
    if !is_told && event.is_none() {
        return None;
    }
    let basis = if is_told { Basis::Pod } else { Basis::Event };
    let sentence = format!(
        "the pod's node {} does not answer; whether the pod still runs cannot be told",
        quoted(&pod.node)
    );
    Some(diagnosis(Category::NODE_LOST, sentence, basis).of(steps::current(pod)))
}

fn unscheduled(seen: &Seen<'_>, pod: &Pod) -> Diagnosis {
    if let Some(scheduled) = pod.condition("PodScheduled").filter(|it| !it.is_true) {
        match scheduled.reason.as_str() {
            "SchedulingGated" => {
                let sentence = "scheduling gates hold the pod back";
                return diagnosis(Category::SCHEDULING_GATED, sentence, Basis::Pod);
            }
            "Unschedulable" => {
                let sentence =
                    format!("no node can take the pod: {}", scheduler(&scheduled.message));
                return diagnosis(Category::UNSCHEDULABLE, sentence, Basis::Pod);
            }
            _ => {}
        }
    }
    if let Some(event) = seen.event(&pod.uid, &["FailedScheduling"]) {
        let sentence = format!("no node can take the pod: {}", scheduler(&event.message));
        return diagnosis(Category::UNSCHEDULABLE, sentence, Basis::Event);
    }
    diagnosis(Category::SCHEDULING, "the pod waits for the scheduler", Basis::Pod)
}

/// The first container that cannot go on, in the order in which they start.
fn container_trouble(seen: &Seen<'_>, pod: &Pod) -> Option<Diagnosis> {
    let order = [Step::Stage, Step::Publish, Step::Run];
    order.into_iter().find_map(|step| match pod.state(step.name()) {
        State::Waiting { reason, message } => waiting(seen, pod, step, reason, message),
        State::Terminated { reason, message, .. }
            if matches!(reason.as_str(), "StartError" | "ContainerCannotRun") =>
        {
            Some(start::error(step, message))
        }
        _ => None,
    })
}

fn waiting(
    seen: &Seen<'_>,
    pod: &Pod,
    step: Step,
    reason: &str,
    message: &str,
) -> Option<Diagnosis> {
    if image::is_about_image(reason) {
        return Some(image_trouble(seen, pod, step, reason, message));
    }
    let category = match reason {
        "CreateContainerConfigError" => return Some(misconfigured(step, message)),
        "CreateContainerError" | "CreatePodSandboxError" | "PreCreateHookError" => {
            Category::CONTAINER_CREATE
        }
        "RunContainerError" | "PreStartHookError" | "PostStartHookError" | "CrashLoopBackOff" => {
            return Some(start::error(step, message));
        }
        _ => return None,
    };
    let sentence = format!("`{}`: {}", step.name(), cause(message));
    Some(diagnosis(category, sentence, Basis::Container).of(step))
}

fn misconfigured(step: Step, message: &str) -> Diagnosis {
    if let Some(name) = missing(message, "secret") {
        let sentence = format!("`{}` needs the Secret `{name}`, which does not exist", step.name());
        return diagnosis(Category::SECRET_MISSING, sentence, Basis::Container).of(step);
    }
    let sentence = format!("`{}` cannot be configured: {}", step.name(), cause(message));
    diagnosis(Category::CONTAINER_CONFIG, sentence, Basis::Container).of(step)
}

/// A pull that failed. `ImagePullBackOff` of older kubelets does not say why; their events do.
pub(super) fn image_trouble(
    seen: &Seen<'_>,
    pod: &Pod,
    step: Step,
    reason: &str,
    message: &str,
) -> Diagnosis {
    let mut category = image::classify(reason, message);
    let mut words = message.to_owned();
    let mut basis = Basis::Container;
    if category == Category::IMAGE_PULL {
        let told = seen.events.iter().find(|event| {
            event.about == pod.uid
                && event.reason == "Failed"
                && event.message.starts_with("Failed to pull image")
        });
        if let Some(event) = told {
            category = image::classify(reason, &event.message);
            words.clone_from(&event.message);
            basis = Basis::Event;
        }
    }
    let sentence = format!("the image of `{}` cannot be pulled: {}", step.name(), cause(&words));
    diagnosis(category, sentence, basis).of(step)
}

/// `stage` has ended well, and the node gets the image of `run` and makes its containers.
fn staged(seen: &Seen<'_>, pod: &Pod) -> Diagnosis {
    let mut found = starting(seen, pod).of(Step::Run);
    found.sentence = format!("the inputs are there; {}", found.sentence);
    found
}

/// The last that the node said of a pod: reason and message.
fn newest_of_node<'a>(seen: &'a Seen<'_>, pod: &Pod) -> Option<(&'a str, &'a str)> {
    // What the scheduler said is past, but has the more exact time: seconds are cut off all others.
    let newest = seen.events.iter().find(|event| {
        event.about == pod.uid && !matches!(&*event.reason, "Scheduled" | "FailedScheduling")
    });
    newest.map(|event| (event.reason.as_str(), event.message.as_str()))
}

fn is_pulling(seen: &Seen<'_>, pod: &Pod) -> bool {
    newest_of_node(seen, pod).is_some_and(|(reason, _)| reason == "Pulling")
}

/// What a kubelet says that has not heard of a Secret or a `ConfigMap` yet, whether it is there or not
/// (`failed to sync secret cache: timed out waiting for the condition`).
fn is_slow_to_look(message: &str) -> bool {
    message.contains("failed to sync ") && message.contains(" cache: timed out")
}

/// On a node, and no container has begun.
fn starting(seen: &Seen<'_>, pod: &Pod) -> Diagnosis {
    match newest_of_node(seen, pod) {
        Some(("FailedMount", message)) if is_slow_to_look(message) => {
            let sentence = "the node prepares the pod; it was slow to read its Secrets and ConfigMaps, and tries again";
            diagnosis(Category::STARTING, sentence, Basis::Event)
        }
        Some(("FailedMount" | "FailedAttachVolume", message)) => {
            if let Some(name) = missing(message, "secret") {
                let sentence = format!("the pod needs the Secret `{name}`, which does not exist");
                return diagnosis(Category::SECRET_MISSING, sentence, Basis::Event);
            }
            let sentence = format!("a volume cannot be mounted: {}", cause(message));
            diagnosis(Category::VOLUME_MISSING, sentence, Basis::Event)
        }
        Some(("FailedCreatePodSandBox" | "FailedPodSandBoxStatus", message)) => {
            let sentence = format!("the node cannot make the pod: {}", cause(message));
            diagnosis(Category::CONTAINER_CREATE, sentence, Basis::Event)
        }
        Some(("Pulling", _)) => {
            diagnosis(Category::PULLING, "the node pulls an image", Basis::Event)
        }
        _ => diagnosis(Category::STARTING, "the node prepares the pod", Basis::Pod),
    }
}
