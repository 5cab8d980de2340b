//! The world around harness: full disks, closed pipes, long paths, odd locales, missing variables, odd kubectls.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kit::process::{Started, assert_empty};
use crate::kit::{Harness, Place, Run, Sample, clock, find, in_parallel};

/// Runs a command that the test has changed.
fn run(mut command: Command) -> Run {
    let output = command.output().unwrap();
    Run::new(&command, &output)
}

fn prepared(name: &str) -> (Place, Harness, Sample, PathBuf) {
    let place = Place::new(name);
    let harness = place.harness();
    let sample = Sample::new("attempt-1");
    let file = sample.write(&harness.inputs());
    (place, harness, sample, file)
}

#[test]
fn a_full_disk_behind_standard_output_is_said_and_is_no_success() {
    let (place, harness, sample, file) = prepared("full");
    let mut command = harness.command(&[file]);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let run = Run::new(&command, &child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(6), "{run}");
    assert!(run.stderr.contains("cannot write to standard output"), "{run}");
    place.assert_holds(1, 1);
    harness.submit(&sample).expect(0, "already_submitted");
    place.assert_holds(1, 1);
}

#[test]
fn readers_that_go_away_do_not_stop_a_submission() {
    in_parallel([true, false], |is_stdout| {
        let (place, harness, sample, file) = prepared("pipe");
        let mut command = harness.command(&[file]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        if is_stdout {
            command.stdout(writer).stderr(Stdio::piped());
        } else {
            command.stdout(Stdio::piped()).stderr(writer);
        }
        let child = command.spawn().unwrap();
        let run = Run::new(&command, &child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{run}");
        place.assert_holds(1, 1);
        harness.submit(&sample).expect(0, "already_submitted");
    });
}

/// From none that is free to more than enough.
#[test]
fn few_descriptors_leave_nothing_behind() {
    in_parallel(4..28, |count: u32| {
        let (place, harness, sample, file) = prepared("descriptors");
        let submit = harness.command(&[file]);
        let mut command = crate::kit::command("sh");
        command.env_clear().args(["-c", &format!("ulimit -n {count}; exec \"$@\""), "sh"]);
        command.arg(submit.get_program()).args(submit.get_args());
        command.envs(submit.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = run(command);
        assert!(matches!(run.code, Some(0 | 2 | 6 | 127)), "{count}: {run}");
        assert!(!run.stderr.contains("panicked"), "{count}: {run}");
        assert_empty(&harness.temporary());
        assert_eq!(harness.submit(&sample).code, Some(0));
        place.assert_holds(1, 1);
    });
}

/// A year ahead, from the beginning or from some moment of the run on, when all that is signed is long over by it: the API
/// server's clock decides, and the receipt says what the first answer showed.
#[test]
fn a_wall_clock_that_is_set_forward_decides_nothing() {
    in_parallel([0, 30, 60, 90, 150, 250, 400, 700], |after| {
        let (place, harness, sample, file) = prepared("clock");
        let mut command = harness.command(&[file]);
        clock::set_forward(&mut command, Duration::from_millis(after), clock::YEAR);
        let run = run(command);
        let receipt = run.expect(0, "created");
        let skew = find(&receipt, "/timings/clock_skew_seconds").as_i64().unwrap();
        assert!(after > 0 || skew < -300 * 24 * 60 * 60, "the clock was not set: {run}");
        place.assert_holds(1, 1);
        harness.submit(&sample).expect(0, "already_submitted");
    });
}

#[test]
fn a_folder_for_temporary_files_that_is_too_long_for_a_socket() {
    let (place, harness, sample, _) = prepared("long");
    let long = harness.inputs().join("x".repeat(120)).join("y".repeat(120));
    fs::create_dir_all(&long).unwrap();
    let harness = harness.env("TMPDIR", &long);
    harness.submit(&sample).expect(0, "created");
    assert_empty(&long);
    place.assert_holds(1, 1);
}

#[test]
fn no_locale_changes_what_is_done_or_said() {
    let receipts = std::sync::Mutex::new(Vec::new());
    in_parallel(["tr_TR.UTF-8", "C", "POSIX", "zh_CN.GB18030", "not-a-locale"], |locale| {
        let (place, harness, sample, _) = prepared("locale");
        let harness = harness.env("LC_ALL", locale).env("LANG", locale);
        let mut receipt = harness.submit(&sample).expect(0, "created");
        place.assert_holds(1, 1);
        receipt["job"]["uid"].take();
        receipts.lock().unwrap().push((receipt["job"].clone(), receipt["detail"].clone()));
    });
    let mut receipts = receipts.into_inner().unwrap();
    receipts.dedup();
    assert_eq!(receipts.len(), 1, "{receipts:#?}");
}

#[test]
fn a_missing_or_useless_environment() {
    type Change = fn(&mut Command) -> &mut Command;
    let changes: [(&str, Change); 5] = [
        ("no HOME", |command| command.env_remove("HOME")),
        ("a HOME that is not there", |command| command.env("HOME", "/nonexistent")),
        ("a HOME that cannot be written", |command| command.env("HOME", "/proc")),
        ("no PATH", |command| command.env_remove("PATH")),
        ("no TMPDIR", |command| command.env_remove("TMPDIR")),
    ];
    in_parallel(changes, |(what, change)| {
        let (place, harness, _, file) = prepared("environment");
        let mut command = harness.command(&[file]);
        change(&mut command);
        let run = run(command);
        assert_eq!(run.outcome(), (0, "created".to_owned()), "{what}\n{run}");
        place.assert_holds(1, 1);
    });
}

/// A kubectl that is a shell script; `$KUBECTL` in it is the real one.
fn script(harness: &Harness, place: &Place, text: &str) -> PathBuf {
    let path = harness.inputs().join("kubectl");
    let real = place.cluster.kubectl().display().to_string();
    fs::write(&path, format!("#!/bin/sh\nKUBECTL='{real}'\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_kubectl_that_prints_fifty_megabytes_of_warnings() {
    let (place, harness, sample, _) = prepared("flood");
    // Beside the requests: harness reads on, so that kubectl is never stuck.
    let flood = "head -c 50000000 /dev/zero | tr '\\0' x >&2 &\nexec \"$KUBECTL\" \"$@\"";
    let path = script(&harness, &place, flood);
    let run = harness.kubectl(path).submit(&sample);
    assert_eq!(run.outcome().0, 0, "{} bytes of stderr", run.stderr.len());
    place.assert_holds(1, 1);
}

#[test]
fn a_kubectl_that_does_not_serve() {
    // The first does not start, the second says that it serves and does not, the third never says anything.
    let texts = [
        "echo 'error: unknown flag: --unix-socket' >&2; exit 1",
        "echo 'Starting to serve on somewhere else'; exit 0",
        "exec sleep 600",
    ];
    in_parallel(texts, |text| {
        let (place, harness, sample, _) = prepared("unready");
        let path = script(&harness, &place, text);
        let harness = harness.kubectl(path);
        let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
        let run = started.end();
        let receipt = run.expect(6, "unknown");
        let detail = receipt["detail"].as_str().unwrap();
        let says = ["cannot be reached", "no Job was created by this call"];
        assert!(says.iter().any(|one| detail.contains(one)), "{run}");
        assert_empty(&harness.temporary());
        place.assert_holds(0, 0);
    });
}
