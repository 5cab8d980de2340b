//! The mission document: what tells the evaluator what to do, as far as harness reads it. Pure.
//!
//! Strict JSON of at most 1 MiB. Three members are held against the submission; all others belong to the evaluator.

use super::problem::Problem;
use super::reader::{Fields, Read};
use super::strict::{Document, Value};
use super::{MissionId, Sha256Digest};

/// What a mission document repeats of its submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mission {
    /// The mission's name.
    pub mission_id: MissionId,
    /// The evaluator that the mission is for.
    pub evaluator_version: Sha256Digest,
    /// `search_budget.max_seconds`: 1 to 86400.
    pub max_seconds: u32,
}

impl Mission {
    /// Parses a document and reports every problem in it; members that harness does not know are left alone.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        let (mut document, root) = Document::parse(bytes);
        let mission = root
            .and_then(|root| Fields::open(&mut document, root, ""))
            .and_then(|fields| read(&mut document, fields));
        let problems = document.into_problems();
        match mission {
            Some(mission) if problems.is_empty() => Ok(mission),
            _ => Err(problems),
        }
    }
}

fn read(document: &mut Document<'_>, mut fields: Fields) -> Option<Mission> {
    let mission_id = text(document, &mut fields, "mission_id")
        .and_then(|read| read.parse(document, MissionId::parse));
    let evaluator_version = text(document, &mut fields, "evaluator_version")
        .and_then(|read| read.parse(document, Sha256Digest::parse_prefixed));
    let max_seconds = fields
        .require(document, "search_budget")
        .and_then(|read: Read<Value>| read.object(document))
        .and_then(|mut budget| budget.require(document, "max_seconds"))
        .and_then(|read| read.whole_number(document, 1, 86400));
    Some(Mission {
        mission_id: mission_id?,
        evaluator_version: evaluator_version?,
        max_seconds: max_seconds?,
    })
}

fn text(
    document: &mut Document<'_>,
    fields: &mut Fields,
    name: &'static str,
) -> Option<Read<String>> {
    fields.require(document, name)?.text(document)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::Mission;

    fn mission() -> Value {
        json!({
            "mission_id": "Mission 7",
            "evaluator_version": format!("sha256:{}", "2".repeat(64)),
            "search_budget": {"max_seconds": 600, "max_candidates": 10},
            "anything": [{"else": null}],
        })
    }

    fn codes(document: &str) -> Vec<(String, String)> {
        let problems = Mission::parse(document.as_bytes()).unwrap_err();
        problems
            .into_iter()
            .map(|problem| (problem.pointer, problem.fault.code.name.to_owned()))
            .collect()
    }

    #[test]
    fn further_members_belong_to_the_evaluator() {
        let read = Mission::parse(mission().to_string().as_bytes()).unwrap();
        assert_eq!(read.mission_id.as_str(), "Mission 7");
        assert_eq!(read.evaluator_version.to_hex(), "2".repeat(64));
        assert_eq!(read.max_seconds, 600);
    }

    #[test]
    fn every_problem_is_reported() {
        for name in ["mission_id", "evaluator_version", "search_budget"] {
            let mut document = mission();
            document.as_object_mut().unwrap().remove(name);
            let expected = vec![(format!("/{name}"), "field-missing".to_owned())];
            assert_eq!(codes(&document.to_string()), expected);
        }
        let all =
            r#"{"mission_id": "", "evaluator_version": "2", "search_budget": {"max_seconds": 0}}"#;
        let found: Vec<String> = codes(all).into_iter().map(|(_, code)| code).collect();
        assert_eq!(found, ["mission-id-invalid", "digest-invalid", "number-out-of-range"]);
        assert_eq!(codes("[]"), [(String::new(), "field-type".to_owned())]);
        assert!(!codes("{\"mission_id\": 1, \"mission_id\": 2}").is_empty());
        assert!(!codes("").is_empty());
    }

    /// Whatever the bytes are, they are a mission that says what it seems to say, or have a problem with a place.
    fn read(bytes: &[u8]) -> Result<(), TestCaseError> {
        match Mission::parse(bytes) {
            Ok(mission) => {
                let seen: Value = serde_json::from_slice(bytes).expect("strict JSON is JSON");
                prop_assert_eq!(&seen["mission_id"], mission.mission_id.as_str());
                let evaluator = format!("sha256:{}", mission.evaluator_version);
                prop_assert_eq!(&seen["evaluator_version"], &Value::String(evaluator));
                prop_assert_eq!(&seen["search_budget"]["max_seconds"], mission.max_seconds);
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    let pointer = problem.pointer;
                    prop_assert!(pointer.is_empty() || pointer.starts_with('/'), "{}", pointer);
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes)?;
        }

        #[test]
        fn a_mission_with_changes(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..6),
            pretty in any::<bool>(),
        ) {
            let document = mission();
            let text = if pretty { format!("{document:#}") } else { document.to_string() };
            let mut bytes = text.into_bytes();
            for (index, value, how) in changes {
                let at = index.index(bytes.len());
                match how {
                    0 => bytes[at] = value,
                    1 => bytes.insert(at, value),
                    _ => drop(bytes.remove(at)),
                }
            }
            read(&bytes)?;
        }

        #[test]
        fn the_three_members_with_anything_in_them(
            id in "\\PC{0,20}", evaluator in "(sha256:)?[0-9a-fA-F]{0,66}", seconds in any::<i64>(), quoted in any::<bool>(),
        ) {
            let seconds = if quoted { Value::String(seconds.to_string()) } else { seconds.into() };
            let document = json!({
                "mission_id": id, "evaluator_version": evaluator, "search_budget": {"max_seconds": seconds},
            });
            read(document.to_string().as_bytes())?;
        }
    }
}
