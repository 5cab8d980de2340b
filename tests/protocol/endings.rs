//! What a call knows at its end, where a receipt must not say more: whether its Job may run, and what became of its Secret.

use harness::submit::ending::{Ending, Remark, SecretState};
use harness::submit::facts::{
    Doubt, Effect, Fact, JobFact, JobVerdict, Reading, RecordFact, SecretVerdict,
};
use harness::submit::protocol::Request;

use crate::told::{Told, doubt, forbidden, job, looks, no, paths, record, secret, secret_that_is};

fn foreign() -> JobFact {
    job(JobVerdict::Foreign(vec!["spec".to_owned()]))
}

#[test]
fn a_job_whose_create_was_not_answered_may_run() {
    for certainly_not_sent in [true, false] {
        let mut told = Told::start()
            .may_create()
            .hears(vec![Fact::SecretCreate(Effect::Done(secret()))])
            .hears(vec![Fact::JobCreate(Effect::Unknown(doubt(certainly_not_sent)))]);
        // Nothing can be read any more, until it gives up.
        while !told.has_ended() {
            assert!(matches!(told.asks(), [Request::ReadJob]), "{:?}", told.asks());
            told = told.hears(vec![Fact::Job(Reading::Unknown(doubt(false)))]);
        }
        let end = told.end();
        let Ending::Unknown { may_run, .. } = end.ending else { panic!("{end:?}") };
        assert_eq!(may_run, !certainly_not_sent);
        assert_eq!(end.secret, SecretState::Created);
    }
}

/// The Job's create was lost, and then everything was read anew.
fn lost() -> Told {
    Told::start()
        .may_create()
        .hears(vec![Fact::SecretCreate(Effect::Done(secret()))])
        .hears(vec![Fact::JobCreate(Effect::Unknown(doubt(false)))])
        .hears(vec![Fact::Job(Reading::Absent)])
}

/// The same, up to the record and the rehearsal.
fn lost_and_rehearsed(record: Reading<RecordFact>, job: Effect<JobFact>) -> Told {
    let there = looks("n", Reading::Absent, Reading::Present(secret()));
    lost().hears(there).hears(vec![Fact::Record(record), Fact::JobRehearsal(job)])
}

/// What would say that there is no Job says only what was found: the create that was lost may still land.
#[test]
fn after_a_lost_create_nothing_denies_the_job() {
    let secret_is = |verdict| Reading::Present(secret_that_is(verdict));
    let namespace_is_gone = vec![
        Fact::Namespace(Reading::Absent),
        Fact::Job(Reading::Absent),
        Fact::Secret(Reading::Absent),
    ];
    let different = secret_is(SecretVerdict::Different(paths()));
    let altered = Effect::Done(job(JobVerdict::Altered(paths())));
    for (told, found) in [
        (lost().hears(namespace_is_gone), "the namespace was gone"),
        (lost().hears(looks("m", Reading::Absent, Reading::Absent)), "the namespace was made anew"),
        (
            lost().hears(looks("n", Reading::Absent, different)),
            "the Secret was not as it was rendered",
        ),
        (
            lost().hears(looks("n", Reading::Absent, secret_is(SecretVerdict::Terminating))),
            "the Secret was being deleted",
        ),
        (
            lost_and_rehearsed(
                Reading::Present(record(paths())),
                Effect::Done(job(JobVerdict::Same)),
            ),
            "the record of another experiment was there",
        ),
        (
            lost_and_rehearsed(Reading::Absent, altered),
            "the cluster would have changed the Job or the Secret",
        ),
        (
            lost_and_rehearsed(Reading::Absent, Effect::Refused(forbidden()))
                .hears(vec![Fact::Job(Reading::Absent)]),
            "a rehearsal of the Job was refused with 403 Forbidden: no",
        ),
    ] {
        let why = format!("the answer to creating the Job was lost, and then {found}");
        let doubt = Doubt { why, certainly_not_sent: false, retry_after: None };
        assert_eq!(told.end().ending, Ending::Unknown { doubt, may_run: true });
    }
    // Where one stands, that is what is told.
    let told = lost().hears(looks("n", Reading::Present(foreign()), Reading::Absent));
    assert!(matches!(told.asks(), [Request::DeleteSecret(_)]), "{:?}", told.asks());
    let end = told.hears(vec![Fact::SecretDelete(Effect::Done(()))]).end();
    assert!(matches!(end.ending, Ending::Conflict(_)), "{end:?}");
}

/// Up to the delete of the Secret that somebody else's Job, which came in between, does not need.
fn removes(told: Told) -> Told {
    let told = told
        .hears(vec![Fact::SecretCreate(Effect::Done(secret()))])
        .hears(vec![Fact::JobCreate(Effect::Refused(no(409, "AlreadyExists")))])
        .hears(vec![Fact::Job(Reading::Present(foreign()))]);
    assert!(matches!(told.asks(), [Request::DeleteSecret(_)]), "{:?}", told.asks());
    told
}

#[test]
fn what_became_of_a_secret_that_is_not_needed_is_told() {
    for (effect, state, is_left) in [
        (Effect::Done(()), SecretState::Removed, false),
        (Effect::Refused(no(403, "Forbidden")), SecretState::Created, true),
        (Effect::Unknown(doubt(false)), SecretState::Unknown, true),
    ] {
        let end = removes(Told::start().may_create()).hears(vec![Fact::SecretDelete(effect)]).end();
        assert_eq!((end.secret, end.remarks.contains(&Remark::SecretLeft)), (state, is_left));
    }
}

/// The first create of it may still land after the second one was removed.
#[test]
fn a_secret_whose_first_create_was_lost_may_still_come() {
    let again = Told::start()
        .may_create()
        .hears(vec![Fact::SecretCreate(Effect::Unknown(doubt(false)))])
        .hears(vec![Fact::Secret(Reading::Absent)])
        .may_create();
    let end = removes(again).hears(vec![Fact::SecretDelete(Effect::Done(()))]).end();
    assert_eq!(end.secret, SecretState::Unknown);
}

#[test]
fn the_secret_is_told_as_it_was_last_read() {
    for (reading, state) in
        [(Reading::Absent, SecretState::Absent), (Reading::Present(secret()), SecretState::Present)]
    {
        let end = Told::start().hears(looks("n", Reading::Present(foreign()), reading)).end();
        assert!(matches!(end.ending, Ending::Conflict(_)), "{end:?}");
        assert_eq!(end.secret, state);
    }
}

/// Who created it knows more than a read tells.
#[test]
fn a_secret_of_this_call_stays_one_when_it_is_read_again() {
    let theirs = JobFact { mentions_our_secret: true, ..foreign() };
    let end = Told::start()
        .may_create()
        .hears(vec![Fact::SecretCreate(Effect::Done(secret()))])
        .hears(vec![Fact::JobCreate(Effect::Refused(no(429, "TooManyRequests")))])
        .hears(vec![Fact::Job(Reading::Absent)])
        .hears(looks("n", Reading::Present(theirs), Reading::Present(secret())))
        .end();
    assert_eq!(end.secret, SecretState::Created);
}

/// Another signature's Job stands: whether its own Secret is there.
#[test]
fn a_missing_secret_of_the_job_that_stands_is_told() {
    for (reading, is_missing) in [
        (Reading::Absent, true),
        (Reading::Present(()), false),
        (Reading::Unknown(doubt(false)), false),
    ] {
        let theirs = JobFact { secret: Some("theirs".to_owned()), ..job(JobVerdict::Same) };
        let told = Told::start().hears(looks("n", Reading::Present(theirs), Reading::Absent));
        assert!(matches!(told.asks(), [Request::ReadNamedSecret(_)]), "{:?}", told.asks());
        let end = told.hears(vec![Fact::NamedSecret(reading)]).end();
        assert!(matches!(end.ending, Ending::AlreadySubmitted(_)), "{end:?}");
        let remark = Remark::NamedSecretMissing("theirs".to_owned());
        assert_eq!(end.remarks.contains(&remark), is_missing);
    }
}
