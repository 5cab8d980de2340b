//! The store does what S3 documents, and each rule does what its name says.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]
#![expect(clippy::disallowed_methods, reason = "a test kit starts programs and measures time")]

mod faults;
mod files;
mod lifecycle;
mod objects;

use std::io;

use harness_test_store::{Received, Store};

/// `GET` with a fresh signature.
fn get(store: &Store, object: &str) -> io::Result<Received> {
    store.send("GET", &store.sign("GET", object).url(), &[], b"")
}

/// A create-only `PUT` with a fresh signature.
fn put(store: &Store, object: &str, body: &str) -> io::Result<Received> {
    let url = store.sign("PUT", object).create_only().url();
    store.send("PUT", &url, &[("If-None-Match", "*")], body.as_bytes())
}
