//! Runners that attack the record, their limits and `run` itself.

use harness::execution::{Category, Ending, Reason, Step};

use crate::kit::{Pod, is_running};

const SUCCESS: Ending = Ending::Exited { code: 0 };

#[test]
fn the_first_process_is_closed_to_the_runner() {
    let script = r"
import ctypes, os
def opens(path):
    try:
        open(path, 'rb').read(1); return path
    except OSError:
        return None
def lists(path):
    try:
        os.listdir(path); return path
    except OSError:
        return None
libc = ctypes.CDLL(None, use_errno=True)
found = [opens('/proc/1/' + name) for name in ('environ', 'mem', 'maps', 'auxv', 'fd/0', 'fd/1', 'fd/3')]
found += [lists('/proc/1/' + name) for name in ('fd', 'map_files')]
found += ['traced' if libc.ptrace(16, 1, 0, 0) == 0 else None]
pidfd = os.pidfd_open(1)
found += ['took %d' % fd for fd in range(16) if libc.syscall(438, pidfd, fd, 0) >= 0]
print([thing for thing in found if thing])
";
    let ended = Pod::new().contained().run(&["/usr/bin/python3", "-c", script]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "[]\n");
}

#[test]
fn the_first_process_cannot_be_killed_nor_stopped() {
    let ended = Pod::new().contained().shell(
        "for s in KILL STOP SEGV ALRM USR1 QUIT PIPE; do kill -$s 1; done; sleep 0.3; echo alive",
    );
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "alive\n");
}

/// It can ask `run` to stop, and then it is stopped: that is no success.
#[test]
fn a_runner_that_asks_for_its_own_end_gets_it() {
    let ended = Pod::new().contained().shell("kill -TERM 1; exec sleep 478");
    ended.expect(27, &Ending::Stopped);
}

#[test]
fn a_forged_reason_is_written_over_and_the_record_is_another_one() {
    let forged = Reason::new(Step::Run, Category::Succeeded, "all is well", "").to_json();
    let pod = Pod::new().contained().image_variable("FORGED", &forged);
    let log = pod.path("termination-log");
    let ended = pod.shell(&format!("printf %s \"$FORGED\" > {}; exit 3", log.display()));
    ended.expect(21, &Ending::Exited { code: 3 });
}

#[test]
fn the_socket_takes_no_second_connection_and_the_folder_no_file() {
    let pod = Pod::new().contained();
    let control = pod.places.control();
    let script = format!(
        r#"
import os, socket
control = {:?}
def refused(action):
    try:
        action(); return False
    except OSError:
        return True
def connect():
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(control + '/run.sock')
    s.sendall(b'{{"type":"finished","report":{{}}}}\n')
    if s.recv(1) == b'': raise OSError
print(refused(connect), refused(lambda: open(control + '/x', 'w')), refused(lambda: os.unlink(control + '/run.sock')))
"#,
        control.to_str().unwrap()
    );
    let ended = pod.run(&["/usr/bin/python3", "-c", &script]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "True True True\n");
}

#[test]
fn what_forks_without_end_ends() {
    for (pod, mark) in [(Pod::new(), "479"), (Pod::new().contained(), "480")] {
        // Bounded, so that a failure of this test is not one of the machine.
        let script = format!(
            "import os, sys, time\n\
             def fork(depth):\n  for _ in range(2):\n    if os.fork() == 0:\n      os.setsid()\n      \
             if depth: fork(depth - 1)\n      os.execvp('sleep', ['sleep', '{mark}'])\n\
             fork(6)\ntime.sleep(0.2)"
        );
        let ended = pod.run(&["/usr/bin/python3", "-c", &script]);
        ended.expect(0, &SUCCESS);
        assert!(!is_running(&format!("sleep {mark}")));
    }
}

#[test]
fn a_stopped_child_is_killed_too() {
    for (pod, mark) in [(Pod::new(), "481"), (Pod::new().contained(), "482")] {
        let ended = pod.shell(&format!("sleep {mark} & kill -STOP $!; exit 0"));
        ended.expect(0, &SUCCESS);
        assert!(!is_running(&format!("sleep {mark}")));
    }
}

#[test]
fn limits_that_the_runner_sets_are_its_own() {
    let script =
        "ulimit -n 3; ulimit -f 0; ulimit -v 100000; ulimit -u 1; ulimit -c 0; echo set; exit 6";
    let ended = Pod::new().contained().run(&["bash", "-c", script]);
    let report = ended.expect(21, &Ending::Exited { code: 6 });
    assert_eq!(report.output_tail, "set\n");
}

/// The kernel lets a process lower the limits of another one of its user, closed or not (`man 2 prlimit`). What `run` needs
/// is open before the runner starts, so this costs the runner its hint and its statistics, and changes no record.
#[test]
fn lowering_the_limits_of_the_first_process_changes_no_record() {
    let ended = Pod::new()
        .contained()
        .shell("prlimit --pid 1 --nofile=0:0 --fsize=0:0 --nproc=0:0 && echo lowered; exit 6");
    assert_eq!(ended.said(), "lowered\n");
    assert_eq!((ended.code, &ended.report().ending), (Some(21), &Ending::Exited { code: 6 }));
}
