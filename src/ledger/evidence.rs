//! What a Job and its pods prove: how it ended, and that its `run` never started. Pure.

use super::facts::{Earlier, JobFact, PodFact, RunFact, Suspension};
use crate::execution::Category;
use crate::render::compare::JobState;

/// How an experiment ended, as its record says it: `succeeded`, `cancelled`, a category of the pod's steps, or
/// `failed` where nobody says more. `None` while it has not ended.
pub fn outcome(job: &JobFact, pods: &[PodFact]) -> Option<&'static str> {
    match &job.state {
        JobState::Succeeded { .. } => Some("succeeded"),
        JobState::Failed { .. } if job.cancelled.is_some() => Some("cancelled"),
        JobState::Failed { .. } => {
            let said = own(job, pods).find_map(|pod| pod.category);
            // A step that succeeded in a Job that failed tells nothing about why.
            let why = said.filter(|category| *category != Category::Succeeded);
            Some(why.map_or("failed", Category::name))
        }
        JobState::Queued | JobState::Pending | JobState::Running => None,
    }
}

/// The pods that this very Job controls: an earlier Job of the same name may have left some.
pub fn own<'a>(job: &'a JobFact, pods: &'a [PodFact]) -> impl Iterator<Item = &'a PodFact> {
    pods.iter().filter(|pod| pod.job_uid.as_deref() == Some(job.uid.as_str()))
}

/// What keeps a Job from being released.
pub type Doubtful = String;

/// Whether a failed Job proves by its pods that its `run` never started.
pub fn failed_without_run(job: &JobFact, pods: &[PodFact]) -> Result<(), Doubtful> {
    traceable(job)?;
    let own: Vec<&PodFact> = own(job, pods).collect();
    if own.is_empty() {
        return Err("its pod is gone, and with it the only proof".to_owned());
    }
    if own.len() as u64 != job.counted {
        return Err(format!(
            "it counts {} ended pods and shows {}, so one may be gone",
            job.counted,
            own.len()
        ));
    }
    for pod in own {
        if unbound_for_good(pod) {
            continue;
        }
        if !pod.is_over || pod.is_terminating {
            return Err(format!("its pod {} has not ended yet", pod.name));
        }
        if pod.is_disrupted {
            return Err(format!(
                "its pod {} was ended by the cluster and not by its node, so what it shows may be old",
                pod.name
            ));
        }
        never_started(pod)?;
    }
    Ok(())
}

/// The pod whose deletion proves that a pending Job never ran, or that needs none because it already is deleted.
pub fn pending_without_node<'a>(
    job: &'a JobFact,
    pods: &'a [PodFact],
) -> Result<&'a PodFact, Doubtful> {
    traceable(job)?;
    if job.counted > 0 {
        return Err("a pod of it has ended already".to_owned());
    }
    match own(job, pods).collect::<Vec<_>>()[..] {
        [] => Err("it shows no pod: one may start at any moment, or be gone".to_owned()),
        [pod] if pod.is_bound => Err(format!("its pod {} has a node", pod.name)),
        [pod] => never_started_or_silent(pod).map(|()| pod),
        _ => Err("it shows more than one pod".to_owned()),
    }
}

/// Whether a suspended Job proves that it never had a pod. It holds for the version that was read, and no longer.
pub fn never_admitted(job: &JobFact, pods: &[PodFact]) -> Result<(), Doubtful> {
    let is_untouched = job.counted == 0 && job.started_at.is_none();
    match job.suspension {
        Suspension::SinceCreation if is_untouched && own(job, pods).next().is_none() => Ok(()),
        Suspension::SinceCreation => Err("it is suspended and shows that it had a pod".to_owned()),
        Suspension::Later => Err("it is suspended, and may have been started before".to_owned()),
        Suspension::No => Err("it is not suspended any more".to_owned()),
    }
}

/// Whether a Job proves, as it stands now, that no `run` of it has started. A Job that is not over may start it later.
pub fn not_yet_run(job: &JobFact, pods: &[PodFact]) -> Result<(), Doubtful> {
    if matches!(job.state, JobState::Failed { .. }) {
        return failed_without_run(job, pods);
    }
    traceable(job)?;
    let own: Vec<&PodFact> = own(job, pods).collect();
    if job.counted > own.len() as u64 {
        return Err("a pod that it counts is gone".to_owned());
    }
    match own[..] {
        [] if job.started_at.is_none() => Ok(()),
        [] => Err("it shows no pod: one may start at any moment, or be gone".to_owned()),
        [pod] if unbound_for_good(pod) => Ok(()),
        [pod] if pod.is_terminating || pod.is_disrupted => {
            Err(format!("its pod {} is on its way out, and what it shows may be old", pod.name))
        }
        [pod] if pod.is_bound => never_started(pod),
        [pod] => never_started_or_silent(pod),
        _ => Err("it shows more than one pod".to_owned()),
    }
}

/// A pod that is being deleted never gets a node: the API server refuses to bind it.
pub fn unbound_for_good(pod: &PodFact) -> bool {
    pod.is_terminating && !pod.is_bound && pod.run != RunFact::MayHaveStarted
}

/// Whether every pod that the Job ever had has left a trace in it.
pub fn traceable(job: &JobFact) -> Result<(), Doubtful> {
    match job.earlier_pods {
        None => Ok(()),
        Some(Earlier::Suspended) => {
            Err("it was suspended and started again, and an earlier pod leaves no trace".to_owned())
        }
        Some(Earlier::Restarted) => {
            Err("its profile starts it again after a disruption, and an earlier pod may be gone"
                .to_owned())
        }
    }
}

fn never_started(pod: &PodFact) -> Result<(), Doubtful> {
    match pod.run {
        RunFact::NeverStarted => never_said(pod),
        RunFact::NotShown => Err(format!("its pod {} shows no status of `run`", pod.name)),
        RunFact::MayHaveStarted => {
            Err(format!("its pod {} shows a container of `run`, so it was started", pod.name))
        }
    }
}

/// Before a pod has a node, nobody writes the status of its containers.
fn never_started_or_silent(pod: &PodFact) -> Result<(), Doubtful> {
    match pod.run {
        RunFact::NotShown => Ok(()),
        RunFact::NeverStarted | RunFact::MayHaveStarted => never_started(pod),
    }
}

/// `publish` saw `run` begin if it speaks of the runner.
fn never_said(pod: &PodFact) -> Result<(), Doubtful> {
    match pod.category {
        Some(
            category @ (Category::Succeeded
            | Category::NoRunner
            | Category::RunnerFailed
            | Category::RunnerKilled
            | Category::BudgetExceeded
            | Category::OutOfMemory
            | Category::LimitExceeded
            | Category::PublicationFailed),
        ) => Err(format!("its pod {} says `{}`, so it was started", pod.name, category.name())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
