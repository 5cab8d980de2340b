//! What the store, the inputs and the network do to an experiment.

use harness_test_store::{Action, Answer, Requests};

use crate::common::in_parallel;
use crate::kit::shell_image;
use crate::trial::{Trial, archive, store, store_host};

const QUICK: [&str; 3] = ["sh", "-c", "echo done > $HARNESS_OUTPUT/done"];

fn quick(prefix: &str) -> Trial {
    Trial::new(prefix, shell_image(), &QUICK)
}

#[test]
fn a_flipped_bit_of_the_snapshot_is_found_and_the_attempt_can_be_released() {
    let mut trial = quick("flipped");
    let object = trial.object("snapshot");
    let mut bytes = store().get(&object).unwrap().unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    store().put(&object, &bytes).unwrap();
    let job = trial.submit();
    let ended = trial.wait(job);
    ended.assert(7, "failed", "digest-mismatch");
    assert!(ended.sentence().contains("snapshot"), "{}", ended.sentence());
    assert_eq!(ended.status["run_started"], "never", "{}", ended.story());
    assert_eq!(ended.result(), None);
    ended.trial.kit.harness().run(&["release", &ended.job, "--yes"]).expect(0, "released");
    ended.trial.kit.assert_holds(0, 0);
}

#[test]
fn a_mission_for_another_evaluator_is_refused() {
    let mut trial = quick("evaluator");
    trial.mission["evaluator_version"] = format!("sha256:{}", "3".repeat(64)).into();
    let ended = trial.run();
    ended.assert(7, "failed", "identity-mismatch");
    assert!(ended.sentence().contains("evaluator_version"), "{}", ended.sentence());
    assert_eq!(ended.result(), None);
}

#[test]
fn what_the_store_refuses_is_said_in_its_words() {
    let mut trial = quick("refused");
    let object = trial.object("snapshot");
    let url = store().sign("PUT", &object).host(&store_host()).url();
    trial.sample.value["snapshot_url"] = url.into();
    let ended = trial.run();
    ended.assert(7, "failed", "download-refused");
    for part in ["403", "SignatureDoesNotMatch", "snapshot"] {
        assert!(ended.sentence().contains(part), "{}", ended.sentence());
    }
}

/// What befalls the way of an input: its name, the category of the end, and a part of what is said.
type Way = (&'static str, &'static str, &'static str, fn(&mut Trial));

fn snapshot(trial: &Trial, action: Action) {
    store().when(Requests::new("GET", &trial.object("snapshot")), action);
}

/// The same bytes but one.
fn flip(trial: &Trial, name: &str, mut bytes: Vec<u8>) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let answer = Answer::new(200, bytes);
    store().when(Requests::new("GET", &trial.object(name)), Action::ReplaceResponse(answer));
}

#[test]
fn what_befalls_an_input_on_its_way_is_named() {
    let ways: [Way; 7] = [
        ("missing", "download-refused", "404 NoSuchKey", |trial| {
            let url = store().sign("GET", &trial.object("missing")).host(&store_host()).url();
            trial.sample.value["snapshot_url"] = url.into();
        }),
        ("redirect", "download-refused", "the other host", |trial| {
            let answer = Answer::redirect(307, "https://elsewhere.test/inputs/snapshot");
            snapshot(trial, Action::Replace(answer));
        }),
        ("gzip", "digest-mismatch", "Content-Encoding gzip", |trial| {
            snapshot(trial, Action::Gzip);
        }),
        ("stall", "out-of-time", "staging", |trial| {
            trial.sample.value["resource_profile"] = "tight-v1".into();
            snapshot(trial, Action::Stall(10));
        }),
        ("budget", "identity-mismatch", "max_seconds", |trial| {
            trial.mission["search_budget"]["max_seconds"] = 121.into();
        }),
        ("flipped-mission", "digest-mismatch", "mission", |trial| {
            flip(trial, "mission", trial.mission.to_string().into_bytes());
        }),
        ("flipped-resume", "digest-mismatch", "resume", |trial| {
            let resume = archive(&[("state", b"half way")]);
            trial.set_input("resume", &resume);
            flip(trial, "resume", resume);
        }),
    ];
    in_parallel(ways, |(name, category, words, change)| {
        let mut trial = quick(name);
        change(&mut trial);
        let ended = trial.run();
        ended.assert(7, "failed", category);
        assert!(ended.sentence().contains(words), "{name}: {}", ended.sentence());
        assert_eq!(ended.status["run_started"], "never", "{}", ended.story());
        assert_eq!(ended.result(), None);
    });
}

#[test]
fn an_input_that_is_cut_on_its_way_arrives_all_the_same() {
    let trial = quick("cut");
    let path = trial.object("snapshot");
    store().when(Requests::new("GET", &path).nth(1), Action::CutResponse(50));
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
    let gets = store().exchanges().iter().filter(|one| one.path.contains(&path)).count();
    assert_eq!(gets, 2);
}

#[test]
fn a_result_that_is_there_is_never_made_again() {
    let trial = quick("there");
    store().put(&trial.object("result"), "somebody else's").unwrap();
    let ended = trial.run();
    ended.assert(7, "failed", "already-published");
    assert_eq!(ended.status["run_started"], "never");
    assert_eq!(ended.result().unwrap(), b"somebody else's");
}

#[test]
fn a_lost_answer_to_the_result_is_made_good_by_reading_it_back() {
    let trial = quick("answer");
    let path = trial.object("result");
    store().when(Requests::new("PUT", &path).nth(1), Action::LoseResponse);
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
}

#[test]
fn a_store_that_is_away_for_a_while_gets_the_result_later() {
    let trial = quick("away");
    let path = trial.object("result");
    for nth in 1..=4 {
        store().when(Requests::new("PUT", &path).nth(nth), Action::DropRequest);
    }
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
    let puts = store()
        .exchanges()
        .iter()
        .filter(|one| one.method == "PUT" && one.path.contains(&path))
        .count();
    assert!(puts >= 5, "{puts}");
}
