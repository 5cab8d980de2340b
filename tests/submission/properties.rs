//! Reading is total: whatever the bytes are, it ends with a submission or with problems that have a place.

use harness::submission::{SignedUrls, Submission};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::form::Form;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    }
}

fn read(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Err(problems) = Submission::parse(bytes) {
        prop_assert!(!problems.is_empty());
        let places: Vec<_> = problems.iter().filter_map(|problem| problem.position).collect();
        prop_assert!(places.is_sorted(), "{places:?}");
        for problem in &problems {
            prop_assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'));
        }
    }
    let _ = SignedUrls::parse(bytes);
    Ok(())
}

/// One change of a good document's bytes.
#[derive(Debug, Clone)]
enum Edit {
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    Flip(prop::sample::Index, u8),
    Repeat(prop::sample::Index, prop::sample::Index, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let index = any::<prop::sample::Index>;
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{", "}", "[", "]", "\"", ",", ":", "\\", "\\ud800", "null", "1e999", "?", "%",
            "\u{feff}", "\u{202e}", "\0"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    let edit = prop_oneof![
        (index(), 1..40_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        (index(), piece).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (index(), any::<u8>()).prop_map(|(at, byte)| Edit::Flip(at, byte)),
        (index(), index(), 1..40_usize).prop_map(|(from, to, count)| Edit::Repeat(from, to, count)),
    ];
    prop::collection::vec(edit, 1..5)
}

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for edit in edits {
        if bytes.is_empty() {
            break;
        }
        match edit {
            Edit::Remove(at, count) => {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + count);
                bytes.drain(at..end);
            }
            Edit::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, piece.iter().copied());
            }
            Edit::Flip(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] ^= byte;
            }
            Edit::Repeat(from, to, count) => {
                let from = from.index(bytes.len());
                let piece = bytes[from..bytes.len().min(from + count)].to_vec();
                let to = to.index(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        read(&bytes)?;
    }

    #[test]
    fn arbitrary_json_like_text_never_panics(text in "([\\[\\]{}:,\"\\\\ 0-9a-z\n]|\\\\u[0-9a-f]{4}|é|\u{1f680}){0,200}") {
        read(text.as_bytes())?;
    }

    #[test]
    fn edited_submissions_never_panic(edits in edits()) {
        read(&edited(Form::full().json().into_bytes(), &edits))?;
    }

    #[test]
    fn any_text_in_any_field_never_panics(
        field in 0..Form::full().fields().len(),
        value in prop_oneof![any::<String>(), "https://[a-z.-]{1,20}/[ -~]{0,60}", "[a-z0-9:.@/-]{0,90}"],
    ) {
        let form = Form::full();
        let name = form.fields()[field].0.clone();
        read(form.with(&name, &value).json().as_bytes())?;
    }
}
