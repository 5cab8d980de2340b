//! What each command may do through the proxy: the narrowest paths and methods of one namespace.
//!
//! Pure. kubectl matches unanchored regular expressions and splits them at commas, so that every one
//! is anchored here and no name may hold anything but its own characters.

use super::request::Resource;

/// What a command needs from the cluster; the roles of `manifests/cluster` grant the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// `submit`: create Jobs and Secrets, delete a Secret of its own.
    Submit,
    /// `submit --wait`: submit, and then watch.
    SubmitAndWatch,
    /// `status`, `list` and `logs`: read only.
    Watch,
    /// `cancel` and `release`: end single Jobs.
    Operate,
    /// `prune`: replace finished Jobs by records.
    Prune,
}

/// Which part of a kind's paths is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Single objects by name.
    Named,
    /// Single objects, and the collection (to create in it or to list it).
    Collection,
}

/// The methods that a server may know and that no command uses, besides those below.
const NEVER: [&str; 5] = ["PUT", "HEAD", "OPTIONS", "CONNECT", "TRACE"];

impl Access {
    /// The value of `--accept-paths` for `namespace`, a valid DNS label.
    pub(crate) fn accept_paths(self, namespace: &str) -> String {
        let mut paths: Vec<String> = self
            .resources()
            .iter()
            .map(|(resource, reach)| pattern(*resource, *reach, namespace))
            .collect();
        if matches!(self, Self::Watch | Self::Operate) {
            let pods = escape(&Resource::Pods.collection(namespace));
            paths.push(format!("^{pods}/{NAME}/log$"));
        }
        paths.join(",")
    }

    /// The value of `--reject-methods`.
    pub(crate) fn reject_methods(self) -> String {
        let more: &[&str] = match self {
            Self::Submit | Self::SubmitAndWatch | Self::Prune => &["PATCH"],
            Self::Watch => &["POST", "PATCH", "DELETE"],
            Self::Operate => &[],
        };
        format!("^({})$", [&NEVER[..], more].concat().join("|"))
    }

    fn resources(self) -> &'static [(Resource, Reach)] {
        use Reach::{Collection, Named};
        use Resource::{
            ConfigMaps, Events, Jobs, Namespaces, Pods, Secrets, SelfSubjectReviews, Workloads,
        };
        match self {
            Self::Submit => &[
                (Namespaces, Named),
                (ConfigMaps, Named),
                (Jobs, Collection),
                (Secrets, Collection),
            ],
            Self::SubmitAndWatch => &[
                (Namespaces, Named),
                (ConfigMaps, Named),
                (Jobs, Collection),
                (Secrets, Collection),
                (Pods, Collection),
                (Events, Collection),
                (Workloads, Collection),
            ],
            Self::Watch => &[
                (Jobs, Collection),
                (Pods, Collection),
                (Events, Collection),
                (ConfigMaps, Collection),
                (Workloads, Collection),
            ],
            Self::Operate => &[
                (Namespaces, Named),
                (Jobs, Collection),
                (Pods, Collection),
                (Events, Collection),
                (Secrets, Collection),
                (ConfigMaps, Collection),
                (SelfSubjectReviews, Collection),
            ],
            Self::Prune => &[
                (Namespaces, Named),
                (Jobs, Collection),
                (Secrets, Collection),
                (Pods, Collection),
                (ConfigMaps, Collection),
                (SelfSubjectReviews, Collection),
            ],
        }
    }
}

/// A name of an object: a DNS subdomain, which has no slash and is not empty.
const NAME: &str = "[a-z0-9][a-z0-9.-]*";

fn pattern(resource: Resource, reach: Reach, namespace: &str) -> String {
    let collection = escape(&resource.collection(namespace));
    match (resource, reach) {
        // The only namespace that may be read is our own.
        (Resource::Namespaces, _) => format!("^{collection}/{}$", escape(namespace)),
        (Resource::SelfSubjectReviews, _) => format!("^{collection}$"),
        (_, Reach::Named) => format!("^{collection}/{NAME}$"),
        (_, Reach::Collection) => format!("^{collection}(/{NAME})?$"),
    }
}

/// Paths and DNS labels hold one character with a meaning in regular expressions.
fn escape(text: &str) -> String {
    text.replace('.', r"\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Access; 5] =
        [Access::Submit, Access::SubmitAndWatch, Access::Watch, Access::Operate, Access::Prune];

    #[test]
    fn submit_reaches_what_it_needs_and_no_more() {
        assert_eq!(
            Access::Submit.accept_paths("lab"),
            "^/api/v1/namespaces/lab$,\
             ^/api/v1/namespaces/lab/configmaps/[a-z0-9][a-z0-9.-]*$,\
             ^/apis/batch/v1/namespaces/lab/jobs(/[a-z0-9][a-z0-9.-]*)?$,\
             ^/api/v1/namespaces/lab/secrets(/[a-z0-9][a-z0-9.-]*)?$"
        );
        assert_eq!(Access::Submit.reject_methods(), "^(PUT|HEAD|OPTIONS|CONNECT|TRACE|PATCH)$");
    }

    #[test]
    fn watching_cannot_write() {
        for method in ["POST", "PATCH", "DELETE", "PUT"] {
            assert!(Access::Watch.reject_methods().contains(method));
        }
        assert!(!Access::Watch.accept_paths("lab").contains("secrets"));
        assert!(
            Access::Watch
                .accept_paths("lab")
                .contains("^/api/v1/namespaces/lab/pods/[a-z0-9][a-z0-9.-]*/log$")
        );
    }

    #[test]
    fn every_pattern_is_anchored() {
        for access in ALL {
            for pattern in access.accept_paths("lab").split(',') {
                assert!(pattern.starts_with("^/api") && pattern.ends_with('$'), "{pattern}");
            }
            let methods = access.reject_methods();
            assert!(methods.starts_with("^(") && methods.ends_with(")$"), "{methods}");
        }
    }

    #[test]
    fn dots_mean_dots() {
        let review = r"^/apis/authentication\.k8s\.io/v1/selfsubjectreviews$";
        assert!(Access::Prune.accept_paths("lab").contains(review));
    }
}
