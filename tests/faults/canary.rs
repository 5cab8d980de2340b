//! Every secret part of the input is a random marker, and only the Secret ever holds one.
//!
//! Looked at while a run stands still at a request: its arguments and environment, those of everything below
//! it, its temporary files; and afterwards what it printed and what the API server holds and was asked.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use harness_test_cluster::fault::{Action, Answer, FaultProxy};
use harness_test_cluster::{is_running, until};
use rustix::process::{Pid, Signal};

use crate::kit::process::{Started, descendants};
use crate::kit::steps::Step;
use crate::kit::{Harness, Place, Run, Sample, command, in_parallel, random_hex};

/// A sample with a signed header too, whose value is a marker.
fn sample() -> Sample {
    let mut sample = Sample::new("attempt-1");
    let header = random_hex(16);
    let url = sample.value["result_put_url"].as_str().unwrap();
    let url = url.replace("host%3Bif-none-match", "host%3Bif-none-match%3Bx-amz-meta-note");
    sample.value["result_put_url"] = url.into();
    sample.value["result_put_headers"] =
        serde_json::json!({ "If-None-Match": "*", "x-amz-meta-note": header });
    sample.markers.push(header);
    sample
}

/// A marker as it is, and as it stands in a Secret's `data` at any of the three offsets.
fn spellings(marker: &str) -> Vec<String> {
    let shifted = |skip: usize| {
        let padded = format!("{}{marker}", "x".repeat(skip));
        let encoded = BASE64_STANDARD.encode(padded);
        let whole = encoded.trim_end_matches('=');
        // The first and the last digits also depend on what stands around.
        whole[4..whole.len() - 4].to_owned()
    };
    vec![marker.to_owned(), shifted(0), shifted(1), shifted(2)]
}

fn holds(text: &[u8], marker: &str) -> bool {
    let found = |one: String| text.windows(one.len()).any(|window| window == one.as_bytes());
    spellings(marker).into_iter().any(found)
}

/// Where in the running processes and below the folder a marker stands.
fn leaks(process: Pid, folder: &Path, markers: &[String]) -> Vec<String> {
    let mut places = Vec::new();
    for one in std::iter::once(process).chain(descendants(process)) {
        let number = one.as_raw_nonzero();
        places.extend(["cmdline", "environ"].map(|file| format!("/proc/{number}/{file}").into()));
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // Folders and files go while they are looked at.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                places.push(entry.path());
            }
        }
    }
    let is_hurt = |place: &std::path::PathBuf| {
        let bytes = fs::read(place).unwrap_or_default();
        markers.iter().any(|marker| holds(&bytes, marker))
    };
    places.into_iter().filter(is_hurt).map(|place| place.display().to_string()).collect()
}

#[track_caller]
fn assert_hidden(what: &str, run: &Run, sample: &Sample) {
    for marker in &sample.markers {
        let leaks = holds(run.stdout.as_bytes(), marker) || holds(run.stderr.as_bytes(), marker);
        assert!(!leaks, "{what} shows {marker}\n{run}");
    }
}

/// Only bodies of Secrets may hold a marker on the way to the API server.
#[track_caller]
fn assert_sent_in_secrets_only(proxy: &FaultProxy, sample: &Sample) {
    let mut in_secrets = 0;
    for one in proxy.exchanges() {
        for marker in &sample.markers {
            let line = format!("{}?{}", one.path, one.query);
            assert!(!holds(line.as_bytes(), marker), "{marker} in {one:?}");
            if holds(&one.body, marker) {
                assert!(one.path.ends_with("/secrets"), "{marker} in {one:?}");
                in_secrets += 1;
            }
        }
    }
    assert!(in_secrets > 0, "the Secret holds no marker, so nothing was looked at");
}

fn forbidden() -> Answer {
    let body = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
    Answer::new(403, "application/json", body)
}

/// Not only where a run stands still: looked at over and over, from its start to its end.
#[test]
fn nothing_shows_at_any_moment_of_a_run() {
    let ways = [&[][..], &["--dry-run=client"], &["--dry-run=server"], &["--public-inputs"]];
    in_parallel(ways, |more| {
        let place = Place::new("moments");
        let (mut looks, mut seen) = (0, 0);
        // The run without a cluster takes milliseconds, so that one may be over before the first look.
        while looks < 20 {
            let sample = sample();
            let harness = more.iter().fold(place.harness(), Harness::arg);
            let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
            while is_running(started.process()) {
                let places = leaks(started.process(), &harness.temporary(), &sample.markers);
                assert!(places.is_empty(), "{more:?}: {places:?}");
                looks += 1;
                seen = seen.max(descendants(started.process()).len());
            }
            let run = started.end();
            assert_hidden("a run", &run, &sample);
            assert!(matches!(run.code, Some(0 | 4)), "{run}");
        }
        assert!(more == ["--dry-run=client"] || seen >= 2, "{more:?}: kubectl was never looked at");
    });
}

/// A way to submit: what happens at which request, and how it ends.
type Way = (&'static str, Option<(Step, Action)>, Step, i32, &'static str);

#[test]
fn submit_shows_nothing_however_it_ends() {
    let ways: [Way; 4] = [
        ("created", None, Step::CreateJob, 0, "created"),
        (
            "lost",
            Some((Step::CreateJob, Action::LoseResponse)),
            Step::CreateSecret,
            0,
            "already_submitted",
        ),
        (
            "refused",
            Some((Step::CreateJob, Action::Replace(forbidden()))),
            Step::CreateSecret,
            5,
            "refused",
        ),
        (
            "unsent",
            Some((Step::CreateSecret, Action::Replace(forbidden()))),
            Step::RehearseSecret,
            5,
            "refused",
        ),
    ];
    in_parallel(ways, |(what, fault, stand_still, code, outcome)| {
        let place = Place::new("canary");
        let sample = sample();
        let proxy = place.proxy();
        let held = proxy.hold(stand_still.requests(&place.namespace.name));
        if let Some((step, action)) = fault {
            proxy.when(step.requests(&place.namespace.name), action);
        }
        let harness = place.harness_through(&proxy);
        let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
        held.wait_until_read().unwrap();
        let leaks = leaks(started.process(), &harness.temporary(), &sample.markers);
        assert_eq!(leaks, [""; 0], "{what}");
        held.release();
        let run = started.end();
        run.expect(code, outcome);
        assert_hidden(what, &run, &sample);
        assert_sent_in_secrets_only(&proxy, &sample);
        place.assert_hides(&sample);
        place.assert_holds(usize::from(code == 0), usize::from(what != "unsent"));
    });
}

#[test]
fn an_interrupted_submit_shows_nothing() {
    let place = Place::new("canary");
    let sample = sample();
    let proxy = place.proxy();
    let held = proxy.hold(Step::CreateSecret.requests(&place.namespace.name));
    let harness = place.harness_through(&proxy);
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    started.signal(Signal::INT);
    started.wait_until_taken();
    held.release();
    let run = started.end();
    run.expect(6, "unknown");
    assert_hidden("an interrupt", &run, &sample);
    place.assert_hides(&sample);
}

#[test]
fn what_is_there_already_shows_nothing() {
    let place = Place::new("canary");
    let sample = sample();
    let harness = place.harness();
    let first = harness.submit(&sample);
    assert_eq!(first.outcome(), (0, "created".to_owned()));
    let other = sample.clone().with("mission_id", "Mission 8");
    let expired = Sample::new("attempt-2").expired();
    for (what, sample, code, outcome) in [
        ("again", &sample, 0, "already_submitted"),
        ("another experiment", &other, 4, "conflict"),
        ("dead signatures", &expired, 3, "invalid"),
    ] {
        let run = harness.submit(sample);
        run.expect(code, outcome);
        assert_hidden(what, &run, sample);
    }
    place.assert_hides(&sample);
}

/// `validate` and `render`, of good and of broken input, as people and programs see them.
#[test]
fn commands_without_a_cluster_show_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let good = sample();
    let broken = sample().with("image", "latest").with("snapshot_sha256", "x").with("unknown", 1);
    let twisted = {
        let sample = sample();
        let url = sample.value["result_put_url"].as_str().unwrap().replace("https", "http");
        sample.with("result_put_url", url)
    };
    for (sample, is_good) in [(good, true), (broken, false), (twisted, false)] {
        let file = sample.write(folder.path());
        for arguments in [
            &["validate"][..],
            &["validate", "-o", "json"],
            &["render", "-n", "lab"],
            &["render", "-n", "lab", "-o", "yaml"],
        ] {
            let mut harness = command(env!("CARGO_BIN_EXE_harness"));
            harness.env_clear().env("HARNESS_IMAGE", crate::kit::HARNESS_IMAGE);
            harness.args(["prediction", "dispatch"]).args(arguments).arg("-f").arg(&file);
            let output = harness.output().unwrap();
            let run = Run::new(&harness, &output);
            assert_eq!(run.code, Some(if is_good { 0 } else { 3 }), "{run}");
            assert_hidden("a command", &run, &sample);
        }
    }
}

/// The looking itself: arguments, environment, files and Secrets that do hold a marker are found.
#[test]
fn a_leak_is_found() {
    let marker = random_hex(16);
    let markers = std::slice::from_ref(&marker);
    let folder = tempfile::tempdir().unwrap();
    let mut sleeper = command("/bin/sh");
    sleeper.args(["-c", "sleep 600; true"]).env("SECRET", &marker);
    let started = Started::command(sleeper);
    // A program is started a moment before the kernel shows its environment.
    let mut found = Vec::new();
    let seen = until(Duration::from_secs(10), || {
        found = leaks(started.process(), folder.path(), markers);
        found.iter().any(|place| place.ends_with("/environ"))
    });
    let everybody = descendants(started.process());
    started.signal(Signal::KILL);
    for process in everybody {
        // The sleep that the shell has started by now, if it has.
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
    started.end();
    assert!(seen, "{found:?}");
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::write(folder.path().join("deep/file"), BASE64_STANDARD.encode(format!("ab{marker}cd")))
        .unwrap();
    let own = rustix::process::getpid();
    let found = leaks(own, folder.path(), markers);
    assert!(found.iter().any(|place| place.ends_with("deep/file")), "{found:?}");
}

/// A harness that writes the markers into its own environment would be seen.
#[test]
fn a_marker_in_the_environment_of_a_run_is_found() {
    let place = Place::new("canary");
    let sample = sample();
    let proxy = place.proxy();
    let held = proxy.hold(Step::ReadJob.requests(&place.namespace.name));
    let harness: Harness = place.harness_through(&proxy).env("LEAK", &sample.markers[0]);
    let started = Started::submit(&harness, &[sample.write(&harness.inputs())]);
    held.wait_until_read().unwrap();
    let found = leaks(started.process(), &harness.temporary(), &sample.markers);
    held.release();
    started.end();
    assert!(found.len() >= 3, "harness, guard and kubectl: {found:?}");
}
