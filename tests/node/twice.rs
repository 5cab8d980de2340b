//! The same experiment twice: what of two results is byte for byte the same.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::find;
use crate::kit::shell_image;
use crate::trial::{Ended, Trial};

/// A search without chance, and output of every usual kind.
const SCRIPT: &str = r#"
cd "$HARNESS_OUTPUT"; mkdir -p deep/er empty
sha256sum "$HARNESS_MISSION" | cut -d ' ' -f 1 > mission; cat "$HARNESS_SNAPSHOT"/data/* > deep/er/both
i=0; while [ $i -lt 50 ]; do echo "line $i" >> deep/lines; i=$((i+1)); done
head -c 3000000 /dev/zero > zeros; touch -d @1 zeros; chmod 600 mission; : > nothing; ln -s mission link
"#;

/// What is of this pod, of this moment, or of this place in the store.
const OWN: [&str; 12] = [
    "/predicate/buildDefinition/internalParameters",
    "/predicate/harness_run/pod",
    "/predicate/harness_run/report/cpu_milliseconds",
    "/predicate/harness_run/report/finished_at",
    "/predicate/harness_run/report/peak_memory_bytes",
    "/predicate/harness_run/report/started_at",
    "/predicate/harness_run/report/wall_milliseconds",
    "/predicate/harness_run/result_identity",
    "/predicate/harness_run/result_object",
    "/predicate/harness_run/submission_digest",
    "/predicate/runDetails/metadata",
    "/predicate/runDetails/byproducts",
];

/// The first gzip member of the result, which holds the output; the evidence follows in another.
fn output_member(ended: &Ended) -> Vec<u8> {
    let bytes = ended.result().unwrap();
    let mut rest = &bytes[..];
    let mut decoder = flate2::bufread::GzDecoder::new(&mut rest);
    std::io::copy(&mut decoder, &mut std::io::sink()).unwrap();
    drop(decoder);
    let length = bytes.len() - rest.len();
    bytes[..length].to_vec()
}

fn differences(one: &Value, other: &Value, place: &str, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                let (left, right) = (left.get(key), right.get(key));
                let null = Value::Null;
                let place = format!("{place}/{key}");
                differences(left.unwrap_or(&null), right.unwrap_or(&null), &place, found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(left, right, &format!("{place}/{index}"), found);
            }
        }
        _ if one == other => {}
        _ => {
            found.insert(place.to_owned());
        }
    }
}

#[test]
fn two_runs_of_the_same_differ_in_nothing_but_time_and_place() {
    let run = || {
        let ended = Trial::new("twice", shell_image(), &["sh", "-c", SCRIPT]).run();
        ended.assert(0, "succeeded", "succeeded");
        ended
    };
    let (first, second) = (run(), run());
    let (one, other) = (first.archive(), second.archive());
    assert_eq!(one.output, other.output);
    let (left, right) = (output_member(&first), output_member(&second));
    assert!(left == right, "the compressed output differs: {} and {}", left.len(), right.len());
    assert!(left.len() > 1000, "{}", left.len());

    let mut found = BTreeSet::new();
    let evidence = |archive: &crate::trial::Archive| find(&archive.verdict, "/evidence").clone();
    differences(&evidence(&one), &evidence(&other), "", &mut found);
    let unforeseen: Vec<_> =
        found.iter().filter(|place| !OWN.iter().any(|own| place.starts_with(own))).collect();
    assert!(unforeseen.is_empty(), "{unforeseen:#?}");
}
