//! How long a call goes on: how often it tries, how long it waits, and how long what it read allows a create.

use std::time::Duration;

use harness::submit::Limits;
use harness::submit::ending::Ending;
use harness::submit::facts::{Doubt, Effect, Fact, Moment, Reading, Refusal};
use harness::submit::protocol::Request;
use jiff::SignedDuration;

use crate::told::{Told, doubt, looks, no, now, ours, rehearsal, secret};

/// So much later by the boot-time clock.
fn later(duration: Duration) -> Moment {
    Moment { boot: duration, ..now() }
}

/// The server's clock says this much more than the local one.
fn served(duration: Duration) -> Moment {
    let ahead = SignedDuration::try_from(duration).unwrap();
    Moment { server: Some(now().local + ahead), ..now() }
}

fn unread(doubt: Doubt) -> Vec<Fact> {
    looks("n", Reading::Unknown(doubt), Reading::Absent)
}

#[test]
fn each_wait_is_twice_the_one_before_it_and_there_are_six() {
    let mut told = Told::start();
    let mut waits = Vec::new();
    loop {
        told = told.hears(unread(doubt(false)));
        if told.has_ended() {
            break;
        }
        waits.push(told.waits().as_millis());
    }
    assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400]);
    let end = told.end();
    let Ending::Unknown { doubt, may_run } = end.ending else { panic!("{end:?}") };
    assert_eq!((doubt.why.as_str(), may_run), ("late", false));
}

#[test]
fn a_server_that_says_when_is_asked_then() {
    let retry_after = Some(Duration::from_secs(7));
    let patient = Doubt { retry_after, ..doubt(false) };
    assert_eq!(Told::start().hears(unread(patient)).waits(), Duration::from_secs(7));
    let refusal = Refusal { retry_after, ..no(429, "TooManyRequests") };
    let told = Told::start().hears(looks("n", Reading::Refused(refusal), Reading::Absent));
    assert_eq!(told.waits(), Duration::from_secs(7));
}

#[test]
fn no_wait_goes_beyond_the_time_of_a_call() {
    let last = Limits::default().total.checked_sub(Duration::from_millis(200)).unwrap();
    let answered = |at| Told::start().hears_at(unread(doubt(false)), &later(at));
    assert!(!answered(last).has_ended());
    assert!(answered(last + Duration::from_millis(1)).has_ended());
}

/// The reads are made at the first moment, and the create would go out at the second.
fn permitted(read: &Moment, create: &Moment) -> bool {
    let told = Told::start()
        .hears_at(looks("n", Reading::Absent, Reading::Absent), read)
        .hears_at(rehearsal(), create);
    let is_permitted = match told.asks() {
        [Request::CreateSecret] => true,
        [Request::ReadNamespace, ..] => false,
        asked => panic!("{asked:?}"),
    };
    // The create of the Job, which comes next, and that of a missing Secret are held to the same.
    let told = Told::start()
        .hears_at(looks("n", Reading::Absent, Reading::Absent), read)
        .hears_at(rehearsal(), read)
        .hears_at(vec![Fact::SecretCreate(Effect::Done(secret()))], create);
    assert_eq!(matches!(told.asks(), [Request::CreateJob(_)]), is_permitted, "{:?}", told.asks());
    let told = Told::start()
        .hears_at(looks("n", Reading::Present(ours()), Reading::Absent), read)
        .hears_at(vec![Fact::Record(Reading::Absent)], create);
    assert_eq!(matches!(told.asks(), [Request::CreateSecret]), is_permitted, "{:?}", told.asks());
    is_permitted
}

#[test]
fn what_was_read_allows_a_create_for_five_minutes_by_either_clock() {
    let limit = Duration::from_mins(5);
    let late = limit + Duration::from_secs(1);
    assert_eq!(limit, Limits::default().permission);
    assert!(permitted(&now(), &later(limit)) && !permitted(&now(), &later(late)));
    let first = served(Duration::ZERO);
    assert!(permitted(&first, &served(limit)) && !permitted(&first, &served(late)));
    // A server's clock that only one of them knows says nothing.
    assert!(permitted(&now(), &served(late)) && permitted(&served(late), &now()));
}

#[test]
fn reads_that_are_too_old_are_made_again_at_once_and_not_for_ever() {
    let late = later(Duration::from_mins(6));
    let mut told = Told::start();
    for _ in 0..Limits::default().tries {
        told =
            told.hears(looks("n", Reading::Absent, Reading::Absent)).hears_at(rehearsal(), &late);
        assert!(matches!(told.asks(), [Request::ReadNamespace, ..]), "{:?}", told.asks());
        assert_eq!(told.waits(), Duration::ZERO);
    }
    let told =
        told.hears(looks("n", Reading::Absent, Reading::Absent)).hears_at(rehearsal(), &late);
    let end = told.end();
    let Ending::Unknown { doubt, may_run } = end.ending else { panic!("{end:?}") };
    assert!(doubt.why.starts_with("what was read was too old") && !may_run, "{doubt:?}");
}
