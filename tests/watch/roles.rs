//! As the roles of `manifests/cluster` alone, with RBAC as it is.

use crate::going::{Going, dispatch};
use crate::hands::{submitted, user};
use crate::kit::{Place, Run, Sample};
use crate::kubelet::{Kubelet, Stands, stand};

#[test]
fn the_watcher_may_all_that_looks() {
    let kubelet = Kubelet::shared();
    let place = Place::new("watcher");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let watcher = user(&place, "watcher");
    let proxy = place.proxy_as(&watcher);
    let run = |arguments: &[&str]| {
        let mut command = dispatch(&place, Some(&proxy), arguments);
        let output = command.output().unwrap();
        Run::new(&command, &output)
    };
    let arguments = ["status", &name, "--watch", "-o", "json"];
    let mut watch = Going::start(dispatch(&place, Some(&proxy), &arguments));
    watch.out.wait_for("\"phase\":\"pending\"");
    stand(&place, &name, Stands::Running);
    watch.out.wait_for("\"phase\":\"running\"");
    kubelet.write(&place, "run", &[b"one\n"]);
    let logs = run(&["logs", &name]);
    assert_eq!((logs.code, logs.stdout.as_str()), (Some(0), "one\n"), "{logs}");
    let list = run(&["list", "-o", "name"]);
    assert_eq!(list.stdout, format!("job.batch/{name}\n"), "{list}");
    stand(&place, &name, Stands::Succeeded);
    watch.ends_with(0);
    // Nothing that it asked for was refused to it, and it asked for no Secret.
    let exchanges = proxy.exchanges();
    let refused: Vec<_> = exchanges.iter().filter(|it| it.answered == Some(403)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(exchanges.iter().all(|it| it.method == "GET" && !it.path.contains("secrets")));
    let cancel = run(&["cancel", &name, "--yes"]);
    assert_ne!(cancel.code, Some(0), "{cancel}");
}

/// Without the rights of the watcher it cannot see pods, and learns of the end from the Job alone.
#[test]
fn the_submitter_may_wait_for_what_it_submits() {
    let _node = Kubelet::shared();
    let place = Place::new("submitter");
    let submitter = user(&place, "submitter");
    let proxy = place.proxy_as(&submitter);
    let folder = tempfile::tempdir().unwrap();
    let file = Sample::new("attempt-1").write(folder.path());
    let arguments = ["submit", "-o", "json", "--wait=5m", "-f", file.to_str().unwrap()];
    let mut wait = Going::start(dispatch(&place, Some(&proxy), &arguments));
    wait.out.wait_for("\"schema_version\":\"prediction_status.v1\"");
    let name = wait.out.documents()[0]["job"]["name"].as_str().unwrap().to_owned();
    stand(&place, &name, Stands::RunnerFailed);
    wait.ends_with(7);
    let logs = dispatch(&place, Some(&proxy), &["logs", &name]).output().unwrap();
    assert_ne!(logs.status.code(), Some(0), "{}", String::from_utf8_lossy(&logs.stderr));
}

#[test]
fn nobody_hears_of_experiments_without_a_right() {
    let place = Place::new("nobody");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let nobody = place.cluster.user(&[]).unwrap();
    let proxy = place.proxy_as(&nobody);
    for arguments in
        [&["status", &name][..], &["status", &name, "--wait"], &["list"], &["logs", &name, "-f"]]
    {
        let mut command = dispatch(&place, Some(&proxy), arguments);
        let output = command.output().unwrap();
        let run = Run::new(&command, &output);
        assert_eq!(run.code, Some(5), "{run}");
        assert!(run.stderr.contains("forbidden") && run.stdout.is_empty(), "{run}");
    }
}
