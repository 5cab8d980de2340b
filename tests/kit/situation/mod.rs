//! Situations: what an API server held of one experiment, kept as files in `tests/situations`, and what `status` says of
//! them.
//!
//! [`Taken`] makes one from a live cluster; [`all`] reads those that are kept; [`told`] has them read by the same code
//! that reads from a cluster. `tests/situations/README.md` says how they are recorded.

mod normal;
mod shelf;
mod taken;

use std::fs;
use std::path::{Path, PathBuf};

use harness::status::{Situation, Status};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use normal::BEGUN;
pub(crate) use shelf::{listed, told, told_by_clock};
pub(crate) use taken::Taken;

/// One situation that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The name of its folder.
    pub(crate) name: String,
    /// `objects.json`.
    pub(crate) situation: Situation,
    /// `expected.json`.
    pub(crate) expected: Value,
    /// `origin.json`.
    pub(crate) origin: Value,
}

/// The folder of all situations.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/situations")
}

/// Whether the files are to be written anew instead of compared.
pub(crate) fn are_recorded() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of these tests")]
    std::env::var_os("UPDATE_SITUATIONS").is_some()
}

/// Every situation that is kept, by name.
pub(crate) fn all() -> Vec<Kept> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.iter().map(|name| read(name)).collect()
}

/// One situation that is kept.
pub(crate) fn read(name: &str) -> Kept {
    let file = |file: &str| -> Value {
        let path = folder().join(name).join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        serde_json::from_str(&text).unwrap()
    };
    let (situation, expected) = (situation(&file("objects.json")), file("expected.json"));
    Kept { name: name.to_owned(), situation, expected, origin: file("origin.json") }
}

/// Writes the files of one situation.
pub(crate) fn write(name: &str, objects: &Value, origin: &Value) {
    let folder = folder().join(name);
    fs::create_dir_all(&folder).unwrap();
    let expected = expectation(&told(&situation(objects)));
    for (file, value) in
        [("objects.json", objects), ("expected.json", &expected), ("origin.json", origin)]
    {
        fs::write(folder.join(file), serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
    }
}

/// From `objects.json` to what is derived from.
pub(crate) fn situation(objects: &Value) -> Situation {
    let some = |name: &str| Some(objects[name].clone()).filter(|value| !value.is_null());
    let text = |name: &str| objects[name].as_str().map(str::to_owned);
    Situation {
        name: text("name").expect("a situation has a name"),
        namespace: "research".to_owned(),
        job: some("job"),
        pods: objects["pods"].as_array().cloned(),
        events: objects["events"].as_array().cloned().unwrap_or_default(),
        workload: some("workload"),
        record: some("record"),
        now: text("now").expect("a situation has a time").parse::<Timestamp>().unwrap(),
        awaited_uid: text("awaited_uid"),
        submission_digest: text("submission_digest"),
    }
}

/// What is kept of a status.
pub(crate) fn expectation(status: &Status) -> Value {
    let diagnosis = &status.diagnosis;
    json!({
        "phase": status.phase,
        "category": diagnosis.category,
        "sentence": diagnosis.sentence,
        "remedy": diagnosis.remedy,
        "basis": diagnosis.basis,
        "step": diagnosis.step,
        "run_started": status.run_started,
        "remarks": status.remarks,
    })
}
