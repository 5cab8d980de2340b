//! Other programs' sentences cut to the part that helps, and durations in words. Pure.

use jiff::{SignedDuration, Timestamp};

/// Characters kept of a sentence that is not ours.
const LONGEST: usize = 300;

/// A sentence of another program in one line, cut, and without what might be the query of a signed URL.
pub(super) fn quoted(message: &str) -> String {
    let mut shown = String::new();
    for word in message.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&without_query(word));
    }
    let mut cut: String = shown.chars().take(LONGEST).collect();
    if cut.len() < shown.len() {
        cut.push('…');
    }
    cut
}

fn without_query(word: &str) -> String {
    match (word.contains("://"), word.split_once('?')) {
        (true, Some((before, _))) => format!("{before}?…"),
        _ => word.to_owned(),
    }
}

/// What the scheduler says without what it tried to make room and without what does not concern these pods.
pub(super) fn scheduler(message: &str) -> String {
    let message = message.split(" preemption: ").next().unwrap_or_default();
    let message = message
        .split(" no new claims to deallocate")
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches([',', '.', ' ']);
    // `{key: value}` of a taint is kept, for it names the taint.
    quoted(message)
}

/// The root of a chain `a: b: c: cause`, with one link before it where it is short.
pub(super) fn cause(message: &str) -> String {
    let parts: Vec<&str> = message.split(": ").collect();
    let mut kept = parts.len().saturating_sub(1);
    while kept > 0 && parts[kept..].iter().map(|part| part.len() + 2).sum::<usize>() < 120 {
        kept -= 1;
    }
    let shown = quoted(&parts[kept..].join(": "));
    if kept == 0 { shown } else { format!("… {shown}") }
}

/// The name in a phrase such as `secret "NAME" not found`, `configmap "NAME" not found`.
pub(super) fn missing(message: &str, kind: &str) -> Option<String> {
    let lower = message.to_lowercase();
    let start = lower.find(&format!("{kind} \""))? + kind.len() + 2;
    let rest = lower.get(start..)?;
    let name = rest.split('"').next()?;
    rest[name.len()..].starts_with("\" not found").then(|| quoted(name))
}

/// Whole seconds from one time to another; never negative, for clocks differ.
pub(super) fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    (to.as_second() - from.as_second()).max(0)
}

/// A time so many seconds after another one.
pub(super) fn after(time: Timestamp, seconds: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// `45 s`, `3 min 5 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large} {unit}")
        } else {
            format!("{large} {unit} {small} {small_unit}")
        }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86400, "d", seconds % 86400 / 3600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_is_cut_to_what_matters() {
        let whole = "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 2 Insufficient memory. \
                     preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
        assert_eq!(
            scheduler(whole),
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 2 Insufficient memory"
        );
        assert_eq!(
            scheduler(
                "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1"
            ),
            "0/1 nodes are available: 1 Insufficient cpu"
        );
        assert_eq!(scheduler(""), "");
    }

    #[test]
    fn no_query_is_quoted() {
        assert_eq!(
            quoted("Get \"https://h/v2/?sig=abc\":\n refused"),
            "Get \"https://h/v2/?… refused"
        );
        assert!(quoted(&"x".repeat(1000)).chars().count() <= LONGEST + 1);
    }

    #[test]
    fn names_of_what_is_missing_are_found() {
        assert_eq!(missing("Error: secret \"a-1\" not found", "secret"), Some("a-1".to_owned()));
        assert_eq!(missing("references secret \"a-1\"", "secret"), None);
        assert_eq!(missing("configmap \"ca\" not found", "secret"), None);
    }

    #[test]
    fn durations_are_short() {
        for (seconds, shown) in [
            (-5, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (185, "3 min 5 s"),
            (7500, "2 h 5 min"),
            (273_600, "3 d 4 h"),
        ] {
            assert_eq!(duration(seconds), shown);
        }
    }
}
