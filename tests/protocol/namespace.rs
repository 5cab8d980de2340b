//! A namespace that is deleted and created anew while a call is under way is another one.

use harness::submit::ending::{Ending, Obstacle};
use harness::submit::facts::Reading;

use crate::told::{Told, doubt, looks};

#[test]
fn a_namespace_made_anew_ends_the_call() {
    for (second, ends) in [("first", false), ("second", true)] {
        let unread = looks("first", Reading::Unknown(doubt(false)), Reading::Absent);
        let told =
            Told::start().hears(unread).hears(looks(second, Reading::Absent, Reading::Absent));
        assert_eq!(told.has_ended(), ends, "{second}");
        if ends {
            assert_eq!(told.end().ending, Ending::Refused(Obstacle::NamespaceReplaced));
        }
    }
}
