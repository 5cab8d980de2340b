//! Kubeconfig files, written as JSON, which is YAML too.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

/// The context of the administrator in every kubeconfig of this crate.
pub const ADMIN_CONTEXT: &str = "test-admin";

/// How a client judges the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// By the authority that has signed it.
    Right,
    /// By an authority that has not: every connection fails.
    Wrong,
    /// Not at all; for plain HTTP.
    None,
}

/// A kubeconfig that is written anew for each context that is added.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    path: PathBuf,
    /// Empty in files for kubectl: who forgets `--context` must notice.
    current_context: &'static str,
    contexts: Vec<Context>,
}

/// One context, with a cluster and a user of the same name.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) authority: Option<PathBuf>,
    /// kubectl sends it over TLS only.
    pub(crate) token: String,
}

impl Kubeconfig {
    pub(crate) fn create(path: PathBuf, context: Context) -> Result<Self> {
        let this = Self { path, current_context: "", contexts: vec![context] };
        this.write()?;
        Ok(this)
    }

    /// Writes a file for a component, which follows the current context.
    pub(crate) fn create_for_component(path: PathBuf, context: Context) -> Result<()> {
        Self { path, current_context: ADMIN_CONTEXT, contexts: vec![context] }.write()
    }

    pub(crate) fn add(&mut self, context: Context) -> Result<()> {
        self.contexts.push(context);
        self.write()
    }

    /// Replaces the file in one step: a kubectl of another test may be reading it.
    fn write(&self) -> Result<()> {
        let new = self.path.with_extension("new");
        fs::write(&new, self.document().to_string())?;
        Ok(fs::rename(&new, &self.path)?)
    }

    fn document(&self) -> Value {
        let each = |part: fn(&Context) -> Value| self.contexts.iter().map(part).collect::<Vec<_>>();
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.current_context,
            "clusters": each(|context| json!({"name": context.name, "cluster": cluster(context)})),
            "users": each(|context| json!({"name": context.name, "user": {"token": context.token}})),
            "contexts": each(|context| json!({
                "name": context.name,
                "context": {"cluster": context.name, "user": context.name},
            })),
        })
    }
}

fn cluster(context: &Context) -> Value {
    match &context.authority {
        Some(authority) => json!({"server": context.server, "certificate-authority": authority}),
        None => json!({"server": context.server}),
    }
}
