//! A namespace that is deleted and created anew while a call is under way is another one.

use std::time::Duration;

use harness::submission::Problem;
use harness::submit::Limits;
use harness::submit::ending::{Ending, Obstacle};
use harness::submit::facts::{Doubt, Fact, Moment, NamespaceFact, Reading};
use harness::submit::protocol::{Action, Protocol, Terms};

struct Anything;

impl Terms for Anything {
    fn namespace_uid(&self) -> Option<&str> {
        None
    }

    fn secret_name(&self) -> &'static str {
        "secret"
    }

    fn obstacles(&self, _: &Moment) -> Vec<Problem> {
        Vec::new()
    }

    fn rehearse_only(&self) -> bool {
        false
    }
}

fn reads(uid: &str, job: bool) -> Vec<Fact> {
    let doubt = Doubt { why: "late".to_owned(), certainly_not_sent: false, retry_after: None };
    vec![
        Fact::Namespace(Reading::Present(NamespaceFact { uid: uid.to_owned() })),
        Fact::Job(if job { Reading::Absent } else { Reading::Unknown(doubt) }),
        Fact::Secret(Reading::Absent),
    ]
}

#[test]
fn a_namespace_made_anew_ends_the_call() {
    let now = Moment {
        boot: Duration::ZERO,
        local: "2026-12-01T08:00:00Z".parse().unwrap(),
        server: None,
    };
    for (second, ends) in [("first", false), ("second", true)] {
        let (mut protocol, _) = Protocol::start(Limits::default(), &now);
        let again = protocol.next(reads("first", false), &now, &now, &Anything);
        assert!(matches!(again, Action::Send { .. }), "{again:?}");
        let action = protocol.next(reads(second, true), &now, &now, &Anything);
        let replaced = matches!(
            &action,
            Action::End(conclusion)
                if conclusion.ending == Ending::Refused(Obstacle::NamespaceReplaced)
        );
        assert_eq!(replaced, ends, "{action:?}");
    }
}
