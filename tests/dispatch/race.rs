//! Sixteen operators at once, each a process of its own.

use std::process::Stdio;

use crate::kit::{Harness, Place, Run, Sample, find};

const OPERATORS: usize = 16;

/// Submits all at once; gives the outcomes, each of which ended well.
fn all_at_once(place: &Place, samples: &[Sample]) -> Vec<String> {
    let harnesses: Vec<Harness> = samples.iter().map(|_| place.harness()).collect();
    let started: Vec<_> = harnesses
        .iter()
        .zip(samples)
        .map(|(harness, sample)| {
            let mut command = harness.command(&[sample.write(&harness.inputs())]);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            (command, child)
        })
        .collect();
    let end = |(command, child): (_, std::process::Child)| {
        let run = Run::new(&command, &child.wait_with_output().unwrap());
        let (code, outcome) = run.outcome();
        assert_eq!(code, 0, "{run}");
        outcome
    };
    started.into_iter().map(end).collect()
}

#[track_caller]
fn assert_one_winner(place: &Place, outcomes: &[String]) {
    let count = |name: &str| outcomes.iter().filter(|outcome| *outcome == name).count();
    assert_eq!((count("created"), count("already_submitted")), (1, OPERATORS - 1), "{outcomes:?}");
    place.assert_holds(1, 1);
    let volumes = find(&place.job(), "/spec/template/spec/volumes").to_string();
    let secrets = place.secrets();
    assert!(volumes.contains(&secrets[0]), "the Job names another Secret than {secrets:?}");
}

#[test]
fn the_same_signatures() {
    let place = Place::new("race");
    let samples = vec![Sample::new("attempt-1"); OPERATORS];
    assert_one_winner(&place, &all_at_once(&place, &samples));
}

#[test]
fn different_signatures() {
    let place = Place::new("race");
    let sample = Sample::new("attempt-1");
    let samples: Vec<Sample> = (0..OPERATORS).map(|_| sample.signed_again()).collect();
    assert_one_winner(&place, &all_at_once(&place, &samples));
}
