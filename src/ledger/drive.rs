//! Carries out what a protocol decides: sends, waits, comes back with facts. It decides nothing.

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::facts::Moment;
use super::observe;
use super::protocol::{Action, Command, Conclusion, Limits, Protocol, Request};
use crate::clock::Clock;
use crate::cluster::{self, DryRun, Outcome, Preconditions, Resource};
use crate::execution::Step;
use crate::render::names::{
    ATTEMPT_ID, CANCELLED_AT, CANCELLED_BY, IMAGE, MANAGED_BY, MISSION_ID, RESULT_IDENTITY,
};
use crate::submit::api::{Api, wait};
use crate::submit::record::{KEY, Record};

/// What one experiment's command ended with, and what else came to light.
#[derive(Debug)]
pub struct Driven {
    /// The end.
    pub conclusion: Conclusion,
    /// The server's warnings, in order, each once; text that is not ours.
    pub warnings: Vec<String>,
}

/// The shortest deadline that the API server takes, in seconds.
const SHORTEST: u32 = 1;

/// A Job has one pod; a few may stand from hands and restarts.
const MOST_PODS: u32 = 50;

/// Secrets are a few KiB each.
const SECRETS_AT_ONCE: u32 = 100;

/// Drives the command for the Job `name` to its end, or to a stop from outside.
pub fn drive(
    api: &dyn Api,
    clock: &dyn Clock,
    limits: Limits,
    command: Command,
    name: &str,
    stop: &AtomicBool,
) -> Driven {
    let mut driver =
        Driver { api, clock, name, server: None, warnings: Vec::new(), shown: Map::new() };
    let (mut protocol, mut action) = Protocol::start(command, limits, &driver.moment());
    let conclusion = loop {
        let (after, requests) = match action {
            Action::End(conclusion) => break *conclusion,
            Action::Send { after, requests } => (after, requests),
        };
        if !wait(clock, after, stop) {
            break protocol.stop("stopped before it was done");
        }
        let namespace = api.requests().namespace();
        let outcomes = driver.send(&requests);
        let facts = requests
            .iter()
            .zip(outcomes)
            .map(|(request, outcome)| observe::judge(request, outcome, namespace, name))
            .collect();
        action = protocol.next(facts, &driver.moment());
    };
    Driven { conclusion, warnings: driver.warnings }
}

/// The label selector of everything that harness made for the Job `name`.
pub fn selector(name: &str) -> String {
    let identity = name.strip_prefix("prediction-").unwrap_or(name);
    format!("{MANAGED_BY}=harness,{RESULT_IDENTITY}={identity}")
}

/// The `ConfigMap` of a record.
pub fn config_map(record: &Record) -> Value {
    let short = record.job_name.strip_prefix("prediction-").unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": record.job_name,
            "labels": { MANAGED_BY: "harness", RESULT_IDENTITY: short },
        },
        "immutable": true,
        "data": { KEY: serde_json::to_string(record).expect("a record serialises") },
    })
}

struct Driver<'a> {
    api: &'a dyn Api,
    clock: &'a dyn Clock,
    name: &'a str,
    server: Option<Timestamp>,
    warnings: Vec<String>,
    /// What `list` shows of the Job, and goes on to show of its record.
    shown: Map<String, Value>,
}

impl Driver<'_> {
    fn moment(&self) -> Moment {
        Moment { boot: self.clock.boottime(), local: self.clock.now(), server: self.server }
    }

    /// Sends the requests side by side; the answers come back in the order of the requests.
    fn send(&mut self, requests: &[Request]) -> Vec<Outcome> {
        let prepared: Vec<cluster::Request> =
            requests.iter().map(|request| self.prepare(request)).collect();
        let outcomes = self.api.send_side_by_side(&prepared);
        // The earliest of them: a retention must have passed by what every answer says.
        self.server = outcomes.iter().filter_map(Outcome::date).min().or(self.server);
        for warning in outcomes.iter().flat_map(Outcome::warnings) {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        let job = requests.iter().zip(&outcomes).find_map(|(request, outcome)| match outcome {
            Outcome::Done(answer) if *request == Request::ReadJob => Some(&answer.body),
            _ => None,
        });
        if let Some(job) = job {
            self.shown = shown(job);
        }
        outcomes
    }

    fn prepare(&self, request: &Request) -> cluster::Request {
        let requests = self.api.requests();
        let uid = |uid: &str| Preconditions { uid: uid.to_owned(), resource_version: None };
        match request {
            Request::ReadNamespace => requests.read_namespace(),
            Request::ReadJob => requests.read_job(self.name),
            Request::ReadRecord => requests.read_config_map(self.name),
            Request::ReviewSelf => requests.review_self(),
            Request::ListPods => {
                let selector = format!("batch.kubernetes.io/job-name={}", self.name);
                requests.list(Resource::Pods, &selector, MOST_PODS, None)
            }
            Request::ListSecrets => {
                requests.list(Resource::Secrets, &selector(self.name), SECRETS_AT_ONCE, None)
            }
            Request::MarkJob { uid, resource_version, at, by, lower } => {
                let mut patch = bound_to(uid, resource_version);
                patch["metadata"]["annotations"] = json!({ CANCELLED_AT: at, CANCELLED_BY: by });
                if *lower {
                    patch["spec"] = json!({ "activeDeadlineSeconds": SHORTEST });
                }
                requests.patch(Resource::Jobs, self.name, &patch)
            }
            Request::LowerJob { uid, resource_version } => {
                requests.patch(Resource::Jobs, self.name, &lowered(uid, resource_version))
            }
            Request::LowerPod { name, uid, resource_version } => {
                requests.patch(Resource::Pods, name, &lowered(uid, resource_version))
            }
            Request::DeletePod { name, uid, resource_version } => {
                let preconditions = Preconditions {
                    uid: uid.clone(),
                    resource_version: Some(resource_version.clone()),
                };
                requests.delete(Resource::Pods, name, &preconditions)
            }
            Request::CreateRecord(record) => {
                let mut object = config_map(record);
                object["metadata"]["annotations"] = Value::Object(self.shown.clone());
                let body = object.to_string().into_bytes();
                requests.create_config_map(self.name, body, DryRun::No)
            }
            Request::DeleteSecret { name, uid: which } => requests.delete_secret(name, &uid(which)),
            Request::DeleteJob { uid, resource_version, .. } => {
                let preconditions =
                    Preconditions { uid: uid.clone(), resource_version: resource_version.clone() };
                requests.delete_job(self.name, &preconditions)
            }
        }
    }
}

/// What a Job is known by to people; the record itself is a frozen form and has none of it.
fn shown(job: &Value) -> Map<String, Value> {
    let annotations = &job["metadata"]["annotations"];
    let containers = job["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
    let image =
        containers.filter(|it| it["name"] == Step::Run.name()).find_map(|it| it["image"].as_str());
    [
        (MISSION_ID, annotations[MISSION_ID].as_str()),
        (ATTEMPT_ID, annotations[ATTEMPT_ID].as_str()),
        (IMAGE, image),
    ]
    .into_iter()
    .filter_map(|(key, text)| Some((key.to_owned(), Value::from(text?))))
    .collect()
}

/// A patch that changes nothing but this object, as it was seen.
fn bound_to(uid: &str, resource_version: &str) -> Value {
    json!({ "metadata": { "uid": uid, "resourceVersion": resource_version } })
}

fn lowered(uid: &str, resource_version: &str) -> Value {
    let mut patch = bound_to(uid, resource_version);
    patch["spec"] = json!({ "activeDeadlineSeconds": SHORTEST });
    patch
}
