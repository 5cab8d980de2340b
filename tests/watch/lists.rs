//! `list` over many pages, with every filter and in every form.

use std::collections::BTreeSet;

use harness_test_cluster::fault::{Action, Answer, Requests};
use serde_json::{Value, json};

use crate::going::{dispatch, run};
use crate::hands::{self, submitted};
use crate::kit::{Place, Run, Sample, in_parallel};

/// More than six pages of Jobs, without pods.
const MANY: usize = 601;

fn many(place: &Place) -> BTreeSet<String> {
    let (_, mut job) = place.harness().render(&Sample::new("attempt-1"));
    // The controllers of the cluster leave it alone.
    job["spec"]["managedBy"] = json!("example.org/nobody");
    let names: Vec<String> = (0..MANY).map(|number| format!("prediction-{number:032x}")).collect();
    let chunks: Vec<&[String]> = names.chunks(MANY.div_ceil(8)).collect();
    in_parallel(chunks, |names| {
        for name in names {
            let mut job = job.clone();
            job["metadata"]["name"] = json!(name);
            place.create("jobs", &job);
        }
    });
    names.into_iter().collect()
}

fn names(run: &Run) -> Vec<String> {
    let lines = run.stdout.lines();
    lines.map(|line| line.strip_prefix("job.batch/").unwrap().to_owned()).collect()
}

#[test]
fn pages_are_read_to_the_end_and_begun_anew_when_the_server_forgot() {
    let place = Place::new("pages");
    let expected = many(&place);
    let all = run(&place, &["list", "-o", "name"]);
    assert_eq!(all.code, Some(0), "{all}");
    assert_eq!(names(&all).len(), MANY);
    assert_eq!(names(&all).into_iter().collect::<BTreeSet<_>>(), expected);
    let expired = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "The provided continue parameter is too old",
    });
    let answer = Answer::new(410, "application/json", expired.to_string());
    let proxy = place.proxy();
    let second = Requests::new("GET", "continue=").nth(2);
    proxy.when(second, Action::Replace(answer.clone()));
    let mut command = dispatch(&place, Some(&proxy), &["list", "-o", "name"]);
    let output = command.output().unwrap();
    let again = Run::new(&command, &output);
    assert_eq!((again.code, names(&again).len()), (Some(0), MANY), "{}", again.stderr);
    let pages = proxy.exchanges().iter().filter(|it| it.path.contains("/jobs")).count();
    assert_eq!(pages, 2 + 1 + 7, "two pages, an expired one, seven anew");
    // A server that forgets every time is no reason to go on for ever.
    let proxy = place.proxy();
    proxy.when(Requests::new("GET", "continue="), Action::Replace(answer));
    let never = dispatch(&place, Some(&proxy), &["list"]).output().unwrap();
    assert_ne!(never.status.code(), Some(0));
    assert!(never.stdout.is_empty());
}

#[test]
fn filters_alone_and_together() {
    let place = Place::new("filters");
    let other_image = format!("registry.example.org/lab/other@sha256:{}", "6".repeat(64));
    let first = submitted(&place, &Sample::new("attempt-1"));
    let second = submitted(&place, &Sample::new("attempt-2").with("mission_id", "=cmd|'x', \"y\""));
    let third = submitted(&place, &Sample::new("attempt-3").with("image", other_image.as_str()));
    hands::end(&place, &first, "Complete", 0);
    hands::end(&place, &second, "Failed", 0);
    let listed = |more: &[&str]| {
        let run = run(&place, &[&["list", "-o", "name"][..], more].concat());
        assert_eq!(run.code, Some(0), "{run}");
        if run.stdout.trim().is_empty() {
            assert!(run.stderr.contains("no experiment here is as asked for"), "{run}");
            return Vec::new();
        }
        let mut names = names(&run);
        names.sort();
        names
    };
    let sorted = |names: &[&String]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
        names.sort();
        names
    };
    for (filter, expected) in [
        (&[][..], &[&first, &second, &third][..]),
        (&["--phase", "succeeded"], &[&first]),
        (&["--phase", "failed"], &[&second]),
        (&["--phase", "pending"], &[&third]),
        (&["--phase", "succeeded", "--phase", "pending"], &[&first, &third]),
        (&["--phase", "queued"], &[]),
        (&["--mission", "Mission 7"], &[&first, &third]),
        (&["--mission", "Mission"], &[]),
        (&["--mission", "=cmd|'x', \"y\""], &[&second]),
        (&["--image", "lab/other"], &[&third]),
        (&["--image", &other_image], &[&third]),
        (&["--image", "nothing"], &[]),
        (&["--since", "1h"], &[&first, &second, &third]),
        (&["--since", "2000-01-01T00:00:00Z"], &[&first, &second, &third]),
        (&["--since", "2999-01-01T00:00:00Z"], &[]),
        (
            &["--mission", "Mission 7", "--phase", "pending", "--since", "1h", "--image", "other"],
            &[&third],
        ),
        (&["--mission", "Mission 7", "--phase", "failed"], &[]),
    ] {
        assert_eq!(listed(filter), sorted(expected), "{filter:?}");
    }
    for wrong in [
        ["--phase", "done"],
        ["--phase", ""],
        ["--since", "yesterday"],
        ["--since", "-1h"],
        ["-o", "xml"],
    ] {
        let run = run(&place, &[&["list"][..], &wrong].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    }
    let csv = run(&place, &["list", "-o", "csv"]);
    let lines: Vec<&str> = csv.stdout.split("\r\n").collect();
    assert_eq!((lines.len(), lines[4]), (5, ""), "{csv}");
    assert!(!csv.stdout.replace("\r\n", "").contains(['\r', '\n']), "{csv}");
    let dangerous = lines.iter().find(|line| line.starts_with(&second)).unwrap();
    assert!(dangerous.contains(",attempt-2,\"'=cmd|'x', \"\"y\"\"\",registry."), "{dangerous}");
    let wide = run(&place, &["list", "-o", "wide"]);
    assert!(wide.stdout.starts_with("NAME") && wide.stdout.lines().count() == 4, "{wide}");
}

#[test]
fn every_row_is_as_its_schema_says_and_a_record_keeps_what_is_shown() {
    let place = Place::new("records");
    let name = submitted(&place, &Sample::new("attempt-1"));
    submitted(&place, &Sample::new("attempt-2"));
    hands::end(&place, &name, "Complete", 48);
    let before = rows(&place, &["--phase", "succeeded"]).remove(0);
    let pruned = place.harness().run(&["prune", "--older-than", "1d", "--yes"]);
    assert!(!hands::stands(&place, "jobs", &name), "{pruned}");
    let after =
        rows(&place, &["--mission", "Mission 7", "--image", "lab/model", "--phase", "succeeded"])
            .remove(0);
    assert_eq!((&after["is_recorded"], &after["category"]), (&json!(true), &json!("recorded")));
    for field in ["name", "phase", "mission_id", "attempt_id", "image", "submission_digest"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    let schema = serde_json::from_str(include_str!("../../schemas/listing.json")).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("https://harness.test/listing.json", schema).unwrap();
    let schema = compiler.compile("https://harness.test/listing.json", &mut schemas).unwrap();
    let all = rows(&place, &[]);
    assert_eq!(all.len(), 2);
    for row in &all {
        assert!(schemas.validate(row, schema).is_ok(), "{row:#}");
    }
}

fn rows(place: &Place, filter: &[&str]) -> Vec<Value> {
    let run = run(place, &[&["list", "-o", "json"][..], filter].concat());
    assert_eq!(run.code, Some(0), "{run}");
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
