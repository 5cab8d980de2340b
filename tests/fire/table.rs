//! Who dies when, and how the experiment must end: one line each.

use harness_test_store::Action;

use crate::moment::Moment::{
    self, AfterThePut, BeforeThePut, Greeting, InThePut, Packing, Running, Staging,
};
use crate::victim::Victim::{
    self, Containerd, Everything, First, Kubelet, Runner, StoreRules, StoreServer,
};

/// Where the result must be afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    /// There, with this outcome in its evidence.
    There(&'static str),
    /// Nowhere.
    Nowhere,
    /// There with this outcome or nowhere: the request was under way when its sender died.
    Either(&'static str),
}
use Object::{Either, Nowhere, There};

/// One experiment under fire.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) moment: Moment,
    pub(crate) victim: Victim,
    /// The category of `status`; `succeeded` is exit code 0, everything else 7.
    pub(crate) category: &'static str,
    pub(crate) object: Object,
}

impl Row {
    pub(crate) fn name(&self) -> String {
        format!("{:?} at {:?}", self.victim, self.moment)
    }
}

fn row(moment: Moment, victim: Victim, category: &'static str, object: Object) -> Row {
    Row { moment, victim, category, object }
}

/// Blows that befall one pod only, or one request.
pub(crate) fn of_the_pod() -> Vec<Row> {
    let down = |times| StoreRules(vec![Action::DropRequest; times]);
    vec![
        row(Staging, First("stage"), "step-failed", Nowhere),
        row(Staging, Everything("stage"), "step-failed", Nowhere),
        row(Greeting, First("publish"), "publication-failed", Nowhere),
        row(Running, Runner, "runner-killed", There("runner-killed")),
        row(Running, First("run"), "runner-killed", There("runner-killed")),
        row(Running, Everything("run"), "runner-killed", There("runner-killed")),
        row(Running, First("publish"), "publication-failed", Nowhere),
        row(Running, Everything("publish"), "publication-failed", Nowhere),
        row(Packing, First("publish"), "publication-failed", Nowhere),
        row(Packing, Everything("publish"), "publication-failed", Nowhere),
        row(BeforeThePut, First("publish"), "publication-failed", Either("succeeded")),
        row(InThePut, First("publish"), "publication-failed", Nowhere),
        row(InThePut, Everything("publish"), "publication-failed", Nowhere),
        row(AfterThePut, First("publish"), "publication-failed", There("succeeded")),
        row(BeforeThePut, down(3), "succeeded", There("succeeded")),
        row(BeforeThePut, down(99), "publication-failed", Nowhere),
        row(InThePut, StoreRules(vec![Action::CutRequest(9000)]), "succeeded", There("succeeded")),
        row(AfterThePut, StoreRules(vec![Action::LoseResponse]), "succeeded", There("succeeded")),
    ]
}

/// Blows that everything on the node feels: no experiment may fail for them, but where containerd lost an exit status.
pub(crate) fn of_the_node() -> Vec<Row> {
    let mut rows = Vec::new();
    for moment in [Staging, Greeting, Running, Packing, InThePut, AfterThePut] {
        for victim in [Kubelet, Containerd, StoreServer] {
            rows.push(row(moment, victim, "succeeded", There("succeeded")));
        }
    }
    rows
}
