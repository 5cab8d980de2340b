//! A simulated API server: what it holds, who made it, and everything that ever happened to it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use harness::clock::Clock as _;
use harness::cluster::{Answer, Expected, Method, Outcome, Request, Resource};
use serde_json::{Value, json};

use crate::clock::VirtualClock;
use crate::plans::NAMESPACE;
use crate::refusals::{absent, refused};

/// Who sends a request; the runs of a test count from 1.
pub(crate) type Who = u32;

/// The rival submitter, with a signature of its own.
pub(crate) const RIVAL: Who = 99;

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// It came to be.
    Created { resource: Resource, name: String, uid: String, who: Who },
    /// It was deleted; `maker` had created it.
    Deleted { resource: Resource, name: String, who: Who, maker: Who },
}

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Its UID.
    pub(crate) uid: String,
    /// Who created it.
    pub(crate) maker: Who,
    /// All of it.
    pub(crate) body: Value,
}

/// A create on its way, which lands after so many more requests.
struct Floating {
    after: Option<u32>,
    who: Who,
    request: Request,
}

/// The API server.
pub(crate) struct World {
    /// Its clock.
    pub(crate) clock: VirtualClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<(Resource, String), Stored>,
    history: Vec<Event>,
    floating: Vec<Floating>,
}

impl World {
    /// An empty namespace.
    pub(crate) fn new(clock: VirtualClock) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Serves one request; whatever floats comes closer first.
    pub(crate) fn serve(&self, who: Who, request: &Request) -> Outcome {
        let mut state = self.state.lock().unwrap();
        state.approach();
        self.clock.pass(Duration::from_millis(5));
        let mut outcome = state.commit(who, request);
        let now = self.clock.now();
        match &mut outcome {
            Outcome::Done(answer) => answer.date = Some(now),
            Outcome::Refused(status) => status.date = Some(now),
            Outcome::Unknown(_) => {}
        }
        outcome
    }

    /// A request passes that does not reach the server, but lets what floats come closer.
    pub(crate) fn miss(&self) {
        self.state.lock().unwrap().approach();
        self.clock.pass(Duration::from_millis(5));
    }

    /// The request lands after so many more requests, or with `None` only when [`World::land`] is called.
    pub(crate) fn float(&self, who: Who, request: &Request, after: Option<u32>) {
        self.miss();
        let request = request.clone();
        self.state.lock().unwrap().floating.push(Floating { after, who, request });
    }

    /// Everything that floats lands.
    pub(crate) fn land(&self) {
        let mut state = self.state.lock().unwrap();
        for floating in std::mem::take(&mut state.floating) {
            state.commit(floating.who, &floating.request);
        }
    }

    /// Whether a create of this run for this kind of object may still land.
    pub(crate) fn floats(&self, who: Who, resource: Resource) -> bool {
        let state = self.state.lock().unwrap();
        state.floating.iter().any(|one| one.who == who && resource_of(&one.request) == resource)
    }

    /// The object.
    pub(crate) fn get(&self, resource: Resource, name: &str) -> Option<Stored> {
        self.state.lock().unwrap().objects.get(&(resource, name.to_owned())).cloned()
    }

    /// All objects of one kind.
    pub(crate) fn all(&self, resource: Resource) -> Vec<Stored> {
        let state = self.state.lock().unwrap();
        let objects = state.objects.iter().filter(|((kind, _), _)| *kind == resource);
        objects.map(|(_, stored)| stored.clone()).collect()
    }

    /// Everything that happened.
    pub(crate) fn history(&self) -> Vec<Event> {
        self.state.lock().unwrap().history.clone()
    }

    /// The objects of this kind that this run made, still there or not.
    pub(crate) fn made_by(&self, made_by: Who, kind: Resource) -> usize {
        let is_it = |event: &&Event| matches!(event, Event::Created { resource, who, .. } if *resource == kind && *who == made_by);
        self.history().iter().filter(is_it).count()
    }

    /// Puts an object there.
    pub(crate) fn put(&self, who: Who, resource: Resource, name: &str, body: &Value) {
        self.state.lock().unwrap().create(who, resource, name, body.clone());
    }

    /// Removes an object, as a pruner does.
    pub(crate) fn remove(&self, who: Who, resource: Resource, name: &str) {
        self.state.lock().unwrap().delete(who, resource, name, None);
    }
}

impl State {
    fn approach(&mut self) {
        let (due, floating): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.floating).into_iter().partition(|one| one.after == Some(0));
        self.floating = floating;
        for one in &mut self.floating {
            one.after = one.after.map(|after| after - 1);
        }
        for one in due {
            self.commit(one.who, &one.request);
        }
    }

    fn commit(&mut self, who: Who, request: &Request) -> Outcome {
        let (Expected::Object { resource, name, .. } | Expected::Deleted { resource, name, .. }) =
            &request.expected
        else {
            panic!("submit neither lists nor reviews");
        };
        match request.method {
            Method::Get if *resource == Resource::Namespaces => {
                done(200, json!({ "metadata": { "name": NAMESPACE, "uid": "namespace-uid" } }))
            }
            Method::Get => match self.objects.get(&(*resource, name.clone())) {
                Some(stored) => done(200, stored.body.clone()),
                None => absent(*resource, name),
            },
            Method::Post => {
                let body = serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
                let rehearsal = request.query.contains(&("dryRun", "All".to_owned()));
                match self.objects.get(&(*resource, name.clone())) {
                    Some(_) => refused(409, "AlreadyExists", *resource, name),
                    None if rehearsal => done(201, with_uid(body, "rehearsed")),
                    None => done(201, self.create(who, *resource, name, body)),
                }
            }
            Method::Delete => {
                let options: Value =
                    serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
                self.delete(who, *resource, name, options["preconditions"]["uid"].as_str())
            }
            Method::Patch => panic!("submit patches nothing"),
        }
    }

    fn create(&mut self, who: Who, resource: Resource, name: &str, body: Value) -> Value {
        let uid = format!("uid-{}", self.history.len());
        let body = with_uid(body, &uid);
        let stored = Stored { uid: uid.clone(), maker: who, body: body.clone() };
        self.objects.insert((resource, name.to_owned()), stored);
        self.history.push(Event::Created { resource, name: name.to_owned(), uid, who });
        body
    }

    fn delete(&mut self, who: Who, resource: Resource, name: &str, uid: Option<&str>) -> Outcome {
        let key = (resource, name.to_owned());
        let Some(stored) = self.objects.get(&key).cloned() else { return absent(resource, name) };
        if uid.is_some_and(|uid| uid != stored.uid) {
            return refused(409, "Conflict", resource, name);
        }
        self.objects.remove(&key);
        let maker = stored.maker;
        self.history.push(Event::Deleted { resource, name: name.to_owned(), who, maker });
        done(200, json!({ "kind": "Status", "status": "Success" }))
    }
}

/// The kind of object that a request is about.
pub(crate) fn resource_of(request: &Request) -> Resource {
    match &request.expected {
        Expected::Object { resource, .. }
        | Expected::Deleted { resource, .. }
        | Expected::Nameless(resource)
        | Expected::List(resource) => *resource,
        Expected::Log => unreachable!("no submit reads a log"),
    }
}

/// An answer of success.
pub(crate) fn done(status: u16, body: Value) -> Outcome {
    Outcome::Done(Answer { status, body, date: None, warnings: Vec::new() })
}

fn with_uid(mut body: Value, uid: &str) -> Value {
    body["metadata"]["uid"] = Value::from(uid);
    body["metadata"]["creationTimestamp"] = Value::from(crate::clock::START);
    body
}
