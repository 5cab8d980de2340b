//! What harness submits is taken by a real scheduler and a real kubelet.

use serde_json::Value;

use crate::common::find;
use crate::kit::{Kit, harness_image, sample, shell_image, status};

#[test]
fn a_submitted_job_reaches_the_node_with_the_pinned_images() {
    let kit = Kit::new("submitted");
    let sample = sample("attempt-1", shell_image(), &["sh", "-c", "true"]);
    let receipt = kit.harness().submit(&sample).expect(0, "created");
    let job = kit.job();
    let name = find(&job, "/metadata/name").as_str().unwrap();
    assert_eq!(receipt["job"]["name"], name, "{receipt:#}");

    // Whatever becomes of it: the inputs of this one do not exist.
    let pulled = |pod: &Value| {
        let image = status(pod, "stage")["imageID"].as_str();
        image.is_some_and(|image| image.ends_with(&harness_image().digest))
    };
    let pod = kit.pod_when(name, pulled);
    assert_eq!(pod["spec"]["nodeName"], "node");
    let volumes = find(&pod, "/spec/volumes").as_array().unwrap();
    assert!(!volumes.is_empty());
    kit.assert_hides(&sample);
}
