//! Situations that a node makes and that no other test here brings about: each is kept as `status` has to tell it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use harness_test_cluster::{Image, Node, until};
use harness_test_store::{Action, Answer, Requests};
use serde_json::{Value, json};

use crate::common::find;
use crate::common::in_parallel;
use crate::common::situation::Taken;
use crate::kit::{
    Kit, PATIENCE, event, event_that_says, harness_image, is_running, sample, shell_image, status,
};
use crate::trial::{Trial, archive, store, store_host};

const BEGUN: &str = "echo partial > $HARNESS_OUTPUT/partial; echo begun";

/// Submits an experiment whose steps have this image, whatever becomes of them.
#[track_caller]
fn with_image(kit: &Kit, reference: &str, profile: &str) -> String {
    let sample = sample("attempt-1", shell_image(), &["true"]).with("resource_profile", profile);
    let harness = kit.harness().env("HARNESS_IMAGE", reference);
    let receipt = harness.submit(&sample).expect(0, "created");
    find(&receipt, "/job/name").as_str().unwrap().to_owned()
}

fn waits_for(pod: &Value, step: &str, reasons: &[&str]) -> bool {
    let reason = &status(pod, step)["state"]["waiting"]["reason"];
    reasons.iter().any(|one| reason == one)
}

/// A registry that answers every request with this head and body.
fn broken_registry(node: &Node, host: &str, head: &str, body: &str) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    node.add_registry(host, &format!("http://127.0.0.1:{port}")).unwrap();
    let head =
        format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let body = body.to_owned();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let body = if first.starts_with("HEAD ") { "" } else { &body };
            // Whoever went away meanwhile needs no answer.
            let _ = client.write_all(format!("{head}{body}").as_bytes());
        }
    });
}

#[test]
fn images_that_cannot_be_pulled() {
    let kit = Kit::new("pulls");
    let node = kit.node;
    let image = harness_image();
    let missing = image.reference.replace(&image.digest, &format!("sha256:{}", "0".repeat(64)));
    let foreign = node.image("foreign-harness").base(shell_image()).platform("linux/s390x");
    let foreign = foreign.push_index().unwrap();
    let json = "Content-Type: application/json";
    let other = format!("sha256:{}", "3".repeat(64));
    broken_registry(
        node,
        "auth.test",
        &format!("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"lab\"\r\n{json}"),
        r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#,
    );
    broken_registry(
        node,
        "limited.test",
        &format!("429 Too Many Requests\r\nRetry-After: 600\r\n{json}"),
        r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"you have reached your pull rate limit"}]}"#,
    );
    broken_registry(
        node,
        "lying.test",
        &format!(
            "200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\nDocker-Content-Digest: {other}"
        ),
        r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","layers":[]}"#,
    );
    broken_registry(node, "failing.test", "503 Service Unavailable", "out of order");
    node.add_registry("closed.test", "http://127.0.0.1:9").unwrap();
    let cases = [
        ("image-not-found", "image-not-found", missing),
        ("image-platform", "image-platform", foreign.reference),
        ("image-auth", "image-auth", image.at("auth.test")),
        ("image-rate-limit", "image-rate-limit", image.at("limited.test")),
        ("image-digest", "image-digest", image.at("lying.test").replace(&image.digest, &other)),
        (
            "image-registry",
            "image-registry",
            image.at("closed.test").replace(&image.digest, &other),
        ),
        (
            "image-registry-fails",
            "image-registry",
            image.at("failing.test").replace(&image.digest, &other),
        ),
    ];
    in_parallel(cases, |(name, category, reference)| {
        let kit = Kit::new(name);
        let job = with_image(&kit, &reference, "node-v1");
        kit.pod_when(&job, |pod| waits_for(pod, "stage", &["ErrImagePull"]));
        Taken::of(&kit, &job).keep(name, "pending", category);
        let later = ["ImagePullBackOff"];
        kit.pod_when(&job, |pod| waits_for(pod, "stage", &later));
        let name = format!("{name}-backoff");
        Taken::of(&kit, &job).keep(&name, "pending", category);
        kit.delete("jobs", &job);
    });
}

#[test]
fn a_pull_that_takes_its_time() {
    let kit = Kit::new("pulling");
    let slow = kit.node.slow_registry("crawling.test", Duration::from_secs(20)).unwrap();
    let unique = kit.node.image("unique-harness").base(harness_image());
    let unique = unique.file("unique", &kit.namespace.uid, 0o644).unwrap().push().unwrap();
    let job = with_image(&kit, &unique.at(&slow.host), "node-v1");
    event(&kit, "Pulling");
    Taken::of(&kit, &job).keep("pulling", "pending", "pulling");
    kit.delete("jobs", &job);
}

#[test]
fn containers_that_cannot_be_made_or_started() {
    let node = Kit::new("start").node;
    let unnamed = node.image("unnamed").base(harness_image()).folder("etc/passwd", 0o755);
    let unnamed = unnamed.unwrap().push().unwrap();
    let cases: [(&str, &str, &str, &Image); 2] = [
        ("start-error", "failed", "container-start", shell_image()),
        ("container-create", "pending", "container-create", &unnamed),
    ];
    in_parallel(cases, |(name, phase, category, image)| {
        let kit = Kit::new(name);
        let job = with_image(&kit, &image.reference, "node-v1");
        if phase == "failed" {
            kit.end_of_job(&job);
        } else {
            kit.pod_when(&job, |pod| waits_for(pod, "stage", &["CreateContainerError"]));
        }
        Taken::of(&kit, &job).keep(name, phase, category);
        kit.delete("jobs", &job);
    });
}

#[test]
fn what_a_pod_needs_and_is_not_there() {
    let kit = Kit::new("needs");
    let job = with_image(&kit, &harness_image().reference, "store-v1");
    event_that_says(&kit, "FailedMount", "not found");
    Taken::of(&kit, &job).keep("volume-missing", "pending", "volume-missing");
    kit.delete("jobs", &job);

    let kit = Kit::new("secretless");
    let sample = sample("attempt-1", shell_image(), &["true"]);
    let (_, job) = kit.harness().render(&sample);
    let job = kit.create("jobs", &job);
    let name = find(&job, "/metadata/name").as_str().unwrap();
    event_that_says(&kit, "FailedMount", "not found");
    Taken::of(&kit, name).keep("secret-missing-mount", "pending", "secret-missing");
    kit.delete("jobs", name);

    let mut trial = quick("secret-missing-env");
    trial.sample.value["resource_profile"] = "secret-v1".into();
    trial.sample.value["runner_secret_name"] = "runner".into();
    let job = trial.submit();
    trial.kit.pod_when(&job, |pod| waits_for(pod, "run", &["CreateContainerConfigError"]));
    Taken::of(&trial.kit, &job).keep("secret-missing-env", "staging", "secret-missing");
    trial.kit.delete("jobs", &job);
}

#[test]
fn too_large_for_every_node() {
    let kit = Kit::new("large");
    let job = with_image(&kit, &harness_image().reference, "large-v1");
    event(&kit, "FailedScheduling");
    let unschedulable = |pod: &Value| pod["status"]["conditions"][0]["reason"] == "Unschedulable";
    kit.pod_when(&job, unschedulable);
    Taken::of(&kit, &job).keep("unschedulable", "pending", "unschedulable");
    kit.patch("jobs", &job, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    kit.end_of_job(&job);
    assert!(until(PATIENCE, || kit.list("pods").is_empty()), "the pod stays");
    Taken::of(&kit, &job).keep("job-deadline-unschedulable", "failed", "deadline");
}

fn quick(prefix: &str) -> Trial {
    Trial::new(prefix, shell_image(), &["sh", "-c", "echo done > $HARNESS_OUTPUT/done"])
}

/// Gives the pod no more time than it has had, as the end of its allowance would.
#[track_caller]
fn end_by_deadline(trial: &Trial, job: &str) {
    let pod = trial.kit.pod_of(job);
    let name = find(&pod, "/metadata/name").as_str().unwrap();
    trial.kit.patch("pods", name, &json!({"spec": {"activeDeadlineSeconds": 1}}));
    trial.kit.end_of_job(job);
}

#[test]
fn steps_at_work_and_the_deadline_of_the_pod_in_each() {
    type Ready = fn(&Value) -> bool;
    let stage: Ready = |pod| is_running(pod, "stage");
    let run: Ready = |pod| is_running(pod, "run");
    let publish: Ready =
        |pod| status(pod, "run")["state"]["terminated"].is_object() && is_running(pod, "publish");
    let long = format!("{BEGUN}; sleep 600 & wait");
    let cases = [
        ("staging", "pod-deadline-stage", "staging", "true".to_owned(), stage),
        ("running", "pod-deadline-run", "running", long, run),
        ("publishing", "pod-deadline-publish", "publishing", "true".to_owned(), publish),
        (
            "publishing-a-failure",
            "pod-deadline-publish-a-failure",
            "publishing",
            "exit 3".to_owned(),
            publish,
        ),
    ];
    in_parallel(cases, |(name, at_the_end, phase, script, ready)| {
        let mut trial = Trial::shell(name, &script);
        match phase {
            "staging" => {
                let path = trial.object("snapshot");
                store().when(Requests::new("GET", &path), Action::NeverAnswer);
            }
            "publishing" => {
                let path = trial.object("result");
                store().when(Requests::new("PUT", &path), Action::NeverAnswer);
            }
            _ => {}
        }
        let job = trial.submit();
        trial.kit.pod_when(&job, ready);
        Taken::of(&trial.kit, &job).keep(name, phase, phase);
        end_by_deadline(&trial, &job);
        // What `publish` can tell of its own end is more than that its time was over.
        let category = if phase == "publishing" { "publication-failed" } else { "deadline" };
        Taken::of(&trial.kit, &job).keep(at_the_end, "failed", category);
    });
}

#[test]
fn a_volume_that_grows_beyond_its_size() {
    let mut trial = Trial::shell("evicted", &format!("{BEGUN}; sleep 600 & wait"));
    let job = trial.submit();
    let container = trial.kit.container(&job, "publish");
    let spool = container.path("/harness/spool/flood").unwrap();
    assert!(until(PATIENCE, || std::fs::write(&spool, vec![b'x'; 120 << 20]).is_ok()));
    trial.kit.end_of_job(&job);
    Taken::of(&trial.kit, &job).keep("evicted", "failed", "evicted");
}

#[test]
fn evicted_by_the_api() {
    let mut trial = Trial::shell("drained", &format!("{BEGUN}; sleep 600 & wait"));
    let job = trial.submit();
    let pod = trial.kit.pod_when(&job, |pod| is_running(pod, "run"));
    let name = find(&pod, "/metadata/name").as_str().unwrap();
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    let path = format!("{}/eviction", trial.kit.path("pods", name));
    let (code, answer) = trial.kit.cluster.admin_post(&path, &eviction);
    assert_eq!(code, 201, "{answer:#}");
    trial.kit.pod_when(&job, |pod| pod["metadata"]["deletionTimestamp"].is_string());
    Taken::of(&trial.kit, &job).keep("drained", "running", "evicted");
    trial.kit.end_of_job(&job);
    assert!(until(PATIENCE, || trial.kit.list("pods").is_empty()), "the pod stays");
    Taken::of(&trial.kit, &job).keep("drained-pod-gone", "failed", "pod-vanished");
}

#[test]
fn an_injected_container_keeps_the_pod_alive() {
    let mut trial = quick("sidecar");
    let agent = json!({
        "name": "agent", "image": shell_image().reference, "command": ["sleep", "600"],
    });
    trial.kit.inject_container(&agent);
    let job = trial.submit();
    trial.kit.pod_when(&job, |pod| {
        ["run", "publish"].iter().all(|step| status(pod, step)["state"]["terminated"].is_object())
    });
    Taken::of(&trial.kit, &job).keep("sidecar", "publishing", "sidecar");
    trial.kit.delete("jobs", &job);
}

#[test]
fn what_is_wrong_with_the_inputs() {
    type Change = fn(&mut Trial);
    let cases: [(&str, &str, Change); 8] = [
        ("stage-mission-invalid", "mission-invalid", |trial| trial.mission = json!([])),
        ("stage-identity-mismatch", "identity-mismatch", |trial| {
            trial.mission["mission_id"] = "another".into();
        }),
        ("stage-archive-refused", "archive-refused", |trial| {
            trial.set_input("snapshot", &archive(&[("data/one", b"1"), ("data/one", b"2")]));
        }),
        ("stage-inputs-too-large", "inputs-too-large", |trial| {
            trial.set_input("snapshot", &vec![0; 70 << 20]);
        }),
        ("stage-download-failed", "download-failed", |trial| {
            trial.sample.value["resource_profile"] = "tight-v1".into();
            let path = trial.object("snapshot");
            let answer = Answer::error(503, "SlowDown");
            store().when(Requests::new("GET", &path), Action::Replace(answer));
        }),
        ("stage-out-of-time", "out-of-time", |trial| {
            trial.sample.value["resource_profile"] = "tight-v1".into();
            let path = trial.object("snapshot");
            store().when(Requests::new("GET", &path), Action::Trickle(Duration::from_secs(1)));
        }),
        ("stage-download-refused", "download-refused", |trial| {
            let url = store().sign("PUT", &trial.object("snapshot")).host(&store_host()).url();
            trial.sample.value["snapshot_url"] = url.into();
        }),
        ("stage-already-published", "already-published", |trial| {
            store().put(&trial.object("result"), "somebody else's").unwrap();
        }),
    ];
    in_parallel(cases, |(name, category, change)| {
        let mut trial = quick(name);
        change(&mut trial);
        let job = trial.submit();
        trial.kit.end_of_job(&job);
        Taken::of(&trial.kit, &job).keep(name, "failed", category);
    });
}

#[test]
fn what_goes_wrong_with_the_runner_and_the_result() {
    let forged = r#"{"schema_version":"prediction_reason.v1","step":"publish","category":"succeeded","sentence":"all is well","remedy":"","digests":{}}"#;
    let forge = format!("echo '{forged}' > /dev/termination-log; exit 3");
    let flood = "head -c 50000000 /dev/zero > $HARNESS_OUTPUT/flood; sleep 60";
    let cases = [
        ("no-runner", "no-runner", vec!["no-such-program"]),
        ("run-forges-success", "runner-failed", vec!["sh", "-c", &forge]),
        ("limit-exceeded", "limit-exceeded", vec!["sh", "-c", flood]),
        ("publication-failed", "publication-failed", vec!["sh", "-c", "true"]),
        ("published-meanwhile", "already-published", vec!["sh", "-c", "sleep 30"]),
    ];
    in_parallel(cases, |(name, category, runner)| {
        let mut trial = Trial::new(name, shell_image(), &runner);
        if name == "publication-failed" {
            let path = trial.object("result");
            let answer = Answer::error(403, "AccessDenied");
            store().when(Requests::new("PUT", &path), Action::Replace(answer));
        }
        let job = trial.submit();
        if name == "published-meanwhile" {
            trial.kit.pod_when(&job, |pod| is_running(pod, "run"));
            store().put(&trial.object("result"), "somebody else's").unwrap();
        }
        trial.kit.end_of_job(&job);
        Taken::of(&trial.kit, &job).keep(name, "failed", category);
    });
}
