//! What proves to a release that nothing ran, and what it makes of each answer on the way.

use super::*;

fn refused(code: u16) -> Fact {
    Fact::Effect(Effect::Refused(no(code)))
}

/// Up to the delete of the Job, which is answered.
fn deletes() -> Told {
    Told::releases().hears(vec![listed(&[])]).hears(vec![stands()]).hears(vec![done()])
}

#[test]
fn what_needs_no_proof_by_deletion_goes_straight_to_the_secrets() {
    let failed = JobFact { state: failed(None), counted: 1, ..job() };
    let never = PodFact { is_bound: true, is_over: true, run: RunFact::NeverStarted, ..pod() };
    let leaving = PodFact { is_terminating: true, ..pod() };
    for (job, pod) in [(failed, never), (job(), leaving)] {
        let told = Told::looks(job, vec![pod]);
        assert!(matches!(told.asks(), [Request::ListSecrets]), "{:?}", told.action);
    }
}

#[test]
fn a_no_to_the_proof_is_looked_at_or_is_the_end() {
    let proves = || Told::looks(job(), vec![pod()]);
    for code in [404, 409, 429] {
        let told = proves().hears(vec![refused(code)]);
        assert!(matches!(told.asks(), [Request::ReadNamespace, Request::ReadJob]), "{code}");
    }
    let end = proves().hears(vec![refused(403)]).end();
    assert!(matches!(end.ending, Ending::Refused { .. }), "{end:?}");
}

#[test]
fn a_pod_whose_delete_was_never_sent_is_untouched() {
    let after = |answer| {
        let mut told = Told::looks(job(), vec![pod()]);
        told.protocol.next(vec![answer], &now());
        told.protocol.pod
    };
    assert_eq!((after(unsent()), after(lost())), (Fate::Untouched, Fate::Unanswered));
}

#[test]
fn a_job_that_came_since_is_told_from_the_one_that_was_deleted() {
    let told = deletes().hears(vec![stands()]);
    assert!(matches!(told.asks(), [Request::ListSecrets]), "{:?}", told.action);
    let another = JobFact { uid: "another".to_owned(), ..job() };
    let end =
        deletes().hears(vec![reads(another)]).hears(vec![Fact::Record(Reading::Absent)]).end();
    assert_eq!(end.ending, Ending::Released);
    assert!(end.remarks.iter().any(|one| one.contains("submitted again meanwhile")), "{end:?}");
}

#[test]
fn what_somebody_else_removed_meanwhile_is_touched_no_more() {
    let another = JobFact { uid: "another".to_owned(), ..job() };
    for found in [absent(), reads(another)] {
        let end = Told::releases()
            .hears(vec![listed(&["secret"])])
            .hears(vec![found])
            .hears(vec![Fact::Record(Reading::Absent)])
            .end();
        assert_eq!(end.secrets, [""; 0]);
        assert!(end.remarks.iter().any(|one| one.contains("somebody else removed")), "{end:?}");
    }
}

#[test]
fn a_sweep_tells_of_a_loss_only_where_a_job_needs_what_it_removed() {
    let over = JobFact { state: failed(None), ..job() };
    let names_another = JobFact { secret: Some("third".to_owned()), ..job() };
    for (job, is_told) in [(job(), true), (over, false), (names_another, false)] {
        let end = sweep()
            .hears(vec![done(), done()])
            .hears(vec![listed(&[])])
            .hears(vec![reads(job.clone())])
            .end();
        let tells = end.remarks.iter().any(|remark| remark.contains("submit it again"));
        assert_eq!(tells, is_told, "{job:?}");
    }
}

#[test]
fn why_a_job_is_kept_is_told_as_it_is() {
    let why = |state| prune::keeps(&JobFact { state, ..job() }, HOUR, now().local);
    assert_eq!(why(JobState::Running), Some("it has not ended"));
    assert_eq!(why(failed(None)), Some("it does not say when it ended"));
    assert_eq!(why(failed(Some(now().local))), Some("it ended too recently"));
    let long_ago = "2030-01-01T00:00:00Z".parse().ok();
    assert_eq!(why(failed(long_ago)), None);
}
