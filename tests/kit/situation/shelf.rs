//! A situation in place of a cluster: `status` and `list` read it as they read from an API server.

use std::time::Duration;

use harness::clock::Clock;
use harness::cluster::{Answer, Details, Outcome, Request, Requests, Status as Refusal};
use harness::status::listing::{Filter, Row, list};
use harness::status::{Situation, Status, Target, read};
use harness::submit::Api;
use jiff::Timestamp;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(5);

/// What `status` says of a situation.
pub(crate) fn told(situation: &Situation) -> Status {
    told_by(situation, Some(situation.now), situation.now)
}

/// The same by somebody whose clock says `local`, of a server that does not say what its own says.
pub(crate) fn told_by_clock(situation: &Situation, local: Timestamp) -> Status {
    told_by(situation, None, local)
}

fn told_by(situation: &Situation, served: Option<Timestamp>, local: Timestamp) -> Status {
    let shelf = Shelf { situation, served, requests: Requests::new(&situation.namespace, LIMIT) };
    let target = Target {
        name: situation.name.clone(),
        uid: situation.awaited_uid.clone(),
        submission_digest: situation.submission_digest.clone(),
    };
    read(&shelf, &Stopped(local), &target, LIMIT).unwrap()
}

/// What `list` says of a situation.
pub(crate) fn listed(situation: &Situation) -> Vec<Row> {
    let served = Some(situation.now);
    let shelf = Shelf { situation, served, requests: Requests::new(&situation.namespace, LIMIT) };
    list(&shelf, &Stopped(situation.now), &Filter::default()).unwrap()
}

struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn boottime(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

struct Shelf<'a> {
    situation: &'a Situation,
    served: Option<Timestamp>,
    requests: Requests,
}

impl Shelf<'_> {
    fn done(&self, body: Value) -> Outcome {
        Outcome::Done(Answer { status: 200, body, date: self.served, warnings: Vec::new() })
    }

    fn items<'v>(&self, items: impl IntoIterator<Item = &'v Value>) -> Outcome {
        self.done(json!({"items": items.into_iter().collect::<Vec<_>>()}))
    }

    fn one(&self, resource: &str, group: &str, object: Option<&Value>) -> Outcome {
        if let Some(object) = object {
            return self.done(object.clone());
        }
        let details = Details {
            name: self.situation.name.clone(),
            group: group.to_owned(),
            kind: resource.to_owned(),
            ..Details::default()
        };
        let reason = "NotFound".to_owned();
        let date = self.served;
        Outcome::Refused(Refusal { code: 404, reason, details, date, ..Refusal::default() })
    }
}

impl Api for Shelf<'_> {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn send(&self, request: &Request) -> Outcome {
        let Situation { name, job, pods, events, workload, record, .. } = self.situation;
        let (_, asked) = request.path.split_once("/namespaces/research/").unwrap();
        let (resource, one) = asked.split_once('/').unwrap_or((asked, ""));
        assert!(one.is_empty() || one == name, "{}", request.path);
        match (resource, one.is_empty()) {
            ("jobs", false) => self.one(resource, "batch", job.as_ref()),
            ("jobs", true) => {
                let labelled = |job: &&Value| {
                    job["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "harness"
                };
                self.items(job.iter().filter(labelled))
            }
            ("configmaps", false) => self.one(resource, "", record.as_ref()),
            ("configmaps", true) => self.items(record),
            ("pods", true) => match pods {
                Some(pods) => self.items(pods),
                None => Outcome::Refused(Refusal { code: 403, ..Refusal::default() }),
            },
            ("events", true) => {
                let selector = request.query.iter().find(|(key, _)| *key == "fieldSelector");
                let wanted = selector.map(|(_, it)| it.as_str()).unwrap_or_default();
                self.items(events.iter().filter(|event| is_about(event, wanted)))
            }
            ("workloads", true) => self.items(workload),
            _ => panic!("nobody asks for {}", request.path),
        }
    }
}

/// Whether a field selector finds the event.
fn is_about(event: &Value, selector: &str) -> bool {
    selector.split(',').all(|term| {
        let (field, wanted) = term.split_once('=').expect("a selector of equal fields");
        let pointer = format!("/{}", field.replace('.', "/"));
        event.pointer(&pointer).and_then(Value::as_str) == Some(wanted)
    })
}
