//! The harness image holds one static file and nothing else: names, trust and time without any file of a system.

use std::fs;

use harness::clock::{Clock as _, SystemClock};

use crate::common::find;
use crate::kit::{harness_image, harness_image_trusting, shell_image};
use crate::trial::{Trial, store};

/// By a profile without `ca_config_map`: only what the image itself trusts counts.
fn without_authority(prefix: &str) -> Trial {
    let script = "echo done > $HARNESS_OUTPUT/done";
    Trial::new(prefix, shell_image(), &["sh", "-c", script]).profile("node-v1")
}

#[test]
fn the_image_s_own_certificates_are_trusted() {
    let mut trial = without_authority("own-trust");
    let authority = fs::read_to_string(store().authority()).unwrap();
    trial.harness_image = Some(harness_image_trusting(&authority));
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
    ended.verify_with_cluster(&ended.result().unwrap());
}

#[test]
fn other_certificates_are_not() {
    let mut trial = without_authority("wrong-trust");
    let authority = fs::read_to_string(store().wrong_authority()).unwrap();
    trial.harness_image = Some(harness_image_trusting(&authority));
    let ended = trial.run();
    assert_eq!(ended.waited.code, Some(7), "{}", ended.story());
    assert!(ended.sentence().contains("certificate"), "{}", ended.sentence());
    assert_eq!(ended.status["run_started"], "never", "{}", ended.story());
}

#[test]
fn an_image_without_certificates_is_told_what_it_lacks() {
    let ended = without_authority("no-trust").run();
    ended.assert(7, "failed", "environment");
    for part in ["SSL_CERT_FILE", "certificate"] {
        assert!(ended.status["diagnosis"].to_string().contains(part), "{}", ended.story());
    }
    assert_eq!(ended.status["run_started"], "never", "{}", ended.story());
}

/// A time zone that the image names and has no file of changes no time in the record.
#[test]
fn there_is_no_time_zone_but_utc() {
    let mut trial = without_authority("zone").profile("store-v1");
    let image = trial.kit.node.image("harness-in-a-zone").base(harness_image());
    let image = image.env("TZ", "America/New_York").env("LANG", "de_DE.UTF-8");
    trial.harness_image = Some(image.push().unwrap());
    let ended = trial.run();
    ended.assert(0, "succeeded", "succeeded");
    let archive = ended.archive();
    let now = SystemClock.now();
    for place in ["/report/started_at", "/report/finished_at"] {
        let time = find(archive.run(), place).as_str().unwrap();
        let time: jiff::Timestamp = time.parse().unwrap();
        assert!(time < now && now.duration_since(time).as_mins() < 10, "{place}: {time}");
    }
}

#[test]
fn a_store_that_nobody_knows_is_named() {
    let mut trial = without_authority("no-name").profile("short-v1").budget(5);
    let url = trial.sample.value["snapshot_url"].as_str().unwrap();
    trial.sample.value["snapshot_url"] = url.replace("store.test", "store.example").into();
    let ended = trial.run();
    ended.assert(7, "failed", "download-failed");
    assert!(ended.sentence().contains("store.example"), "{}", ended.sentence());
}
