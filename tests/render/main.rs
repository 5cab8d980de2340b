//! What a bundle is, byte by byte: goldens, the Kubernetes types, the pod's security, and what may change it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bundles;
mod goldens;
mod identity;
mod kubernetes;
mod properties;
mod security;

#[path = "../submission/form.rs"]
mod form;
