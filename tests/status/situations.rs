//! Every situation that is kept: what `status` and `list` say of it is what was written, and fits their schemas.
//!
//! Most are recorded by tests that bring them about on a real control plane (`control_plane.rs`) or on a real node
//! (`tests/node`, `tests/apart`); `by_hand.rs` types those that no cluster of the tests makes.
//! `tests/situations/README.md` tells how.

use std::collections::{BTreeMap, BTreeSet};

use boon::{Compiler, SchemaIndex, Schemas};
use harness::status::{Category, Phase};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::by_hand;
use crate::kit::situation::{
    Kept, all, are_recorded, expectation, folder, listed, told, told_by_clock,
};
use crate::kit::{Run, command};

/// All that is kept; nothing while it is written anew, for other tests write then.
fn kept() -> Vec<Kept> {
    if are_recorded() { Vec::new() } else { all() }
}

#[track_caller]
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_situation_is_told_as_it_was_recorded() {
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
    let are_words_written = std::env::var_os("UPDATE_WORDS").is_some();
    let mut wrong = Vec::new();
    for one in kept() {
        let found = expectation(&told(&one.situation));
        if are_words_written {
            let path = folder().join(&one.name).join("expected.json");
            std::fs::write(path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        } else if found != one.expected {
            wrong.push(format!("{}: {found:#}\ninstead of {:#}", one.name, one.expected));
        }
    }
    assert_none(&wrong);
}

/// The README says how many there are, and each says where it comes from.
#[test]
fn every_situation_says_how_it_was_made() {
    let kept = kept();
    if are_recorded() {
        return;
    }
    let (mut recorded, mut typed) = (BTreeMap::new(), BTreeSet::new());
    for one in &kept {
        let of = |field: &str| one.origin[field].as_str().unwrap_or_default().to_owned();
        match of("made").as_str() {
            "recorded" => {
                assert!(of("kubernetes").starts_with('v'), "{}: {}", one.name, one.origin);
                let recipe = of("recipe");
                let text = std::fs::read_to_string(folder().join("../..").join(&recipe));
                assert!(text.is_ok(), "{}: there is no {recipe}", one.name);
                *recorded.entry(recipe).or_insert(0) += 1;
            }
            "by hand" => {
                assert!(of("reason").len() > 10, "{}: {}", one.name, one.origin);
                typed.insert(one.name.as_str());
            }
            other => panic!("{}: {other}", one.name),
        }
    }
    assert_eq!(typed, by_hand::names().into_iter().collect::<BTreeSet<_>>());
    let recorded: usize = recorded.values().sum();
    assert!(recorded >= 60, "only {recorded} situations are recorded");
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let counts = format!("{recorded} recorded, {} by hand", typed.len());
    assert!(readme.contains(&counts), "the README does not say `{counts}`");
}

#[test]
fn every_category_and_phase_is_shown_by_a_situation() {
    if are_recorded() {
        return;
    }
    let kept = kept();
    let shown: BTreeSet<&str> =
        kept.iter().filter_map(|one| one.expected["category"].as_str()).collect();
    let missing: Vec<&str> =
        Category::all().map(Category::name).filter(|name| !shown.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    let phases: BTreeSet<&str> =
        kept.iter().filter_map(|one| one.expected["phase"].as_str()).collect();
    assert_eq!(phases, Phase::ALL.into_iter().map(Phase::name).collect::<BTreeSet<_>>());
}

/// The scheduler's events are exact to the microsecond, the kubelet's to the second below, in which both may be.
#[test]
fn what_the_scheduler_said_before_hides_nothing_that_the_node_says() {
    let Some(mut one) = kept().into_iter().find(|one| one.name == "volume-missing") else {
        return;
    };
    let scheduled = one.situation.events.iter().find(|event| event["reason"] == "Scheduled");
    let mut waited = scheduled.unwrap().clone();
    waited["reason"] = "FailedScheduling".into();
    waited["message"] = "0/1 nodes are available: 1 Insufficient cpu.".into();
    let mounted = one.situation.events.iter().find(|event| event["reason"] == "FailedMount");
    let second = mounted.unwrap()["lastTimestamp"].as_str().unwrap().trim_end_matches('Z');
    waited["eventTime"] = format!("{second}.900000Z").into();
    one.situation.events.push(waited);
    assert_eq!(expectation(&told(&one.situation)), one.expected);
}

/// Recorded on a node that was busy, where it came before the kubelet knew whether the Secret was there.
#[test]
fn a_node_that_was_slow_to_look_misses_nothing_yet() {
    let Some(mut one) = kept().into_iter().find(|one| one.name == "secret-missing-mount") else {
        return;
    };
    for event in one.situation.events.iter_mut().filter(|event| event["reason"] == "FailedMount") {
        event["message"] = "MountVolume.SetUp failed for volume \"stage-urls\" : failed to sync secret cache: timed out \
            waiting for the condition"
            .into();
    }
    assert_eq!(told(&one.situation).diagnosis.category.name(), "starting");
}

/// A schema as `harness schema` prints it.
struct Printed(Schemas, SchemaIndex);

impl Printed {
    fn of(name: &str) -> Self {
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command.env_clear().args(["schema", name]);
        let output = command.output().unwrap();
        let run = Run::new(&command, &output);
        assert_eq!(run.code, Some(0), "{run}");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("printed.json", serde_json::from_str(&run.stdout).unwrap()).unwrap();
        let index = compiler.compile("printed.json", &mut schemas).unwrap();
        Self(schemas, index)
    }

    fn check(&self, what: &str, document: &Value) -> Option<String> {
        let error = self.0.validate(document, self.1).err()?;
        Some(format!("{what}: {error:#}"))
    }
}

#[test]
fn what_is_printed_fits_its_schema() {
    let (status, listing) = (Printed::of("status"), Printed::of("listing"));
    let mut wrong = Vec::new();
    for one in kept() {
        let said = serde_json::to_value(told(&one.situation)).unwrap();
        wrong.extend(status.check(&one.name, &said));
        for row in listed(&one.situation) {
            let said = serde_json::to_value(&row).unwrap();
            wrong.extend(listing.check(&one.name, &said));
        }
    }
    assert_none(&wrong);
    assert!(status.check("nothing", &json!({})).is_some());
    assert!(listing.check("nothing", &json!({})).is_some());
}

/// A list looks at no events, so it may know less; never something else.
#[test]
fn a_list_says_the_same() {
    let mut wrong = Vec::new();
    for one in kept() {
        let (status, rows) = (told(&one.situation), listed(&one.situation));
        let is_listed =
            status.phase != Phase::Absent && status.diagnosis.category != Category::FOREIGN;
        if rows.len() != usize::from(is_listed) {
            wrong.push(format!("{}: {} rows", one.name, rows.len()));
        }
        let is_other = status.diagnosis.category == Category::REPLACED;
        wrong.extend(rows.iter().filter(|row| row.phase != status.phase && !is_other).map(|row| {
            format!("{}: {} in the list, {} alone", one.name, row.phase.name(), status.phase.name())
        }));
    }
    assert_none(&wrong);
}

/// A wrong clock of who asks changes neither where an experiment stands nor why, and no time becomes negative.
#[test]
fn a_wrong_clock_changes_only_times() {
    let mut wrong = Vec::new();
    for one in kept() {
        let right = told(&one.situation);
        for hours in [-30 * 24, -1, 1, 30 * 24] {
            let local = one.situation.now.checked_add(SignedDuration::from_hours(hours)).unwrap();
            let told = told_by_clock(&one.situation, local);
            if (told.phase, &told.diagnosis) != (right.phase, &right.diagnosis) {
                wrong.push(format!("{}, {hours} h: {:#?}", one.name, told.diagnosis));
            }
            let mut times: Vec<Option<i64>> =
                told.steps.iter().flat_map(|step| [step.seconds, step.left_seconds]).collect();
            let all = &told.times;
            times.extend([all.age_seconds, all.job_left_seconds, all.pod_left_seconds]);
            if times.iter().flatten().any(|seconds| *seconds < 0) {
                wrong.push(format!("{}, {hours} h: {:?}", one.name, told.times));
            }
        }
    }
    assert_none(&wrong);
}
