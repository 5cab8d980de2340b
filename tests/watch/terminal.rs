//! What a person at a terminal sees of a wait and of a runner's output, and what a pipe gets instead.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::going::{Going, PATIENCE, Written, dispatch};
use crate::hands::submitted;
use crate::kit::{Place, Sample};
use crate::kubelet::{Kubelet, Stands, stand};

/// A terminal: what is written to it, and ends of it for a command.
fn terminal() -> (Written, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    (Written::of(File::from(ours)), theirs)
}

fn on_a_terminal(mut command: Command) -> (std::process::Child, Written) {
    let (seen, theirs) = terminal();
    command.env("TERM", "xterm-256color").stdin(Stdio::null());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    (command.spawn().unwrap(), seen)
}

#[track_caller]
fn code(child: &mut std::process::Child, seen: &Written) -> Option<i32> {
    let ended = harness_test_cluster::until(PATIENCE, || child.try_wait().unwrap().is_some());
    if !ended {
        let _ = child.kill();
    }
    assert!(ended, "it goes on:\n{}", seen.text());
    child.wait().unwrap().code()
}

#[test]
fn a_person_sees_one_line_that_changes_and_a_pipe_gets_lines() {
    let _node = Kubelet::shared();
    let place = Place::new("person");
    let name = submitted(&place, &Sample::new("attempt-1"));
    let (mut child, seen) = on_a_terminal(dispatch(&place, None, &["status", &name, "--wait"]));
    let mut piped = Going::start(dispatch(&place, None, &["status", &name, "--wait"]));
    seen.wait_for("pending, ");
    piped.err.wait_for(&format!("note: {name}: pending: "));
    stand(&place, &name, Stands::Running);
    // With what is left of the step's time, and the elapsed time behind it.
    seen.wait_for("running, ");
    seen.wait_for(" left: the runner is at work");
    piped.err.wait_for(&format!("note: {name}: running: "));
    stand(&place, &name, Stands::Succeeded);
    assert_eq!(code(&mut child, &seen), Some(0));
    piped.ends_with(0);
    let text = seen.text();
    assert!(text.contains("\u{1b}[2K") && !text.contains("note: "), "{text:?}");
    let page = text.rfind(&format!("{name}: succeeded")).expect("the page comes last");
    assert!(text[page..].contains("namespace"), "{text:?}");
    let (out, err) = (piped.out.text(), piped.err.text());
    assert!(!err.contains('\u{1b}') && out.starts_with(&format!("{name}: succeeded")), "{err:?}");
}

#[test]
fn what_a_runner_writes_does_nothing_to_a_terminal() {
    let kubelet = Kubelet::shared();
    let place = Place::new("harmless");
    let name = submitted(&place, &Sample::new("attempt-1"));
    stand(&place, &name, Stands::Running);
    kubelet.write(
        &place,
        "run",
        &[
            b"\x1b]0;title\x07\x1b[2J\n",
            b"::error::x\n",
            "\u{202e}é\ttab\r\n".as_bytes(),
            b"\xff\xfe \x9b31m\n",
            b"no end",
        ],
    );
    kubelet.end_container(&place, "run");
    for follow in [false, true] {
        let mut arguments = vec!["logs", name.as_str(), "--step", "run"];
        if follow {
            stand(&place, &name, Stands::Succeeded);
            arguments.push("-f");
        }
        let (mut child, seen) = on_a_terminal(dispatch(&place, None, &arguments));
        seen.wait_for("no end");
        assert_eq!(code(&mut child, &seen), Some(0));
        let text = seen.text();
        for line in
            ["\\u{1b}]0;title\\u{7}\\u{1b}[2J", "\\::error\\::x", "\\u{202e}é\ttab", "no end\r\n"]
        {
            assert!(text.contains(line), "{line:?} in {text:?}");
        }
        let bytes = seen.bytes();
        assert!(
            !bytes.contains(&0x9b) && !text.contains("\u{1b}]") && !text.contains("\u{1b}[2J"),
            "{text:?}"
        );
    }
}
