//! What networks, servers and crashes do to single requests.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use harness::cluster::{Method, NotSent, Outcome, Request, Requests, Resource, Unknown, Why};
use harness::submit::Api;

use crate::plans::NAMESPACE;
use crate::refusals::refused;
use crate::world::{Who, World, resource_of};

/// One request of a run: what it does, and the how manieth of its kind it is, from 1.
pub(crate) type Point = (&'static str, u32);

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server says no with this code and reason, and perhaps when to come again, in seconds.
    Refused(u16, &'static str, Option<u64>),
    /// The server fails without having done anything.
    ErrorBefore,
    /// The server fails after it has done it.
    ErrorAfter,
    /// The connection is cut before the request arrives.
    CutBefore,
    /// The answer is lost.
    CutAfter,
    /// kubectl cannot reach the server.
    NotSent,
    /// The time for the answer runs out, and the request arrives so many requests later; `None`: after all.
    Late(Option<u32>),
}

/// Every fault that can befall this request.
pub(crate) fn faults_of(point: Point) -> Vec<Fault> {
    let mut faults = vec![
        Fault::Refused(403, "Forbidden", None),
        Fault::Refused(404, "NotFound", None),
        Fault::Refused(409, "Conflict", None),
        Fault::Refused(422, "Invalid", None),
        Fault::Refused(429, "TooManyRequests", Some(2)),
        Fault::ErrorBefore,
        Fault::CutBefore,
        Fault::NotSent,
    ];
    if point.0.starts_with("rehearse") {
        faults.push(Fault::Refused(400, "BadRequest", None));
    }
    if point.0.starts_with("create") {
        let after =
            [Fault::ErrorAfter, Fault::CutAfter, Fault::Refused(409, "AlreadyExists", None)];
        faults.extend(after);
        faults.extend([Some(0), Some(1), Some(3), None].map(Fault::Late));
    }
    if point.0.starts_with("delete") {
        faults.push(Fault::CutAfter);
    }
    faults
}

/// One fault of each class that the protocol's facts tell apart, and each way of landing late.
pub(crate) fn classes_of(point: Point) -> Vec<Fault> {
    let doubles = [
        Fault::Refused(404, "NotFound", None),
        Fault::Refused(422, "Invalid", None),
        Fault::CutBefore,
        Fault::ErrorAfter,
        Fault::Late(Some(1)),
    ];
    let mut faults = faults_of(point);
    faults.retain(|fault| !doubles.contains(fault));
    if !point.0.starts_with("create") {
        faults.retain(|fault| *fault != Fault::NotSent);
    }
    faults
}

/// Connects one run to the world, with its faults.
pub(crate) struct Wire<'a> {
    world: &'a World,
    who: Who,
    requests: Requests,
    faults: BTreeMap<Point, Fault>,
    /// Called before each request with what it is.
    before: Option<&'a (dyn Fn(Point) + Sync)>,
    /// Set when the run is to end after this many requests.
    crash_after: Option<u32>,
    stop: &'a AtomicBool,
    seen: Mutex<Vec<Point>>,
}

impl<'a> Wire<'a> {
    /// A run's connection.
    pub(crate) fn new(world: &'a World, who: Who, stop: &'a AtomicBool) -> Self {
        let requests = Requests::new(NAMESPACE, Duration::from_secs(30));
        let faults = BTreeMap::new();
        let seen = Mutex::default();
        Self { world, who, requests, faults, before: None, crash_after: None, stop, seen }
    }

    /// With this fault too.
    pub(crate) fn with(mut self, point: Point, fault: Fault) -> Self {
        self.faults.insert(point, fault);
        self
    }

    /// Calls this before each request.
    pub(crate) fn before(mut self, before: &'a (dyn Fn(Point) + Sync)) -> Self {
        self.before = Some(before);
        self
    }

    /// Stops the run once so many requests were answered.
    pub(crate) fn stopping_after(mut self, count: u32) -> Self {
        self.crash_after = Some(count);
        self
    }

    /// What was sent, in order; side by side in any order.
    pub(crate) fn seen(&self) -> Vec<Point> {
        self.seen.lock().unwrap().clone()
    }

    fn note(&self, request: &Request) -> Point {
        let what = what(request);
        let mut seen = self.seen.lock().unwrap();
        let count = seen.iter().filter(|(kind, _)| *kind == what).count();
        let point = (what, u32::try_from(count).unwrap() + 1);
        seen.push(point);
        if self.crash_after.is_some_and(|limit| seen.len() >= limit as usize) {
            self.stop.store(true, Ordering::Relaxed);
        }
        point
    }
}

impl Api for Wire<'_> {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn send(&self, request: &Request) -> Outcome {
        let point = self.note(request);
        if let Some(before) = self.before {
            before(point);
        }
        let Some(fault) = self.faults.get(&point) else {
            return self.world.serve(self.who, request);
        };
        match *fault {
            Fault::Refused(code, reason, seconds) => {
                self.world.miss();
                // A 404 about something else, as of a wrong path: about the name itself it would be a lie.
                let name = if code == 404 { "other" } else { "it" };
                let mut outcome = refused(code, reason, resource_of(request), name);
                if let Outcome::Refused(status) = &mut outcome {
                    status.retry_after = seconds.map(Duration::from_secs);
                }
                outcome
            }
            Fault::ErrorBefore => {
                self.world.miss();
                unknown(server_error())
            }
            Fault::ErrorAfter => {
                self.world.serve(self.who, request);
                unknown(server_error())
            }
            Fault::CutBefore => {
                self.world.miss();
                unknown(cut())
            }
            Fault::CutAfter => {
                self.world.serve(self.who, request);
                unknown(cut())
            }
            Fault::NotSent => {
                self.world.miss();
                let message = "connection refused".to_owned();
                unknown(Why::NotSent(NotSent::ServerUnreachable { message }))
            }
            Fault::Late(after) => {
                self.world.float(self.who, request, after);
                unknown(Why::Late { allowed: Duration::from_secs(30) })
            }
        }
    }
}

/// An outcome that nobody knows.
pub(crate) fn unknown(why: Why) -> Outcome {
    Outcome::Unknown(Unknown { why, retry_after: None, date: None })
}

fn server_error() -> Why {
    Why::ServerError { status: 503, message: "etcd has no leader".to_owned() }
}

fn cut() -> Why {
    Why::Cut { reason: "end of file".to_owned() }
}

/// What a request of the protocol does.
pub(crate) fn what(request: &Request) -> &'static str {
    let rehearsal = request.query.contains(&("dryRun", "All".to_owned()));
    match (request.method, resource_of(request), rehearsal) {
        (Method::Get, Resource::Namespaces, _) => "read namespace",
        (Method::Get, Resource::Jobs, _) => "read Job",
        (Method::Get, Resource::Secrets, _) => "read Secret",
        (Method::Get, Resource::ConfigMaps, _) => "read record",
        (Method::Post, Resource::Secrets, true) => "rehearse Secret",
        (Method::Post, Resource::Jobs, true) => "rehearse Job",
        (Method::Post, Resource::Secrets, false) => "create Secret",
        (Method::Post, Resource::Jobs, false) => "create Job",
        (Method::Delete, Resource::Secrets, _) => "delete Secret",
        _ => panic!("submit never sends {request:?}"),
    }
}
