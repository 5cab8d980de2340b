//! Images of all kinds: harness's own, odd ones, ones that do not start.

use std::ffi::OsStr;
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness::submission::Sha256Digest;
use serde_json::{Value, json};

use crate::kit::{
    Kit, container, deep_learning_image, harness_image, harness_image_trusting, pod, python_image,
    scripted_images, shell_image, status,
};

/// Waits until the container of the Job waits for this reason, and gives the message.
fn waits(kit: &Kit, job: &str, reasons: &[&str]) -> String {
    let waiting = |pod: &Value| status(pod, "main")["state"]["waiting"].clone();
    let for_it = |pod: &Value| {
        let waiting = waiting(pod);
        reasons.iter().any(|reason| waiting["reason"] == *reason)
    };
    let pod = kit.pod_when(job, for_it);
    waiting(&pod)["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_static_binary_is_an_image_of_its_own() {
    let kit = Kit::new("harness-image");
    let image = harness_image();
    kit.create_job(
        "job",
        &pod(&[container("main", image, &["/usr/local/bin/harness", "--version"])]),
    );
    assert_eq!(kit.end_of_job("job"), "Complete");
    assert_eq!(kit.log("job", "main"), format!("harness {}\n", env!("CARGO_PKG_VERSION")));
    let trusting = harness_image_trusting("a certificate\n");
    assert_ne!(trusting.digest, image.digest);
    assert_eq!(trusting, harness_image_trusting("a certificate\n"), "the digest changes by itself");
}

#[test]
fn the_script_makes_images_that_run() {
    let kit = Kit::new("script");
    let stdout = scripted_images(&kit, &["--tag", "script"].map(OsStr::new));
    let printed = |name: &str| {
        let line = stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let mut container = container("main", shell_image(), &[]);
        container["image"] = line.expect("every image is printed").into();
        // What starts is what the image says, and with these arguments.
        container.as_object_mut().unwrap().remove("command");
        container
    };
    let mut version = printed("harness");
    version["args"] = json!(["--version"]);
    kit.create_job("harness", &pod(&[version]));

    let mut runner = printed("example-runner");
    runner["command"] = json!(["/app/search.sh"]);
    runner["env"] = json!([
        {"name": "HARNESS_MISSION", "value": "/app/search.sh"},
        {"name": "HARNESS_SNAPSHOT", "value": "/app"},
        {"name": "HARNESS_OUTPUT", "value": "/output"},
        {"name": "HARNESS_BUDGET_SECONDS", "value": "5"},
    ]);
    runner["volumeMounts"] = json!([{"name": "output", "mountPath": "/output"}]);
    let mut runner = pod(&[runner]);
    runner["volumes"] = json!([{"name": "output", "emptyDir": {}}]);
    kit.create_job("runner", &runner);

    assert_eq!(kit.end_of_job("harness"), "Complete");
    assert_eq!(kit.log("harness", "main"), format!("harness {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(kit.end_of_job("runner"), "Complete");
    let script = include_bytes!("../../examples/runner/search.sh");
    let best = Sha256Digest::of(script).to_hex();
    let log = format!("mission: {} bytes; at most 5 seconds\nbest: {best}\n", script.len());
    assert_eq!(kit.log("runner", "main"), log);
}

#[test]
fn an_image_has_python() {
    let kit = Kit::new("python");
    let script = "import hashlib, json, os, random, signal, ssl; print(json.dumps([os.getuid()]))";
    kit.create_job("job", &pod(&[container("main", python_image(), &["python3", "-c", script])]));
    assert_eq!(kit.end_of_job("job"), "Complete");
    assert_eq!(kit.log("job", "main"), "[65532]\n");
}

#[test]
fn an_image_keeps_its_own_environment() {
    let kit = Kit::new("deep-learning");
    kit.create_job("job", &pod(&[container("main", deep_learning_image(), &["model"])]));
    assert_eq!(kit.end_of_job("job"), "Complete");
    assert_eq!(kit.log("job", "main"), "12.8.1 as 65532 in /workspace\n");
}

#[test]
fn an_image_for_other_platforms_only_is_not_pulled() {
    let kit = Kit::new("platform");
    let foreign = kit.node.image("foreign-index").base(shell_image()).platform("linux/s390x");
    let foreign = foreign.push_index().unwrap();
    kit.create_job("job", &pod(&[container("main", &foreign, &["sh"])]));
    let message = waits(&kit, "job", &["ErrImagePull", "ImagePullBackOff"]);
    assert!(message.contains("no match for platform in manifest"), "{message}");
}

#[test]
fn an_image_of_another_architecture_does_not_start() {
    let kit = Kit::new("architecture");
    // What tells the machine in an ELF header (e_machine, at 18); 22 is s390x.
    let mut program = std::fs::read(kit.node.crane()).unwrap();
    program[18..20].copy_from_slice(&[22, 0]);
    let foreign = kit.node.image("foreign").file("program", program, 0o755).unwrap();
    let foreign = foreign.platform("linux/s390x").push().unwrap();
    kit.create_job("job", &pod(&[container("main", &foreign, &["/program"])]));
    assert_eq!(kit.end_of_job("job"), "Failed");
    // containerd takes a single image by its digest, whatever its platform; its program then says it.
    assert_ne!(status(&kit.pod_of("job"), "main")["state"]["terminated"]["exitCode"], 0);
    assert!(kit.log("job", "main").contains("exec format error"));
}

#[test]
fn an_image_that_does_not_exist_is_not_found() {
    let kit = Kit::new("missing");
    let mut missing = shell_image().clone();
    missing.reference =
        missing.reference.replace(&missing.digest, &format!("sha256:{}", "0".repeat(64)));
    kit.create_job("job", &pod(&[container("main", &missing, &["sh"])]));
    let message = waits(&kit, "job", &["ErrImagePull", "ImagePullBackOff"]);
    assert!(message.contains("not found"), "{message}");
}

#[test]
fn a_slow_registry_delays_only_its_own_pods() {
    const DELAY: Duration = Duration::from_secs(15);
    let kit = Kit::new("slow");
    let slow = kit.node.slow_registry("slow.test", DELAY).unwrap();
    // Its content must not be on the node already.
    let unique = kit.node.image("unique").base(shell_image());
    let unique = unique.file("unique", &kit.namespace.uid, 0o644).unwrap().push().unwrap();
    let mut late = container("main", &unique, &["true"]);
    late["image"] = unique.at(&slow.host).into();
    let start = SystemClock.now();
    kit.create_job("late", &pod(&[late]));
    kit.create_job("early", &pod(&[container("main", shell_image(), &["true"])]));
    assert_eq!(kit.end_of_job("early"), "Complete");
    let waiting = kit.pod_of("late");
    assert_eq!(status(&waiting, "main")["state"]["waiting"]["reason"], "ContainerCreating");
    assert_eq!(kit.end_of_job("late"), "Complete");
    assert!(SystemClock.now() > start + DELAY);
}
