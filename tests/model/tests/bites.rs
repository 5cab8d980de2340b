//! Each property fails when the rule behind it is undone.
#![cfg(test)]

use harness_model::check::{
    CONVERGES, Check, NOTHING_OF_OTHERS, ONE_JOB, Order, TRUE_RECEIPTS, check,
};
use harness_model::keeper::Task::{Prune, Release, Sweep};
use harness_model::setting::{Budget, Setting};
use harness_model::variant::Variant;
use stateright::HasDiscoveries;

fn setting(submitters: &[&'static str], budget: Budget) -> Setting {
    Setting::new("broken", submitters, &[], budget)
}

fn pruned(submitters: &[&'static str], budget: Budget) -> Setting {
    let budget = Budget { retentions: 1, ..budget };
    Setting { keepers: vec![Prune], ..setting(submitters, budget) }
}

fn released(releases: usize, preempts: bool) -> Setting {
    let keepers = vec![Release; releases];
    let base = setting(&["a"], Budget::default());
    Setting { keepers, waits_for_nodes: true, has_queue: preempts, preempts, stands: true, ..base }
}

fn is_found(variant: Variant, setting: &Setting, properties: &[&'static str]) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sound = Setting { name: "sound", ..setting.clone() };
    let found = check(&sound, Variant::Sound, Order::Breadth, threads);
    assert!(found.violations.is_empty(), "{variant:?}: the setting itself: {:?}", found.violations);
    // A broken protocol may break more than one; it is the one that the rule is there for that must be found.
    let until = HasDiscoveries::AnyOf(properties.iter().copied().collect());
    let found =
        Check { setting, variant, order: Order::Breadth, threads, until, tells: false }.run();
    assert!(
        found.violations.iter().any(|violation| properties.contains(&violation.property)),
        "{variant:?} is not found in {} states: {:?}",
        found.states,
        found.violations
    );
}

#[test]
fn a_record_that_is_read_before_the_job() {
    // A process that begins when the retention has passed, so that its reads still allow a create.
    let setting = pruned(&["a", "b"], Budget { crashes: 1, ..Budget::default() });
    is_found(Variant::RecordFirst, &setting, &[ONE_JOB]);
}

#[test]
fn a_create_that_is_repeated_blindly() {
    let budget = Budget { losses: 2, late: 1, ..Budget::default() };
    is_found(Variant::BlindRetry, &pruned(&["a", "a"], budget), &[ONE_JOB]);
}

#[test]
fn a_permission_without_an_end() {
    is_found(Variant::EndlessPermission, &pruned(&["a", "a"], Budget::default()), &[ONE_JOB]);
}

#[test]
fn a_prune_of_the_one_secret_that_the_job_names() {
    let budget = Budget { late: 1, ..Budget::default() };
    is_found(Variant::NamedSecretOnly, &pruned(&["a", "b"], budget), &[ONE_JOB]);
}

#[test]
fn a_record_that_is_written_last() {
    is_found(
        Variant::RecordLast,
        &pruned(&["a", "a"], Budget::default()),
        &[ONE_JOB, TRUE_RECEIPTS],
    );
}

#[test]
fn a_lost_create_that_is_forgotten_or_taken_for_a_no() {
    let setting = setting(&["a"], Budget { losses: 1, ..Budget::default() });
    for variant in [Variant::LossForgotten, Variant::LossTakenForNo] {
        is_found(variant, &Setting { tries: 0, ..setting.clone() }, &[TRUE_RECEIPTS]);
    }
}

#[test]
fn a_lost_delete_of_a_secret_that_is_taken_for_a_no() {
    let swept = Setting {
        keepers: vec![Sweep],
        stands: true,
        ..setting(&["b"], Budget { losses: 1, retentions: 1, ..Budget::default() })
    };
    is_found(Variant::LostDeleteTakenForNo, &swept, &[TRUE_RECEIPTS]);
}

#[test]
fn a_secret_that_is_deleted_by_its_name() {
    let by_submit = setting(&["a", "b"], Budget { crashes: 1, hands: 1, ..Budget::default() });
    is_found(Variant::SecretByName, &by_submit, &[NOTHING_OF_OTHERS]);
    is_found(Variant::SecretByName, &released(2, false), &[NOTHING_OF_OTHERS]);
}

#[test]
fn a_job_that_is_deleted_by_its_name() {
    is_found(Variant::JobByName, &released(2, false), &[NOTHING_OF_OTHERS]);
}

#[test]
fn a_pod_that_is_deleted_in_any_version() {
    is_found(
        Variant::PodWithoutVersion,
        &released(1, false),
        &[ONE_JOB, NOTHING_OF_OTHERS, TRUE_RECEIPTS],
    );
}

#[test]
fn a_release_of_what_was_stopped_and_started() {
    for variant in
        [Variant::SuspensionForgotten, Variant::AdmissionForgotten, Variant::JobWithoutVersion]
    {
        is_found(variant, &released(1, true), &[ONE_JOB, NOTHING_OF_OTHERS, TRUE_RECEIPTS]);
    }
}

#[test]
fn a_name_that_locks_nothing() {
    is_found(Variant::TwoNames, &setting(&["a", "a"], Budget::default()), &[ONE_JOB]);
}

/// The assumption behind the retention: of creates that arrive more than a retention after they were sent, one may be
/// survived, and two of two processes (a Secret and then a Job) are a second run.
#[test]
fn two_creates_that_are_later_than_the_retention_are_the_limit() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (late, is_survived) in [(1, true), (2, false)] {
        let budget = Budget { losses: 2, late, ..Budget::default() };
        let found = check(&pruned(&["a", "a"], budget), Variant::Sound, Order::Breadth, threads);
        let twice = found.violations.iter().any(|violation| violation.property == ONE_JOB);
        assert_eq!(!twice, is_survived, "{late}: {:?}", found.violations);
    }
}

/// A command that is run again must end well: a conflict does not.
#[test]
fn a_state_that_nobody_gets_out_of_is_noticed() {
    use harness_model::cluster::{Cluster, Run};
    use harness_model::converge::stuck;
    use harness_model::world::{Protocols, State};
    use stateright::Model as _;

    let model = Protocols::new(released(1, false), Variant::Sound);
    let first = model.init_states().remove(0);
    assert_eq!(stuck(&model, &first), None, "{CONVERGES}");
    // A record of another Job beside the one that stands.
    let number = first.cluster.makers.len() + 1;
    let record = u8::try_from(number).ok();
    let cluster =
        Cluster { record, makers: vec![Run { actor: 0, life: 0 }; 1], ..first.cluster.clone() };
    let pruner = Protocols::new(pruned(&["a"], Budget::default()), Variant::Sound);
    let mut finished = cluster;
    if let Some(job) = &mut finished.job {
        job.finished = Some(0);
    }
    finished.age = 1;
    let state = State { cluster: finished, ..first };
    assert!(stuck(&pruner, &state).is_some());
}
