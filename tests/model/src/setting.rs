//! What stands at the beginning, who is there, and how often each thing may befall them.

use crate::cluster::Signature;
use crate::keeper::Task;

/// How often each thing may happen, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Answers that nobody hears: the request may have arrived, may arrive later, or never.
    pub losses: u8,
    /// Processes that are killed, and the same command begun again.
    pub crashes: u8,
    /// Objects that a foreign hand deletes.
    pub hands: u8,
    /// Changes to which quota, admission or a role says no.
    pub refusals: u8,
    /// Creates that arrive though a retention has passed since they were decided.
    pub late: u8,
    /// Retentions that pass.
    pub retentions: u8,
}

/// A setting of the model.
#[expect(clippy::struct_excessive_bools, reason = "each is a circumstance of its own")]
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Who submits, by signature; all mean the same experiment.
    pub submitters: Vec<Signature>,
    /// Who ends it.
    pub keepers: Vec<Task>,
    /// How often each thing may happen.
    pub budget: Budget,
    /// How often a protocol tries again.
    pub tries: u32,
    /// Pods wait for a node.
    pub waits_for_nodes: bool,
    /// A queue starts Jobs.
    pub has_queue: bool,
    /// The queue stops what it has started.
    pub preempts: bool,
    /// The Job of the first signature stands from the beginning.
    pub stands: bool,
}

impl Setting {
    /// Without nodes that must be waited for and without a queue, from nothing.
    pub fn new(
        name: &'static str,
        submitters: &[Signature],
        keepers: &[Task],
        budget: Budget,
    ) -> Self {
        Self {
            name,
            submitters: submitters.to_vec(),
            keepers: keepers.to_vec(),
            budget,
            tries: 3,
            waits_for_nodes: false,
            has_queue: false,
            preempts: false,
            stands: false,
        }
    }

    fn with_nodes(self) -> Self {
        Self { waits_for_nodes: true, ..self }
    }

    fn with_queue(self, preempts: bool) -> Self {
        Self { has_queue: true, preempts, ..self }
    }

    fn standing(self) -> Self {
        Self { stands: true, ..self }
    }
}

/// A setting by its name.
pub fn named(name: &str) -> Option<Setting> {
    quick().into_iter().chain(deep()).find(|setting| setting.name == name)
}

/// What continuous integration checks.
pub fn quick() -> Vec<Setting> {
    [from_nothing(), standing()].concat()
}

/// Of a namespace that holds nothing at first.
fn from_nothing() -> Vec<Setting> {
    use Task::{Prune, Sweep};
    let none = Budget::default();
    let aged = Budget { late: 1, retentions: 1, ..none };
    vec![
        Setting::new(
            "three submitters, a crash",
            &["a", "a", "b"],
            &[],
            Budget { crashes: 1, ..none },
        ),
        Setting::new("two submitters, two losses", &["a", "b"], &[], Budget { losses: 2, ..none }),
        Setting::new(
            "two submitters, a foreign hand, a no",
            &["a", "b"],
            &[],
            Budget { hands: 1, refusals: 1, ..none },
        ),
        Setting::new(
            "two submitters, a pruner, a loss",
            &["a", "b"],
            &[Prune],
            Budget { losses: 1, ..aged },
        ),
        Setting::new(
            "a submitter, a pruner, two losses, two crashes",
            &["a"],
            &[Prune],
            Budget { losses: 2, crashes: 2, ..aged },
        ),
        Setting::new("a submitter, two pruners, a sweep", &["a"], &[Prune, Prune, Sweep], aged),
        Setting::new(
            "two submitters, a sweep, a loss, a foreign hand",
            &["a", "b"],
            &[Sweep],
            Budget { losses: 1, hands: 1, ..aged },
        ),
        Setting::new(
            "three submitters, a pruner, a loss",
            &["a", "a", "b"],
            &[Prune],
            Budget { losses: 1, ..aged },
        ),
        Setting::new(
            "three submitters, a pruner, a crash",
            &["a", "a", "b"],
            &[Prune],
            Budget { crashes: 1, ..aged },
        ),
        Setting::new(
            "three submitters, a loss",
            &["a", "a", "b"],
            &[],
            Budget { losses: 1, ..none },
        ),
    ]
}

/// Of a Job that stands and that somebody wants to end.
fn standing() -> Vec<Setting> {
    use Task::{Cancel, Prune, Release};
    let none = Budget::default();
    let aged = Budget { late: 1, retentions: 1, ..none };
    vec![
        Setting::new("a submitter, two releases", &["a"], &[Release, Release], none)
            .with_nodes()
            .standing(),
        Setting::new(
            "two submitters, a release, a foreign hand",
            &["a", "b"],
            &[Release],
            Budget { hands: 1, ..none },
        )
        .with_nodes()
        .standing(),
        Setting::new("a submitter, a release, a pruner", &["a"], &[Release, Prune], aged)
            .with_nodes()
            .standing(),
        Setting::new(
            "a submitter, a release of what a queue stops",
            &["a"],
            &[Release],
            Budget { losses: 1, ..none },
        )
        .with_nodes()
        .with_queue(true)
        .standing(),
        Setting::new(
            "two submitters, a release of what a queue may start, a loss",
            &["a", "b"],
            &[Release],
            Budget { losses: 1, ..none },
        )
        .with_nodes()
        .with_queue(false)
        .standing(),
        Setting::new(
            "a submitter, a cancel of what a queue may start, a loss",
            &["a"],
            &[Cancel],
            Budget { losses: 1, ..none },
        )
        .with_nodes()
        .with_queue(false)
        .standing(),
        Setting::new(
            "a cancel of what a queue stops, a loss",
            &[],
            &[Cancel],
            Budget { losses: 1, ..none },
        )
        .with_nodes()
        .with_queue(true)
        .standing(),
    ]
}

/// What is checked when somebody asks for it.
pub fn deep() -> Vec<Setting> {
    use Task::{Cancel, Prune, Release, Sweep};
    let most = Budget { losses: 2, crashes: 2, hands: 0, refusals: 0, late: 1, retentions: 1 };
    vec![
        Setting::new("two cancels of what a queue stops", &[], &[Cancel, Cancel], Budget::default())
            .with_nodes()
            .with_queue(true)
            .standing(),
        Setting::new(
            "two submitters, a pruner, two losses, two crashes",
            &["a", "b"],
            &[Prune],
            most,
        ),
        Setting::new(
            "three submitters, a pruner, two losses",
            &["a", "a", "b"],
            &[Prune],
            Budget { crashes: 0, ..most },
        ),
        Setting::new(
            "three submitters, a pruner, two crashes",
            &["a", "a", "b"],
            &[Prune],
            Budget { losses: 0, ..most },
        ),
        Setting::new(
            "three submitters, a pruner, a loss, a crash",
            &["a", "a", "b"],
            &[Prune],
            Budget { losses: 1, crashes: 1, ..most },
        ),
        Setting::new(
            "two submitters, a pruner, a sweep, two losses, a crash, a hand, a no",
            &["a", "b"],
            &[Prune, Sweep],
            Budget { crashes: 1, hands: 1, refusals: 1, ..most },
        ),
        Setting::new(
            "two submitters, two releases, a pruner, two losses, a crash, a hand",
            &["a", "b"],
            &[Release, Release, Prune],
            Budget { crashes: 1, hands: 1, ..most },
        )
        .with_nodes()
        .standing(),
        Setting::new(
            "two submitters, a cancel, a release, a pruner, a loss, a crash, and a queue that stops",
            &["a", "b"],
            &[Cancel, Release, Prune],
            Budget { losses: 1, crashes: 1, ..most },
        )
        .with_nodes()
        .with_queue(true)
        .standing(),
    ]
}
