//! `harness prediction publish`: the step that packs what the runner left and creates the result object.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::args::PublishArgs;
use super::step;
use crate::clock::{Clock, SystemClock};
use crate::execution::evidence::{Facts, Origin, Pod};
use crate::execution::pod_start::Begun;
use crate::execution::publish::{self, Container, Settings, Target};
use crate::execution::store::Store;
use crate::execution::{Category, Places, Reason, Step, Urls};

/// Publishes; returns the exit code of the step.
pub(super) fn run(options: &PublishArgs) -> u8 {
    let reason = prepare(options).map_or_else(
        |reason| reason,
        |(settings, target, store, stop)| {
            let clock: Arc<dyn Clock> = Arc::new(SystemClock);
            publish::publish(&settings, target, store, &Container, &clock, &stop)
        },
    );
    step::finish(&reason, &options.termination_log)
}

type Prepared = (Settings, Target, Store, Arc<AtomicBool>);

/// Everything that can be wrong is found before `run` is let go.
fn prepare(options: &PublishArgs) -> Result<Prepared, Reason> {
    let stop = step::stop_flag().map_err(|error| {
        environment(
            &format!("cannot handle signals: {error}"),
            "report this with the kernel's version",
        )
    })?;
    let places = Places::below(&options.root);
    let target = Target::read(&Urls::Files(places.urls()))?;
    let store = Store::open(&step::store_settings())
        .map_err(|error| environment(&error.to_string(), error.remedy()))?;
    let settings = Settings {
        facts: facts(options),
        pod_deadline: Duration::from_secs(options.pod_deadline),
        publication: Duration::from_secs(options.publication),
        output_bytes: options.output_size,
        places,
        begun: Begun::WithThePod,
    };
    Ok((settings, target, store, stop))
}

fn facts(options: &PublishArgs) -> Facts {
    let text = |name| variable(name).unwrap_or_default();
    let pod = Pod {
        job_uid: text("HARNESS_JOB_UID"),
        namespace: text("HARNESS_NAMESPACE"),
        name: text("HARNESS_POD_NAME"),
        uid: text("HARNESS_POD_UID"),
        node: text("HARNESS_NODE_NAME"),
    };
    Facts {
        origin: Origin::Pod { image: options.image.clone(), pod },
        expectation: options.expectation.expectation(),
        attempt_id: options.attempt_id.as_str().to_owned(),
        profile: options.profile.clone(),
        profile_digest: options.profile_digest,
        result_identity: options.result_identity,
        submission_digest: options.submission_digest,
    }
}

fn environment(sentence: &str, remedy: &str) -> Reason {
    Reason::new(Step::Publish, Category::Environment, sentence, remedy)
}

/// A variable of the pod; an empty one is none.
#[expect(
    clippy::disallowed_methods,
    reason = "the Job gives the pod's facts and the site's proxy this way"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
