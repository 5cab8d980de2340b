//! What a cancel does to each kind of Job and pod.

use super::*;
use crate::render::compare::Cancellation;

fn marked() -> JobFact {
    let at = "2030-01-02T03:04:05Z".parse().unwrap();
    JobFact { cancelled: Some(Cancellation { at, by: None }), ..job() }
}

fn bound() -> PodFact {
    PodFact { is_bound: true, ..pod() }
}

/// A cancel that has read the Job.
fn reads_job(job: JobFact) -> Told {
    Told::start(Command::Cancel).sees(reads(job))
}

/// A cancel that has read all.
fn cancels(job: JobFact, pods: Vec<PodFact>) -> Told {
    reads_job(job).sees_beside(pods)
}

#[test]
fn what_is_over_is_left_alone() {
    let over = |job: JobFact| reads_job(JobFact { state: failed(None), ..job }).end().ending;
    assert_eq!(over(job()), Ending::AlreadyFinished);
    assert_eq!(over(marked()), Ending::Cancelled);
    // One that is being deleted is no end of it.
    let leaving = JobFact { state: failed(None), terminating: Some(Vec::new()), ..job() };
    assert!(matches!(cancels(leaving, Vec::new()).end().ending, Ending::Incomplete(_)));
}

#[test]
fn who_and_when_come_first() {
    for (job, lowers) in [(job(), false), (queued(Suspension::Later), true)] {
        let told = cancels(job, vec![bound()]);
        let [Request::MarkJob { by, lower, .. }] = told.asks() else { panic!("{:?}", told.action) };
        assert_eq!((by.as_str(), *lower), ("somebody", lowers));
    }
}

#[test]
fn a_suspended_job_makes_place_for_its_record() {
    let suspended = JobFact { suspension: Suspension::Later, state: JobState::Queued, ..marked() };
    let told = cancels(suspended, Vec::new());
    let [Request::CreateRecord(record)] = told.asks() else { panic!("{:?}", told.action) };
    assert_eq!(record.outcome, "cancelled");
}

#[test]
fn the_deadline_that_ends_it_is_lowered_and_no_other() {
    let short = |pod: PodFact| PodFact { deadline: Some(1), ..pod };
    let over = || PodFact { is_over: true, ..bound() };
    let restarts = || JobFact { earlier_pods: Some(Earlier::Restarted), ..marked() };
    let with_deadline = |deadline| JobFact { deadline, ..marked() };
    for (what, job, pods, lowered) in [
        ("a pod at work", marked(), vec![bound()], "pod"),
        ("one without a deadline", marked(), vec![PodFact { deadline: None, ..bound() }], "pod"),
        ("the next longer one", marked(), vec![PodFact { deadline: Some(2), ..bound() }], "pod"),
        ("one that is at work beside one that waits", marked(), vec![bound(), pod()], "pod"),
        ("a pod that is to end already", marked(), vec![short(bound())], ""),
        (
            "one that is being deleted",
            marked(),
            vec![PodFact { is_terminating: true, ..bound() }],
            "",
        ),
        ("one that is over", marked(), vec![over()], ""),
        ("one that is over and is followed by another", restarts(), vec![over()], "job"),
        ("no pod yet", marked(), Vec::new(), "job"),
        ("a pod without a node", marked(), vec![pod()], "job"),
        ("one of each kind that does not run", marked(), vec![over(), pod()], "job"),
        ("a Job without a deadline", with_deadline(None), Vec::new(), "job"),
        ("a Job that is to end already", with_deadline(Some(1)), Vec::new(), ""),
    ] {
        let told = cancels(job, pods);
        let found = match &told.action {
            Action::Send { requests, .. } => match &requests[..] {
                [Request::LowerPod { .. }] => "pod",
                [Request::LowerJob { .. }] => "job",
                other => panic!("{what}: {other:?}"),
            },
            Action::End(conclusion) => {
                assert_eq!(conclusion.ending, Ending::CancelRequested, "{what}");
                ""
            }
        };
        assert_eq!(found, lowered, "{what}");
    }
}
