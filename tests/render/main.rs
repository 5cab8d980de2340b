//! What a bundle is, byte by byte: goldens, the Kubernetes types, the pod's security, and what may change it.

mod bundles;
mod goldens;
mod identity;
mod kubernetes;
mod properties;
mod security;

#[path = "../submission/form.rs"]
mod form;
