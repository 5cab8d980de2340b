//! Lists of a server that is busy, forgets where it was, or says no.

use std::collections::VecDeque;

use serde_json::json;

use super::*;
use crate::cluster::{Answer, Outcome, Request, Requests, Status, Unknown, Why};

/// Answers one after the other; keeps the tokens that it is asked with, and the waits in between.
struct Script {
    requests: Requests,
    answers: Mutex<VecDeque<Outcome>>,
    tokens: Mutex<Vec<Option<String>>>,
    waits: Mutex<Vec<Duration>>,
}

impl Script {
    fn of(answers: Vec<Outcome>) -> Self {
        Self {
            requests: Requests::new("lab", Duration::from_secs(10)),
            answers: Mutex::new(answers.into()),
            tokens: Mutex::default(),
            waits: Mutex::default(),
        }
    }

    /// What it lists.
    fn list(&self) -> Result<Vec<String>, String> {
        let mut items = Vec::new();
        let mut take = |item: &Value| items.push(item.as_str().unwrap().to_owned());
        list(self, self, Resource::Jobs, &mut Dates::default(), &mut take).map(|()| items)
    }

    /// In milliseconds.
    fn waits(&self) -> Vec<u128> {
        self.waits.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

impl Api for Script {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn send(&self, request: &Request) -> Outcome {
        let token = request.query.iter().find(|(key, _)| *key == "continue");
        self.tokens.lock().unwrap().push(token.map(|(_, token)| token.clone()));
        self.answers.lock().unwrap().pop_front().expect("it asks once more")
    }
}

impl Clock for Script {
    fn now(&self) -> Timestamp {
        at(NOW)
    }

    fn boottime(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, duration: Duration) {
        self.waits.lock().unwrap().push(duration);
    }
}

fn page(items: &[&str], token: &str) -> Outcome {
    let body = json!({"metadata": {"continue": token}, "items": items});
    Outcome::Done(Answer { status: 200, body, date: Some(at(NOW)), warnings: Vec::new() })
}

fn no(code: u16, retry_after: Option<Duration>) -> Outcome {
    Outcome::Refused(Status { code, retry_after, ..Status::default() })
}

#[test]
fn page_follows_page_and_one_that_is_forgotten_begins_anew() {
    let script = Script::of(vec![
        page(&["a"], "one"),
        no(429, Some(Duration::from_secs(7))),
        no(429, None),
        page(&["b"], "two"),
        no(410, None),
        page(&["a", "b"], "three"),
        page(&["c"], ""),
    ]);
    assert_eq!(script.list().unwrap(), ["a", "b", "a", "b", "c"]);
    let asked = [None, Some("one"), Some("one"), Some("one"), Some("two"), None, Some("three")];
    assert_eq!(*script.tokens.lock().unwrap(), asked.map(|token| token.map(str::to_owned)));
    assert_eq!(script.waits(), [7000, 800, 1600]);
}

/// A hundred Secrets may be more than one answer may be long.
#[test]
fn a_page_that_is_too_long_is_asked_for_in_halves() {
    let too_large = Unknown { why: Why::TooLarge { limit: 1 }, retry_after: None, date: None };
    let script = Script::of(vec![
        page(&["a"], "one"),
        Outcome::Unknown(too_large.clone()),
        Outcome::Unknown(too_large),
        page(&["b"], ""),
    ]);
    assert_eq!(script.list().unwrap(), ["a", "b"]);
    assert_eq!(script.waits(), [0_u128; 0]);
}

#[test]
fn a_no_is_the_end_and_so_are_five_failures() {
    let denied = Script::of(vec![no(403, None)]);
    assert!(denied.list().unwrap_err().starts_with("listing jobs: "));
    assert_eq!(denied.waits(), [0_u128; 0]);
    let busy = Script::of((0..5).map(|_| no(429, None)).collect());
    assert!(busy.list().unwrap_err().starts_with("listing jobs: "));
    assert_eq!(busy.waits(), [400, 800, 1600, 3200]);
}

#[test]
fn each_task_has_its_receipt_in_their_order() {
    let script = Script::of(Vec::new());
    let task = |name: &&str| Task {
        name: (*name).to_owned(),
        command: Command::Prune { older_than: LEAST_RETENTION },
        secrets: Vec::new(),
    };
    let names = ["a", "b", "c"];
    let tasks: Vec<Task> = names.iter().map(task).collect();
    for (dry_run, stopped) in [(true, false), (false, true)] {
        let heard = Mutex::new(0);
        let receipts = carry_out(
            &script,
            &script,
            Limits::default(),
            &tasks,
            dry_run,
            2,
            &AtomicBool::new(stopped),
            &|_| *heard.lock().unwrap() += 1,
        );
        assert_eq!(receipts.iter().map(|one| one.job.name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(heard.into_inner().unwrap(), 3);
    }
}
