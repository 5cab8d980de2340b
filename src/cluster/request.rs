//! What can be asked of the API server, and what a good answer to it looks like.
//!
//! Pure, and only shapes: [`Requests`](super::Requests) makes the requests.

use std::fmt;
use std::time::Duration;

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
    /// Kueue's view of a Job.
    Workloads,
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
            Self::Workloads => ("workloads", "Workload", "kueue.x-k8s.io/v1beta2"),
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
    /// Plain text: the output of a container. It becomes a JSON string.
    Log,
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
        let sends_object = matches!(self.method, Method::Post | Method::Patch);
        let is_secret =
            matches!(&self.expected, Expected::Object { resource: Resource::Secrets, .. });
        sends_object && is_secret
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
