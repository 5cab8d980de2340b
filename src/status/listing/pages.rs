//! A whole list of the server, handed on page by page.

use serde_json::Value;

use crate::cluster::Resource;
use crate::cluster::pages::{Pages, Turn};
use crate::render::names::MANAGED_BY;
use crate::status::read::ReadError;
use crate::submit::Api;

/// How often a list is begun anew because the server forgot where it was.
const MOST_RESTARTS: u32 = 5;

/// Objects that follow each other in the server's list, by their names.
pub(super) struct Page<T> {
    pub(super) objects: Vec<(String, T)>,
    /// Whether the list begins here, at first or anew.
    pub(super) is_first: bool,
}

/// Hands on what `view` sees of the objects of harness of one kind, page by page, until `take` wants no more. One that
/// is there throughout is seen at least once.
pub(super) fn each<T>(
    api: &dyn Api,
    resource: Resource,
    view: impl Fn(&Value) -> T,
    mut take: impl FnMut(Page<T>) -> bool,
) -> Result<(), ReadError> {
    let mut pages = Pages::new(resource, &format!("{MANAGED_BY}=harness"));
    let mut restarts = 0;
    while let Some(request) = pages.request(api.requests()) {
        match pages.hear(api.send(&request)) {
            Turn::Page { items, is_first } => {
                let named = |object: Value| {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    (name, view(&object))
                };
                let objects = items.into_iter().map(named).collect();
                if !take(Page { objects, is_first }) {
                    return Ok(());
                }
            }
            Turn::Forgotten(_) if restarts < MOST_RESTARTS => restarts += 1,
            Turn::Halved => {}
            Turn::Forgotten(status) | Turn::Refused(status) => {
                return Err(ReadError::Refused(Box::new(status)));
            }
            Turn::Unknown(unknown) => return Err(ReadError::Unknown(Box::new(unknown))),
        }
    }
    Ok(())
}
