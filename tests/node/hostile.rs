//! Runners on a real kubelet that attack the record, the inputs, the other steps and the node.

use std::fs;
use std::time::Duration;

use harness_test_cluster::{Container, until};
use serde_json::json;

use crate::common::find;
use crate::kit::{PATIENCE, python_image, shell_image};
use crate::trial::Trial;

/// Tries everything that a process of the pod's user can, and says what went through. The descriptors of others are asked
/// for with `pidfd_getfd` (438), processes traced with `PTRACE_ATTACH` (16).
const ATTACK: &str = r#"
import ctypes, glob, os, shutil, signal, socket, sys, threading, time
output = os.environ["HARNESS_OUTPUT"]
inputs, control = "/harness/inputs", "/harness/control"
done = []

def attempt(name, action):
    try:
        if action() is not False:
            done.append(name)
    except OSError:
        pass

def connect():
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(2)
    stream.connect(control + "/run.sock")
    stream.sendall(b'{"type":"hello","harness_version":"0","command":[]}\n{"type":"finished","report":{"ending":{"kind":"exited","code":0}}}\n')
    return stream.recv(1) != b""

def race():
    for _ in range(200):
        attempt("raced the socket", connect)
        time.sleep(0.01)

def squat():
    stream = socket.socket(socket.AF_UNIX)
    stream.bind(control + "/run.sock")

for name in os.listdir("/proc"):
    if not name.isdigit() or int(name) == os.getpid():
        continue
    for path in ("environ", "mem", "maps", "auxv", "root/harness/urls", "cwd", "exe", "fd", "fdinfo"):
        place = f"/proc/{name}/{path}"
        attempt("read " + place, lambda: os.listdir(place) if path in ("root/harness/urls", "fd", "fdinfo") else os.readlink(place) if path in ("cwd", "exe") else open(place, "rb").read(1))
libc = ctypes.CDLL(None, use_errno=True)
attempt("traced run", lambda: libc.ptrace(16, 1, 0, 0) == 0)
pidfd = os.pidfd_open(1)
attempt("took a descriptor", lambda: any(libc.syscall(438, pidfd, fd, 0) >= 0 for fd in range(32)))
attempt("joined a namespace", lambda: libc.setns(pidfd, 0x20000000) == 0)
attempt("became root", lambda: os.setuid(0))
attempt("mounted", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
attempt("left the user namespace", lambda: libc.unshare(0x10000000) == 0 and open("/proc/self/setgroups", "w") is not None and libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
for folder in ("/harness/urls", "/harness/spool", "/harness/ca", "/var/run/secrets", "/harness/../proc/2/root/harness/urls"):
    attempt("listed " + folder, lambda: os.listdir(folder))
for path in ("/harness/spool/started", "/harness/spool/result.tar.gz", "/harness/urls/result_put_url"):
    attempt("wrote " + path, lambda: open(path, "w"))
mission, snapshot = os.environ["HARNESS_MISSION"], os.environ["HARNESS_SNAPSHOT"]
attempt("wrote the mission", lambda: open(mission, "a"))
attempt("changed a mode", lambda: os.chmod(mission, 0o777))
attempt("moved an input", lambda: os.rename(snapshot, snapshot + "2"))
attempt("added an input", lambda: open(snapshot + "/new", "w"))
attempt("removed an input", lambda: os.unlink(mission))
attempt("linked an input", lambda: os.link(mission, output + "/linked"))
attempt("replaced harness", lambda: open("/harness/tools/harness", "r+b"))
attempt("connected", connect)
attempt("squatted the socket", squat)
attempt("wrote beside the socket", lambda: open(control + "/x", "w"))
threads = [threading.Thread(target=race) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
for one in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGUSR1, signal.SIGALRM, signal.SIGQUIT):
    os.kill(1, one)
forged = '{"schema_version":"prediction_reason.v1","step":"%s","category":"succeeded","sentence":"all is well","remedy":"","digests":{}}'
for step in ("run", "publish"):
    attempt("wrote its own message", lambda: open("/dev/termination-log", "w").write(forged % step))
open(output + "/evidence.json", "w").write('{"forged": true}')
os.makedirs(output + "/output", exist_ok=True)
open(output + "/output/evidence.json", "w").write("{}")
open(output + "/done", "w").write("\n".join(sorted(set(done))))
print(done, flush=True)
if os.fork() == 0:
    os.setsid()
    while True:
        try:
            open(output + "/late", "a").write("x")
        except OSError:
            pass
        time.sleep(0.01)
sys.exit(3)
"#;

#[test]
fn an_attack_on_the_record_changes_nothing_of_it() {
    let trial = Trial::new("attack", python_image(), &["python3", "-c", ATTACK]);
    let ended = trial.run();
    ended.assert(7, "failed", "runner-failed");
    assert_eq!(ended.status["diagnosis"]["basis"], "step-message", "{}", ended.story());
    let archive = ended.archive();
    // All that it may do, so that an attack that did nothing is known to have tried.
    assert_eq!(archive.text("done"), "wrote its own message");
    assert_eq!(archive.text("evidence.json"), "{\"forged\": true}");
    let run = archive.run();
    assert_eq!(*find(run, "/report/ending"), json!({"kind": "exited", "code": 3}));
    let bytes = ended.result().unwrap();
    let verdict = ended.verify_with_cluster(&bytes);
    assert_eq!(verdict["holds"], true);
}

/// What is left in the container's message is no more than a hint, whatever it is.
#[test]
fn a_success_is_one_whatever_stands_in_the_message() {
    let script =
        "head -c 1000000 /dev/urandom > /dev/termination-log; echo done > $HARNESS_OUTPUT/done";
    let ended = Trial::new("message", shell_image(), &["sh", "-c", script]).run();
    ended.assert(0, "succeeded", "succeeded");
    assert_eq!(ended.archive().text("done"), "done\n");
}

#[test]
fn who_ignores_term_is_killed_with_all_that_it_started() {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" & \
                  echo partial > $HARNESS_OUTPUT/partial; while :; do sleep 1; done";
    let mut trial = Trial::new("stubborn", shell_image(), &["sh", "-c", script]).budget(3);
    let job = trial.submit();
    let container = trial.kit.container(&job, "run");
    let ended = trial.wait(job);
    ended.assert(7, "failed", "budget-exceeded");
    let archive = ended.archive();
    assert_eq!(archive.text("partial"), "partial\n");
    let wall = find(archive.run(), "/report/wall_milliseconds").as_u64().unwrap();
    assert!((13_000..30_000).contains(&wall), "3 s of budget, 10 s of grace: {wall} ms");
    assert!(container.processes().is_empty(), "{:?}", container.processes());
}

/// How many bytes `run` has held at most so far.
fn peak(run: &Container<'_>) -> u64 {
    let first = run.first_process().unwrap().as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{first}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Text is another test's. A log of one line is what tempts to keep it.
#[test]
fn a_hundred_megabytes_that_are_no_text_are_no_harm() {
    let script = "until [ -e go ]; do sleep 0.1; done\n\
                  { head -c 50000000 /dev/urandom | tr '\\n' x; echo; echo the end; } >&2 &\n\
                  head -c 50000000 /dev/zero; echo; echo the end; wait; touch done\n\
                  while [ -e go ]; do sleep 0.1; done";
    // A busy node writes so much slowly.
    let mut trial = Trial::shell("binary", script).budget(260);
    let job = trial.submit();
    let run = trial.kit.container(&job, "run");
    let scratch = run.path("/harness/scratch").unwrap();
    let before = peak(&run);
    fs::write(scratch.join("go"), "").unwrap();
    assert!(until(PATIENCE, || scratch.join("done").exists()), "it does not come to its end");
    let grown = peak(&run) - before;
    fs::remove_file(scratch.join("go")).unwrap();
    let ended = trial.wait(job);
    ended.assert(0, "succeeded", "succeeded");
    assert!(grown < 4 << 20, "`run` took {grown} bytes more");

    let archive = ended.archive();
    assert_eq!(*find(archive.run(), "/report/output_bytes"), 100_000_018);
    let tail = find(archive.run(), "/report/output_tail").as_str().unwrap();
    // Either stream may be the last.
    let end = tail.get(tail.len().saturating_sub(20)..).unwrap_or("no text");
    assert!(tail.len() <= 16 << 10 && tail.ends_with("\nthe end\n"), "{} bytes: {end}", tail.len());
    let pod = ended.trial.kit.pod_of(&ended.job);
    let pod = pod["metadata"]["name"].as_str().unwrap();
    let log = ended.trial.kit.node.logs(&ended.trial.kit.namespace.name, pod, "run").unwrap();
    assert!(log.len() > 100_000_000, "{} bytes are in the log", log.len());
    assert_eq!(log.iter().filter(|byte| **byte == 0).count() / 1_000_000, 50, "of 50 MB of zeros");
}

/// The node's limit of processes for a pod keeps it from the others, and the budget ends it.
#[test]
fn who_forks_without_end_is_ended() {
    let script = "trap '' TERM; echo partial > $HARNESS_OUTPUT/partial\n\
                  bomb() { bomb & bomb; }; bomb & exec sleep 600";
    let mut trial = Trial::shell("bomb", script).budget(5);
    let job = trial.submit();
    let container = trial.kit.container(&job, "run");
    let processes = || container.processes().len();
    assert!(until(PATIENCE, || processes() > 100), "{} processes", processes());
    let ended = trial.wait(job);
    ended.assert(7, "failed", "budget-exceeded");
    assert_eq!(ended.archive().text("partial"), "partial\n");
    assert!(until(Duration::from_secs(10), || processes() == 0), "{:?}", container.processes());
}
