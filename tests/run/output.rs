//! The runner's output on its way to the log.

use std::io::Read as _;
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness::execution::Ending;

use crate::kit::{Pod, since, wait_for};

const SUCCESS: Ending = Ending::Exited { code: 0 };

#[test]
fn a_hundred_megabytes_of_anything_arrive_and_are_counted() {
    let script = "import os, sys\n\
        piece = bytes(range(256)) * 4096\n\
        for _ in range(100):\n  sys.stdout.buffer.write(piece)\n\
        sys.stdout.buffer.write(b'no line end')\n\
        sys.stderr.write('e' * 3000000 + '\\n')\n";
    let ended = Pod::new().run(&["/usr/bin/python3", "-c", script]);
    let report = ended.expect(0, &SUCCESS);
    let piece: Vec<u8> = (0..=255).collect();
    let (body, end) = ended.stdout.split_at(100 << 20);
    assert!(body.chunks(256).all(|chunk| chunk == piece), "changed on the way");
    assert_eq!(end, b"no line end\n");
    assert!(ended.stderr.starts_with(&"e".repeat(3_000_000)));
    assert_eq!(report.output_bytes, (100 << 20) + 11 + 3_000_001);
    assert!(report.output_tail.len() <= 16 << 10 && report.output_tail.ends_with("no line end"));
}

#[test]
fn the_tail_commands_no_terminal_and_the_log_is_as_it_was() {
    let ended =
        Pod::new().shell("printf '\\033[2J\\033]0;title\\007red\\n' >&2; printf 'a\\000b\\n'");
    let report = ended.expect(0, &SUCCESS);
    assert!(ended.stderr.starts_with("\u{1b}[2J\u{1b}]0;title\u{7}red\n"), "{:?}", ended.stderr);
    assert!(!report.output_tail.contains(['\u{1b}', '\u{7}', '\0']), "{report:?}");
    assert!(report.output_tail.contains("]0;title\u{fffd}red\n"), "{report:?}");
}

#[test]
fn no_output_is_fine_and_so_are_closed_streams() {
    let ended = Pod::new().shell("exec >&- 2>&-; sleep 0.2; exit 4");
    let report = ended.expect(21, &Ending::Exited { code: 4 });
    assert_eq!((report.output_bytes, report.output_tail.as_str()), (0, ""));
}

/// The log takes nothing at all: the runner is held up, its budget ends it, and the report goes out all the same.
#[test]
fn a_log_that_takes_nothing_holds_up_the_runner_alone() {
    let pod = Pod::new().budget(2);
    let begun = SystemClock.boottime();
    let mut started =
        pod.start(&["sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"]);
    let mut stdout = started.child.stdout.take().unwrap();
    // The end of the process closes the pipe, whose other end is held here unread until then.
    let ended = pod.finish(started);
    ended.expect(23, &Ending::BudgetExceeded);
    // Held up as well, harness would never end.
    assert!(since(begun) < Duration::from_mins(1), "{:?}", since(begun));
    let mut left = Vec::new();
    stdout.read_to_end(&mut left).unwrap();
    assert!(!left.is_empty() && left.len() <= 128 << 10, "{}", left.len());
}

#[test]
fn a_slow_log_loses_nothing() {
    let pod = Pod::new();
    let mut started = pod.start(&["sh", "-c", "seq 200000; : > \"$HARNESS_OUTPUT/written\""]);
    let mut stdout = started.child.stdout.take().unwrap();
    SystemClock.sleep(Duration::from_millis(500));
    assert!(!pod.places.output().join("written").exists(), "a pipe holds less than this");
    let mut read = String::new();
    stdout.read_to_string(&mut read).unwrap();
    wait_for(&pod.places.output().join("written"));
    let mut expected =
        (1..=200_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
    expected.push('\n');
    assert!(read == expected, "{} of {} bytes", read.len(), expected.len());
    pod.finish(started).expect(0, &SUCCESS);
}

#[test]
fn a_log_that_is_gone_ends_nothing() {
    let pod = Pod::new();
    let mut started = pod.start(&["sh", "-c", "seq 100000; echo end"]);
    drop(started.child.stdout.take());
    let ended = pod.finish(started);
    assert!(ended.expect(0, &SUCCESS).output_tail.ends_with("100000\nend\n"));
}
