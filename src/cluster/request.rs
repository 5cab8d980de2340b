//! What can be asked of the API server, and what a good answer to it looks like.
//!
//! Pure: nothing here sends anything. The constructors are the only place that knows paths and
//! parameters of the Kubernetes API.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// The name under which the server records who wrote a field.
pub const FIELD_MANAGER: &str = "harness";

/// A method of HTTP that the protocol uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Changes, always as a JSON merge patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)).
    Patch,
    /// Deletes.
    Delete,
}

impl Method {
    /// The method as it stands in a request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// A kind of object that harness touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Namespaces; not namespaced themselves.
    Namespaces,
    /// Secrets.
    Secrets,
    /// `ConfigMap`s.
    ConfigMaps,
    /// Jobs of `batch/v1`.
    Jobs,
    /// Pods.
    Pods,
    /// Events of the core group.
    Events,
    /// The question who we are; only ever created, never stored.
    SelfSubjectReviews,
}

impl Resource {
    /// The name in paths and in `details.kind` of a `Status`, such as `jobs`.
    pub fn plural(self) -> &'static str {
        self.names().0
    }

    /// The `kind` of one object, such as `Job`.
    pub fn kind(self) -> &'static str {
        self.names().1
    }

    /// The `apiVersion` of one object, such as `batch/v1`.
    pub fn api_version(self) -> &'static str {
        self.names().2
    }

    /// The API group, empty for the core group.
    pub fn group(self) -> &'static str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Namespaces => ("namespaces", "Namespace", "v1"),
            Self::Secrets => ("secrets", "Secret", "v1"),
            Self::ConfigMaps => ("configmaps", "ConfigMap", "v1"),
            Self::Jobs => ("jobs", "Job", "batch/v1"),
            Self::Pods => ("pods", "Pod", "v1"),
            Self::Events => ("events", "Event", "v1"),
            Self::SelfSubjectReviews => {
                ("selfsubjectreviews", "SelfSubjectReview", "authentication.k8s.io/v1")
            }
        }
    }

    /// The path of all objects of this kind, in `namespace` where the kind has one.
    pub(crate) fn collection(self, namespace: &str) -> String {
        let root = match self.group() {
            "" => "/api/v1".to_owned(),
            _ => format!("/apis/{}", self.api_version()),
        };
        match self {
            Self::Namespaces | Self::SelfSubjectReviews => format!("{root}/{}", self.plural()),
            _ => format!("{root}/namespaces/{namespace}/{}", self.plural()),
        }
    }
}

/// What a 2xx answer must hold to be believed.
///
/// A proxy's login page also answers 200, and an empty name in a path is a list with 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// The object with this name.
    Object {
        /// Its kind.
        resource: Resource,
        /// Its name.
        name: String,
        /// Its namespace, where its kind has one.
        namespace: Option<String>,
    },
    /// An object that has no name, such as a review.
    Nameless(Resource),
    /// A list of objects of this kind.
    List(Resource),
    /// The end of the object: a `Status` of success, or the object itself on its way out.
    Deleted {
        /// Its kind.
        resource: Resource,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: Option<String>,
    },
}

/// Whether a create is only tried or really made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// `dryRun=All`: everything but storing.
    Yes,
    /// The object is stored.
    No,
}

/// What a delete insists on: it deletes this object and no other of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preconditions {
    /// `metadata.uid` of the object.
    pub uid: String,
    /// `metadata.resourceVersion`, where the object must not have changed either.
    pub resource_version: Option<String>,
}

/// One request to the API server.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The absolute path, without a query.
    pub path: String,
    /// The parameters; `timeout` is added when the request is sent.
    pub query: Vec<(&'static str, String)>,
    /// The body: JSON. Never shown.
    pub body: Option<Vec<u8>>,
    /// How long the whole answer may take.
    pub timeout: Duration,
    /// What a good answer holds.
    pub expected: Expected,
}

impl Request {
    /// Whether the server's own words must not be shown, because a server may repeat the request in
    /// them: it does so when it cannot read a body, and an admission webhook may at any time.
    pub fn is_confidential(&self) -> bool {
        let resource = match &self.expected {
            Expected::Object { resource, .. }
            | Expected::Deleted { resource, .. }
            | Expected::Nameless(resource)
            | Expected::List(resource) => *resource,
        };
        self.body.is_some() && self.method != Method::Delete && resource == Resource::Secrets
    }
}

// The body may be a Secret.
impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Makes the requests of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    namespace: String,
    timeout: Duration,
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
