//! The eight requests of a submission, each of which can be held.

use harness_test_cluster::fault::Requests;

/// One request of a submission that meets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    ReadNamespace,
    ReadJob,
    ReadSecret,
    ReadRecord,
    RehearseJob,
    RehearseSecret,
    CreateSecret,
    CreateJob,
}

impl Step {
    /// All of them, in the order in which they go out.
    pub(crate) const ALL: [Self; 8] = [
        Self::ReadNamespace,
        Self::ReadJob,
        Self::ReadSecret,
        Self::ReadRecord,
        Self::RehearseJob,
        Self::RehearseSecret,
        Self::CreateSecret,
        Self::CreateJob,
    ];

    /// The first request of this kind.
    pub(crate) fn requests(self, namespace: &str) -> Requests {
        match self {
            Self::ReadNamespace => Requests::new("GET", &format!("/namespaces/{namespace}?")),
            Self::ReadJob => Requests::new("GET", "/jobs/"),
            Self::ReadSecret => Requests::new("GET", "/secrets/"),
            Self::ReadRecord => Requests::new("GET", "/configmaps/"),
            Self::RehearseJob => Requests::new("POST", "/jobs?"),
            Self::RehearseSecret => Requests::new("POST", "/secrets?"),
            Self::CreateSecret => Requests::new("POST", "/secrets?").without("dryRun"),
            Self::CreateJob => Requests::new("POST", "/jobs?").without("dryRun"),
        }
        .nth(1)
    }
}
