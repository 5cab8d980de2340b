//! What the looks before a create decide. A rehearsal's no ends the call only while no Job stands, a change by the server
//! always, and a server that cannot rehearse decides nothing.

use harness::submit::ending::{Conflict, Ending, Obstacle};
use harness::submit::facts::{
    Effect, Fact, JobFact, JobVerdict, Reading, SecretFact, SecretVerdict,
};
use harness::submit::protocol::Request;

use crate::told::{Told, doubt, job, looks, no, record, secret};

fn rehearsed(job: Effect<JobFact>, secret: Effect<SecretFact>) -> Told {
    Told::start().hears(looks("n", Reading::Absent, Reading::Absent)).hears(vec![
        Fact::Record(Reading::Absent),
        Fact::JobRehearsal(job),
        Fact::SecretRehearsal(secret),
    ])
}

fn same() -> Effect<JobFact> {
    Effect::Done(job(JobVerdict::Same))
}

fn would_alter(told: Told, path: &str) {
    let expected = Ending::Refused(Obstacle::WouldAlter(vec![path.to_owned()]));
    assert_eq!(told.end().ending, expected);
}

#[test]
fn what_the_server_would_change_is_not_created() {
    let altered = job(JobVerdict::Altered(vec!["spec.suspend".to_owned()]));
    would_alter(rehearsed(Effect::Done(altered), Effect::Done(secret())), "spec.suspend");
    let verdict = SecretVerdict::Different(vec!["data".to_owned()]);
    let altered = SecretFact { verdict, ..secret() };
    would_alter(rehearsed(same(), Effect::Done(altered)), "data");
}

#[test]
fn a_server_that_cannot_rehearse_decides_nothing() {
    let cannot = || no(400, "BadRequest");
    for told in [
        rehearsed(Effect::Refused(cannot()), Effect::Done(secret())),
        rehearsed(same(), Effect::Refused(cannot())),
    ] {
        assert!(matches!(told.asks(), [Request::CreateSecret]), "{:?}", told.asks());
    }
}

#[test]
fn what_may_pass_is_looked_at_again() {
    let late = || Effect::Unknown(doubt(false));
    for told in [
        rehearsed(Effect::Refused(no(429, "TooManyRequests")), Effect::Done(secret())),
        rehearsed(same(), Effect::Refused(no(409, "Conflict"))),
        rehearsed(late(), Effect::Done(secret())),
        rehearsed(same(), Effect::Unknown(doubt(true))),
    ] {
        assert!(matches!(told.asks(), [Request::ReadNamespace, ..]), "{:?}", told.asks());
    }
}

#[test]
fn a_no_is_the_end_only_while_no_job_stands() {
    let forbidden = || Effect::Refused(no(403, "Forbidden"));
    for (told, request) in [
        (rehearsed(forbidden(), Effect::Done(secret())), "a rehearsal of the Job"),
        (rehearsed(same(), Effect::Refused(no(422, "Invalid"))), "a rehearsal of the Secret"),
    ] {
        assert!(matches!(told.asks(), [Request::ReadJob]), "{:?}", told.asks());
        let end = told.hears(vec![Fact::Job(Reading::Absent)]).end();
        let Ending::Refused(Obstacle::Refusal { request: refused, .. }) = end.ending else {
            panic!("{end:?}")
        };
        assert_eq!(refused, request);
    }
    let stands = Fact::Job(Reading::Present(job(JobVerdict::Same)));
    let again = rehearsed(forbidden(), Effect::Done(secret())).hears(vec![stands]);
    assert!(matches!(again.asks(), [Request::ReadNamespace, ..]), "{:?}", again.asks());
}

#[test]
fn a_record_that_came_since_is_ours_or_that_of_another() {
    for (differences, is_ours) in [(Vec::new(), true), (vec!["data".to_owned()], false)] {
        let record = record(differences);
        let ending = Told::start()
            .hears(looks("n", Reading::Absent, Reading::Absent))
            .hears(vec![
                Fact::Record(Reading::Present(record.clone())),
                Fact::JobRehearsal(same()),
                Fact::SecretRehearsal(Effect::Done(secret())),
            ])
            .end()
            .ending;
        let expected = if is_ours {
            Ending::AlreadyRecorded(record)
        } else {
            Ending::Conflict(Conflict::ForeignRecord(record))
        };
        assert_eq!(ending, expected);
    }
}

#[test]
fn a_submission_goes_into_the_namespace_that_it_names_only() {
    let sees = |named| Told::start_in(named).hears(looks("n", Reading::Absent, Reading::Absent));
    assert!(!sees(None).has_ended() && !sees(Some("n")).has_ended());
    let expected = Ending::Refused(Obstacle::NamespaceDiffers { found: "n".to_owned() });
    assert_eq!(sees(Some("other")).end().ending, expected);
}
