//! What follows each answer to a create, and what the read after it decides.

use harness::submit::ending::{Conflict, Ending, Obstacle, Remark, SecretState};
use harness::submit::facts::{
    Doubt, Effect, Fact, JobFact, JobVerdict, Reading, SecretFact, SecretVerdict,
};
use harness::submit::protocol::Request;

use crate::told::{
    Told, doubt, forbidden, job, looks, no, ours, paths, rehearsal, secret, secret_that_is,
    too_many,
};

/// The answer to a create that may have been done.
fn lost<T>() -> Effect<T> {
    Effect::Unknown(doubt(false))
}

fn after_secret(effect: Effect<SecretFact>) -> Told {
    Told::start().may_create().hears(vec![Fact::SecretCreate(effect)])
}

fn after_job(effect: Effect<JobFact>) -> Told {
    let told = after_secret(Effect::Done(secret()));
    assert!(matches!(told.asks(), [Request::CreateJob(_)]), "{:?}", told.asks());
    told.hears(vec![Fact::JobCreate(effect)])
}

/// The answer to the create of the Secret was this, and then the Secret was read.
fn secret_read(effect: Effect<SecretFact>, reading: Reading<SecretFact>) -> Told {
    let told = after_secret(effect);
    assert!(matches!(told.asks(), [Request::ReadSecret]), "{:?}", told.asks());
    told.hears(vec![Fact::Secret(reading)])
}

/// The answer to the create of the Job was this, and then the Job was read.
fn job_read(effect: Effect<JobFact>, reading: Reading<JobFact>) -> Told {
    let told = after_job(effect);
    assert!(matches!(told.asks(), [Request::ReadJob]), "{:?}", told.asks());
    told.hears(vec![Fact::Job(reading)])
}

/// Everything is read again until nothing is tried any more, and then this is why.
fn gives_up(mut told: Told) -> (String, bool) {
    while !told.has_ended() {
        let unread = looks("n", Reading::Unknown(doubt(false)), Reading::Absent);
        told = match told.asks() {
            [Request::ReadNamespace, ..] => told.hears(unread),
            [Request::ReadJob] => told.hears(vec![Fact::Job(Reading::Unknown(doubt(false)))]),
            [Request::ReadSecret] => told.hears(vec![Fact::Secret(Reading::Unknown(doubt(false)))]),
            asked => panic!("{asked:?}"),
        };
    }
    match told.end().ending {
        Ending::Unknown { doubt, may_run } => (doubt.why, may_run),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_secret_that_was_changed_on_its_way_gets_no_job() {
    let end = after_secret(Effect::Done(secret_that_is(SecretVerdict::Different(paths())))).end();
    assert_eq!(end.ending, Ending::Refused(Obstacle::SecretAltered(paths())));
    assert_eq!(end.secret, SecretState::Created);
    let end = after_secret(Effect::Done(secret_that_is(SecretVerdict::Terminating))).end();
    assert_eq!(end.ending, Ending::Conflict(Conflict::TerminatingSecret));
}

#[test]
fn a_secret_that_is_read_after_its_create_is_judged_as_one_that_was_there() {
    for effect in [lost(), Effect::Refused(no(409, "AlreadyExists"))] {
        let told = secret_read(effect.clone(), Reading::Present(secret()));
        assert!(matches!(told.asks(), [Request::CreateJob(_)]), "{:?}", told.asks());
        let end = told.hears(vec![Fact::JobCreate(Effect::Done(ours()))]).end();
        assert_eq!((end.ending, end.secret), (Ending::Created(ours()), SecretState::Present));
        for (verdict, conflict) in [
            (SecretVerdict::Different(paths()), Conflict::ForeignSecret(None, paths())),
            (SecretVerdict::Terminating, Conflict::TerminatingSecret),
        ] {
            let end = secret_read(effect.clone(), Reading::Present(secret_that_is(verdict))).end();
            assert_eq!(end.ending, Ending::Conflict(conflict));
        }
    }
}

#[test]
fn a_secret_that_did_not_come_is_looked_for_from_the_beginning() {
    for (effect, state) in [
        (lost(), SecretState::Unknown),
        (Effect::Unknown(doubt(true)), SecretState::Absent),
        (Effect::Refused(no(409, "AlreadyExists")), SecretState::Absent),
        (Effect::Refused(too_many()), SecretState::Absent),
    ] {
        let told = secret_read(effect, Reading::Absent);
        assert!(told.looks_anew(), "{:?}", told.asks());
        // A Job of somebody else ends it, so that what is known of the Secret is told.
        let foreign = JobFact { mentions_our_secret: true, ..job(JobVerdict::Foreign(paths())) };
        let end = told.hears(looks("n", Reading::Present(foreign), Reading::Absent)).end();
        assert_eq!(end.secret, state);
    }
}

#[test]
fn a_clean_no_to_the_secret_is_the_end_while_no_job_stands() {
    let told = secret_read(Effect::Refused(forbidden()), Reading::Absent);
    assert!(matches!(told.asks(), [Request::ReadJob]), "{:?}", told.asks());
    let request = "creating the Secret";
    let refused = Ending::Refused(Obstacle::Refusal { request, refusal: forbidden() });
    assert_eq!(told.hears(vec![Fact::Job(Reading::Absent)]).end().ending, refused);
}

#[test]
fn a_secret_that_may_not_be_read_is_a_refusal_and_one_that_is_not_is_asked_for_again() {
    let end = secret_read(lost(), Reading::Refused(forbidden())).end();
    let request = "reading the Secret";
    assert_eq!(end.ending, Ending::Refused(Obstacle::Refusal { request, refusal: forbidden() }));
    assert!(secret_read(lost(), Reading::Refused(too_many())).looks_anew());
    let told = secret_read(lost(), Reading::Unknown(doubt(false)));
    assert!(matches!(told.asks(), [Request::ReadSecret]), "{:?}", told.asks());
}

#[test]
fn a_job_that_was_changed_on_its_way_was_created_all_the_same() {
    for (verdict, differences) in [
        (JobVerdict::Altered(paths()), paths()),
        (JobVerdict::Foreign(paths()), paths()),
        (JobVerdict::Terminating, Vec::new()),
    ] {
        let created = job(verdict);
        let end = after_job(Effect::Done(created.clone())).end();
        assert_eq!(end.ending, Ending::CreatedAltered(created, differences));
    }
}

#[test]
fn only_a_clean_no_says_that_there_is_no_job() {
    let refused = |effect| job_read(effect, Reading::Absent);
    let request = "creating the Job";
    let expected = Ending::Refused(Obstacle::Refusal { request, refusal: forbidden() });
    assert_eq!(refused(Effect::Refused(forbidden())).end().ending, expected);
    for effect in [
        Effect::Refused(too_many()),
        Effect::Refused(no(409, "AlreadyExists")),
        Effect::Unknown(doubt(true)),
        lost(),
    ] {
        assert!(refused(effect.clone()).looks_anew(), "{effect:?}");
    }
}

/// Up to the answer to a second create, where that to the first was lost.
fn created_again(effect: Effect<JobFact>) -> Told {
    let there = || looks("n", Reading::Absent, Reading::Present(secret()));
    let told = job_read(lost(), Reading::Absent).hears(there()).hears(vec![
        Fact::Record(Reading::Absent),
        Fact::JobRehearsal(Effect::Done(job(JobVerdict::Same))),
    ]);
    assert!(matches!(told.asks(), [Request::CreateJob(_)]), "{:?}", told.asks());
    told.hears(vec![Fact::JobCreate(effect)])
}

#[test]
fn a_clean_no_after_a_lost_create_is_none() {
    let told = created_again(Effect::Refused(forbidden())).hears(vec![Fact::Job(Reading::Absent)]);
    assert!(told.looks_anew(), "{:?}", told.asks());
    let (why, may_run) = gives_up(told);
    assert!(may_run, "{why}");
    // A second one that certainly did not go out changes nothing in that.
    let unsent = created_again(Effect::Unknown(doubt(true)));
    assert!(gives_up(unsent).1);
}

#[test]
fn what_may_not_be_read_after_a_clean_no_is_told_as_it_is() {
    let clean = || Effect::Refused(forbidden());
    let request = "reading the Job";
    let unread = no(401, "Unauthorized");
    let end = job_read(clean(), Reading::Refused(unread.clone())).end();
    assert_eq!(end.ending, Ending::Refused(Obstacle::Refusal { request, refusal: unread }));
    let asks_again = |told: Told| matches!(told.asks(), [Request::ReadJob]);
    let exists = || Effect::Refused(no(409, "AlreadyExists"));
    assert!(asks_again(job_read(clean(), Reading::Refused(too_many()))));
    assert!(asks_again(job_read(exists(), Reading::Refused(forbidden()))));
    assert!(asks_again(job_read(lost(), Reading::Refused(forbidden()))));
    assert!(asks_again(job_read(clean(), Reading::Unknown(doubt(false)))));
}

#[test]
fn a_job_that_is_read_after_a_lost_create_may_be_its() {
    for (effect, is_remarked) in [
        (lost(), true),
        (Effect::Unknown(doubt(true)), false),
        (Effect::Refused(no(409, "AlreadyExists")), false),
    ] {
        let end = job_read(effect, Reading::Present(ours())).end();
        assert_eq!(end.ending, Ending::AlreadySubmitted(ours()));
        assert_eq!(end.remarks.contains(&Remark::AnswerLost), is_remarked);
    }
    // Another's is not.
    let foreign = JobFact { mentions_our_secret: true, ..job(JobVerdict::Foreign(paths())) };
    let end = job_read(lost(), Reading::Present(foreign)).end();
    assert_eq!(end.remarks, []);
}

/// A namespace without a Job, in which every create is lost and nothing of it ever comes.
fn loses_all(mut told: Told, secret_is_there: bool) -> Told {
    let found = || if secret_is_there { Reading::Present(secret()) } else { Reading::Absent };
    while !told.has_ended() {
        let facts = match told.asks() {
            [Request::ReadSecret] => vec![Fact::Secret(Reading::Absent)],
            [Request::ReadJob] => vec![Fact::Job(Reading::Absent)],
            [Request::CreateSecret] => vec![Fact::SecretCreate(lost())],
            [Request::CreateJob(_)] => vec![Fact::JobCreate(lost())],
            [Request::ReadNamespace, ..] => looks("n", Reading::Absent, found()),
            [Request::ReadRecord, rehearsals @ ..] => {
                rehearsal().into_iter().take(1 + rehearsals.len()).collect()
            }
            asked => panic!("{asked:?}"),
        };
        told = told.hears(facts);
    }
    told
}

#[test]
fn the_last_words_say_what_was_lost_and_why() {
    for (told, may_run, what) in [
        (loses_all(after_secret(lost()), false), false, "the Secret"),
        (loses_all(after_job(lost()), true), true, "the Job"),
    ] {
        let doubt = Doubt {
            why: format!("the answer to creating {what} was lost: late"),
            certainly_not_sent: false,
            retry_after: None,
        };
        assert_eq!(told.end().ending, Ending::Unknown { doubt, may_run });
    }
}
