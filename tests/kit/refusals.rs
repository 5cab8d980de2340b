//! How a simulated API server says no.

#![allow(unreachable_pub, reason = "a crate of its own includes it as a public module")]

use harness::cluster::{Details, Outcome, Resource, Status};

/// The proof that there is no such object.
pub fn absent(resource: Resource, name: &str) -> Outcome {
    refused(404, "NotFound", resource, name)
}

/// A refusal.
pub fn refused(code: u16, reason: &str, resource: Resource, name: &str) -> Outcome {
    Outcome::Refused(Status {
        code,
        reason: reason.to_owned(),
        message: format!("{} {name}: {reason}", resource.plural()),
        details: Details {
            name: name.to_owned(),
            group: resource.group().to_owned(),
            kind: resource.plural().to_owned(),
            ..Details::default()
        },
        ..Status::default()
    })
}
