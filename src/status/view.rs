//! What `status` reads of live objects: small, bounded and lenient. Pure.
//!
//! Each field is read by itself, and one that is missing or of another type is empty: a cluster may be older or
//! newer than harness, and one odd field must not hide the others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::words;
use crate::ledger::observe;

/// Bytes kept of one text.
const LONGEST_TEXT: usize = 8 * 1024;

/// Elements kept of one list.
const LONGEST_LIST: usize = 64;

/// A condition of a Job or a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) kind: String,
    pub(super) is_true: bool,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) since: Option<Timestamp>,
}

/// A Job.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) uid: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) created: Option<Timestamp>,
    pub(super) is_being_deleted: bool,
    pub(super) is_suspended: bool,
    /// Seconds from its start.
    pub(super) deadline: Option<i64>,
    pub(super) started: Option<Timestamp>,
    pub(super) completed: Option<Timestamp>,
    pub(super) active: i64,
    pub(super) ended_pods: i64,
    /// Whether a pod may have come and gone without a trace in the Job.
    pub(super) may_have_had_other_pods: bool,
    pub(super) conditions: Vec<Condition>,
    /// The arguments of its containers, by their names.
    pub(super) arguments: BTreeMap<String, Vec<String>>,
    /// The images of its containers, by their names.
    pub(super) images: BTreeMap<String, String>,
    /// The memory limits of its containers, by their names.
    pub(super) memory: BTreeMap<String, String>,
}

/// How a container is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is said of it.
    #[default]
    Unsaid,
    Waiting {
        reason: String,
        message: String,
    },
    Running {
        since: Option<Timestamp>,
    },
    Terminated {
        exit_code: Option<i64>,
        signal: Option<i64>,
        reason: String,
        message: String,
        started: Option<Timestamp>,
        finished: Option<Timestamp>,
    },
}

/// A container of a Pod.
#[derive(Debug, Clone, Default)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) is_init: bool,
    pub(super) state: State,
    /// Whether it ended before and was started again, which these pods never do.
    pub(super) restarts: i64,
    /// Whether the runtime ever made it.
    pub(super) has_id: bool,
    pub(super) image_id: String,
}

/// A Pod.
#[derive(Debug, Clone, Default)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) owner: String,
    pub(super) node: String,
    pub(super) created: Option<Timestamp>,
    pub(super) is_being_deleted: bool,
    /// When it was deleted; its grace began then.
    pub(super) deleted: Option<Timestamp>,
    pub(super) phase: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) started: Option<Timestamp>,
    pub(super) deadline: Option<i64>,
    pub(super) conditions: Vec<Condition>,
    pub(super) containers: Vec<Container>,
}

/// What Kueue says of a Job.
#[derive(Debug, Clone, Default)]
pub(super) struct Workload {
    pub(super) conditions: Vec<Condition>,
    /// How often it took the Job back after it had admitted it.
    pub(super) evictions: i64,
}

/// An Event.
#[derive(Debug, Clone, Default)]
pub(super) struct Event {
    pub(super) about: String,
    /// The part that it is about, such as `spec.containers{run}`.
    pub(super) part: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) last: Option<Timestamp>,
}

impl Job {
    pub(super) fn read(object: &Value) -> Self {
        let mut job = Self {
            uid: text(object, "/metadata/uid"),
            labels: texts(object, "/metadata/labels"),
            annotations: texts(object, "/metadata/annotations"),
            created: time(object, "/metadata/creationTimestamp"),
            is_being_deleted: !text(object, "/metadata/deletionTimestamp").is_empty(),
            is_suspended: object.pointer("/spec/suspend") == Some(&Value::Bool(true)),
            deadline: number(object, "/spec/activeDeadlineSeconds"),
            started: time(object, "/status/startTime"),
            completed: time(object, "/status/completionTime"),
            active: number(object, "/status/active").unwrap_or(0),
            ended_pods: number(object, "/status/succeeded")
                .unwrap_or(0)
                .saturating_add(number(object, "/status/failed").unwrap_or(0)),
            may_have_had_other_pods: observe::may_have_been_stopped(object),
            conditions: conditions(object),
            ..Self::default()
        };
        for pointer in ["/spec/template/spec/initContainers", "/spec/template/spec/containers"] {
            for container in items(object, pointer) {
                let name = text(container, "/name");
                let arguments = items(container, "/args").iter().filter_map(Value::as_str);
                job.arguments.insert(name.clone(), arguments.map(bounded).collect());
                job.images.insert(name.clone(), text(container, "/image"));
                job.memory.insert(name, text(container, "/resources/limits/memory"));
            }
        }
        job
    }

    /// The condition of this type, if it is true.
    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind && condition.is_true)
    }

    /// The number that a step was given as `--name=NUMBER`.
    pub(super) fn seconds(&self, step: &str, name: &str) -> Option<i64> {
        let prefix = format!("--{name}=");
        let found = self.arguments.get(step)?.iter().find_map(|it| it.strip_prefix(&prefix))?;
        found.parse().ok()
    }
}

impl Pod {
    pub(super) fn read(object: &Value) -> Self {
        let owner = items(object, "/metadata/ownerReferences")
            .iter()
            .find(|owner| owner.pointer("/controller") == Some(&Value::Bool(true)));
        let mut pod = Self {
            name: text(object, "/metadata/name"),
            uid: text(object, "/metadata/uid"),
            owner: owner.map(|owner| text(owner, "/uid")).unwrap_or_default(),
            node: text(object, "/spec/nodeName"),
            created: time(object, "/metadata/creationTimestamp"),
            is_being_deleted: !text(object, "/metadata/deletionTimestamp").is_empty(),
            deleted: deleted(object),
            phase: text(object, "/status/phase"),
            reason: text(object, "/status/reason"),
            message: text(object, "/status/message"),
            started: time(object, "/status/startTime"),
            deadline: number(object, "/spec/activeDeadlineSeconds"),
            conditions: conditions(object),
            containers: Vec::new(),
        };
        if pod.owner.is_empty() {
            pod.owner = texts(object, "/metadata/labels")
                .remove("batch.kubernetes.io/controller-uid")
                .unwrap_or_default();
        }
        for (pointer, is_init) in
            [("/status/initContainerStatuses", true), ("/status/containerStatuses", false)]
        {
            let read = |status| Container::read(status, is_init);
            pod.containers.extend(items(object, pointer).iter().map(read));
        }
        pod
    }

    /// The condition of this type, whether it is true or not.
    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// The state of a step's container.
    pub(super) fn state(&self, step: &str) -> &State {
        self.container(step).map_or(&State::Unsaid, |container| &container.state)
    }

    /// A step's container.
    pub(super) fn container(&self, step: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == step)
    }

    /// Whether the kubelet says that it has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

impl Container {
    fn read(status: &Value, is_init: bool) -> Self {
        let state = match status.pointer("/state").and_then(Value::as_object) {
            Some(state) if state.contains_key("terminated") => State::Terminated {
                exit_code: number(status, "/state/terminated/exitCode"),
                signal: number(status, "/state/terminated/signal").filter(|signal| *signal != 0),
                reason: text(status, "/state/terminated/reason"),
                message: text(status, "/state/terminated/message"),
                started: time(status, "/state/terminated/startedAt"),
                finished: time(status, "/state/terminated/finishedAt"),
            },
            Some(state) if state.contains_key("running") => {
                State::Running { since: time(status, "/state/running/startedAt") }
            }
            Some(state) if state.contains_key("waiting") => State::Waiting {
                reason: text(status, "/state/waiting/reason"),
                message: text(status, "/state/waiting/message"),
            },
            _ => State::Unsaid,
        };
        let ids =
            ["/containerID", "/state/terminated/containerID", "/lastState/terminated/containerID"];
        Self {
            name: text(status, "/name"),
            is_init,
            state,
            restarts: number(status, "/restartCount").unwrap_or(0),
            has_id: ids.iter().any(|pointer| !text(status, pointer).is_empty()),
            image_id: text(status, "/imageID"),
        }
    }
}

impl Workload {
    pub(super) fn read(object: &Value) -> Self {
        let counts = items(object, "/status/schedulingStats/evictions").iter();
        let counts = counts.filter_map(|eviction| number(eviction, "/count"));
        Self { conditions: conditions(object), evictions: counts.fold(0, i64::saturating_add) }
    }

    /// The condition of this type, if it has this status.
    pub(super) fn condition(&self, kind: &str, is_true: bool) -> Option<&Condition> {
        self.conditions.iter().find(|it| it.kind == kind && it.is_true == is_true)
    }
}

impl Event {
    pub(super) fn read(object: &Value) -> Self {
        // Old clients fill the first, new ones the others.
        let times = [
            "/lastTimestamp",
            "/series/lastObservedTime",
            "/eventTime",
            "/firstTimestamp",
            "/metadata/creationTimestamp",
        ];
        Self {
            about: text(object, "/involvedObject/uid"),
            part: text(object, "/involvedObject/fieldPath"),
            reason: text(object, "/reason"),
            message: text(object, "/message"),
            last: times.iter().filter_map(|pointer| time(object, pointer)).max(),
        }
    }
}

fn conditions(object: &Value) -> Vec<Condition> {
    let read = |condition: &Value| Condition {
        kind: text(condition, "/type"),
        is_true: text(condition, "/status") == "True",
        reason: text(condition, "/reason"),
        message: text(condition, "/message"),
        since: time(condition, "/lastTransitionTime"),
    };
    items(object, "/status/conditions").iter().map(read).collect()
}

fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let items = object.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    &items[..items.len().min(LONGEST_LIST)]
}

fn texts(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let members = object.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    members
        .take(LONGEST_LIST * 4)
        .filter_map(|(key, value)| Some((bounded(key), bounded(value.as_str()?))))
        .collect()
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).map(bounded).unwrap_or_default()
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// A container that could not be started has the year 1970 as its start: the runtime's zero.
fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    let time: Timestamp = object.pointer(pointer)?.as_str()?.parse().ok()?;
    (time > Timestamp::UNIX_EPOCH).then_some(time)
}

/// An object's `deletionTimestamp` is the end of its grace, not the time of the request
/// (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>).
fn deleted(object: &Value) -> Option<Timestamp> {
    let grace = number(object, "/metadata/deletionGracePeriodSeconds").unwrap_or(0);
    words::after(time(object, "/metadata/deletionTimestamp")?, grace.checked_neg()?)
}

fn bounded(text: &str) -> String {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_the_only_one_until_the_job_was_stopped() {
        let job = |suspend: bool, generation: Option<i64>, condition: Option<&str>| {
            let conditions = condition
                .map(|status| serde_json::json!([{"type": "Suspended", "status": status}]));
            Job::read(&serde_json::json!({
                "metadata": {"generation": generation}, "spec": {"suspend": suspend},
                "status": {"conditions": conditions},
            }))
        };
        // Never suspended, whatever else was changed.
        assert!(!job(false, Some(5), None).may_have_had_other_pods);
        // Suspended from its beginning, started once, and taken back.
        assert!(!job(true, Some(1), Some("True")).may_have_had_other_pods);
        assert!(!job(false, Some(2), Some("False")).may_have_had_other_pods);
        assert!(job(true, Some(3), Some("True")).may_have_had_other_pods);
        assert!(job(false, Some(4), Some("False")).may_have_had_other_pods);
        // Suspended by hand after its start.
        assert!(job(true, Some(2), Some("True")).may_have_had_other_pods);
        assert!(job(true, None, Some("True")).may_have_had_other_pods);
    }

    #[test]
    fn evictions_are_counted_and_conditions_found() {
        let workload = Workload::read(&serde_json::json!({"status": {
            "conditions": [{"type": "QuotaReserved", "status": "False", "message": "no room"}],
            "schedulingStats": {"evictions": [{"reason": "Preempted", "count": 2}, {"count": 1}, {"count": "x"}]},
        }}));
        assert_eq!(workload.evictions, 3);
        assert_eq!(workload.condition("QuotaReserved", false).unwrap().message, "no room");
        assert_eq!(workload.condition("QuotaReserved", true), None);
        assert_eq!(Workload::read(&serde_json::json!([])).evictions, 0);
    }

    #[test]
    fn the_runtimes_zero_is_no_time() {
        let object =
            serde_json::json!({"never": "1970-01-01T00:00:00Z", "once": "2026-01-01T00:00:00Z"});
        assert_eq!(time(&object, "/never"), None);
        assert!(time(&object, "/once").is_some());
        assert_eq!(time(&object, "/missing"), None);
    }
}
