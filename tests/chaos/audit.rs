//! What the API server was asked to do, from its audit log: it also knows of Jobs that came and went.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use harness_test_cluster::Options;
use serde_json::{Value, json};

/// The log of one control plane.
#[derive(Debug)]
pub(crate) struct Audit {
    log: PathBuf,
}

/// What was done to the Jobs of one namespace.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// How many Jobs were made under each name.
    pub(crate) created: BTreeMap<String, usize>,
    /// Each request to change or delete a Job, or to delete a Secret without its UID, by harness.
    pub(crate) forbidden: Vec<String>,
}

impl Audit {
    /// A log in this folder, and the options of a control plane that writes it.
    pub(crate) fn new(folder: &Path) -> (Self, Options) {
        let policy = folder.join("audit-policy.json");
        let rules = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [
                // With their bodies: the name of a new Job is nowhere else.
                {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"],
                 "resources": [{"group": "batch", "resources": ["jobs"]}]},
                {"level": "Request", "verbs": ["delete", "deletecollection"],
                 "resources": [{"group": "", "resources": ["secrets"]}]},
                {"level": "None"},
            ],
        });
        fs::write(&policy, rules.to_string()).unwrap();
        let log = folder.join("audit.log");
        let options = Options {
            fsync: true,
            api_server_arguments: vec![
                format!("--audit-policy-file={}", policy.display()),
                format!("--audit-log-path={}", log.display()),
                "--audit-log-mode=blocking".to_owned(),
            ],
        };
        (Self { log }, options)
    }

    /// What stands in it about a namespace.
    pub(crate) fn history(&self, namespace: &str) -> History {
        let text = fs::read_to_string(&self.log).unwrap();
        let mut history = History::default();
        // A server that was killed may leave half a line.
        for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if event["objectRef"]["namespace"] == namespace {
                history.add(&event);
            }
        }
        history
    }
}

impl History {
    fn add(&mut self, event: &Value) {
        let is_rehearsal = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun"));
        let is_harness =
            event["userAgent"].as_str().is_some_and(|agent| agent.starts_with("harness/"));
        let (resource, verb) = (&event["objectRef"]["resource"], &event["verb"]);
        let is_whole = event["stage"] == "ResponseComplete";
        if resource == "jobs" && verb == "create" {
            if is_whole && !is_rehearsal && event["responseStatus"]["code"] == 201 {
                let name = event["requestObject"]["metadata"]["name"].as_str().unwrap().to_owned();
                *self.created.entry(name).or_default() += 1;
            }
            return;
        }
        let names_uid = event["requestObject"]["preconditions"]["uid"].is_string();
        let is_fine = resource == "secrets" && (names_uid || !is_whole);
        if is_harness && !is_fine {
            self.forbidden.push(format!("{verb} {}", event["requestURI"]));
        }
    }
}
