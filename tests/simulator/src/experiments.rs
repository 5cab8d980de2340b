//! The experiments of a schedule: few, so that commands meet, and each signed in different ways.

use std::sync::LazyLock;

use harness::profile::Profiles;
use harness::render;
use harness::submission::{Namespace, Submission};
use harness::submit::Intent;
use harness::submit::batch::Item;
use serde_json::json;

/// The namespace.
pub const NAMESPACE: &str = "lab";

/// How many experiments there are.
pub const EXPERIMENTS: usize = 2;

/// The signatures.
pub const SIGNATURES: [&str; 2] = ["ab", "cd"];

const QUEUED: &str = include_str!("../../kit/profiles/queued-v1.yaml");

/// Everything that submissions borrow from.
pub struct Experiments {
    submissions: Vec<Submission>,
    profiles: Profiles,
    namespace: Namespace,
    /// Names of the Jobs: rendered once, since every schedule asks for them.
    names: Vec<String>,
}

impl Experiments {
    /// All of them, of a profile with a queue or without; read once.
    pub fn of(has_queue: bool) -> &'static Self {
        static PLAIN: LazyLock<Experiments> = LazyLock::new(|| Experiments::new(false));
        static QUEUED: LazyLock<Experiments> = LazyLock::new(|| Experiments::new(true));
        if has_queue { &QUEUED } else { &PLAIN }
    }

    fn new(has_queue: bool) -> Self {
        let profile = if has_queue { "queued-v1" } else { "standard-v1" };
        let image = format!("registry.example.org/harness@sha256:{}", "5".repeat(64));
        let mut profiles = Profiles::embedded();
        profiles.add_file("queued-v1.yaml", QUEUED.as_bytes()).expect("a good profile");
        let submissions = (0..EXPERIMENTS)
            .flat_map(|experiment| SIGNATURES.map(|signature| (experiment, signature)))
            .map(|(experiment, signature)| submission(experiment, signature, profile))
            .collect();
        let mut new = Self {
            submissions,
            profiles: profiles.with_harness_image(&image).expect("a good image"),
            namespace: Namespace::parse(NAMESPACE).expect("a good name"),
            names: Vec::new(),
        };
        let name = |one| new.item(one, 0).plan().bundle().names().job.clone();
        new.names = (0..EXPERIMENTS).map(name).collect();
        new
    }

    /// One experiment with one of the signatures.
    pub fn item(&self, experiment: usize, signature: usize) -> Item<'_> {
        let submission = &self.submissions[experiment * SIGNATURES.len() + signature];
        let fitted = render::fit(submission, &self.profiles).expect("it fits");
        Item::new("-".to_owned(), fitted, &self.namespace, Intent::default()).expect("an image")
    }

    /// The name of the experiment's Job.
    pub fn job_name(&self, experiment: usize) -> String {
        self.names[experiment].clone()
    }
}

fn submission(experiment: usize, signature: &str, profile: &str) -> Submission {
    // Signed to live long: a schedule may last for days, and dead signatures are another matter.
    let url = |key: &str, headers: &str| {
        format!(
            "https://example-bucket.s3.us-west-2.amazonaws.com/{key}?X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAEXAMPLE000000001%2F20260601%2Fus-west-2%2Fs3%2Faws4_request\
             &X-Amz-Date=20260601T000000Z&X-Amz-Expires=604800&X-Amz-SignedHeaders={headers}\
             &X-Amz-Signature={}",
            signature.repeat(32)
        )
    };
    let attempt = format!("attempt-{experiment}");
    let document = json!({
        "schema_version": "prediction_submission.v1",
        "attempt_id": attempt,
        "mission_id": "Mission 7",
        "image": format!("registry.example.org/lab/model@sha256:{}", "1".repeat(64)),
        "evaluator_version": format!("sha256:{}", "2".repeat(64)),
        "resource_profile": profile,
        "search_budget": { "max_seconds": 600 },
        "mission_url": url("in/mission.json", "host"),
        "mission_sha256": "3".repeat(64),
        "snapshot_url": url("in/snapshot.tar", "host"),
        "snapshot_sha256": "4".repeat(64),
        "result_put_url": url(&format!("out/{attempt}/result.tar"), "host%3Bif-none-match"),
        "runner_command": ["search"],
    });
    Submission::parse(document.to_string().as_bytes()).expect("a good submission")
}
