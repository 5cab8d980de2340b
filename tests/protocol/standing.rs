//! A Job of ours stands: whether its Secret is there, and when one is created again.

use harness::submit::ending::{Conflict, Ending, Remark, SecretState};
use harness::submit::facts::{
    Effect, Fact, Finished, JobFact, JobVerdict, Reading, RecordFact, SecretFact, SecretVerdict,
};
use harness::submit::protocol::Request;

use crate::told::{
    Told, doubt, forbidden, job, looks, no, ours, paths, record, secret, secret_that_is, too_many,
};

/// This Job stands, and this is its Secret.
fn stands(job: JobFact, secret: Reading<SecretFact>) -> Told {
    Told::start().hears(looks("n", Reading::Present(job), secret))
}

/// Our Job stands without its Secret, and this is what the record says.
fn recorded(record: Reading<RecordFact>) -> Told {
    let told = stands(ours(), Reading::Absent);
    assert!(matches!(told.asks(), [Request::ReadRecord]), "{:?}", told.asks());
    told.hears(vec![Fact::Record(record)])
}

/// Its Secret is created again, with this answer.
fn repairs(effect: Effect<SecretFact>) -> Told {
    let told = recorded(Reading::Absent);
    assert!(matches!(told.asks(), [Request::CreateSecret]), "{:?}", told.asks());
    told.hears(vec![Fact::SecretCreate(effect)])
}

/// That answer left something open, so the Secret is read.
fn settles(effect: Effect<SecretFact>, reading: Reading<SecretFact>) -> Told {
    let told = repairs(effect);
    assert!(matches!(told.asks(), [Request::ReadSecret]), "{:?}", told.asks());
    told.hears(vec![Fact::Secret(reading)])
}

/// It ends with the Job that stands, and with these remarks.
fn stays(told: Told, remarks: &[Remark]) -> SecretState {
    let end = told.end();
    assert_eq!(end.ending, Ending::AlreadySubmitted(ours()));
    assert_eq!(end.remarks, remarks);
    end.secret
}

fn not_repaired(told: Told, why: &str) {
    stays(told, &[Remark::SecretNotRepaired(why.to_owned())]);
}

#[test]
fn what_the_job_that_stands_is_to_us() {
    let cancelled = JobVerdict::Cancelled { at: "then".to_owned(), by: "them".to_owned() };
    for (verdict, ending) in [
        (
            JobVerdict::Altered(paths()),
            (|job| Ending::Conflict(Conflict::AlteredJob(job, paths()))) as fn(JobFact) -> Ending,
        ),
        (JobVerdict::Foreign(paths()), |job| Ending::Conflict(Conflict::ForeignJob(job, paths()))),
        (JobVerdict::Terminating, |job| Ending::Conflict(Conflict::TerminatingJob(job))),
        (cancelled, |job| Ending::Cancelled { job, at: "then".to_owned(), by: "them".to_owned() }),
    ] {
        // Whether its Secret is there is no question then.
        for job in [job(verdict.clone()), JobFact { verdict, ..ours() }] {
            assert_eq!(stands(job.clone(), Reading::Absent).end().ending, ending(job));
        }
    }
}

#[test]
fn only_a_job_that_may_still_start_needs_its_secret() {
    assert_eq!(stays(stands(ours(), Reading::Present(secret())), &[]), SecretState::Present);
    for finished in [Finished::Succeeded, Finished::Failed] {
        let finished = JobFact { finished: Some(finished), ..ours() };
        let end = stands(finished.clone(), Reading::Absent).end();
        assert_eq!(end.ending, Ending::AlreadySubmitted(finished));
    }
    // A rehearsal creates nothing, and one of a Job without any Secret's name has none to look for.
    let absent = || looks("n", Reading::Present(ours()), Reading::Absent);
    stays(Told::rehearses().hears(absent()), &[]);
    let nameless = JobFact { secret: None, ..ours() };
    let end = stands(nameless.clone(), Reading::Absent).end();
    assert_eq!(end.ending, Ending::AlreadySubmitted(nameless));
}

#[test]
fn a_secret_that_is_not_the_jobs_is_a_conflict() {
    let end =
        stands(ours(), Reading::Present(secret_that_is(SecretVerdict::Different(paths())))).end();
    assert_eq!(end.ending, Ending::Conflict(Conflict::ForeignSecret(Some(ours()), paths())));
    let leaving = stands(ours(), Reading::Present(secret_that_is(SecretVerdict::Terminating)));
    assert!(matches!(leaving.asks(), [Request::ReadRecord]), "{:?}", leaving.asks());
}

#[test]
fn a_secret_is_created_again_only_while_no_record_stands() {
    stays(recorded(Reading::Present(record(Vec::new()))), &[]);
    not_repaired(
        recorded(Reading::Refused(forbidden())),
        "reading the record was refused with 403 Forbidden: no",
    );
    assert!(recorded(Reading::Refused(too_many())).looks_anew());
    assert!(recorded(Reading::Unknown(doubt(false))).looks_anew());
}

#[test]
fn a_secret_that_was_created_again_is_told() {
    let state = stays(repairs(Effect::Done(secret())), &[Remark::SecretRepaired]);
    assert_eq!(state, SecretState::Created);
    let changed = repairs(Effect::Done(secret_that_is(SecretVerdict::Different(paths())))).end();
    assert_eq!(changed.ending, Ending::Conflict(Conflict::ForeignSecret(Some(ours()), paths())));
    not_repaired(
        repairs(Effect::Done(secret_that_is(SecretVerdict::Terminating))),
        "the old one is still being deleted",
    );
}

#[test]
fn a_repair_whose_answer_left_something_open_is_read() {
    let lost = || Effect::Unknown(doubt(false));
    let state = stays(settles(lost(), Reading::Present(secret())), &[Remark::SecretRepaired]);
    assert_eq!(state, SecretState::Present);
    not_repaired(
        settles(Effect::Refused(forbidden()), Reading::Absent),
        "creating it again was refused with 403 Forbidden: no",
    );
    not_repaired(
        settles(lost(), Reading::Refused(forbidden())),
        "reading it was refused with 403 Forbidden: no",
    );
    for (effect, reading) in [
        (lost(), Reading::Absent),
        (Effect::Refused(no(409, "AlreadyExists")), Reading::Absent),
        (Effect::Refused(too_many()), Reading::Absent),
    ] {
        assert!(settles(effect.clone(), reading).looks_anew(), "{effect:?}");
    }
    for reading in [Reading::Refused(too_many()), Reading::Unknown(doubt(false))] {
        let told = settles(lost(), reading);
        assert!(matches!(told.asks(), [Request::ReadSecret]), "{:?}", told.asks());
    }
}

#[test]
fn a_secret_that_this_call_did_not_create_is_never_deleted() {
    for theirs in [JobFact { secret: Some("theirs".to_owned()), ..job(JobVerdict::Same) }, ours()] {
        let told = stands(theirs, Reading::Present(secret()));
        let asks_to_delete = !told.has_ended()
            && told.asks().iter().any(|one| matches!(one, Request::DeleteSecret(_)));
        assert!(!asks_to_delete, "{:?}", told.asks());
    }
}
