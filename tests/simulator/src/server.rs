//! A simulated API server: what is committed, who did it, and everything that ever happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use harness::cluster::{Answer, Expected, Method, Outcome, Request, Resource};
use harness::render::compare::named_secret;
use serde_json::{Value, json};

use crate::clock::at;
use crate::experiments::NAMESPACE;
use crate::refusals::{absent, refused};

/// Who changes something: a process by its number, or one of those below.
pub type Who = usize;

/// The cluster itself: its controllers, its scheduler, its kubelets.
pub const CLUSTER: Who = usize::MAX;

/// A person with more rights than harness.
pub const HAND: Who = usize::MAX - 1;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// When.
    pub when: Duration,
    /// Who did it.
    pub who: Who,
    /// What it is about.
    pub resource: Resource,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What happened to it.
    pub what: What,
}

/// What happens to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// It came to be.
    Created,
    /// It is gone; `maker` had made it, `was_recorded` if a record of its UID stood, `was_bound` for a pod with a node.
    Deleted {
        /// Who had made it.
        maker: Who,
        /// Whether a record of this very Job stood.
        was_recorded: bool,
        /// Whether the pod had a node.
        was_bound: bool,
    },
    /// It was changed.
    Changed,
    /// Its `run` began (of a Job, by its pod).
    Ran,
}

/// One object.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Who created it.
    pub maker: Who,
    /// All of it; shared, since it is read far more often than it is changed.
    pub body: Arc<Value>,
}

impl Stored {
    /// Its UID.
    pub fn uid(&self) -> &str {
        self.body["metadata"]["uid"].as_str().unwrap_or_default()
    }
}

/// The API server.
#[derive(Debug, Default)]
pub struct Server {
    /// Everything that is committed.
    pub objects: BTreeMap<(Resource, String), Stored>,
    /// Everything that happened.
    pub history: Vec<Event>,
    /// Its time.
    pub now: Duration,
    /// How many Jobs the quota allows.
    pub most_jobs: Option<usize>,
    versions: u64,
    /// Lists that are read page by page, as they were when they began.
    snapshots: Vec<Vec<Arc<Value>>>,
}

impl Server {
    /// An empty namespace whose quota allows so many Jobs.
    pub fn with_quota(most_jobs: Option<usize>) -> Self {
        Self { most_jobs, ..Self::default() }
    }

    /// Serves one request of this process.
    pub fn serve(&mut self, who: Who, request: &Request) -> Outcome {
        let mut outcome = self.commit(who, request);
        let now = Some(at(Duration::from_secs(self.now.as_secs())));
        match &mut outcome {
            Outcome::Done(answer) => answer.date = now,
            Outcome::Refused(status) => status.date = now,
            Outcome::Unknown(_) => {}
        }
        outcome
    }

    fn commit(&mut self, who: Who, request: &Request) -> Outcome {
        let body: Value = request
            .body
            .as_ref()
            .and_then(|body| serde_json::from_slice(body).ok())
            .unwrap_or_default();
        match (&request.expected, request.method) {
            (Expected::Nameless(_), _) => done(
                201,
                json!({ "status": { "userInfo": { "username": format!("user-{who}") } } }),
            ),
            (Expected::List(resource), _) => self.list(*resource, &request.query),
            (Expected::Object { resource: Resource::Namespaces, .. }, _) => {
                done(200, json!({ "metadata": { "name": NAMESPACE, "uid": "namespace-uid" } }))
            }
            (Expected::Object { resource, name, .. }, Method::Get) => {
                match self.objects.get(&(*resource, name.clone())) {
                    Some(stored) => done(200, (*stored.body).clone()),
                    None => absent(*resource, name),
                }
            }
            (Expected::Object { resource, name, .. }, Method::Post) => {
                let rehearsal = request.query.contains(&("dryRun", "All".to_owned()));
                self.post(who, *resource, name, body, rehearsal)
            }
            (Expected::Object { resource, name, .. }, Method::Patch) => {
                self.patch(who, *resource, name, &body)
            }
            (Expected::Deleted { resource, name, .. }, _) => {
                self.delete(who, *resource, name, &body["preconditions"])
            }
            (expected, method) => panic!("no {method:?} of {expected:?} is ever sent"),
        }
    }

    fn post(
        &mut self,
        who: Who,
        resource: Resource,
        name: &str,
        body: Value,
        rehearsal: bool,
    ) -> Outcome {
        // Quota refuses before the name is looked at.
        let jobs = self.all(Resource::Jobs).len();
        if resource == Resource::Jobs && self.most_jobs.is_some_and(|most| jobs >= most) {
            return refused(403, "Forbidden", resource, name);
        }
        if self.objects.contains_key(&(resource, name.to_owned())) {
            return refused(409, "AlreadyExists", resource, name);
        }
        if rehearsal {
            return done(201, self.stamped(body, "rehearsed"));
        }
        done(201, self.create(who, resource, name, body))
    }

    /// Creates an object that is not there yet.
    pub fn create(&mut self, who: Who, resource: Resource, name: &str, body: Value) -> Value {
        self.versions += 1;
        let uid = format!("{}-{}", resource.kind().to_lowercase(), self.versions);
        let body = self.stamped(body, &uid);
        let stored = Stored { maker: who, body: Arc::new(body.clone()) };
        self.objects.insert((resource, name.to_owned()), stored);
        self.note(who, resource, name, &uid, What::Created);
        body
    }

    fn stamped(&self, mut body: Value, uid: &str) -> Value {
        body["metadata"]["uid"] = uid.into();
        body["metadata"]["creationTimestamp"] = self.time();
        body["metadata"]["resourceVersion"] = self.versions.to_string().into();
        if body["kind"] == "Job" {
            body["metadata"]["generation"] = 1.into();
        }
        body
    }

    /// The server's time as it stands in objects.
    pub fn time(&self) -> Value {
        at(Duration::from_secs(self.now.as_secs())).to_string().into()
    }

    fn patch(&mut self, who: Who, resource: Resource, name: &str, patch: &Value) -> Outcome {
        let Some(stored) = self.objects.get(&(resource, name.to_owned())) else {
            return absent(resource, name);
        };
        let metadata = &stored.body["metadata"];
        if patch["metadata"]["uid"].is_string() && patch["metadata"]["uid"] != metadata["uid"] {
            return refused(422, "Invalid", resource, name);
        }
        let version = &patch["metadata"]["resourceVersion"];
        if version.is_string() && *version != metadata["resourceVersion"] {
            return refused(409, "Conflict", resource, name);
        }
        let changed = self.change(who, resource, name, |body| merge(body, patch));
        done(200, changed)
    }

    /// Changes an object that is there; a changed specification is another generation.
    pub fn change(
        &mut self,
        who: Who,
        resource: Resource,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Value {
        self.versions += 1;
        let version = self.versions.to_string();
        let Some(stored) = self.objects.get_mut(&(resource, name.to_owned())) else {
            return Value::Null;
        };
        let before = stored.body["spec"].clone();
        let body = Arc::make_mut(&mut stored.body);
        change(body);
        if let (Some(generation), true) =
            (body["metadata"]["generation"].as_u64(), body["spec"] != before)
        {
            body["metadata"]["generation"] = (generation + 1).into();
        }
        body["metadata"]["resourceVersion"] = version.into();
        let body = body.clone();
        let uid = stored.uid().to_owned();
        self.note(who, resource, name, &uid, What::Changed);
        body
    }

    fn delete(&mut self, who: Who, resource: Resource, name: &str, required: &Value) -> Outcome {
        let Some(stored) = self.objects.get(&(resource, name.to_owned())) else {
            return absent(resource, name);
        };
        let metadata = &stored.body["metadata"];
        let differs =
            |field: &str| required[field].is_string() && required[field] != metadata[field];
        if differs("uid") || differs("resourceVersion") {
            return refused(409, "Conflict", resource, name);
        }
        // The Job's controller keeps its pods until it has counted them.
        if resource == Resource::Pods {
            let time = self.time();
            self.change(who, resource, name, |body| {
                body["metadata"]["deletionTimestamp"] = time;
            });
            let pod = self.objects[&(resource, name.to_owned())].clone();
            let was_bound = pod.body["spec"]["nodeName"].is_string();
            let what = What::Deleted { maker: pod.maker, was_recorded: false, was_bound };
            self.note(who, resource, name, pod.uid(), what);
        } else {
            self.remove(who, resource, name);
        }
        done(200, json!({ "kind": "Status", "status": "Success" }))
    }

    /// Removes an object, if it is there.
    pub fn remove(&mut self, who: Who, resource: Resource, name: &str) {
        let Some(stored) = self.objects.remove(&(resource, name.to_owned())) else { return };
        self.versions += 1;
        let was_recorded = self.record_of(name) == Some(stored.uid().to_owned());
        let was_bound = stored.body["spec"]["nodeName"].is_string();
        let what = What::Deleted { maker: stored.maker, was_recorded, was_bound };
        self.note(who, resource, name, stored.uid(), what);
    }

    /// The UID of the Job that the record of this name is of.
    pub fn record_of(&self, name: &str) -> Option<String> {
        let record = self.objects.get(&(Resource::ConfigMaps, name.to_owned()))?;
        let record: Value =
            serde_json::from_str(record.body["data"]["record.json"].as_str()?).ok()?;
        Some(record["job_uid"].as_str()?.to_owned())
    }

    fn list(&mut self, resource: Resource, query: &[(&'static str, String)]) -> Outcome {
        let parameter = |name: &str| {
            query.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
        };
        let limit: usize = parameter("limit").and_then(|text| text.parse().ok()).unwrap_or(500);
        let (snapshot, from) = if let Some(token) = parameter("continue") {
            let (snapshot, from) = token.split_once('-').expect("a token of ours");
            let number = |text: &str| text.parse().expect("a token of ours");
            (number(snapshot), number(from))
        } else {
            let selector = parameter("labelSelector").unwrap_or_default();
            let chosen = |stored: &&Stored| selects(selector, &stored.body["metadata"]["labels"]);
            let items = self.all(resource).into_iter().filter(chosen);
            let items = items.map(|stored| stored.body.clone()).collect();
            self.snapshots.push(items);
            (self.snapshots.len() - 1, 0)
        };
        let all = &self.snapshots[snapshot];
        let page: Vec<Value> =
            all.iter().skip(from).take(limit).map(|one| (**one).clone()).collect();
        let end = from + page.len();
        let more = if end < all.len() { format!("{snapshot}-{end}") } else { String::new() };
        done(200, json!({ "metadata": { "continue": more }, "items": page }))
    }

    /// All objects of one kind.
    pub fn all(&self, resource: Resource) -> Vec<&Stored> {
        let objects = self.objects.iter().filter(|((kind, _), _)| *kind == resource);
        objects.map(|(_, stored)| stored).collect()
    }

    /// The Secrets that Jobs name.
    pub fn named_secrets(&self) -> BTreeSet<String> {
        self.all(Resource::Jobs).iter().filter_map(|job| named_secret(&job.body)).collect()
    }

    /// One object.
    pub fn get(&self, resource: Resource, name: &str) -> Option<&Stored> {
        self.objects.get(&(resource, name.to_owned()))
    }

    /// Notes that something happened.
    pub fn note(&mut self, who: Who, resource: Resource, name: &str, uid: &str, what: What) {
        let (name, uid) = (name.to_owned(), uid.to_owned());
        self.history.push(Event { when: self.now, who, resource, name, uid, what });
    }

    /// The UIDs of the Jobs of this name that ran.
    pub fn ran(&self, name: &str) -> BTreeSet<&str> {
        let ran = self.history.iter().filter(|event| event.what == What::Ran && event.name == name);
        ran.map(|event| event.uid.as_str()).collect()
    }
}

fn selects(selector: &str, labels: &Value) -> bool {
    selector.split(',').filter(|term| !term.is_empty()).all(|term| match term.split_once('=') {
        Some((key, value)) => labels[key] == value,
        None => labels[term].is_string(),
    })
}

/// A JSON merge patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in members {
        if value.is_null() {
            target.as_object_mut().map(|object| object.remove(key));
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// The name that a request is about, empty for lists and reviews.
pub fn name_of(request: &Request) -> &str {
    match &request.expected {
        Expected::Object { name, .. } | Expected::Deleted { name, .. } => name,
        Expected::Nameless(_) | Expected::List(_) | Expected::Log => "",
    }
}

/// The kind of object that a request is about.
pub fn resource_of(request: &Request) -> Resource {
    match &request.expected {
        Expected::Object { resource, .. }
        | Expected::Deleted { resource, .. }
        | Expected::Nameless(resource)
        | Expected::List(resource) => *resource,
        Expected::Log => Resource::Pods,
    }
}

/// Whether the request changes something.
pub fn is_effect(request: &Request) -> bool {
    let rehearses = request.query.contains(&("dryRun", "All".to_owned()));
    let is_review = matches!(request.expected, Expected::Nameless(_));
    request.method != Method::Get && !rehearses && !is_review
}

/// Whether the request creates a Secret or a Job.
pub fn is_create(request: &Request) -> bool {
    let is_ours = matches!(resource_of(request), Resource::Secrets | Resource::Jobs);
    is_effect(request) && request.method == Method::Post && is_ours
}

/// An answer of success.
pub fn done(status: u16, body: Value) -> Outcome {
    Outcome::Done(Answer { status, body, date: None, warnings: Vec::new() })
}
