//! A whole list of the server, read in pages of bounded size.

use serde_json::Value;

use crate::cluster::{Outcome, Resource, Unknown, Why};
use crate::render::names::MANAGED_BY;
use crate::status::read::{ReadError, items};
use crate::submit::Api;

/// Objects of one page, about 2 MiB; halved where a page is too long to be read.
const PAGE: u32 = 100;

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
    let label = format!("{MANAGED_BY}=harness");
    let (mut size, mut restarts, mut token) = (PAGE, 0, None::<String>);
    loop {
        let request = api.requests().list(resource, &label, size, token.as_deref());
        match api.send(&request) {
            Outcome::Done(mut answer) => {
                let next = answer.body["metadata"]["continue"].take();
                let named = |object: Value| {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    (name, view(&object))
                };
                let objects = items(answer).into_iter().map(named).collect();
                let goes_on = take(Page { objects, is_first: token.is_none() });
                token = next.as_str().filter(|next| !next.is_empty()).map(str::to_owned);
                if token.is_none() || !goes_on {
                    return Ok(());
                }
            }
            Outcome::Refused(status) if status.code == 410 && restarts < MOST_RESTARTS => {
                restarts += 1;
                token = None;
            }
            Outcome::Refused(status) => return Err(ReadError::Refused(Box::new(status))),
            Outcome::Unknown(Unknown { why: Why::TooLarge { .. }, .. }) if size > 1 => size /= 2,
            Outcome::Unknown(unknown) => return Err(ReadError::Unknown(Box::new(unknown))),
        }
    }
}
