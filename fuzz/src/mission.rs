//! The mission document.

use harness::submission::Mission;
use serde_json::{Value, json};

use crate::common::check_problems;

/// Any bytes are problems with places inside of them, or a mission that says what its JSON says, each once.
pub fn mission(data: &[u8]) {
    match (Mission::parse(data), Mission::parse(data)) {
        (Err(problems), Err(again)) => {
            assert_eq!(problems, again);
            check_problems(&problems, data);
        }
        (Ok(mission), Ok(_)) => {
            let plain: Value = match serde_json::from_slice(data) {
                Ok(plain) => plain,
                // JSON has numbers that no machine has, and of fields that are not harness's nobody reads them.
                Err(error) => {
                    return assert!(error.to_string().contains("out of range"), "{error}");
                }
            };
            assert_eq!(plain["mission_id"], mission.mission_id.as_str());
            let evaluator = format!("sha256:{}", mission.evaluator_version);
            assert_eq!(plain["evaluator_version"], evaluator);
            assert_eq!(plain["search_budget"]["max_seconds"], mission.max_seconds);
            assert!((1..=86_400).contains(&mission.max_seconds));
            let written = json!({
                "mission_id": mission.mission_id.as_str(),
                "evaluator_version": evaluator,
                "search_budget": {"max_seconds": mission.max_seconds},
            });
            let read = Mission::parse(written.to_string().as_bytes()).expect("it was valid");
            assert_eq!(read.mission_id.as_str(), mission.mission_id.as_str());
        }
        _ => panic!("read in two ways"),
    }
}
