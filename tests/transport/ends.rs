//! Every end of harness is the end of kubectl, and the end of kubectl is noticed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use harness::cluster::{NotSent, Outcome, Unknown, Why};
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::kit::{AT_ONCE, Fake, command, is_running, namespace, probe, time, wait_until};

/// A process that holds a connection, leader of its own process group.
struct Holder {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Holder {
    fn start(fake: &Fake) -> Self {
        Self::of(&mut command(probe()), fake)
    }

    fn of(command: &mut Command, fake: &Fake) -> Self {
        let mut child = command
            .arg(fake.kubectl())
            .arg(fake.sockets())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut holder = Self { child, input, output };
        assert_eq!(holder.hear(), "ready");
        holder
    }

    fn say(&mut self, text: &str) {
        writeln!(self.input, "{text}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // A failed assertion must not leave it behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serving() -> Fake {
    Fake::answering(json!({ "body": namespace() }))
}

#[test]
fn the_normal_end_is_quick_and_complete() {
    let fake = serving();
    let connection = fake.connect();
    let ((), taken) = time(|| drop(connection));
    assert!(taken < AT_ONCE, "{taken:?}");
    let record = fake.record();
    assert!(!is_running(record["process"].as_u64().unwrap()), "not waited for");
    assert!(!is_running(record["parent"].as_u64().unwrap()), "not waited for");
    fake.assert_gone();
}

#[test]
fn a_killed_harness_takes_kubectl_along() {
    let fake = serving();
    let holder = Holder::start(&fake);
    rustix::process::kill_process(holder.pid(), Signal::KILL).unwrap();
    fake.assert_gone();
}

#[test]
fn a_panic_and_an_exit_take_kubectl_along() {
    for end in ["panic", "exit", "end"] {
        let fake = serving();
        let mut holder = Holder::start(&fake);
        holder.say(end);
        fake.assert_gone();
        let expected = match end {
            "panic" => 101,
            "exit" => 3,
            _ => 0,
        };
        assert_eq!(holder.child.wait().unwrap().code(), Some(expected), "{end}");
    }
}

#[test]
fn an_interrupt_from_the_terminal_leaves_the_connection_to_harness() {
    let fake = serving();
    let mut holder = Holder::start(&fake);
    let record = fake.record();
    for _ in 0..3 {
        rustix::process::kill_process_group(holder.pid(), Signal::INT).unwrap();
        holder.say("get");
        assert_eq!(holder.hear(), "done");
    }
    assert!(is_running(record["process"].as_u64().unwrap()));
    assert!(is_running(record["parent"].as_u64().unwrap()));
    holder.say("end");
    assert_eq!(holder.hear(), "ended");
    fake.assert_gone();
}

#[test]
fn a_hang_up_of_the_whole_group_leaves_nothing() {
    for signal in [Signal::HUP, Signal::TERM, Signal::QUIT] {
        let fake = serving();
        let holder = Holder::start(&fake);
        rustix::process::kill_process_group(holder.pid(), signal).unwrap();
        fake.assert_gone();
    }
}

#[test]
fn a_hang_up_that_harness_ignores_is_ignored_by_all() {
    let fake = serving();
    // As `nohup` does, but without its redirections.
    let mut holder = Holder::of(
        command("sh").args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(probe()),
        &fake,
    );
    rustix::process::kill_process_group(holder.pid(), Signal::HUP).unwrap();
    holder.say("get");
    assert_eq!(holder.hear(), "done");
    holder.say("end");
    assert_eq!(holder.hear(), "ended");
    fake.assert_gone();
}

#[test]
fn kubectl_stays_in_the_foreground_group() {
    let fake = serving();
    let holder = Holder::start(&fake);
    let kubectl = fake.record()["process"].as_i64().unwrap();
    let kubectl = Pid::from_raw(i32::try_from(kubectl).unwrap()).unwrap();
    assert_eq!(rustix::process::getpgid(Some(kubectl)).unwrap(), holder.pid());
}

#[test]
fn a_kubectl_that_ignores_the_request_to_end_is_killed() {
    let fake = Fake::new(json!({ "ignore_term": true, "answers": [{ "body": namespace() }] }));
    let connection = fake.connect();
    let ((), taken) = time(|| drop(connection));
    assert!(taken < AT_ONCE, "{taken:?}");
    fake.assert_gone();
}

#[test]
fn a_grandchild_that_holds_the_pipes_holds_up_nothing() {
    let fake = Fake::new(json!({ "grandchild": true, "answers": [{ "body": namespace() }] }));
    let connection = fake.connect();
    let ((), taken) = time(|| drop(connection));
    assert!(taken < AT_ONCE, "{taken:?}");
    fake.assert_gone();
}

#[test]
fn a_script_around_kubectl_leaves_no_kubectl_behind() {
    let fake = Fake::new(json!({ "wrapped": true, "answers": [{ "body": namespace() }] }));
    let connection = fake.connect();
    let outcome = connection.send(&connection.requests().read_namespace());
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    drop(connection);
    fake.assert_gone();
}

#[test]
fn a_kubectl_that_dies_is_noticed_at_once() {
    let fake = Fake::new(json!({ "die_after": 2, "answers": [{ "body": namespace() }] }));
    let connection = fake.connect();
    let read = || connection.send(&connection.requests().read_namespace());
    assert!(matches!(read(), Outcome::Done(_)));
    assert!(matches!(read(), Outcome::Done(_)));
    let kubectl = fake.record()["process"].as_u64().unwrap();
    wait_until("kubectl has died", || !is_running(kubectl));
    // The kernel may still take a connection that nobody will serve, and cut it a moment later.
    wait_until("the socket refuses", || {
        let outcome = read();
        let Outcome::Unknown(Unknown { why, .. }) = outcome else { panic!("{outcome:?}") };
        match why {
            Why::NotSent(NotSent::ProxyUnreachable { .. }) => true,
            Why::Cut { .. } => false,
            other => panic!("{other:?}"),
        }
    });
    fake.assert_gone();
}

#[test]
fn a_killed_guard_takes_kubectl_along() {
    let fake = serving();
    let connection = fake.connect();
    let record = fake.record();
    let guard = i32::try_from(record["parent"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
    wait_until("kubectl has died", || !is_running(record["process"].as_u64().unwrap()));
    let outcome = connection.send(&connection.requests().read_namespace());
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    drop(connection);
    fake.assert_gone();
}

#[test]
fn a_kubectl_that_is_killed_ends_a_waiting_request() {
    let fake = Fake::answering(json!({ "manner": "hang" }));
    let connection = fake.connect();
    let kubectl = fake.record()["process"].as_i64().unwrap();
    let kubectl = Pid::from_raw(i32::try_from(kubectl).unwrap()).unwrap();
    let request = connection.requests().read_namespace();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| connection.send(&request));
        wait_until("the request has arrived", || !fake.requests().is_empty());
        rustix::process::kill_process(kubectl, Signal::KILL).unwrap();
        // Cut, and not late: nobody waited for the deadline.
        let outcome = waiting.join().unwrap();
        let Outcome::Unknown(Unknown { why: Why::Cut { .. }, .. }) = outcome else {
            panic!("{outcome:?}")
        };
    });
}
