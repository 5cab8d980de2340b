//! Who is killed, and how.

use std::fs;
use std::sync::{Mutex, PoisonError};

use harness::clock::{Clock as _, SystemClock};
use harness_test_cluster::{Container, node, until};
use harness_test_store::Action;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::chance::Random;
use crate::kit::PATIENCE;
use crate::moment::Way;
use crate::trial::store;

/// How long a part of the node may be away before it is started again.
const AWAY: std::time::Duration = std::time::Duration::from_secs(3);

/// Who is killed with SIGKILL.
#[derive(Debug, Clone)]
pub(crate) enum Victim {
    /// The first process of this step's container: the harness.
    First(&'static str),
    /// All processes of this step's container at once.
    Everything(&'static str),
    /// The submission's own program.
    Runner,
    /// The kubelet, which is started again.
    Kubelet,
    /// containerd, which is started again.
    Containerd,
    /// The server of the store, which is started again.
    StoreServer,
    /// Nobody; this befalls the first requests of the moment, one after the other.
    StoreRules(Vec<Action>),
}

impl Victim {
    /// Whether something of the store's own befalls the request.
    pub(crate) fn is_a_rule(&self) -> bool {
        matches!(self, Self::StoreRules(_))
    }

    /// Whether every pod of the node feels it.
    pub(crate) fn is_of_the_node(&self) -> bool {
        matches!(self, Self::Kubelet | Self::Containerd | Self::StoreServer)
    }

    /// Kills.
    pub(crate) fn strike(&self, way: &Way, job: &str, random: &mut Random) {
        let container = |step| way.trial.kit.container(job, step);
        match self {
            Self::First("publish") => kill(publish(job).expect("it is there")),
            Self::First(step) => kill(container(step).first_process().unwrap()),
            Self::Everything(step) => container(step).kill_all().unwrap(),
            Self::Runner => kill(runner(&container("run"))),
            Self::Kubelet => away(random, || node().stop_kubelet(), || node().start_kubelet()),
            Self::Containerd => {
                away(random, || node().stop_containerd(), || node().start_containerd());
            }
            Self::StoreServer => {
                away(random, || store().kill_server(), || store().start_server());
            }
            Self::StoreRules(_) => {}
        }
    }
}

/// Takes a part away for a while; others wait for their turn to do so.
fn away(
    random: &mut Random,
    stop: impl FnOnce() -> anyhow::Result<()>,
    start: impl FnOnce() -> anyhow::Result<()>,
) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    stop().unwrap();
    SystemClock.sleep(random.within(AWAY));
    start().unwrap();
}

fn kill(process: Pid) {
    kill_process(process, Signal::KILL).unwrap();
}

/// The process `publish` of a Job. The kubelet tells of no container before it has started all of them.
pub(crate) fn publish(job: &str) -> Option<Pid> {
    let (_, identity) = job.split_once('-')?;
    let identity = format!("\0--result-identity={identity}");
    let is_it = |number: &i32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains("\0prediction\0publish\0") && line.contains(&identity)
    };
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(is_it).and_then(Pid::from_raw)
}

/// The only child of the container's first process.
fn runner(container: &Container<'_>) -> Pid {
    let first = container.first_process().unwrap();
    let parent = format!("PPid:\t{}", first.as_raw_nonzero());
    let is_its = |number: &i32| {
        fs::read_to_string(format!("/proc/{number}/status"))
            .is_ok_and(|status| status.lines().any(|line| line == parent))
    };
    let mut found = None;
    until(PATIENCE, || {
        found = container.processes().into_iter().find(is_its);
        found.is_some()
    });
    found.and_then(Pid::from_raw).expect("the runner is there")
}
