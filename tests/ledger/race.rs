//! `submit` and others in between, at every step.

use std::process::Stdio;

use harness_test_cluster::fault::Requests;
use serde_json::Value;

use crate::kit::{Place, Run, Sample, in_parallel};
use crate::world::{assert_pruned, end, stands, submitted, uid};

const PRUNE: [&str; 2] = ["prune", "--yes"];

/// Holds the request of this number, lets `meanwhile` happen, and goes on.
fn interleave(
    place: &Place,
    arguments: &[&str],
    requests: Requests,
    meanwhile: impl FnOnce(),
) -> Run {
    let proxy = place.proxy();
    let held = proxy.hold(requests);
    let harness = place.harness_through(&proxy);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| harness.run(arguments));
        held.wait_until_read().unwrap();
        meanwhile();
        held.release();
        run.join().unwrap()
    })
}

fn requests_of_a_prune() -> u32 {
    let place = Place::new("count");
    let name = submitted(&place, &Sample::new("attempt-1"));
    end(&place, &name, "Complete", 8 * 24);
    let proxy = place.proxy();
    place.harness_through(&proxy).run(&PRUNE).expect(0, "pruned");
    u32::try_from(proxy.exchanges().len()).unwrap()
}

#[test]
fn a_submit_at_every_step_of_a_prune() {
    let count = requests_of_a_prune();
    in_parallel([false, true], |signed_again| {
        for number in 1..=count {
            let place = Place::new("race-submit");
            let sample = Sample::new("attempt-1");
            let name = submitted(&place, &sample);
            let job = uid(&place, &name);
            end(&place, &name, "Complete", 8 * 24);
            let run = interleave(&place, &PRUNE, Requests::new("", "").nth(number), || {
                let rival = if signed_again { sample.signed_again() } else { sample.clone() };
                let (code, outcome) = place.harness().submit(&rival).outcome();
                let fine = matches!(outcome.as_str(), "already_submitted" | "already_recorded");
                assert!(code == 0 && fine, "{outcome} at request {number}");
            });
            run.expect(0, "pruned");
            assert_pruned(&place, &name, &job, "succeeded");
        }
    });
}

/// A create that was on its way all the time lands after the prune: it finds no Secret, and never gets one.
#[test]
fn a_create_that_lands_after_the_prune_cannot_run() {
    let place = Place::new("race-late");
    let sample = Sample::new("attempt-1");
    let slow = place.proxy();
    let held = slow.hold(Requests::new("POST", "/jobs?").without("dryRun"));
    let through = place.harness_through(&slow);
    let mut command = through.command(&[sample.write(&through.inputs())]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    held.wait_until_read().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let name = submitted(&place, &sample);
    let job = uid(&place, &name);
    end(&place, &name, "Complete", 8 * 24);
    place.harness().run(&PRUNE).expect(0, "pruned");
    assert_eq!(held.release_and_wait().unwrap(), 201, "the late create lands");
    assert_ne!(uid(&place, &name), job);
    place.assert_holds(1, 0);
    for rival in [&sample, &sample.signed_again()] {
        place.harness().submit(rival).expect(0, "already_submitted");
        place.assert_holds(1, 0);
    }
    // A prune never takes it for the one that was recorded.
    end(&place, &name, "Failed", 8 * 24);
    place.harness().run(&PRUNE).expect(4, "conflict");
    place.assert_holds(1, 0);
}

#[test]
fn two_pruners() {
    let count = requests_of_a_prune();
    for number in 1..=count {
        let place = Place::new("race-prune");
        let name = submitted(&place, &Sample::new("attempt-1"));
        let job = uid(&place, &name);
        end(&place, &name, "Failed", 8 * 24);
        let run = interleave(&place, &PRUNE, Requests::new("", "").nth(number), || {
            let other = place.harness().run(&PRUNE);
            assert_eq!(other.code, Some(0), "{other}");
        });
        assert_eq!(run.code, Some(0), "at request {number}: {run}");
        assert_pruned(&place, &name, &job, "failed");
    }
}

/// The Job is deleted by a person and made anew under its name, just before the delete: the UID keeps it.
#[test]
fn a_job_that_was_made_anew_is_not_deleted() {
    let cases = [("prune", "/jobs/"), ("release", "/jobs/"), ("release", "/secrets/")];
    in_parallel(cases, |(command, part)| {
        let place = Place::new("race-anew");
        let sample = Sample::new("attempt-1");
        let name = submitted(&place, &sample);
        if command == "prune" {
            end(&place, &name, "Complete", 8 * 24);
        } else {
            crate::world::pod(&place, &name);
        }
        let first = uid(&place, &name);
        let mut arguments = vec![command, "--yes"];
        if command == "release" {
            arguments.push(&name);
        }
        let (secret, mut anew) = place.harness().render(&sample);
        let run = interleave(&place, &arguments, Requests::new("DELETE", part), || {
            place.delete("jobs", &name);
            if stands(&place, "secrets", secret["metadata"]["name"].as_str().unwrap()) {
                place.delete("secrets", secret["metadata"]["name"].as_str().unwrap());
            }
            place.create("secrets", &secret);
            anew["metadata"]["uid"] = Value::Null;
            place.create("jobs", &anew);
        });
        assert_eq!(run.code, Some(0), "{run}");
        assert_ne!(uid(&place, &name), first);
        place.assert_holds(1, 1);
    });
}

/// Between proof and end of a release, a submit finds the old Job or none; at the end one Job stands, with its Secret.
#[test]
fn a_submit_at_every_step_of_a_release() {
    in_parallel([false, true], |signed_again| {
        for number in 1..=12 {
            let place = Place::new("race-release");
            let sample = Sample::new("attempt-1");
            let name = submitted(&place, &sample);
            crate::world::pod(&place, &name);
            let proxy = place.proxy();
            let held = proxy.hold(Requests::new("", "").nth(number));
            let harness = place.harness_through(&proxy);
            let rival = if signed_again { sample.signed_again() } else { sample.clone() };
            let released = std::thread::scope(|scope| {
                let run = scope.spawn(|| harness.run(&["release", &name, "--yes"]));
                let read = harness_test_cluster::until(crate::world::PATIENCE, || {
                    proxy.exchanges().len() >= number as usize || run.is_finished()
                });
                assert!(read);
                let (code, outcome) = place.harness().submit(&rival).outcome();
                let fine = matches!(outcome.as_str(), "already_submitted" | "created");
                assert!(fine && code == 0, "{outcome} at request {number}");
                held.release();
                run.join().unwrap()
            });
            let (_, outcome) = released.outcome();
            let jobs = place.cluster.count_jobs(&place.namespace.name);
            assert!(jobs <= 1, "{jobs} Jobs at request {number}");
            assert!(outcome == "released" || jobs == 1, "{outcome} at request {number}");
            // Whatever was left, the next submit brings it to one Job with its Secret.
            let last = place.harness().submit(&rival);
            assert_eq!(last.code, Some(0), "at request {number}: {last}");
            let job = place.job();
            let named = &job["spec"]["template"]["spec"]["volumes"];
            let secrets = place.secrets();
            assert!(
                secrets.iter().any(|secret| named.to_string().contains(secret.as_str())),
                "at request {number}: {secrets:?} {named}"
            );
        }
    });
}
