//! How kubectl is started, and every way in which it does not start.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use harness::cluster::{ConnectError, Connection, Context, Outcome, guard};
use serde_json::{Value, json};

use crate::kit::{AT_ONCE, Fake, clock, command, namespace, probe, time};

const SHORT: Duration = Duration::from_secs(2);

fn arguments(fake: &Fake) -> Vec<String> {
    serde_json::from_value(fake.record()["arguments"].clone()).unwrap()
}

#[test]
fn the_command_line_is_complete_and_narrow() {
    let fake = Fake::answering(json!({ "body": namespace() }));
    let mut options = fake.options();
    options.kubeconfig = Some("/etc/kube config".into());
    options.impersonate_user = Some("alice".to_owned());
    options.impersonate_groups = vec!["lab".to_owned(), "ops".to_owned()];
    let connection = Connection::open(&options, &clock()).unwrap();
    let arguments = arguments(&fake);
    let socket = arguments[1].strip_prefix("--unix-socket=").unwrap();
    assert!(socket.starts_with(fake.sockets().to_str().unwrap()));
    let folder = std::path::Path::new(socket).parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(arguments[0], "proxy");
    assert_eq!(
        arguments[2..7],
        [
            "--context=lab-context",
            "--kubeconfig=/etc/kube config",
            "--as=alice",
            "--as-group=lab",
            "--as-group=ops",
        ]
    );
    assert!(arguments[7].starts_with("--accept-paths=^/api/v1/namespaces/lab$,"));
    assert_eq!(arguments[8], "--reject-methods=^(PUT|HEAD|OPTIONS|CONNECT|TRACE|PATCH)$");
    assert_eq!(arguments.len(), 9);
    let record = fake.record();
    assert_eq!(record["environment"]["KUBERC"], "off");
    assert_eq!(record["environment"]["LC_ALL"], "C.UTF-8");
    assert_eq!(record["environment"]["LANGUAGE"], Value::Null);
    // A start without garbage collection, and a bound on what a long life keeps.
    assert_eq!(record["environment"]["GOGC"], "off");
    assert_eq!(record["environment"]["GOMEMLIMIT"], "96MiB");
    assert_eq!(record["stdin"], "/dev/null");
    drop(connection);
    fake.assert_gone();
}

#[test]
fn a_pod_uses_its_service_account_and_no_kubeconfig() {
    let fake = Fake::answering(json!({ "body": namespace() }));
    let mut options = fake.options();
    options.context = Context::InCluster { token: fake.kubectl() };
    let _connection = Connection::open(&options, &clock()).unwrap();
    let arguments = arguments(&fake);
    let is_foreign = |argument: &String| {
        argument.starts_with("--kubeconfig") || argument.starts_with("--context")
    };
    assert!(!arguments.iter().any(is_foreign), "{arguments:?}");
    assert_eq!(fake.record()["environment"]["KUBECONFIG"], "/dev/null");
}

#[test]
fn outside_a_pod_there_is_no_service_account() {
    let fake = Fake::new(json!({}));
    let mut options = fake.options();
    options.context = Context::InCluster { token: fake.sockets().join("token") };
    let error = Connection::open(&options, &clock()).err().unwrap();
    assert!(matches!(error, ConnectError::NotInCluster { .. }), "{error}");
}

#[test]
fn standard_input_is_kept_for_credential_plugins() {
    let fake = Fake::new(json!({}));
    let mut options = fake.options();
    options.stdin_is_free = true;
    let _connection = Connection::open(&options, &clock()).unwrap();
    let own = std::fs::read_link("/proc/self/fd/0").unwrap();
    assert_eq!(fake.record()["stdin"], own.to_str().unwrap());
}

#[test]
fn options_that_would_mean_something_else_are_refused() {
    let fake = Fake::new(json!({}));
    let open = |change: &dyn Fn(&mut harness::cluster::ConnectOptions)| {
        let mut options = fake.options();
        change(&mut options);
        let error = Connection::open(&options, &clock()).err().unwrap();
        assert!(matches!(error, ConnectError::InvalidOption { .. }), "{error}");
        error.to_string()
    };
    let empty = open(&|options| options.context = Context::Named(String::new()));
    assert_eq!(empty, "--context is empty; name the context; harness never takes the current one");
    for namespace in ["", "a.b", "a/b", ".*", "A", "-a", "a-", "a,b", &"a".repeat(64)] {
        open(&|options| options.namespace = namespace.to_owned());
    }
    open(&|options| {
        options.context = Context::InCluster { token: options.kubectl.clone() };
        options.kubeconfig = Some("/etc/kubeconfig".into());
    });
    open(&|options| options.impersonate_user = Some(String::new()));
    open(&|options| options.impersonate_groups = vec!["lab".to_owned()]);
}

#[test]
fn a_kubectl_that_is_not_there_or_no_program() {
    let fake = Fake::new(json!({}));
    let mut options = fake.options();
    options.kubectl = fake.sockets().join("kubectl");
    let error = Connection::open(&options, &clock()).err().unwrap();
    assert!(matches!(error, ConnectError::KubectlNotFound { .. }), "{error}");
    options.kubectl = "/dev/null".into();
    let error = Connection::open(&options, &clock()).err().unwrap();
    assert!(matches!(error, ConnectError::KubectlNotStarted { .. }), "{error}");
    options.guard = Some("/nonexistent".into());
    let error = Connection::open(&options, &clock()).err().unwrap();
    assert!(matches!(error, ConnectError::Guard { .. }), "{error}");
    assert_eq!(std::fs::read_dir(fake.sockets()).unwrap().count(), 0);
}

#[test]
fn an_early_end_says_what_kubectl_said() {
    let fake = Fake::new(json!({
        "exit": 1, "stderr": "I1130 noise\nerror: unknown flag: --unix-socket\n",
    }));
    let error = fake.fail();
    let text = error.to_string();
    assert!(matches!(error, ConnectError::EndedEarly { .. }), "{text}");
    assert!(text.contains("exit status 1"), "{text}");
    assert!(text.contains("kubectl proxy --context=lab-context"), "{text}");
    assert!(text.ends_with("I1130 noise\nerror: unknown flag: --unix-socket"), "{text}");
    fake.assert_gone();

    let silent = Fake::new(json!({ "exit": 3 })).fail().to_string();
    assert!(silent.ends_with("(exit status 3); it said nothing"), "{silent}");
}

#[test]
fn a_context_that_does_not_exist() {
    let fake = Fake::new(json!({
        "exit": 1, "stderr": "error: context \"lab-context\" does not exist\n",
    }));
    let error = fake.fail();
    assert!(matches!(error, ConnectError::NoSuchContext { .. }), "{error}");
    assert!(error.to_string().contains("no context \"lab-context\""), "{error}");
}

#[test]
fn an_early_end_is_noticed_though_a_grandchild_holds_the_pipes() {
    let fake = Fake::new(json!({ "exit": 1, "stderr": "no", "grandchild": true }));
    let (error, taken) = time(|| fake.fail());
    assert!(matches!(error, ConnectError::EndedEarly { .. }), "{error}");
    assert!(taken < AT_ONCE, "{taken:?}");
    fake.assert_gone();
}

#[test]
fn a_kubectl_that_never_serves_is_ended() {
    let fake = Fake::new(json!({ "never_ready": true, "stderr": "waiting for the moon\n" }));
    let mut options = fake.options();
    options.ready_timeout = SHORT;
    let (error, taken) = time(|| Connection::open(&options, &clock()).err().unwrap());
    let text = error.to_string();
    assert!(matches!(error, ConnectError::NotReady { .. }), "{text}");
    assert!(text.contains("within 2 s"), "{text}");
    assert!(text.ends_with("waiting for the moon"), "{text}");
    assert!(taken >= SHORT && taken < SHORT + AT_ONCE, "{taken:?}");
    fake.assert_gone();
}

#[test]
fn noise_does_not_hide_the_ready_line() {
    let noise = "a line\n".repeat(50_000) + "Starting to think\n";
    let fake = Fake::new(json!({
        "stdout": noise, "stderr": "W1130 old\n", "stderr_flood": 50_000_000,
        "answers": [{ "body": namespace() }],
    }));
    let connection = fake.connect();
    let outcome = connection.send(&connection.requests().read_namespace());
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert!(connection.stderr_tail().len() <= 64 * 1024);
}

#[test]
fn standard_error_is_shown_as_it_comes() {
    let fake = Fake::new(json!({ "stderr": "Password: " }));
    let mut options = fake.options();
    let (sender, seen) = std::sync::mpsc::channel();
    options.on_stderr = Some(std::sync::Arc::new(move |piece: &[u8]| {
        sender.send(piece.to_owned()).unwrap();
    }));
    let connection = Connection::open(&options, &clock()).unwrap();
    assert_eq!(seen.recv_timeout(crate::kit::PATIENCE).unwrap(), b"Password: ");
    assert_eq!(connection.stderr_tail(), "Password: ");
}

#[test]
fn a_long_folder_is_passed_over() {
    let fake = Fake::answering(json!({ "body": namespace() }));
    let long = fake.sockets().join("x".repeat(100));
    std::fs::create_dir(&long).unwrap();
    let mut options = fake.options();
    options.folders = vec![long.clone(), "/nonexistent".into(), std::env::temp_dir()];
    let connection = Connection::open(&options, &clock()).unwrap();
    let outcome = connection.send(&connection.requests().read_namespace());
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    options.folders.pop();
    let error = Connection::open(&options, &clock()).err().unwrap().to_string();
    assert!(error.contains("is too long; /nonexistent: "), "{error}");
    assert!(error.ends_with("set TMPDIR to a short path that can be written"), "{error}");
    assert_eq!(std::fs::read_dir(long).unwrap().count(), 0);
}

#[test]
fn a_guard_without_a_task_says_so() {
    for arguments in [&[][..], &["soon"], &["500", "/nonexistent/s"], &["start", "1"]] {
        let status = command(probe()).arg(guard::ARGUMENT).args(arguments).status().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
    // Its guard has gone before it began.
    let status =
        command(probe()).args([guard::ARGUMENT, "start", "1", "/bin/true"]).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
