//! How often and how long it goes on after what is unclear, and what is the end of it.

use super::*;

fn protocol() -> Protocol {
    Protocol::start(Command::Release, Limits::default(), &now()).0
}

#[test]
fn a_server_that_is_busy_is_asked_again_and_a_no_is_the_end() {
    let mut protocol = protocol();
    let mut read = |code| {
        protocol.read::<()>(
            "reading",
            Reading::Refused(no(code)),
            || vec![Request::ReadJob],
            &now(),
        )
    };
    assert!(matches!(read(429), Err(Action::Send { .. })));
    let Err(Action::End(end)) = read(403) else { panic!("403 is no end") };
    assert!(matches!(end.ending, Ending::Refused { request: "reading", .. }));
}

#[test]
fn waits_double_and_end() {
    let limits = Limits { tries: 4, total: HOUR };
    let mut protocol = Protocol::start(Command::Release, limits, &now()).0;
    let waits: Vec<_> = (0..6).map(|_| protocol.delay(&doubt(), &now())).collect();
    let wait = |milliseconds| Some(Duration::from_millis(milliseconds));
    assert_eq!(waits, [wait(200), wait(400), wait(800), wait(1600), None, None]);

    let asked = Doubt { retry_after: Some(Duration::from_secs(7)), ..doubt() };
    let mut protocol = Protocol::start(Command::Release, limits, &now()).0;
    assert_eq!(protocol.delay(&asked, &now()), Some(Duration::from_secs(7)));
    // What would end later than all may take is not begun; one that fits is.
    for (boot, expected) in
        [(HOUR, None), (HOUR.saturating_sub(Duration::from_secs(7)), asked.retry_after)]
    {
        let mut protocol = Protocol::start(Command::Release, limits, &now()).0;
        assert_eq!(protocol.delay(&asked, &Moment { boot, ..now() }), expected);
    }
}

#[test]
fn a_clean_no_to_a_change_is_kept_until_it_is_needed_again() {
    let mut protocol = protocol();
    assert_eq!(protocol.worst(vec![Effect::Done(())]), None);
    assert_eq!(protocol.worst(vec![Effect::Unknown(doubt()), Effect::Done(())]), Some(doubt()));
    // Changed meanwhile, busy, gone: the next look tells.
    for code in [404, 409, 429] {
        assert!(protocol.worst(vec![Effect::Refused(no(code))]).is_some());
        assert_eq!(protocol.refused, None, "{code}");
    }
    assert!(protocol.worst(vec![Effect::Refused(no(403))]).is_some());
    assert_eq!(protocol.refused, Some(no(403)));

    // Another change may be allowed; the same one is not sent twice.
    protocol.attempted = Some("this");
    let mut other = protocol.clone();
    assert!(matches!(other.attempt("that", vec![Request::ReadJob]), Action::Send { .. }));
    assert_eq!(other.refused, None);
    let Action::End(end) = protocol.attempt("this", vec![Request::ReadJob]) else { panic!("sent") };
    assert_eq!(end.ending, Ending::Refused { request: "this", refusal: no(403) });
}

#[test]
fn a_secret_that_is_gone_is_as_it_should_be() {
    let secret = SecretFact {
        name: "secret".to_owned(),
        uid: "uid".to_owned(),
        is_terminating: false,
        created: None,
    };
    let asked = [secret];
    let mut protocol = protocol();
    assert_eq!(protocol.count_removed(&asked, vec![Effect::Refused(no(404))]), None);
    assert!(protocol.count_removed(&asked, vec![Effect::Refused(no(403))]).is_some());
    assert_eq!(protocol.secrets, [""; 0]);
}
