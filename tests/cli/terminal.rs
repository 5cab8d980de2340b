//! What depends on where the output goes: colour, closed pipes, full disks.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::kit::{command, dispatch};

const FAILING: [&str; 5] = ["prediction", "dispatch", "validate", "-f", "/no/such/file"];

/// What the program writes to a terminal that is its standard error.
fn on_a_terminal(no_color: Option<&str>) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut program = command();
    program.args(FAILING).env("TERM", "xterm-256color").stdin(Stdio::null()).stderr(terminal);
    if let Some(value) = no_color {
        program.env("NO_COLOR", value);
    }
    let status = program.status().unwrap();
    assert_eq!(status.code(), Some(2));
    // Our copy of the other end closes here; then the reader meets the end, as EIO on Linux.
    drop(program);
    let mut written = Vec::new();
    let _ = File::from(ours).read_to_end(&mut written);
    String::from_utf8(written).unwrap()
}

#[test]
fn colour_only_on_a_terminal_and_never_with_no_color() {
    let coloured = on_a_terminal(None);
    assert!(coloured.contains("\u{1b}[") && coloured.contains("error"), "{coloured:?}");
    let plain = on_a_terminal(Some("1"));
    assert!(!plain.contains('\u{1b}') && plain.contains("error: cannot read"), "{plain:?}");
    let piped = dispatch(&FAILING[2..]).with(2).stderr;
    assert!(!piped.contains('\u{1b}') && piped.starts_with("error: "), "{piped:?}");
}

#[test]
fn a_reader_that_goes_away_ends_the_output_quietly() {
    for arguments in [&["explain"][..], &["schema", "submission"], &["profiles"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            command().args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command().arg("explain").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("cannot write to standard output").count(), 1, "{said}");
}
