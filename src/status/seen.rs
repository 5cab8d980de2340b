//! What was seen of one experiment, as every part of the diagnosis reads it. Pure.

use std::collections::BTreeSet;

use super::category::Category;
use super::report::{Basis, Diagnosis};
use super::view::{Event, Job, Pod, State, Workload};
use super::{proof, steps};
use crate::execution::{self, Reason, Step};

/// What the functions of a diagnosis look at.
pub(super) struct Seen<'a> {
    pub(super) job: &'a Job,
    /// The Job's pods, the newest first.
    pub(super) pods: &'a [Pod],
    /// Whether the pods could be read at all.
    pub(super) pods_are_known: bool,
    /// The newest first.
    pub(super) events: &'a [Event],
    pub(super) workload: Option<&'a Workload>,
}

impl Seen<'_> {
    pub(super) fn pod(&self) -> Option<&Pod> {
        self.pods.first()
    }

    /// How many pods are known to have started the code: those that show it, and those that are gone and of which an event
    /// tells.
    pub(super) fn starts(&self) -> usize {
        self.pods.iter().filter(|pod| proof::has_run(pod)).count() + self.earlier_starts()
    }

    /// How many pods that are gone are known to have started the code.
    pub(super) fn earlier_starts(&self) -> usize {
        let of_run = format!("spec.containers{{{}}}", Step::Run.name());
        let told = self.events.iter().filter(|it| it.reason == "Started" && it.part == of_run);
        let told: BTreeSet<&str> = told.map(|event| event.about.as_str()).collect();
        told.into_iter().filter(|uid| self.pods.iter().all(|pod| pod.uid != *uid)).count()
    }

    /// How often the queue took the Job back, as far as it says so.
    pub(super) fn evictions(&self) -> i64 {
        self.workload.map_or(0, |workload| workload.evictions)
    }

    /// The newest event about an object with one of these reasons.
    pub(super) fn event(&self, uid: &str, reasons: &[&str]) -> Option<&Event> {
        self.events
            .iter()
            .find(|event| event.about == uid && reasons.contains(&event.reason.as_str()))
    }
}

/// A diagnosis with the remedy of its category.
pub(super) fn diagnosis(
    category: Category,
    sentence: impl Into<String>,
    basis: Basis,
) -> Diagnosis {
    let remedy = Some(category.remedy().to_owned()).filter(|remedy| !remedy.is_empty());
    Diagnosis { category, sentence: sentence.into(), remedy, basis, step: None }
}

impl Diagnosis {
    /// The same about one step.
    pub(super) fn of(mut self, step: impl Into<Option<Step>>) -> Self {
        self.step = step.into();
        self
    }
}

/// The step that found the traces of an earlier start of itself.
pub(super) fn second_start(pod: &Pod) -> Option<Step> {
    let is_second = |reason: Reason| reason.category == execution::Category::AlreadyStarted;
    steps::STEPS.into_iter().find(|step| reason_of(pod, *step).is_some_and(is_second))
}

/// Reads what a step left as its message, if it is that step's.
pub(super) fn reason_of(pod: &Pod, step: Step) -> Option<Reason> {
    match pod.state(step.name()) {
        State::Terminated { message, .. } => {
            Reason::parse(message).filter(|reason| reason.step == step)
        }
        _ => None,
    }
}
