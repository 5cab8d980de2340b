//! Objects of one experiment as an API server may hold them: recorded ones, changed anywhere, or any JSON.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::common::{first_line, json_or_text, place, pointers};

static RECORDED: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/situations");
    let entries = std::fs::read_dir(&folder).expect("the recorded situations are there");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("it can be listed");
        // A README stands beside them.
        if !entry.path().is_dir() {
            return None;
        }
        let text = std::fs::read(entry.path().join("objects.json")).expect("it can be read");
        let objects = serde_json::from_slice(&text).expect("it is JSON");
        Some((entry.file_name().to_string_lossy().into_owned(), objects))
    };
    let mut all: Vec<(String, Value)> = entries.filter_map(read).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
});

/// Changes of one situation, at most.
const MOST_CHANGES: usize = 16;

/// An object with `job`, `pods`, `events` and `record`: the JSON of the input; or, of lines, the name of a recorded
/// situation and then changes, each a place (as a JSON pointer or a number) and a value.
pub(crate) fn situation(text: &str) -> Value {
    if text.starts_with('{') {
        return serde_json::from_str(text).unwrap_or(Value::Null);
    }
    let (name, changes) = first_line(text);
    let named = RECORDED.iter().find(|(known, _)| known == name);
    let mut objects = match named {
        Some((_, objects)) => objects.clone(),
        None => RECORDED[name.len() % RECORDED.len()].1.clone(),
    };
    if objects.get("record").is_none() {
        objects["record"] = json!(null);
    }
    for line in changes.lines().take(MOST_CHANGES) {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        let all = pointers(&objects);
        let found = place(word, &all).and_then(|pointer| objects.pointer_mut(pointer));
        if let Some(found) = found {
            *found = json_or_text(value);
        }
    }
    objects
}
