//! What is left of signed URLs in memory while `submit --wait` waits, which may last for days.
//!
//! Here and not among the faults, since only root may look into the memory of harness.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

use harness_test_cluster::until;
use rustix::process::Pid;

use crate::common::PATIENCE;
use crate::common::canary::spellings;
use crate::common::process::{Started, arguments, descendants};
use crate::common::steps::Step;
use crate::common::{Sample, command};
use crate::kit::Kit;

#[test]
fn a_wait_holds_no_signature() {
    let kit = Kit::new("memory");
    let sample = Sample::new("attempt-1");
    let proxy = kit.proxy();
    let held = proxy.hold(Step::CreateJob.requests(&kit.namespace.name));
    let harness = kit.harness_through(&proxy).arg("--wait");
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let found = holders(started.process(), &sample.markers);
    assert!(!found.is_empty(), "nothing is found where it must be, so nothing was looked at");

    held.release();
    let may_only_read = |process: &Pid| {
        let is_it = |one: &String| one.starts_with("--reject-methods=") && one.contains("POST");
        arguments(*process).iter().any(is_it)
    };
    let waits = || descendants(started.process()).iter().any(may_only_read);
    assert!(until(PATIENCE, waits), "it does not wait over a connection of its own");
    let found = holders(started.process(), &sample.markers);
    assert!(found.is_empty(), "signatures stand in the memory of {found:?}");

    started.signal(rustix::process::Signal::INT);
    let run = started.end();
    run.assert_hides(&sample);
    assert_eq!(run.receipts()[0]["outcome"], "created", "{run}");
}

/// The processes, of harness and below it, in whose memory a marker stands.
fn holders(harness: Pid, markers: &[String]) -> Vec<String> {
    let all = std::iter::once(harness).chain(descendants(harness));
    let is_hurt = |process: &Pid| is_found(markers, &memory(*process));
    all.filter(is_hurt).map(|process| arguments(process).join(" ")).collect()
}

/// By grep, for it is a lot of memory.
fn is_found(markers: &[String], memory: &[Vec<u8>]) -> bool {
    let mut search = command("grep");
    search.env("LC_ALL", "C").args(["--text", "--fixed-strings", "--quiet"]);
    for spelling in markers.iter().flat_map(|marker| spellings(marker)) {
        search.arg("-e").arg(spelling);
    }
    let mut search = search.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = search.stdin.take().unwrap();
    for region in memory {
        // It hears no more once it has found one.
        if input.write_all(region).is_err() {
            break;
        }
    }
    drop(input);
    match search.wait().unwrap().code() {
        Some(0) => true,
        Some(1) => false,
        code => panic!("grep ended with {code:?}"),
    }
}

/// What a process may write to, region by region: `man 5 proc_pid_maps`.
fn memory(process: Pid) -> Vec<Vec<u8>> {
    let number = process.as_raw_nonzero();
    let maps = fs::read_to_string(format!("/proc/{number}/maps")).unwrap_or_default();
    let Ok(memory) = File::open(format!("/proc/{number}/mem")) else { return Vec::new() };
    let region = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let end = u64::from_str_radix(end, 16).ok()?;
        let mut bytes = vec![0; usize::try_from(end - start).ok()?];
        // A region may go while it is looked at, and a guard page cannot be read.
        let is_read = rest.starts_with("rw") && memory.read_exact_at(&mut bytes, start).is_ok();
        is_read.then_some(bytes)
    };
    maps.lines().filter_map(region).collect()
}
