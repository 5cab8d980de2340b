//! `--wait=DURATION` is never longer than asked, and what may be asked for.

use std::time::Duration;

use crate::going::{run, timed};
use crate::hands::submitted;
use crate::kit::{Place, Sample};

#[test]
fn a_wait_lasts_as_long_as_asked() {
    let place = Place::new("durations");
    let name = submitted(&place, &Sample::new("attempt-1"));
    for seconds in [5, 9] {
        let wait = format!("--wait={seconds}s");
        let (waited, took) = timed(|| run(&place, &["status", &name, &wait, "-o", "name"]));
        assert_eq!(waited.code, Some(8), "{waited}");
        assert_eq!(waited.stdout, format!("job.batch/{name}\n"));
        let (least, most) = (Duration::from_secs(seconds), Duration::from_secs(seconds + 10));
        assert!(least <= took && took < most, "{took:?}");
    }
    for wrong in ["--wait=0", "--wait=0s", "--wait=-1s", "--wait=1.5s", "--wait=366d", "--wait=x"] {
        assert_eq!(run(&place, &["status", &name, wrong]).code, Some(2), "{wrong}");
    }
}

#[test]
fn what_is_not_there_is_not_waited_for() {
    let place = Place::new("absent");
    let absent = format!("prediction-{}", "0".repeat(32));
    let (waited, took) = timed(|| run(&place, &["status", &absent, "--wait=1m"]));
    assert_eq!(waited.code, Some(9), "{waited}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}
