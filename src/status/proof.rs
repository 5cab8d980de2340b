//! Whether the submission's code was started, by the same proofs on which `release` acts. Pure.

use serde_json::Value;

use super::category::Category;
use super::report::{Diagnosis, Phase, RunStarted};
use super::view::{Container, Pod, State};
use crate::execution::Step;
use crate::ledger::facts::PodFact;
use crate::ledger::{evidence, observe};

/// What is said to whoever may release an experiment.
const RELEASE: &str = "or free it with `harness prediction dispatch release`: its code never started, so it may be \
submitted again";

/// What a Job and its pods prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) run_started: RunStarted,
    /// Whether `release` would free it, as far as can be seen now.
    pub(super) frees: bool,
}

/// Whether the container of `run` was ever made.
pub(super) fn has_run(pod: &Pod) -> bool {
    let is_made =
        |it: &Container| it.has_id || it.restarts > 0 || matches!(it.state, State::Running { .. });
    pod.container(Step::Run.name()).is_some_and(is_made)
}

/// Judges a Job, the pods that were read with it, whether anything tells of a start, and what is said of it.
pub(super) fn of(
    object: &Value,
    objects: Option<&[Value]>,
    has_started: bool,
    phase: Phase,
    category: Category,
) -> Proof {
    let proof = |run_started, frees| Proof { run_started, frees };
    if has_started {
        return proof(RunStarted::Yes, false);
    }
    // Nobody knows of pods that may not be read, nor of one whose node no longer tells what became of it.
    let (Some(objects), false) = (objects, category == Category::NODE_LOST) else {
        return proof(RunStarted::Unknown, false);
    };
    let job = observe::job(object);
    let pods: Vec<PodFact> = objects.iter().map(observe::pod).collect();
    if evidence::not_yet_run(&job, &pods).is_err() {
        return proof(RunStarted::Unknown, false);
    }
    let frees = match phase {
        // Who released what is published already would only be told so again.
        Phase::Failed if category == Category::ALREADY_PUBLISHED => false,
        Phase::Failed => true,
        Phase::Queued => evidence::never_admitted(&job, &pods).is_ok(),
        Phase::Pending => {
            let waits = [Category::SCHEDULING, Category::SCHEDULING_GATED, Category::UNSCHEDULABLE];
            waits.contains(&category) && evidence::pending_without_node(&job, &pods).is_ok()
        }
        _ => false,
    };
    proof(RunStarted::Never, frees && job.identity.is_some())
}

impl Proof {
    /// The diagnosis with `release` as a further way out, where it is one.
    pub(super) fn offer(self, mut diagnosis: Diagnosis) -> Diagnosis {
        if self.frees {
            diagnosis.remedy = Some(match diagnosis.remedy.take() {
                Some(remedy) => format!("{remedy}; {RELEASE}"),
                None => RELEASE.to_owned(),
            });
        }
        diagnosis
    }
}
