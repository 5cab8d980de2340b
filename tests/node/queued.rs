//! A real queue and a real kubelet: an experiment that is preempted while its runner is at work.

use harness_test_cluster::until;
use serde_json::json;

use crate::common::find;
use crate::kit::{Kit, PATIENCE, container, pod, shell_image};
use crate::trial::Trial;

/// Leaves a file, says that it has begun, and goes on for long.
const LONG: &str = "echo partial > $HARNESS_OUTPUT/partial; echo begun; sleep 600 & wait";

/// The queue of a namespace whose pods go to the only node.
fn queue(kit: &Kit) {
    kit.node.cluster().start_queue().unwrap();
    kit.open_queue(&json!({"kubernetes.io/os": "linux"}));
}

#[test]
fn what_a_preempted_run_left_is_published_and_its_code_is_not_started_again() {
    let mut trial = Trial::new("queued", shell_image(), &["sh", "-c", LONG]);
    trial.sample.value["resource_profile"] = "queued-store-v1".into();
    queue(&trial.kit);
    let job = trial.submit();
    let kit = &trial.kit;
    kit.container(&job, "run");
    let has_begun = || kit.log(&job, "run").contains("begun");
    assert!(until(PATIENCE, has_begun), "{}", kit.kubectl(&["describe", "pods"]));
    let first = kit.pod_of(&job);
    assert_eq!(*find(&first, "/spec/nodeSelector/kubernetes.io~1os"), "linux");

    let short = pod(&[container("main", shell_image(), &["/bin/sleep", "5"])]);
    kit.more_important("more-important", &short);
    assert_eq!(kit.end_of_job("more-important"), "Complete");

    // It is admitted again, and `stage` finds the result that the first pod has published on its way out.
    let ended = trial.wait(job);
    ended.assert(7, "failed", "already-published");
    let kit = &ended.trial.kit;
    assert_ne!(kit.pod_of(&ended.job)["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(ended.status["run_started"], "yes", "{}", ended.story());
    let archive = ended.published();
    assert_eq!(archive.run()["outcome"], "stopped");
    assert_eq!(archive.text("partial"), "partial\n");
}
