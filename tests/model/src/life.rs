//! A Job's life: what a scheduler, a queue, a kubelet and the Job's controller do to it.

use crate::cluster::{Age, Cluster, Signature};

/// A Job, as far as the protocols depend on it.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Job {
    /// Which of all Jobs that ever came to be, from 1; also its UID.
    pub number: u8,
    /// The Secret that it names.
    pub secret: Signature,
    /// When it ended.
    pub finished: Option<Age>,
    /// It waits for its queue.
    pub is_suspended: bool,
    /// How often its queue has started it.
    pub starts: u8,
    /// It says that it was cancelled.
    pub is_cancelled: bool,
    /// Its deadline is a second.
    pub is_lowered: bool,
    /// Its pod has a node.
    pub is_bound: bool,
    /// Its pod has started `run`.
    pub has_run: bool,
    /// Its pod is being deleted.
    pub is_deleted: bool,
    /// Its pod is gone.
    pub has_lost_pod: bool,
}

impl Job {
    /// A new one, which a queue has to start or not.
    pub fn new(number: u8, secret: Signature, is_suspended: bool) -> Self {
        Self {
            number,
            secret,
            finished: None,
            is_suspended,
            starts: 0,
            is_cancelled: false,
            is_lowered: false,
            is_bound: false,
            has_run: false,
            is_deleted: false,
            has_lost_pod: false,
        }
    }

    /// Whether it has a pod that stands.
    pub fn has_pod(&self) -> bool {
        !self.is_suspended && !self.has_lost_pod
    }

    /// The version of its pod: a pod that got its node, or is being deleted, is another one.
    pub fn pod_version(&self) -> String {
        format!("{}{}", u8::from(self.is_bound), u8::from(self.is_deleted))
    }

    /// The version of the Job.
    pub fn version(&self) -> String {
        format!(
            "{}{}{}{}{}",
            u8::from(self.is_cancelled),
            u8::from(self.is_lowered),
            u8::from(self.is_suspended),
            u8::from(self.finished.is_some()),
            self.starts
        )
    }
}

/// A step that nobody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The scheduler finds a node.
    Bind,
    /// The queue lets the Job start.
    Resume,
    /// The queue stops the Job: its pod is deleted and not counted.
    Preempt,
    /// The pod's deletion is counted, and the Job fails.
    Account,
    /// The run ends.
    Finish,
    /// A deadline of a second ends it.
    Expire,
    /// A broken keeper's record is written once the Job is gone.
    KeepPromise,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Bind,
        Self::Resume,
        Self::Preempt,
        Self::Account,
        Self::Finish,
        Self::Expire,
        Self::KeepPromise,
    ];

    /// Takes the step, if it can be taken.
    pub fn take(self, cluster: &mut Cluster) -> bool {
        let now = cluster.age;
        if self == Self::KeepPromise {
            return cluster.keep_promise();
        }
        let (waits_for_nodes, preempts) = (cluster.waits_for_nodes, cluster.preempts);
        let Some(job) = cluster.job.as_mut().filter(|job| job.finished.is_none()) else {
            return false;
        };
        match self {
            Self::Bind if waits_for_nodes && job.has_pod() && !job.is_bound && !job.is_deleted => {
                job.is_bound = true;
            }
            Self::Resume if job.is_suspended => {
                job.is_suspended = false;
                job.starts += 1;
            }
            // Also one whose pod somebody deletes: that is then not counted either.
            Self::Preempt if preempts && job.starts == 1 && job.has_pod() => {
                job.is_suspended = true;
                (job.is_bound, job.has_run, job.is_deleted) = (false, false, false);
            }
            Self::Account if job.is_deleted => {
                job.has_lost_pod = true;
                job.finished = Some(now);
            }
            Self::Finish if job.has_run => job.finished = Some(now),
            Self::Expire if job.is_lowered && !job.is_suspended => job.finished = Some(now),
            _ => return false,
        }
        cluster.start_pod();
        true
    }
}
