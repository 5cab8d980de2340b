//! The requests that harness makes: the only place that knows paths and parameters of the API.
//!
//! Pure: nothing here sends anything.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::{DryRun, Expected, Method, Preconditions, Request, Resource};

/// The name under which the server records who wrote a field.
pub const FIELD_MANAGER: &str = "harness";

/// Makes the requests of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    namespace: String,
    timeout: Duration,
}

/// Which part of a container's output is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRange {
    /// So many lines from the end.
    Last(u32),
    /// All lines, or only those since a whole second, or so many from the end, each with its time before it, and what
    /// comes after them until the container ends.
    Follow {
        /// Since when.
        since: Option<Timestamp>,
        /// How many lines from the end.
        lines: Option<u32>,
    },
}

impl Requests {
    /// Requests in `namespace`, each of which may take `timeout`.
    pub fn new(namespace: impl Into<String>, timeout: Duration) -> Self {
        Self { namespace: namespace.into(), timeout }
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Reads the namespace itself.
    pub fn read_namespace(&self) -> Request {
        self.read(Resource::Namespaces, &self.namespace)
    }

    /// Reads the Job `name`.
    pub fn read_job(&self, name: &str) -> Request {
        self.read(Resource::Jobs, name)
    }

    /// Reads the Secret `name`.
    pub fn read_secret(&self, name: &str) -> Request {
        self.read(Resource::Secrets, name)
    }

    /// Reads the `ConfigMap` `name`.
    pub fn read_config_map(&self, name: &str) -> Request {
        self.read(Resource::ConfigMaps, name)
    }

    /// Creates the Job `name` from its JSON.
    pub fn create_job(&self, name: &str, body: Vec<u8>, dry_run: DryRun) -> Request {
        self.create(Resource::Jobs, name, body, dry_run)
    }

    /// Creates the Secret `name` from its JSON.
    pub fn create_secret(&self, name: &str, body: Vec<u8>, dry_run: DryRun) -> Request {
        self.create(Resource::Secrets, name, body, dry_run)
    }

    /// Creates the `ConfigMap` `name` from its JSON.
    pub fn create_config_map(&self, name: &str, body: Vec<u8>, dry_run: DryRun) -> Request {
        self.create(Resource::ConfigMaps, name, body, dry_run)
    }

    /// Deletes the Secret `name`, if it is still this one.
    pub fn delete_secret(&self, name: &str, preconditions: &Preconditions) -> Request {
        self.delete(Resource::Secrets, name, preconditions)
    }

    /// Deletes the Job `name`, if it is still this one, and its pods after it.
    pub fn delete_job(&self, name: &str, preconditions: &Preconditions) -> Request {
        self.delete(Resource::Jobs, name, preconditions)
    }

    /// Asks the server who it takes us for.
    pub fn review_self(&self) -> Request {
        let resource = Resource::SelfSubjectReviews;
        let body = json!({ "apiVersion": resource.api_version(), "kind": resource.kind() });
        Request {
            method: Method::Post,
            path: resource.collection(&self.namespace),
            query: Vec::new(),
            body: Some(body.to_string().into_bytes()),
            timeout: self.timeout,
            expected: Expected::Nameless(resource),
        }
    }

    /// Reads one object by its name.
    ///
    /// A read without `resourceVersion` is a quorum read: it sees every write that was answered.
    pub fn read(&self, resource: Resource, name: &str) -> Request {
        Request {
            method: Method::Get,
            path: self.path(resource, name),
            query: Vec::new(),
            body: None,
            timeout: self.timeout,
            expected: self.object(resource, name),
        }
    }

    /// Reads the end of a container's output: at most `lines` lines and `bytes` bytes of it.
    pub fn read_log(&self, pod: &str, container: &str, lines: u32, bytes: u32) -> Request {
        Request {
            method: Method::Get,
            path: format!("{}/log", self.path(Resource::Pods, pod)),
            query: vec![
                ("container", container.to_owned()),
                ("tailLines", lines.to_string()),
                ("limitBytes", bytes.to_string()),
            ],
            body: None,
            timeout: self.timeout,
            expected: Expected::Log,
        }
    }

    /// Reads a container's output as it comes; it may take as long as `timeout`.
    pub fn stream_log(
        &self,
        pod: &str,
        container: &str,
        range: LogRange,
        timeout: Duration,
    ) -> Request {
        let mut query = vec![("container", container.to_owned())];
        match range {
            LogRange::Last(lines) => query.push(("tailLines", lines.to_string())),
            LogRange::Follow { since, lines } => {
                query.push(("follow", "true".to_owned()));
                query.push(("timestamps", "true".to_owned()));
                query.extend(since.map(|since| ("sinceTime", format!("{since:.0}"))));
                query.extend(lines.map(|lines| ("tailLines", lines.to_string())));
            }
        }
        Request {
            method: Method::Get,
            path: format!("{}/log", self.path(Resource::Pods, pod)),
            query,
            body: None,
            timeout,
            expected: Expected::Log,
        }
    }

    /// Lists the events about one object, at most `limit` of them.
    pub fn list_events(&self, uid: &str, limit: u32) -> Request {
        self.list_events_with(format!("involvedObject.uid={uid}"), limit)
    }

    /// Lists events about a pod of this name, which may be gone.
    pub fn list_events_of_pod(&self, name: &str, limit: u32) -> Request {
        self.list_events_with(format!("involvedObject.kind=Pod,involvedObject.name={name}"), limit)
    }

    fn list_events_with(&self, selector: String, limit: u32) -> Request {
        let mut request = self.list(Resource::Events, "", limit, None);
        request.query.push(("fieldSelector", selector));
        request
    }

    /// Lists the objects of one kind that carry the label, at most `limit` of them, after the
    /// `continue` token of the list before.
    pub fn list(
        &self,
        resource: Resource,
        label_selector: &str,
        limit: u32,
        continuation: Option<&str>,
    ) -> Request {
        let mut query = vec![("limit", limit.to_string())];
        if !label_selector.is_empty() {
            query.push(("labelSelector", label_selector.to_owned()));
        }
        if let Some(token) = continuation {
            query.push(("continue", token.to_owned()));
        }
        Request {
            method: Method::Get,
            path: resource.collection(&self.namespace),
            query,
            body: None,
            timeout: self.timeout,
            expected: Expected::List(resource),
        }
    }

    /// Watches the objects of one kind that a selector chooses, from `resource_version` on, or from how they are now;
    /// the server ends the stream after `seconds`. A bookmark is a version without a change.
    pub fn watch(
        &self,
        resource: Resource,
        selector: (&'static str, String),
        resource_version: Option<&str>,
        seconds: u32,
    ) -> Request {
        let mut query = vec![
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", seconds.to_string()),
            selector,
        ];
        if let Some(version) = resource_version {
            query.push(("resourceVersion", version.to_owned()));
        }
        Request {
            method: Method::Get,
            path: resource.collection(&self.namespace),
            query,
            body: None,
            timeout: Duration::from_secs(u64::from(seconds)) + self.timeout,
            expected: Expected::List(resource),
        }
    }

    /// Creates one object from its JSON; an unknown or a duplicate field is refused.
    pub fn create(
        &self,
        resource: Resource,
        name: &str,
        body: Vec<u8>,
        dry_run: DryRun,
    ) -> Request {
        let mut query = write_parameters();
        if dry_run == DryRun::Yes {
            query.push(("dryRun", "All".to_owned()));
        }
        Request {
            method: Method::Post,
            path: resource.collection(&self.namespace),
            query,
            body: Some(body),
            timeout: self.timeout,
            expected: self.object(resource, name),
        }
    }

    /// Changes one object by a JSON merge patch. Preconditions go into the patch, as
    /// `metadata.uid` (another UID is 422) and `metadata.resourceVersion` (another one is 409).
    pub fn patch(&self, resource: Resource, name: &str, patch: &Value) -> Request {
        Request {
            method: Method::Patch,
            path: self.path(resource, name),
            query: write_parameters(),
            body: Some(patch.to_string().into_bytes()),
            timeout: self.timeout,
            expected: self.object(resource, name),
        }
    }

    /// Deletes one object, if it still is this one.
    ///
    /// Everything stands in the body: a server ignores the query of a DELETE with a body. The policy
    /// is spelt out because the default for Jobs leaves their pods running.
    pub fn delete(&self, resource: Resource, name: &str, preconditions: &Preconditions) -> Request {
        let mut required = json!({ "uid": preconditions.uid });
        if let Some(version) = &preconditions.resource_version {
            required["resourceVersion"] = Value::from(version.as_str());
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": required,
            "propagationPolicy": "Background",
        });
        Request {
            method: Method::Delete,
            path: self.path(resource, name),
            query: Vec::new(),
            body: Some(body.to_string().into_bytes()),
            timeout: self.timeout,
            expected: Expected::Deleted {
                resource,
                name: name.to_owned(),
                namespace: self.namespace_of(resource),
            },
        }
    }

    fn path(&self, resource: Resource, name: &str) -> String {
        // No name of an object has a slash; one that does must not become another path. Like every
        // other odd character, the escape is refused when the request is sent.
        let segment = name.replace('/', "%2F");
        format!("{}/{segment}", resource.collection(&self.namespace))
    }

    fn object(&self, resource: Resource, name: &str) -> Expected {
        Expected::Object { resource, name: name.to_owned(), namespace: self.namespace_of(resource) }
    }

    fn namespace_of(&self, resource: Resource) -> Option<String> {
        match resource {
            Resource::Namespaces | Resource::SelfSubjectReviews => None,
            _ => Some(self.namespace.clone()),
        }
    }
}

fn write_parameters() -> Vec<(&'static str, String)> {
    vec![("fieldManager", FIELD_MANAGER.to_owned()), ("fieldValidation", "Strict".to_owned())]
}
