//! Which requests a fault befalls, and what it is.

use std::time::Duration;

use super::hold::Gate;

/// A choice of requests: method, a part of path and query, and which of the requests that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    method: String,
    part: String,
    without: Option<String>,
    nth: Option<u32>,
}

impl Requests {
    /// All requests with this method (empty: any) whose path and query hold `part` (empty: any).
    pub fn new(method: &str, part: &str) -> Self {
        Self { method: method.to_owned(), part: part.to_owned(), without: None, nth: None }
    }

    /// Only those whose path and query do not hold `part`, such as `dryRun`.
    #[must_use]
    pub fn without(mut self, part: &str) -> Self {
        self.without = Some(part.to_owned());
        self
    }

    /// Only the `nth` of them since the rule was made, from 1.
    #[must_use]
    pub fn nth(mut self, nth: u32) -> Self {
        self.nth = Some(nth);
        self
    }

    fn fits(&self, method: &str, target: &str) -> bool {
        (self.method.is_empty() || self.method == method)
            && target.contains(&self.part)
            && !self.without.as_ref().is_some_and(|part| target.contains(part))
    }
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The connection is closed and nothing reaches the API server.
    DropRequest,
    /// The API server answers, so what was asked is done; the connection is closed without a word of it.
    LoseResponse,
    /// The connection is closed after the head and so many bytes of the body of the answer.
    CutResponse(usize),
    /// The client gets this answer, and nothing reaches the API server.
    Replace(Answer),
    /// The API server answers, and the client gets this answer instead, with the `Date` of the real one.
    ReplaceResponse(Answer),
    /// The real answer with these headers in place of its own of the same names.
    SetHeaders(Vec<(String, String)>),
    /// The request reaches the API server so much later.
    DelayRequest(Duration),
    /// The answer reaches the client so much later.
    DelayResponse(Duration),
    /// The body of the answer comes byte by byte, with this pause after each.
    Trickle(Duration),
}

/// A made-up answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Headers beside those that frame the body.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer with a body of this content type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// The same with one more header, such as `Retry-After`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What a rule does: one action, or to hold the request until the test lets it go.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    Act(Action),
    Hold(Gate),
}

/// The rules in the order in which they were made; the first that applies wins.
#[derive(Debug)]
pub struct Rules<E>(Vec<Rule<E>>);

#[derive(Debug)]
struct Rule<E> {
    requests: Requests,
    seen: u32,
    effect: E,
}

impl<E> Default for Rules<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<E: Clone> Rules<E> {
    /// Adds a rule behind the others.
    pub fn add(&mut self, requests: Requests, effect: E) {
        self.0.push(Rule { requests, seen: 0, effect });
    }

    /// Forgets all rules.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts the request for every rule that it fits, and gives the effect of the first that applies.
    pub fn choose(&mut self, method: &str, target: &str) -> Option<E> {
        let mut chosen = None;
        for rule in self.0.iter_mut().filter(|rule| rule.requests.fits(method, target)) {
            rule.seen += 1;
            let applies = rule.requests.nth.is_none_or(|nth| nth == rule.seen);
            if applies && chosen.is_none() {
                chosen = Some(rule.effect.clone());
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rules: &mut Rules<Effect>, method: &str, target: &str) -> Option<Action> {
        match rules.choose(method, target) {
            Some(Effect::Act(action)) => Some(action),
            _ => None,
        }
    }

    #[test]
    fn the_nth_request_that_fits() {
        let mut rules = Rules::default();
        let requests = Requests::new("POST", "/jobs").without("dryRun").nth(2);
        rules.add(requests, Effect::Act(Action::LoseResponse));
        rules.add(Requests::new("", "/jobs"), Effect::Act(Action::DropRequest));
        let mut next = |method, target| chosen(&mut rules, method, target);
        assert_eq!(next("POST", "/secrets"), None);
        assert_eq!(next("POST", "/jobs?dryRun=All"), Some(Action::DropRequest));
        assert_eq!(next("POST", "/jobs"), Some(Action::DropRequest));
        assert_eq!(next("GET", "/jobs/a"), Some(Action::DropRequest));
        assert_eq!(next("POST", "/jobs"), Some(Action::LoseResponse));
        assert_eq!(next("POST", "/jobs"), Some(Action::DropRequest));
    }
}
