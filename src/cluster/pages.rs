//! A list that is read page by page: where it stands, and what is asked for next. No I/O.
//!
//! The rules are those of <https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks>:
//! a `continue` token leads to the next page, and one that the server has forgotten (410) leads nowhere, so that the list
//! begins anew.

use serde_json::Value;

use super::{Outcome, Request, Requests, Resource, Status, Unknown, Why};

/// Objects of one page at first: of Jobs or pods about 2 MiB.
const PAGE: u32 = 100;

/// A list that is under way.
#[derive(Debug)]
pub struct Pages {
    resource: Resource,
    label_selector: String,
    size: u32,
    token: Option<String>,
    is_over: bool,
}

/// What came of asking for a page.
#[derive(Debug)]
pub enum Turn {
    /// The next objects.
    Page {
        /// In the order of the server.
        items: Vec<Value>,
        /// Whether the list begins with them, at first or anew.
        is_first: bool,
    },
    /// The server has forgotten where the list was (410): the next page is the first again.
    Forgotten(Status),
    /// The page was too long to be read: half of it is asked for next.
    Halved,
    /// The server says no.
    Refused(Status),
    /// No answer that can be relied on.
    Unknown(Unknown),
}

impl Pages {
    /// The list of all objects of this kind that carry the label.
    pub fn new(resource: Resource, label_selector: &str) -> Self {
        let label_selector = label_selector.to_owned();
        Self { resource, label_selector, size: PAGE, token: None, is_over: false }
    }

    /// What asks for the next page; `None` once the last one came.
    pub fn request(&self, requests: &Requests) -> Option<Request> {
        let token = self.token.as_deref();
        let page = || requests.list(self.resource, &self.label_selector, self.size, token);
        (!self.is_over).then(page)
    }

    /// The answer to that.
    pub fn hear(&mut self, outcome: Outcome) -> Turn {
        match outcome {
            Outcome::Done(answer) => {
                let is_first = self.token.is_none();
                self.token = continuation(&answer.body).map(str::to_owned);
                self.is_over = self.token.is_none();
                Turn::Page { items: answer.into_items(), is_first }
            }
            Outcome::Refused(status) if status.code == 410 => {
                self.token = None;
                Turn::Forgotten(status)
            }
            Outcome::Refused(status) => Turn::Refused(status),
            Outcome::Unknown(Unknown { why: Why::TooLarge { .. }, .. }) if self.size > 1 => {
                self.size /= 2;
                Turn::Halved
            }
            Outcome::Unknown(unknown) => Turn::Unknown(unknown),
        }
    }
}

/// The token with which a list goes on.
pub fn continuation(list: &Value) -> Option<&str> {
    list["metadata"]["continue"].as_str().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::cluster::Answer;

    fn page(items: &[&str], token: &Value) -> Outcome {
        let body = json!({"metadata": {"continue": token}, "items": items});
        Outcome::Done(Answer { status: 200, body, date: None, warnings: Vec::new() })
    }

    fn too_large() -> Outcome {
        Outcome::Unknown(Unknown { why: Why::TooLarge { limit: 1 }, retry_after: None, date: None })
    }

    /// The size and the token that it asks with next.
    fn asks(pages: &Pages) -> (String, Option<String>) {
        let request = pages.request(&Requests::new("lab", Duration::ZERO)).unwrap();
        let of = |name: &str| {
            let mut query = request.query.iter();
            query.find(|(key, _)| *key == name).map(|(_, value)| value.clone())
        };
        (of("limit").unwrap(), of("continue"))
    }

    fn is_over(pages: &Pages) -> bool {
        pages.request(&Requests::new("lab", Duration::ZERO)).is_none()
    }

    #[test]
    fn it_is_over_without_a_token() {
        for last in [json!(""), json!(null), json!(7)] {
            let mut pages = Pages::new(Resource::Jobs, "a=b");
            assert_eq!(asks(&pages), ("100".to_owned(), None));
            let Turn::Page { items, is_first: true } = pages.hear(page(&["a"], &json!("more")))
            else {
                panic!()
            };
            assert_eq!(items, [json!("a")]);
            assert_eq!(asks(&pages), ("100".to_owned(), Some("more".to_owned())));
            assert!(matches!(pages.hear(page(&[], &last)), Turn::Page { is_first: false, .. }));
            assert!(is_over(&pages));
        }
    }

    #[test]
    fn one_that_was_forgotten_begins_anew() {
        let mut pages = Pages::new(Resource::Jobs, "");
        pages.hear(page(&["a"], &json!("more")));
        let gone = Status { code: 410, ..Status::default() };
        assert!(matches!(pages.hear(Outcome::Refused(gone)), Turn::Forgotten(_)));
        assert_eq!(asks(&pages).1, None);
        assert!(matches!(pages.hear(page(&["a"], &json!(""))), Turn::Page { is_first: true, .. }));
    }

    #[test]
    fn a_page_that_is_too_long_is_halved_until_it_is_one_object() {
        let mut pages = Pages::new(Resource::Secrets, "");
        pages.hear(page(&["a"], &json!("more")));
        for size in ["50", "25", "12", "6", "3", "1"] {
            assert!(matches!(pages.hear(too_large()), Turn::Halved));
            assert_eq!(asks(&pages), (size.to_owned(), Some("more".to_owned())));
        }
        assert!(matches!(pages.hear(too_large()), Turn::Unknown(_)));
    }

    #[test]
    fn another_no_leaves_it_where_it_was() {
        let mut pages = Pages::new(Resource::Jobs, "");
        pages.hear(page(&["a"], &json!("more")));
        let busy = Status { code: 429, ..Status::default() };
        assert!(matches!(pages.hear(Outcome::Refused(busy)), Turn::Refused(_)));
        assert_eq!(asks(&pages).1, Some("more".to_owned()));
    }
}
