//! What a test does with the cluster as its administrator: namespaces, requests by hand, counts.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::time::Duration;

use crate::admin::without_query;
use crate::components::Component;
use crate::control_plane::ControlPlane;
use crate::wait;

/// How long the controllers may take to make a namespace's service account.
const SERVICE_ACCOUNT: Duration = Duration::from_secs(30);

/// A namespace of its own for one test; it goes with the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl ControlPlane {
    /// Creates a namespace whose name begins with `prefix`, and waits until pods can be made in it.
    pub fn namespace(&self, prefix: &str) -> Result<Namespace> {
        let name = format!("{prefix}-{}", wait::random_name());
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let created = self.admin.must("POST", "/api/v1/namespaces", Some(&body))?;
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        if self.changing().runs(Component::ControllerManager)
            && !wait::until(SERVICE_ACCOUNT, || self.admin.must("GET", &account, None).is_ok())
        {
            bail!("the controllers made no service account in {name}");
        }
        let uid = created["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Ok(Namespace { name, uid })
    }

    /// Sends a request as the administrator, past kubectl; gives status and JSON (or the text as a JSON string).
    ///
    /// Fails only when no whole answer came.
    pub fn admin(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        self.admin.send(method, path, body)
    }

    /// GET as the administrator.
    ///
    /// # Panics
    ///
    /// As all `admin_*` methods: when no whole answer came. [`admin`](Self::admin) does not.
    #[track_caller]
    pub fn admin_get(&self, path: &str) -> (u16, Value) {
        self.answered("GET", path, None)
    }

    /// POST as the administrator.
    #[track_caller]
    pub fn admin_post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.answered("POST", path, Some(body))
    }

    /// PUT as the administrator.
    #[track_caller]
    pub fn admin_put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.answered("PUT", path, Some(body))
    }

    /// PATCH as the administrator, with a merge patch.
    #[track_caller]
    pub fn admin_patch(&self, path: &str, body: &Value) -> (u16, Value) {
        self.answered("PATCH", path, Some(body))
    }

    /// DELETE as the administrator; `options` is a `DeleteOptions`.
    #[track_caller]
    pub fn admin_delete(&self, path: &str, options: Option<&Value>) -> (u16, Value) {
        self.answered("DELETE", path, options)
    }

    /// How many Jobs a namespace holds.
    #[track_caller]
    pub fn count_jobs(&self, namespace: &str) -> usize {
        self.count(&format!("/apis/batch/v1/namespaces/{namespace}/jobs"))
    }

    /// How many Secrets of type `Opaque` a namespace holds.
    #[track_caller]
    pub fn count_secrets(&self, namespace: &str) -> usize {
        self.count(&format!("/api/v1/namespaces/{namespace}/secrets?fieldSelector=type%3DOpaque"))
    }

    #[track_caller]
    fn count(&self, path: &str) -> usize {
        let (status, list) = self.admin_get(path);
        match list["items"].as_array() {
            Some(items) if status == 200 => items.len(),
            _ => panic!("GET {}: {status} and no list", without_query(path)),
        }
    }

    #[track_caller]
    fn answered(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        match self.admin(method, path, body) {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {}: {error:#}", without_query(path)),
        }
    }
}
