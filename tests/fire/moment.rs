//! Brings an experiment to a moment of its life and knows when it is there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_test_cluster::{SlowRegistry, node, until};
use harness_test_store::{Action, Exchange, Requests};
use rustix::process::Pid;

use crate::kit::{PATIENCE, is_running, shell_image};
use crate::trial::{Trial, store};
use crate::victim::publish;

/// How long a request is held at its moment: enough for a blow, less than the silence that ends a request.
const HELD: Duration = Duration::from_secs(8);
/// How much later each answer of a slow registry comes: an image takes several, `publish` listens long before the last.
const PULL: Duration = Duration::from_millis(800);
/// How much of a body is let through first.
const FIRST_PART: u64 = 1 << 20;
/// More than sockets hold of a body whose sender is gone.
const LARGE: u32 = 20 << 20;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// `stage` fetches the snapshot.
    Staging,
    /// `publish` listens, and the image of `run` is being pulled.
    Greeting,
    /// The runner is at work.
    Running,
    /// `publish` writes the archive.
    Packing,
    /// The PUT was sent, and has not reached the store.
    BeforeThePut,
    /// The store has a part of the body.
    InThePut,
    /// The store has the object and has not said so.
    AfterThePut,
}

/// An experiment on its way to its moment.
#[derive(Debug)]
pub(crate) struct Way {
    moment: Moment,
    pub(crate) trial: Trial,
    registry: Option<SlowRegistry>,
}

impl Moment {
    /// An experiment that will come to this moment; `held` says whether its request is held there.
    pub(crate) fn prepare(self, held: bool) -> Way {
        let bytes = match self {
            Self::Packing => LARGE / 2,
            Self::InThePut => LARGE,
            _ => 1000,
        };
        let wait = if self == Self::Running { "until [ -e go ]; do sleep 0.1; done" } else { "" };
        let script = format!(
            "echo once >> $HARNESS_OUTPUT/begun; {wait}\n\
             head -c {bytes} /dev/urandom > $HARNESS_OUTPUT/data; echo end"
        );
        let mut trial =
            Trial::new("fire", shell_image(), &["sh", "-c", &script]).profile("fire-v1");
        let mut registry = None;
        if self == Self::Greeting {
            let host = format!("{}.test", trial.kit.namespace.name);
            let slow = node().slow_registry(&host, PULL).unwrap();
            // Its content must not be on the node already.
            let image = node().image("unique").base(shell_image());
            let image = image.file("unique", &trial.kit.namespace.uid, 0o644).unwrap();
            trial.sample.value["image"] = image.push().unwrap().at(&host).into();
            registry = Some(slow);
        }
        let action = match self {
            Self::BeforeThePut => Some(Action::DelayRequest(HELD)),
            Self::InThePut => Some(Action::PauseRequest(FIRST_PART, HELD)),
            Self::Staging | Self::AfterThePut => Some(Action::DelayResponse(HELD)),
            Self::Greeting | Self::Running | Self::Packing => None,
        };
        if let Some(action) = action.filter(|_| held) {
            store().when(self.requests(&trial).nth(1), action);
        }
        Way { moment: self, trial, registry }
    }

    /// The requests that belong to it.
    pub(crate) fn requests(self, trial: &Trial) -> Requests {
        match self {
            Self::Staging => Requests::new("GET", &trial.object("snapshot")),
            _ => Requests::new("PUT", &trial.object("result")),
        }
    }
}

impl Way {
    /// Waits until the experiment is at its moment, and gives whether it came to it before its end.
    pub(crate) fn arrives(&self, job: &str) -> bool {
        let (mut is_there, mut has_ended) = (false, false);
        until(PATIENCE, || {
            is_there = self.is_there(job);
            has_ended = self.trial.kit.ending(job).is_some();
            is_there || has_ended
        });
        let kit = &self.trial.kit;
        assert!(is_there || has_ended, "it stands still: {}", kit.kubectl(&["describe", "pods"]));
        is_there
    }

    fn is_there(&self, job: &str) -> bool {
        match self.moment {
            Moment::Staging => self.requested("snapshot", |_| true),
            Moment::Greeting => {
                let root = publish(job).map(Pid::as_raw_nonzero);
                root.is_some_and(|root| {
                    Path::new(&format!("/proc/{root}/root/harness/control/run.sock")).exists()
                })
            }
            Moment::Running => self.has_file(job, "run", "/harness/output/begun"),
            Moment::Packing => self.has_file(job, "publish", "/harness/spool/result.tar.gz"),
            Moment::BeforeThePut => self.requested("result", |_| true),
            Moment::InThePut => self.requested("result", |put| put.received >= FIRST_PART),
            Moment::AfterThePut => self.requested("result", |put| put.answered == Some(200)),
        }
    }

    /// Where the runner that is held looks for permission.
    pub(crate) fn permission(&self, job: &str) -> Option<PathBuf> {
        let is_held = self.moment == Moment::Running;
        is_held.then(|| self.trial.kit.container(job, "run").path("/harness/scratch/go").unwrap())
    }

    /// The experiment, and the registry that must be there until it has ended.
    pub(crate) fn end(self) -> (Trial, Option<SlowRegistry>) {
        (self.trial, self.registry)
    }

    fn requested(&self, object: &str, is_it: impl Fn(&Exchange) -> bool) -> bool {
        let object = self.trial.object(object);
        let method = if self.moment == Moment::Staging { "GET" } else { "PUT" };
        let all = store().exchanges();
        all.iter().filter(|one| one.method == method && one.path.ends_with(&object)).any(is_it)
    }

    fn has_file(&self, job: &str, container: &str, path: &str) -> bool {
        let kit = &self.trial.kit;
        is_running(&kit.pod_of(job), container)
            && kit.container(job, container).path(path).is_ok_and(|path| path.exists())
    }
}
