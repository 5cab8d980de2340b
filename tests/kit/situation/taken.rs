//! From a live cluster to a situation.

use harness::clock::{Clock as _, SystemClock};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::{Place, find};
use super::{are_recorded, normal, read, situation, told, write};

/// What a live API server holds of one experiment, as `status` reads it.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    objects: Value,
    kubernetes: String,
    by_hand: Option<&'static str>,
}

impl Taken {
    /// Of the Job of this name, whether it is there or not: with its pods, all events about them, its record, and what
    /// Kueue says.
    #[track_caller]
    pub(crate) fn of(place: &Place, name: &str) -> Self {
        let one = |resource: &str| match place.cluster.admin_get(&place.path(resource, name)) {
            (200, object) => object,
            (404, _) => Value::Null,
            (_, answer) => panic!("{answer:#}"),
        };
        let job = one("jobs");
        let identity = name.strip_prefix("prediction-").unwrap();
        let mut pods = place.list("pods");
        pods.retain(|pod| {
            pod["metadata"]["labels"]["research.harness/result-identity"] == identity
        });
        let mut about: Vec<&Value> = pods.iter().map(|pod| find(pod, "/metadata/uid")).collect();
        about.extend(job.pointer("/metadata/uid"));
        let mut events = place.list("events");
        // Those about pods that are gone included, which are known by their name alone.
        let of_a_pod = format!("{name}-");
        events.retain(|event| {
            let it = &event["involvedObject"];
            about.contains(&&it["uid"])
                || it["name"].as_str().is_some_and(|name| name.starts_with(&of_a_pod))
        });
        let owner = |one: &Value| one.pointer("/metadata/ownerReferences/0/uid").cloned();
        let uid = job.pointer("/metadata/uid");
        let workload =
            place.workloads().into_iter().find(|one| uid.is_some() && owner(one).as_ref() == uid);
        let (status, version) = place.cluster.admin_get("/version");
        assert_eq!(status, 200, "{version:#}");
        let mut taken = Self {
            objects: json!({
                "name": name,
                "now": SystemClock.now().round(jiff::Unit::Second).unwrap().to_string(),
                "job": job,
                "pods": pods,
                "events": events,
                "record": one("configmaps"),
                "awaited_uid": null,
            }),
            kubernetes: version["gitVersion"].as_str().unwrap().to_owned(),
            by_hand: None,
        };
        if let Some(workload) = workload {
            taken.objects["workload"] = workload;
        }
        taken
    }

    /// With this part of it set by hand, as the recipe says.
    pub(crate) fn by_hand(mut self, part: &'static str) -> Self {
        self.by_hand = Some(part);
        self
    }

    /// As seen by who waits for the Job of this UID.
    pub(crate) fn awaiting(mut self, uid: &str) -> Self {
        self.objects["awaited_uid"] = uid.into();
        self
    }

    /// As seen by who asks about the submission of this digest.
    pub(crate) fn asking_for(mut self, submission_digest: &str) -> Self {
        self.objects["submission_digest"] = submission_digest.into();
        self
    }

    /// As seen by who may not read pods.
    pub(crate) fn without_pods(mut self) -> Self {
        self.objects["pods"] = Value::Null;
        self
    }

    /// As seen by a clock that is so far ahead; behind, if negative.
    pub(crate) fn by_a_clock_ahead(mut self, seconds: i64) -> Self {
        let now: Timestamp = self.objects["now"].as_str().unwrap().parse().unwrap();
        let shown = now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        self.objects["now"] = shown.to_string().into();
        self
    }

    /// Panics unless `status` says this of it; then writes it, or compares it with what was written.
    ///
    /// The file that calls this is noted as the recipe.
    #[track_caller]
    pub(crate) fn keep(self, name: &str, phase: &str, category: &str) {
        let objects = normal::form(self.objects);
        let status = told(&situation(&objects));
        let found = (status.phase.name(), status.diagnosis.category.name());
        let events = objects["events"].as_array().into_iter().flatten();
        let events: Vec<String> =
            events.map(|it| format!("{} {}", it["reason"], it["message"])).collect();
        let sentence = &status.diagnosis.sentence;
        assert_eq!(found, (phase, category), "{name}: {sentence}\n{events:#?}");
        let text = objects.to_string();
        for secret in ["X-Amz-", "Signature=", "\"stringData\"", "Bearer "] {
            assert!(!text.contains(secret), "{name} holds {secret}");
        }
        if are_recorded() {
            let recipe = std::panic::Location::caller().file();
            let mut origin =
                json!({"made": "recorded", "recipe": recipe, "kubernetes": self.kubernetes});
            if let Some(part) = self.by_hand {
                origin["by_hand"] = part.into();
            }
            write(name, &objects, &origin);
            return;
        }
        // The words may differ from one time to another: nodes number, attempts count. Their meaning may not. Whether
        // the code can have run depends on what the kubelet has told so far, and is compared on the files alone.
        let kept = read(name);
        let fresh = super::expectation(&status);
        for field in ["phase", "category", "basis", "step"] {
            assert_eq!(fresh[field], kept.expected[field], "{name}: {field}; {fresh:#}");
        }
    }
}
