//! `execute`: the three steps on one machine, without a cluster and without the image.
//!
//! ```text
//! this process: stage ─▶ publish (listens) ──────────────────▶ pack, PUT, read back
//!                          ▲ control: hello, go, finished
//! its child:               └── harness prediction run ─▶ the runner
//! ```
//!
//! It is the code of the pod; what differs is what a pod gives and a laptop does not:
//!
//! * **URLs.** All processes have one user here, so signed URLs are never written: `stage` and `publish` run in this
//!   process, which alone holds them, in memory, closed to others as `run` is (`PR_SET_DUMPABLE`). The child gets
//!   neither its memory nor its environment, and may not gain privileges (`PR_SET_NO_NEW_PRIVS`).
//! * **Time** begins with the command instead of the pod: by the boot-time clock here, and for `run` by the age of its
//!   folders, which are made first. The profile's allowances are the same.
//! * **Ends.** A container ends with its first process. Here orphans of a killed `run` come to this process
//!   (`PR_SET_CHILD_SUBREAPER`), which kills whatever is left before it packs; `run` ends the runner when this process
//!   is gone, since the connection is. When both are killed at once, the runner is left: nothing of this user can
//!   prevent it.
//! * **Once.** The folder must be empty and its parts are made exclusively; the marker and the guarded PUT are those of
//!   the pod. Whoever has this user's rights can remove the marker, and not overwrite the result.
//!
//! The evidence says that no cluster was there and no image was run.

mod child;
mod folder;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::evidence::{Facts, Origin};
use super::pod_start::Begun;
use super::publish::{self, Neighbour as _, Target};
use super::store::{self, Store};
use super::{Category, Expectation, Places, Reason, Step, Urls, run, stage};
use crate::clock::Clock;
use crate::render::{self, Fitted, identity};
use crate::submission::{Code, Fault, Problem};

pub use child::Log;
pub use folder::Folder;

/// The submission is meant for a namespace.
pub static MEANT_FOR_A_NAMESPACE: Code = Code {
    name: "execute-namespace-uid",
    summary: "the submission is meant for one namespace, and there is none here",
    explanation: "`namespace_uid` says in which namespace of which cluster a submission may run, so that nowhere else it does. \
`harness prediction execute` runs without a cluster, and so refuses it. Submit it there, or leave the field out.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&MEANT_FOR_A_NAMESPACE];

/// What is executed, and with what.
#[derive(Debug)]
pub struct Settings<'a> {
    /// The submission with its profile; every URL that has to be signed is.
    pub fitted: &'a Fitted<'a>,
    /// What `run` starts on this machine.
    pub command: Vec<String>,
    /// The environment that the runner finds, but for the variables of its contract.
    pub environment: Vec<(OsString, OsString)>,
    /// How stores are reached.
    pub store: store::Settings,
    /// The running binary.
    pub binary: PathBuf,
}

/// What keeps a submission from being executed here, whatever its signatures.
pub fn obstacles(fitted: &Fitted<'_>) -> Vec<Problem> {
    let meant = fitted.submission.namespace_uid().map(|uid| {
        Fault::new(
            &MEANT_FOR_A_NAMESPACE,
            format!("the namespace with the UID {uid}"),
            "no `namespace_uid`",
            "submit it to that cluster, or leave the field out",
        )
        .at("/namespace_uid", None)
    });
    meant.into_iter().collect()
}

/// How it ended: what each step said, as far as there was one.
#[derive(Debug, Clone)]
pub struct Ended {
    /// In the order of the steps.
    pub steps: Vec<Reason>,
    /// Whether the marker says that the runner may have been started.
    pub may_have_run: bool,
}

impl Ended {
    /// The reason that decides: `run`'s where it refused before anything was started, else that of the last step.
    pub fn decisive(&self) -> &Reason {
        let last = self.steps.last().expect("each attempt ends with a step");
        let of_run = self.steps.iter().find(|reason| reason.step == Step::Run);
        match (last.category, of_run) {
            (Category::NeverStarted, Some(reason)) if reason.category != Category::Succeeded => {
                reason
            }
            _ => last,
        }
    }

    /// Whether the result object is this run's.
    pub fn is_published(&self) -> bool {
        let last = self.decisive();
        last.category != Category::PublicationFailed && last.result_digest().is_some()
    }

    /// Whether something ran, and what it left is not in the result object.
    pub fn has_something_to_lose(&self) -> bool {
        self.may_have_run && !self.is_published()
    }
}

/// Executes in `folder`; each step's end is told to `say` as it comes.
pub fn execute(
    settings: &Settings<'_>,
    folder: &Folder,
    log: Log,
    clock: &Arc<dyn Clock>,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&Reason),
) -> Ended {
    let mut ended = Ended { steps: Vec::new(), may_have_run: false };
    let mut end = |reason: Reason| {
        // `run` has said so itself.
        if reason.step != Step::Run {
            say(&reason);
        }
        ended.steps.push(reason);
    };
    let begun = Begun::At(clock.boottime());
    let prepared = match prepare(settings, folder, begun) {
        Ok(prepared) => prepared,
        Err(reason) => {
            end(reason);
            return ended;
        }
    };
    let staged = stage::run(&prepared.stage, clock, stop);
    let is_staged = staged.category == Category::Succeeded;
    end(staged);
    if !is_staged {
        return ended;
    }
    let Prepared { publish, target, store, .. } = prepared;
    match child::Run::start(settings, &publish.places, log, clock, stop) {
        Ok(running) => {
            let published = publish::publish(&publish, target, store, &*running, clock, stop);
            running.see_to_its_end();
            running.wait_for_its_log();
            if let Some(reason) = child::reason(&publish.places) {
                end(reason);
            }
            end(published);
            ended.may_have_run = publish::may_have_run(&publish.places);
        }
        Err(reason) => end(reason),
    }
    ended
}

/// Everything that can be wrong is found before anything is fetched.
struct Prepared {
    stage: stage::Settings,
    publish: publish::Settings,
    target: Target,
    store: Store,
}

fn prepare(settings: &Settings<'_>, folder: &Folder, begun: Begun) -> Result<Prepared, Reason> {
    run::close_this_process()?;
    let places = folder.furnish()?;
    let fitted = settings.fitted;
    let urls = Urls::held(render::secret_values(fitted.submission));
    let target = Target::read(&urls)?;
    let store = Store::open(&settings.store).map_err(|error| {
        Reason::new(Step::Stage, Category::Environment, &error.to_string(), error.remedy())
    })?;
    let expectation = Expectation::of(fitted.submission);
    Ok(Prepared {
        stage: stage_settings(settings, &places, urls, begun, expectation.clone()),
        publish: publish_settings(fitted, places, begun, expectation),
        target,
        store,
    })
}

fn stage_settings(
    settings: &Settings<'_>,
    places: &Places,
    urls: Urls,
    begun: Begun,
    expectation: Expectation,
) -> stage::Settings {
    let profile = settings.fitted.profile;
    stage::Settings {
        places: places.clone(),
        urls,
        begun,
        expectation,
        pod_deadline: settings.fitted.deadlines.pod.into(),
        staging: profile.allowances.staging.into(),
        publication: profile.allowances.publication.into(),
        inputs_bytes: bytes(profile.volumes.inputs),
        store: settings.store.clone(),
        binary: None,
    }
}

fn publish_settings(
    fitted: &Fitted<'_>,
    places: Places,
    begun: Begun,
    expectation: Expectation,
) -> publish::Settings {
    let submission = fitted.submission;
    publish::Settings {
        facts: Facts {
            expectation,
            attempt_id: submission.attempt_id().to_string(),
            origin: Origin::Local,
            profile: submission.resource_profile().to_string(),
            profile_digest: fitted.profile_digest,
            result_identity: submission.result_identity(),
            submission_digest: identity::submission_digest(fitted),
        },
        pod_deadline: Duration::from_secs(fitted.deadlines.pod.into()),
        publication: Duration::from_secs(fitted.profile.allowances.publication.into()),
        output_bytes: bytes(fitted.profile.volumes.output),
        places,
        begun,
    }
}

/// A volume's size; a profile's are whole bytes.
fn bytes(quantity: crate::profile::Quantity) -> u64 {
    quantity.whole().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::Sha256Digest;

    fn ended(steps: &[(Step, Category)], may_have_run: bool) -> Ended {
        let reason = |&(step, category): &(Step, Category)| {
            let reason = Reason::new(step, category, "a sentence", "");
            let is_packed = step == Step::Publish && may_have_run;
            if is_packed { reason.with_digest("result", Sha256Digest::of("r")) } else { reason }
        };
        Ended { steps: steps.iter().map(reason).collect(), may_have_run }
    }

    #[test]
    fn the_last_step_decides_unless_run_refused() {
        use Category::{Environment, NeverStarted, RunnerFailed, Succeeded};
        let staged = (Step::Stage, Succeeded);
        for (after, decisive) in [
            (vec![], Succeeded),
            (vec![(Step::Run, Environment), (Step::Publish, NeverStarted)], Environment),
            (vec![(Step::Publish, NeverStarted)], NeverStarted),
            // What `run` left could be the runner's own forgery.
            (vec![(Step::Run, Succeeded), (Step::Publish, RunnerFailed)], RunnerFailed),
            (vec![(Step::Run, Succeeded), (Step::Publish, NeverStarted)], NeverStarted),
        ] {
            let steps: Vec<_> = [staged].into_iter().chain(after).collect();
            assert_eq!(ended(&steps, false).decisive().category, decisive, "{steps:?}");
        }
    }

    #[test]
    fn only_what_ran_and_is_not_published_can_be_lost() {
        for (category, ran, is_published, to_lose) in [
            (Category::Succeeded, true, true, false),
            (Category::RunnerFailed, true, true, false),
            (Category::Stopped, true, true, false),
            (Category::Stopped, false, false, false),
            (Category::PublicationFailed, true, false, true),
            (Category::AlreadyPublished, true, false, true),
            (Category::NeverStarted, false, false, false),
        ] {
            let ended =
                ended(&[(Step::Stage, Category::Succeeded), (Step::Publish, category)], ran);
            assert_eq!(ended.is_published(), is_published, "{category:?}");
            assert_eq!(ended.has_something_to_lose(), to_lose, "{category:?}");
        }
        assert!(!ended(&[(Step::Stage, Category::DigestMismatch)], false).has_something_to_lose());
    }
}
