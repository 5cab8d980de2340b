//! Five hundred submissions in one call, while the API server is killed in the middle of them.

use std::collections::BTreeSet;

use harness_test_cluster::{ControlPlane, Options, until};

use crate::kit::PATIENCE;
use crate::kit::process::Started;
use crate::kit::{Harness, Sample, find};

const COUNT: usize = 500;

#[test]
fn five_hundred_in_one_call_outlive_the_api_server() {
    let cluster = ControlPlane::start(&Options { fsync: true, ..Options::default() }).unwrap();
    let namespace = cluster.namespace("batch").unwrap().name;
    let harness = Harness::new(cluster.kubeconfig(), cluster.kubectl(), &namespace);
    for index in 0..COUNT {
        Sample::new(&format!("attempt-{index}")).write(&harness.inputs());
    }
    let started = Started::submit(&harness, &[harness.inputs()]);
    for part in [100, 250] {
        let so_many = || cluster.count_jobs(&namespace) >= part;
        assert!(until(PATIENCE, so_many), "fewer than {part} Jobs are created");
        cluster.restart_api_server().unwrap();
    }
    let run = started.end();
    let receipts = run.receipts();
    assert_eq!(receipts.len(), COUNT, "{run}");
    let uids = |outcome: &str| -> BTreeSet<String> {
        let made = receipts.iter().filter(|receipt| receipt["outcome"] == outcome);
        made.map(|receipt| find(receipt, "/job/uid").as_str().unwrap().to_owned()).collect()
    };
    let (created, there) = (uids("created"), uids("already_submitted"));
    let is_right = |name: &str| ["created", "already_submitted", "unknown"].contains(&name);
    for receipt in &receipts {
        assert!(is_right(receipt["outcome"].as_str().unwrap()), "{receipt:#}");
    }

    let again = harness.submit_files(&[harness.inputs()]);
    assert_eq!(again.code, Some(0), "{again}");
    let (_, list) = cluster.admin_get(&format!("/apis/batch/v1/namespaces/{namespace}/jobs"));
    let jobs: BTreeSet<String> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| find(job, "/metadata/uid").as_str().unwrap().to_owned())
        .collect();
    assert_eq!((jobs.len(), cluster.count_secrets(&namespace)), (COUNT, COUNT));
    assert!(created.is_subset(&jobs) && there.is_subset(&jobs), "a receipt names another Job");
}
