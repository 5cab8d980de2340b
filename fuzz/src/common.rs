//! What several targets say in the same words.

use std::sync::LazyLock;

use harness::profile::Profiles;
use harness::submission::excerpt::is_printable;
use harness::submission::{Fault, Problem};
use serde_json::Value;

/// Stands in inputs for what is secret; it may never be shown.
pub(crate) const CANARY: &str = "CANARY";

/// The embedded profiles with a harness image.
pub(crate) static PROFILES: LazyLock<Profiles> = LazyLock::new(|| {
    let image = format!("registry.example.org/harness@sha256:{}", "5".repeat(64));
    Profiles::embedded().with_harness_image(&image).expect("the image is pinned")
});

/// The first line, and what follows it.
pub(crate) fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// JSON, or else the text itself as a string.
pub(crate) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Texts of a problem are harmless fragments that say something.
pub(crate) fn check_fault(fault: &Fault) {
    for text in [&fault.found, &fault.allowed, &fault.remedy] {
        // What was cut ends with an ellipsis, and that is no sentence either.
        let is_fragment = text.ends_with("...") || !text.ends_with('.');
        assert!(!text.is_empty() && is_fragment, "{fault:?}");
        check_shown(text);
    }
}

/// Nothing in `text` could redraw a terminal.
pub(crate) fn check_shown(text: &str) {
    assert!(text.chars().all(is_printable), "{text:?}");
}

/// As [`check_places`], and they are in the order of the text.
pub(crate) fn check_problems(problems: &[Problem], data: &[u8]) {
    check_places(problems, data);
    let places: Vec<_> = problems.iter().filter_map(|problem| problem.position).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// There are problems, each with harmless texts, a pointer, and a place inside of the input.
pub(crate) fn check_places(problems: &[Problem], data: &[u8]) {
    assert!(!problems.is_empty());
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in problems {
        assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'), "{problem:?}");
        check_fault(&problem.fault);
        let Some(position) = problem.position else { continue };
        let line = usize::try_from(position.line).ok().and_then(|line| line.checked_sub(1));
        let line = line.and_then(|line| lines.get(line));
        let column = usize::try_from(position.column).expect("a column is small");
        // The end of a line is a place, too.
        let is_inside = line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&column));
        assert!(is_inside, "{problem:?} in {} lines", lines.len());
    }
}

/// JSON pointers of everything in `value`, the root first.
pub(crate) fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |key: &str, value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        found.extend(pointers(value).iter().map(|below| format!("/{key}{below}")));
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| add(&index.to_string(), value));
        }
        _ => {}
    }
    found
}

/// The place that a word means: a JSON pointer, or a number among all places.
pub(crate) fn place<'a>(word: &str, pointers: &'a [String]) -> Option<&'a str> {
    let number =
        word.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let found = match word.parse::<usize>() {
        Ok(number) => pointers.get(number % pointers.len()),
        Err(_) if word.starts_with('/') => pointers.iter().find(|pointer| *pointer == word),
        Err(_) => pointers.get(number % pointers.len()),
    };
    found.map(String::as_str)
}
