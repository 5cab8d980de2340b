//! Pods of the restricted shape on the node: they run, share, are limited and are looked at.

use std::io::Write as _;
use std::net::TcpListener;

use harness_test_cluster::ADDRESS;
use serde_json::{Value, json};

use crate::kit::{Kit, PATIENCE, container, pod, shell_image, status};

#[test]
fn a_restricted_job_completes_and_its_log_is_there() {
    let kit = Kit::new("restricted");
    let script = "id -u; touch /x 2>/dev/null || echo read-only; grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/1/status";
    let image = shell_image();
    assert!(image.reference.starts_with("registry.test/shell@sha256:"), "{image:?}");
    kit.create_job("job", &pod(&[container("main", image, &["sh", "-c", script])]));
    assert_eq!(kit.end_of_job("job"), "Complete");
    let expected = "65532\nread-only\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    assert_eq!(kit.log("job", "main"), expected);
    let pod = kit.pod_of("job");
    let image_id = status(&pod, "main")["imageID"].as_str().unwrap();
    assert!(image_id.ends_with(&image.digest), "{image_id}");
    let name = pod["metadata"]["name"].as_str().unwrap();
    let log = kit.node.logs(&kit.namespace.name, name, "main").unwrap();
    assert_eq!(String::from_utf8(log).unwrap(), expected);
}

#[test]
fn containers_talk_over_a_socket_in_memory() {
    let kit = Kit::new("socket");
    let mount = json!([{"name": "control", "mountPath": "/control"}]);
    let mut listener =
        container("listener", shell_image(), &["socket", "listen", "/control/run.sock"]);
    listener["volumeMounts"] = mount.clone();
    let script = "grep ' /control ' /proc/mounts | cut -d ' ' -f 3; exec socket connect /control/run.sock hello";
    let mut speaker = container("speaker", shell_image(), &["sh", "-c", script]);
    speaker["volumeMounts"] = mount;
    let mut pod = pod(&[listener, speaker]);
    pod["volumes"] =
        json!([{"name": "control", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]);
    kit.create_job("job", &pod);
    assert_eq!(kit.end_of_job("job"), "Complete");
    assert_eq!(kit.log("job", "listener"), "hello");
    assert_eq!(kit.log("job", "speaker"), "tmpfs\n");
}

#[test]
fn pods_reach_a_server_of_the_test_by_name() {
    let kit = Kit::new("server");
    // It serves the names of pods, one holder at a time.
    crate::trial::store();
    let listener = TcpListener::bind((ADDRESS, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "nslookup store.test; nslookup store.example >/dev/null || echo unknown; \
         nc {ADDRESS} {port}"
    );
    kit.create_job("job", &pod(&[container("main", shell_image(), &["sh", "-c", &script])]));
    let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello\n"));
    assert_eq!(kit.end_of_job("job"), "Complete");
    server.join().unwrap().unwrap();
    let log = kit.log("job", "main");
    assert!(
        log.contains("Name:\tstore.test\nAddress: 10.77.0.1\n")
            && log.ends_with("unknown\nhello\n"),
        "{log}"
    );
}

#[test]
fn too_much_memory_is_seen_as_such() {
    let kit = Kit::new("memory");
    // One line without an end: `tail` has to keep it.
    let eater = container("eater", shell_image(), &["tail", "/dev/zero"]);
    kit.create_job("job", &pod(&[eater]));
    assert_eq!(kit.end_of_job("job"), "Failed");
    let pod = kit.pod_of("job");
    let state = &status(&pod, "eater")["state"]["terminated"];
    assert_eq!((&state["reason"], &state["exitCode"]), (&json!("OOMKilled"), &json!(137)));
}

#[test]
fn a_running_container_is_looked_at_and_killed_at_once() {
    let kit = Kit::new("inspect");
    let script = "sleep 1000 & echo text >/scratch/file; sleep 1000; echo survived";
    let mut main = container("main", shell_image(), &["sh", "-c", script]);
    main["env"] = json!([{"name": "MARKER", "value": "seen"}]);
    main["volumeMounts"] = json!([{"name": "scratch", "mountPath": "/scratch"}]);
    let mut pod = pod(&[main]);
    pod["volumes"] = json!([{"name": "scratch", "emptyDir": {}}]);
    kit.create_job("job", &pod);
    let container = kit.container("job", "main");

    let file = || container.path("/scratch/file").and_then(|path| Ok(std::fs::read(path)?));
    let written =
        || file().is_ok_and(|bytes| bytes == b"text\n") && container.processes().len() == 3;
    assert!(harness_test_cluster::until(PATIENCE, written), "{:?}", file());
    let process = container.first_process().unwrap().as_raw_nonzero();
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap();
    assert!(environment.split(|byte| *byte == 0).any(|one| one == b"MARKER=seen"));
    let output = container.exec(&["id", "-u"]).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "65532\n");

    container.kill_all().unwrap();
    assert_eq!(kit.end_of_job("job"), "Failed");
    let ended = |pod: &Value| status(pod, "main")["state"]["terminated"]["exitCode"] == 137;
    assert!(ended(&kit.pod_of("job")));
    assert_eq!(kit.log("job", "main"), "");
}
