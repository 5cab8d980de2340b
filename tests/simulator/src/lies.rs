//! Broken variants: lies between the shipping code and the server, each of which undoes one rule.

use std::collections::BTreeSet;

use harness::cluster::{Outcome, Request, Resource};
use serde_json::Value;

use crate::refusals::{absent, refused};
use crate::server::{is_create, name_of, resource_of};

/// Which rule is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lie {
    /// Reads never see the record.
    BlindToRecords,
    /// A create whose answer was lost is taken for a no.
    LossTakenForNo,
    /// A create whose answer was lost is taken for done.
    LossTakenForDone,
    /// Deletes name neither UID nor version.
    DeleteByName,
    /// Lists of Secrets show those that a Job names.
    NamedSecretOnly,
    /// A create whose answer was lost is sent again without a read, whenever that may be.
    BlindRetry,
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::BlindToRecords,
        Self::LossTakenForNo,
        Self::LossTakenForDone,
        Self::DeleteByName,
        Self::NamedSecretOnly,
        Self::BlindRetry,
    ];

    /// What reaches the server in place of the request.
    pub fn sent(self, mut request: Request) -> Request {
        if let (Self::DeleteByName, harness::cluster::Method::Delete, Some(body)) =
            (self, request.method, &request.body)
        {
            let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
            body["preconditions"] = Value::Null;
            request.body = Some(body.to_string().into_bytes());
        }
        request
    }

    /// What the sender is told in place of the outcome; `named` are the Secrets that a Job names.
    pub fn told(self, request: &Request, outcome: Outcome, named: &BTreeSet<String>) -> Outcome {
        let is_job = resource_of(request) == Resource::Jobs;
        match (self, outcome) {
            (Self::BlindToRecords, Outcome::Done(_))
                if resource_of(request) == Resource::ConfigMaps && request.body.is_none() =>
            {
                absent(Resource::ConfigMaps, name_of(request))
            }
            (Self::LossTakenForNo, Outcome::Unknown(_)) if is_create(request) && is_job => {
                refused(422, "Invalid", Resource::Jobs, "it")
            }
            (Self::LossTakenForDone, Outcome::Unknown(_)) if is_create(request) && is_job => {
                let body = request.body.as_deref().unwrap_or_default();
                let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
                body["metadata"]["uid"] = "made-up".into();
                crate::server::done(201, body)
            }
            (Self::NamedSecretOnly, Outcome::Done(mut answer)) => {
                let items = answer.body["items"].as_array_mut();
                if let Some(items) = items.filter(|_| resource_of(request) == Resource::Secrets) {
                    items
                        .retain(|it| named.contains(it["metadata"]["name"].as_str().unwrap_or("")));
                }
                Outcome::Done(answer)
            }
            (_, outcome) => outcome,
        }
    }
}
