//! Whether a signed URL lives long enough; the time comes from the caller.

use jiff::{SignedDuration, Timestamp};

use super::{Signature, dated};
use crate::submission::object::Family;
use crate::submission::problem::{Code, Fault};

/// What clocks of signer, store and cluster may differ by; Azure advises and `MinIO` allows as much.
pub const MARGIN: SignedDuration = SignedDuration::from_mins(15);

/// A URL is expired.
pub static URL_EXPIRED: Code = Code {
    name: "url-expired",
    summary: "a signed URL is expired",
    explanation: "The end that the URL states, or that of the temporary credentials it was signed with, has passed, \
and the store refuses it. Sign the URL again. If it should still live, compare the clocks of the signing machine and \
the cluster.",
};

/// A URL does not live until its last use.
pub static URL_EXPIRES_TOO_SOON: Code = Code {
    name: "url-expires-too-soon",
    summary: "a signed URL may end before it is used for the last time",
    explanation: "An experiment may wait in a queue, for a node and for its image before it reads its inputs, and it \
writes its result at the very end. Signed URLs must live that long, with 15 minutes more for clocks that differ. Sign \
again with a longer life, or choose a profile with shorter allowances. Version 4 signatures live at most seven days, \
and URLs signed with temporary credentials end with those.",
};

/// A URL does not work yet.
pub static URL_NOT_YET_VALID: Code = Code {
    name: "url-not-yet-valid",
    summary: "a signed URL starts to work only later",
    explanation: "The start that the URL states lies more than 15 minutes ahead, and a store refuses it until then. \
Either it was signed for later, or the clock of the signing machine is wrong. Correct the clock and sign again.",
};

/// Holds a signature against the time: it must have started and must live until `needed_until`, with
/// [`MARGIN`] on both sides.
pub fn check_life(
    signature: &Signature,
    now: Timestamp,
    needed_until: Timestamp,
) -> Result<(), Fault> {
    if let Some(starts) = signature.starts
        && starts.duration_since(now) > MARGIN
    {
        return Err(Fault::new(
            &URL_NOT_YET_VALID,
            format!("a start at {starts}, and it is {}", whole_seconds(now)),
            "a start at most 15 minutes ahead",
            "look at the clock of the signing machine and sign again",
        ));
    }
    let last_use = whole_seconds(needed_until);
    let Some(expires) = signature.expires else {
        return Err(Fault::new(
            &URL_EXPIRES_TOO_SOON,
            "an end that is not known",
            format!("an end 15 minutes after {last_use} or later"),
            "sign with a signature that states its end",
        ));
    };
    if expires <= now {
        return Err(Fault::new(
            &URL_EXPIRED,
            format!("an end at {expires}, and it is {}", whole_seconds(now)),
            format!("an end 15 minutes after {last_use} or later"),
            "sign the URL again",
        ));
    }
    if expires.duration_since(needed_until) >= MARGIN {
        return Ok(());
    }
    let remedy = if beyond_longest_life(signature, now, needed_until) {
        "choose a profile or budget that ends earlier: this kind of signature lives at most seven days"
    } else if signature.temporary {
        "sign again with credentials that live longer, or with a permanent key"
    } else {
        "sign again with a longer life"
    };
    Err(Fault::new(
        &URL_EXPIRES_TOO_SOON,
        format!("an end at {expires}"),
        format!(
            "an end at {} or later: it may be used until {last_use}, and 15 minutes are margin",
            last_use.saturating_add(MARGIN).unwrap_or(last_use)
        ),
        remedy,
    ))
}

/// The next whole second, for people: a message with nine digits behind the point is hard to read.
fn whole_seconds(instant: Timestamp) -> Timestamp {
    let begun = i64::from(instant.subsec_nanosecond() > 0);
    Timestamp::from_second(instant.as_second().saturating_add(begun)).unwrap_or(instant)
}

/// Whether even a signature made now could not live long enough.
fn beyond_longest_life(signature: &Signature, now: Timestamp, needed_until: Timestamp) -> bool {
    let limited =
        matches!(signature.family, Family::SigV4 | Family::SigV4A | Family::GcsV4 | Family::OssV4);
    let longest = SignedDuration::from_secs(i64::from(dated::LONGEST_LIFE)).saturating_sub(MARGIN);
    limited && needed_until.duration_since(now) > longest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn signature(starts: Option<&str>, expires: Option<&str>) -> Signature {
        Signature {
            family: Family::SigV4,
            starts: starts.map(at),
            expires: expires.map(at),
            signed_headers: BTreeSet::new(),
            guard: None,
            temporary: false,
            notes: Vec::new(),
        }
    }

    #[test]
    fn margins_to_the_second() {
        let nine = Some("2026-12-01T09:00:00Z");
        for (starts, expires, now, needed, code) in [
            (None, nine, "2026-12-01T08:00:00Z", "2026-12-01T08:45:00Z", ""),
            (None, nine, "2026-12-01T08:00:00Z", "2026-12-01T08:45:01Z", "url-expires-too-soon"),
            (None, nine, "2026-12-01T08:00:00Z", "2026-12-01T09:00:00Z", "url-expires-too-soon"),
            (None, nine, "2026-12-01T08:59:59Z", "2026-12-01T08:00:00Z", ""),
            (None, nine, "2026-12-01T09:00:00Z", "2026-12-01T08:00:00Z", "url-expired"),
            (
                nine,
                Some("2026-12-01T12:00:00Z"),
                "2026-12-01T08:45:00Z",
                "2026-12-01T09:00:00Z",
                "",
            ),
            (
                nine,
                Some("2026-12-01T12:00:00Z"),
                "2026-12-01T08:44:59Z",
                "2026-12-01T09:00:00Z",
                "url-not-yet-valid",
            ),
            (None, None, "2026-12-01T08:00:00Z", "2026-12-01T08:45:00Z", "url-expires-too-soon"),
        ] {
            let found = check_life(&signature(starts, expires), at(now), at(needed));
            assert_eq!(found.map_or_else(|f| f.code.name, |()| ""), code, "{now} {needed}");
        }
    }

    #[test]
    fn message_shows_the_times() {
        let signature = signature(None, Some("2026-12-01T09:00:00Z"));
        let fault = check_life(&signature, at("2026-12-01T08:00:00Z"), at("2026-12-01T08:50:00Z"))
            .unwrap_err();
        let text = format!("{} {} {}", fault.found, fault.allowed, fault.remedy);
        for part in ["2026-12-01T09:00:00Z", "2026-12-01T08:50:00Z", "15 minutes", "longer life"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The instant that is named is enough, and no fraction of a second is shown.
        let fault =
            check_life(&signature, at("2026-12-01T08:00:00.1Z"), at("2026-12-01T08:50:00.2Z"))
                .unwrap_err();
        assert!(
            fault.allowed.contains("end at 2026-12-01T09:05:01Z or later"),
            "{}",
            fault.allowed
        );
        let fault = check_life(&signature, at("2026-12-01T08:00:00Z"), at("2026-12-09T08:50:00Z"))
            .unwrap_err();
        assert!(fault.remedy.contains("seven days"), "{}", fault.remedy);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let signature = signature(Some("-009999-01-02T02:00:00Z"), Some("-009999-01-02T02:00:00Z"));
        assert!(check_life(&signature, Timestamp::MAX, Timestamp::MIN).is_err());
        assert!(check_life(&signature, Timestamp::MIN, Timestamp::MAX).is_err());
    }
}
