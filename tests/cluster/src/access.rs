//! Users with exactly the rights that a test gives them.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::credentials::{USERS, user_name};
use crate::kubeconfig::Context;
use crate::wait;

/// How long the API server may take until it knows of new rights.
const EFFECT: Duration = Duration::from_secs(30);

const GROUP: &str = "rbac.authorization.k8s.io";

/// A user that nobody else has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, as the API server knows it.
    pub name: String,
    /// The context in the control plane's kubeconfig.
    pub context: String,
    /// The bearer token.
    pub token: String,
}

/// A right: rules, and where they hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    namespace: Option<String>,
    role: Role,
}

#[derive(Debug, Clone, PartialEq)]
enum Role {
    Rules(Value),
    Cluster(String),
}

impl Grant {
    /// The rules of a Role, such as `[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]`.
    pub fn in_namespace(namespace: &str, rules: Value) -> Self {
        Self { namespace: Some(namespace.to_owned()), role: Role::Rules(rules) }
    }

    /// The rules of a `ClusterRole` of their own, in all namespaces.
    pub fn everywhere(rules: Value) -> Self {
        Self { namespace: None, role: Role::Rules(rules) }
    }

    /// A `ClusterRole` that exists, such as `view`, in one namespace.
    pub fn cluster_role_in(namespace: &str, role: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), role: Role::Cluster(role.to_owned()) }
    }

    /// A `ClusterRole` that exists, in all namespaces.
    pub fn cluster_role(role: &str) -> Self {
        Self { namespace: None, role: Role::Cluster(role.to_owned()) }
    }
}

impl ControlPlane {
    /// Makes a user with these rights and no other, and waits until they hold.
    ///
    /// Fails when all of the [`USERS`] are taken.
    pub fn user(&self, grants: &[Grant]) -> Result<User> {
        let user = self.next_user()?;
        for (index, grant) in grants.iter().enumerate() {
            self.bind(&user, grant, &format!("{}-{index}", user.name))?;
        }
        for grant in grants {
            self.wait_for_effect(&user, grant)?;
        }
        Ok(user)
    }

    fn next_user(&self) -> Result<User> {
        let mut changing = self.changing();
        let name = user_name(changing.users);
        let token = self.credentials.user_token(changing.users);
        let token = token.with_context(|| format!("all {USERS} users are taken"))?.to_owned();
        changing.users += 1;
        changing.kubeconfig.add(Context {
            name: name.clone(),
            server: self.server_url(),
            authority: Some(self.credentials.authority.clone()),
            token: token.clone(),
        })?;
        Ok(User { context: name.clone(), name, token })
    }

    fn bind(&self, user: &User, grant: &Grant, name: &str) -> Result<()> {
        let (base, kind) = match &grant.namespace {
            Some(namespace) => (format!("/apis/{GROUP}/v1/namespaces/{namespace}"), ""),
            None => (format!("/apis/{GROUP}/v1"), "Cluster"),
        };
        let (role_kind, role_name) = match &grant.role {
            Role::Rules(rules) => {
                let role = json!({
                    "apiVersion": format!("{GROUP}/v1"),
                    "kind": format!("{kind}Role"),
                    "metadata": {"name": name},
                    "rules": rules,
                });
                let path = format!("{base}/{}roles", kind.to_lowercase());
                self.admin.must("POST", &path, Some(&role))?;
                (format!("{kind}Role"), name)
            }
            Role::Cluster(role) => ("ClusterRole".to_owned(), role.as_str()),
        };
        let binding = json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": format!("{kind}RoleBinding"),
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role_name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user.name}],
        });
        let path = format!("{base}/{}rolebindings", kind.to_lowercase());
        self.admin.must("POST", &path, Some(&binding)).map(drop)
    }

    /// The authorizer learns of bindings by watching them, a little later than the one who made them.
    fn wait_for_effect(&self, user: &User, grant: &Grant) -> Result<()> {
        let rules = match &grant.role {
            Role::Rules(rules) => rules.clone(),
            Role::Cluster(role) => {
                let path = format!("/apis/{GROUP}/v1/clusterroles/{role}");
                self.admin.must("GET", &path, None)?["rules"].clone()
            }
        };
        for rule in rules.as_array().into_iter().flatten() {
            let Some(attributes) = attributes(rule, grant.namespace.as_deref()) else { continue };
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": user.name, "resourceAttributes": attributes},
            });
            let allowed = || {
                let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
                let answer = self.admin.must("POST", path, Some(&review));
                answer.is_ok_and(|answer| answer["status"]["allowed"] == true)
            };
            if !wait::until(EFFECT, allowed) {
                bail!("{} did not get the right {rule} within {} s", user.name, EFFECT.as_secs());
            }
        }
        Ok(())
    }
}

/// What the first entries of a rule allow; `None` for rules about URLs.
fn attributes(rule: &Value, namespace: Option<&str>) -> Option<Value> {
    let first = |field: &str| rule[field][0].as_str();
    let (resource, subresource) = match first("resources")?.split_once('/') {
        Some((resource, subresource)) => (resource, subresource),
        None => (first("resources")?, ""),
    };
    Some(json!({
        "namespace": namespace.unwrap_or_default(),
        "verb": first("verbs")?,
        "group": first("apiGroups")?,
        "resource": resource,
        "subresource": subresource,
        "name": first("resourceNames").unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_rules() {
        let rule = json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"], "resourceNames": ["a"]});
        let expected = json!({
            "namespace": "n", "verb": "get", "group": "", "resource": "pods", "subresource": "log", "name": "a",
        });
        assert_eq!(attributes(&rule, Some("n")), Some(expected));
        assert_eq!(
            attributes(&json!({"nonResourceURLs": ["/healthz"], "verbs": ["get"]}), None),
            None
        );
    }
}
