//! The committed corpora, replayed; and what belongs to a target is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// The most bytes of one corpus, and of all of them.
const LARGEST_CORPUS: u64 = 200 << 10;
const LARGEST_OF_ALL: u64 = 2 << 20;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names_in(folder: &str, suffix: &str) -> BTreeSet<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let names = files(&root().join(folder)).iter().map(name).collect::<Vec<_>>();
    names.iter().map(|name| name.strip_suffix(suffix).unwrap_or(name).to_owned()).collect()
}

fn replay(name: &str, target: Target) {
    let corpus = files(&root().join("corpus").join(name));
    assert!(corpus.len() >= 5, "{name} has {} inputs", corpus.len());
    for path in corpus {
        let data = fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| target(&data));
        assert!(outcome.is_ok(), "{name} does not hold for {}", path.display());
    }
}

/// One test for each target, so that a failure names it.
macro_rules! replays {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name), super::$name);
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            let replayed: Vec<&str> = vec![$(stringify!($name)),*];
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(replayed, names);
        }
    };
}

replays!(
    answers, archive, comparison, evidence, headers, image, ledger, messages, mission, object_url,
    presign, profile, status, submission, terminal, unpack, watch,
);

#[test]
fn every_target_has_a_fuzzer_a_corpus_and_a_row_in_the_documentation() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names_in("fuzz_targets", ".rs"), names);
    assert_eq!(names_in("corpus", ""), names);
    let dictionaries = names_in("dictionaries", ".dict");
    assert!(dictionaries.is_subset(&names), "{dictionaries:?}");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let page = fs::read_to_string(root().join("../docs/fuzzing.md")).unwrap();
    for name in &names {
        let fuzzer = fs::read_to_string(root().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(fuzzer.contains(&format!("fuzzer!({name});")), "{name}");
        assert!(
            manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name} in docs/fuzzing.md");
    }
}

#[test]
fn corpora_stay_small() {
    let mut all = 0;
    for (name, _) in TARGETS {
        let corpus = files(&root().join("corpus").join(name));
        let bytes: u64 = corpus.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(bytes <= LARGEST_CORPUS, "{name}: {bytes} bytes");
        all += bytes;
    }
    assert!(all <= LARGEST_OF_ALL, "{all} bytes");
}
