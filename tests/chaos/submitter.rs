//! One run of `submit` and what befalls it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use harness_test_cluster::ControlPlane;
use harness_test_cluster::fault::FaultProxy;
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::process::{Started, arguments, descendants};
use crate::kit::{Harness, Run, Sample, clock, command};
use crate::schedule::{Misfortune, Plan, Victim};

/// Runs the command under its plan; gives how it ended, and what it has left behind in its temporary folder.
pub(crate) fn run(
    cluster: &'static ControlPlane,
    namespace: &str,
    sample: &Sample,
    plan: &Plan,
) -> (Run, Vec<String>) {
    std::thread::sleep(plan.starts_after);
    let proxy = proxy(cluster, namespace, plan);
    let kubeconfig = proxy.as_ref().map_or(cluster.kubeconfig(), FaultProxy::kubeconfig);
    let harness = Harness::new(kubeconfig, cluster.kubectl(), namespace);
    let mut submit = harness.command(&[sample.write(&harness.inputs())]);
    for misfortune in &plan.misfortunes {
        if let Misfortune::ClockSetForward(after, ahead) = misfortune {
            clock::set_forward(&mut submit, *after, *ahead);
        }
    }
    let started = Started::command(limited(submit, &plan.misfortunes));
    let begun = Instant::now();
    let mut victims = BTreeMap::new();
    for (at, victim, signal) in signals(plan) {
        std::thread::sleep(at.saturating_sub(begun.elapsed()));
        // It may be over, or not have come so far. One that was stopped goes on also when its parent is gone.
        let process = victims.get(&victim).copied().or_else(|| find(started.process(), victim));
        if let Some(process) = process {
            let _ = kill_process(process, signal);
            victims.insert(victim, process);
        }
    }
    let run = started.end();
    // The guard tidies up after a harness that was killed, once it has seen it.
    let left = || left_in(&harness.temporary(), plan.kills_harness());
    harness_test_cluster::until(Duration::from_secs(30), || left().is_empty());
    (run, left())
}

/// What is left there. A harness that is killed after it has made its private folder and before its guard runs leaves that
/// one behind, empty.
fn left_in(folder: &Path, may_be_empty: bool) -> Vec<String> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_empty = |path: &Path| path.is_dir() && entries(path).next().is_none();
    let paths = entries(folder).map(|entry| entry.path());
    let wrong = paths.filter(|path| !(may_be_empty && is_empty(path)));
    wrong.map(|path| path.display().to_string()).collect()
}

/// Only where the plan needs one: without it the way is the usual one.
fn proxy(cluster: &'static ControlPlane, namespace: &str, plan: &Plan) -> Option<FaultProxy> {
    let mut proxy = None;
    for misfortune in &plan.misfortunes {
        let Misfortune::Network(step, action) = misfortune else { continue };
        let start = || FaultProxy::start(cluster, cluster.admin_token()).unwrap();
        proxy.get_or_insert_with(start).when(step.requests(namespace), action.clone());
    }
    proxy
}

/// The same command with fewer resources.
fn limited(submit: Command, misfortunes: &[Misfortune]) -> Command {
    let limits: Vec<String> = misfortunes
        .iter()
        .filter_map(|misfortune| match misfortune {
            Misfortune::FewDescriptors(count) => Some(format!("ulimit -n {count}")),
            // XFSZ is ignored, so that writing fails as on a full disk.
            Misfortune::FullDisk => Some("trap '' XFSZ; ulimit -f 0".to_owned()),
            _ => None,
        })
        .collect();
    if limits.is_empty() {
        return submit;
    }
    let mut command = command("sh");
    command.env_clear().args(["-c", &format!("{}; exec \"$@\"", limits.join("; ")), "sh"]);
    command.arg(submit.get_program()).args(submit.get_args());
    command.envs(submit.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// The signals of a plan in the order of time.
fn signals(plan: &Plan) -> Vec<(Duration, Victim, Signal)> {
    let mut all = Vec::new();
    for misfortune in &plan.misfortunes {
        match misfortune {
            Misfortune::Signal(victim, signal, at) => all.push((*at, *victim, *signal)),
            Misfortune::Pause(victim, at, length) => {
                all.push((*at, *victim, Signal::STOP));
                all.push((*at + *length, *victim, Signal::CONT));
            }
            _ => {}
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all
}

fn find(harness: Pid, victim: Victim) -> Option<Pid> {
    let below = || descendants(harness).into_iter();
    let is_proxy = |process: &Pid| arguments(*process).get(1).is_some_and(|one| one == "proxy");
    match victim {
        Victim::Harness => Some(harness),
        Victim::Guard => below().next(),
        Victim::Kubectl => below().find(is_proxy),
    }
}
