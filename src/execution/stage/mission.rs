//! Holds the fetched mission document against what the Job expects.

use std::fs;
use std::path::Path;

use super::Failure;
use super::fetch::disk;
use crate::execution::{Category, Expectation};
use crate::submission::mission::Mission;

/// Reads the document, whose digest was right, and compares the three members that the submission repeats.
pub(super) fn check(path: &Path, expectation: &Expectation) -> Result<(), Failure> {
    let bytes = fs::read(path).map_err(|error| disk(&error))?;
    let mission = Mission::parse(&bytes).map_err(|problems| {
        let first = problems.first().map_or_else(String::new, |problem| {
            let place = if problem.pointer.is_empty() { "the document" } else { &problem.pointer };
            format!(" at {place}: {}; allowed: {}", problem.fault.found, problem.fault.allowed)
        });
        Failure::new(
            Category::MissionInvalid,
            format!("the mission document has {} problem(s), the first{first}", problems.len()),
            "mend the document, name its new digest, and submit again as another attempt",
        )
    })?;
    let wanted = expectation;
    for (name, found, expected) in [
        ("mission_id", mission.mission_id.to_string(), wanted.mission_id.to_string()),
        (
            "evaluator_version",
            format!("sha256:{}", mission.evaluator_version),
            format!("sha256:{}", wanted.evaluator_version),
        ),
        (
            "search_budget.max_seconds",
            mission.max_seconds.to_string(),
            wanted.max_seconds.to_string(),
        ),
    ] {
        if found != expected {
            return Err(Failure::new(
                Category::IdentityMismatch,
                format!("the mission's {name} is {found}, and the submission's is {expected}"),
                "nothing was run; submit again as another attempt with a mission and a submission that agree",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::{MissionId, Sha256Digest};

    #[test]
    fn a_mismatch_names_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mission.json");
        let two = "2".repeat(64);
        let document = format!(
            r#"{{"mission_id":"m-1","evaluator_version":"sha256:{two}","search_budget":{{"max_seconds":60}}}}"#
        );
        fs::write(&path, document).unwrap();
        let digest = Sha256Digest::parse(&two).unwrap();
        let right = Expectation {
            mission_id: MissionId::parse("m-1").unwrap(),
            evaluator_version: digest,
            max_seconds: 60,
            mission_sha256: digest,
            snapshot_sha256: digest,
            resume_sha256: None,
        };
        check(&path, &right).unwrap();
        let other = Sha256Digest::of("");
        for (wrong, both) in [
            (
                Expectation { mission_id: MissionId::parse("m-2").unwrap(), ..right.clone() },
                ["m-1", "m-2"],
            ),
            (Expectation { max_seconds: 61, ..right.clone() }, ["60", "61"]),
            (Expectation { evaluator_version: other, ..right.clone() }, [&two, "e3b0c442"]),
        ] {
            let failure = check(&path, &wrong).unwrap_err();
            assert_eq!(failure.category, Category::IdentityMismatch);
            assert!(both.iter().all(|value| failure.sentence.contains(value)), "{failure:?}");
        }
        fs::write(&path, "{}").unwrap();
        let failure = check(&path, &right).unwrap_err();
        assert_eq!(failure.category, Category::MissionInvalid);
        assert!(failure.sentence.contains("/mission_id"), "{failure:?}");
    }
}
